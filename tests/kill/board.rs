//! A config dir and several firmwares, and what must hold when a sync has ended well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{self, Run, names};
use crate::firmware::Firmware;

/// Many cases of one claim: all are tried, then the claim fails if one did.
#[derive(Default)]
pub struct Cases {
    tried: usize,
    failed: usize,
}

impl Cases {
    /// A case that fails says why on the test's output.
    pub fn check(&mut self, case: impl FnOnce()) {
        self.tried += 1;
        let tried = catch_unwind(AssertUnwindSafe(case));
        self.failed += usize::from(tried.is_err());
    }

    #[track_caller]
    pub fn assert_all_held(&self) {
        let Self { tried, failed } = self;
        println!("{tried} cases were tried");
        assert!(*tried > 0, "there was nothing to try");
        assert_eq!(
            *failed, 0,
            "of {tried} cases; each says above why it failed"
        );
    }
}

/// Memory where there is some: these tests kill processes, not the machine, and flushing flash would only
/// make them slow.
pub fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    match TempDir::new_in(memory) {
        Ok(directory) => directory,
        Err(_) => TempDir::new().unwrap(),
    }
}

/// Several firmwares and as many config dirs as a test wants.
pub struct Workshop {
    directory: TempDir,
    pub firmwares: Vec<Firmware>,
}

impl Workshop {
    /// `firmwares` get the numbers 1, 2, …
    pub fn new(firmwares: Vec<Firmware>) -> Self {
        let workshop = Self {
            directory: scratch(),
            firmwares,
        };
        for number in workshop.numbers() {
            workshop.firmware(number).write_to(&workshop.bundle(number));
        }
        workshop
    }

    pub fn numbers(&self) -> std::ops::RangeInclusive<usize> {
        1..=self.firmwares.len()
    }

    pub fn firmware(&self, number: usize) -> &Firmware {
        &self.firmwares[number - 1]
    }

    pub fn bundle(&self, number: usize) -> PathBuf {
        self.directory.path().join(format!("bundle-{number}"))
    }

    /// A config dir that does not exist yet.
    pub fn board(&self, name: &str) -> Board<'_> {
        let agent = self.directory.path().join(name);
        if agent.exists() {
            fs::remove_dir_all(&agent).unwrap();
        }
        Board {
            workshop: self,
            agent,
        }
    }

    /// All that any firmware ever shipped under this path.
    fn versions(&self, skill: &str, path: &str) -> Vec<&[u8]> {
        let all = self.firmwares.iter();
        let files = all.filter_map(|firmware| firmware.skills.get(skill)?.get(path));
        files.map(|shipped| shipped.bytes.as_slice()).collect()
    }
}

/// A config dir.
pub struct Board<'w> {
    workshop: &'w Workshop,
    pub agent: PathBuf,
}

/// What may be found beside what the firmware says.
#[derive(Default, Clone)]
pub struct Allowed {
    /// The ledger had to be made again.
    pub rebuilt: bool,
    /// Paths in the library that are the user's own.
    pub own_files: BTreeSet<String>,
    /// A ledger without files was made again: supporting files of another version are kept as the user's.
    pub kept_files: bool,
}

impl Board<'_> {
    pub fn workshop(&self) -> &Workshop {
        self.workshop
    }

    pub fn library(&self) -> PathBuf {
        self.agent.join("skills")
    }

    pub fn state(&self) -> PathBuf {
        self.agent.join("skill-state")
    }

    pub fn ledger_path(&self) -> PathBuf {
        self.state().join(".bundled_manifest.json")
    }

    pub fn ledger(&self) -> Value {
        let path = self.ledger_path();
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// A copy of it, to go on in another way.
    pub fn fork(&self, name: &str) -> Self {
        let board = self.workshop.board(name);
        if self.agent.exists() {
            copy_tree(&self.agent, &board.agent);
        }
        board
    }

    /// The program on this config dir, with firmware `number`.
    pub fn command(&self, number: usize, arguments: &[&str]) -> Command {
        let mut command = common::bare_command();
        self.arguments(&mut command, number, arguments);
        command
    }

    /// The same beneath another program, such as a tracer.
    pub fn arguments(&self, command: &mut Command, number: usize, arguments: &[&str]) {
        command.arg("--config-dir").arg(&self.agent);
        command
            .arg("--bundled-dir")
            .arg(self.workshop.bundle(number));
        command.arg("--json").args(arguments);
    }

    pub fn run(&self, number: usize, arguments: &[&str]) -> Run {
        common::run(&mut self.command(number, arguments))
    }

    /// The library as it lies there: bytes and mode by path. Only regular files and directories may be in it.
    pub fn files(&self) -> BTreeMap<String, (Vec<u8>, u32)> {
        let mut files = BTreeMap::new();
        if self.library().exists() {
            collect(&self.library(), "", &mut files);
        }
        files
    }

    /// Every file of the library is whole: what some firmware shipped, or one of the user's own.
    #[track_caller]
    pub fn assert_nothing_torn(&self, own_files: &BTreeSet<String>, case: &str) {
        for (path, (bytes, _)) in self.files() {
            let (skill, file) = path.split_once('/').unwrap_or((&path, ""));
            let shipped = self.workshop.versions(skill, file);
            assert!(
                own_files.contains(&path) || shipped.contains(&bytes.as_slice()),
                "{case}: {path} is of no firmware: {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }

    /// A sync with firmware `number` ends in its complete state, and the next one has nothing to do.
    #[track_caller]
    pub fn assert_sync_completes(&self, number: usize, allowed: &Allowed, case: &str) {
        let run = self.run(number, &["sync"]);
        let report = self.assert_ended_well(&run, allowed, case);
        common::check_report(&report);
        self.assert_complete(number, &report, allowed, case);
        let ledger = fs::read(self.ledger_path()).unwrap();
        let again = self.run(number, &["sync"]);
        let nothing_rebuilt = Allowed {
            rebuilt: false,
            ..allowed.clone()
        };
        let report = self.assert_ended_well(&again, &nothing_rebuilt, case);
        assert_eq!(
            report["flushes"], 0,
            "{case}: a second sync flushed: {report:#}"
        );
        for outcome in ["copied", "updated", "adopted", "repaired", "merged"] {
            assert_eq!(
                report[outcome],
                json!([]),
                "{case}: a second sync {outcome}: {report:#}"
            );
        }
        let same = ledger == fs::read(self.ledger_path()).unwrap();
        assert!(same, "{case}: a second sync wrote the ledger");
    }

    #[track_caller]
    fn assert_ended_well(&self, run: &Run, allowed: &Allowed, case: &str) -> Value {
        assert!(
            matches!(run.code, 0 | 3),
            "{case}: the next sync ended so: {run:#?}"
        );
        let report = run.json();
        let rebuilt = allowed.rebuilt && report["ledger"] == "rebuilt";
        assert!(
            run.code == 0 || rebuilt,
            "{case}: the next sync was not whole: {run:#?}"
        );
        for outcome in [
            "kept_user",
            "deleted_by_user",
            "merge_needed",
            "merge_skipped",
            "failed",
        ] {
            assert_eq!(
                report[outcome],
                json!([]),
                "{case}: {outcome} in {report:#}"
            );
        }
        if !allowed.kept_files {
            assert_eq!(
                report["files"]["kept_user"],
                json!([]),
                "{case}: {report:#}"
            );
        }
        report
    }

    /// Library, ledger, bases and state dir are what an undisturbed sync leaves.
    #[track_caller]
    fn assert_complete(&self, number: usize, report: &Value, allowed: &Allowed, case: &str) {
        let firmware = self.workshop.firmware(number);
        let kept: Vec<String> = names(&report["files"], "kept_user");
        let ledger = self.ledger();
        let records = ledger["skills"].as_object().unwrap();
        let mut files = self.files();
        for (name, shipped) in &firmware.skills {
            for (path, wanted) in shipped {
                let full = format!("{name}/{path}");
                let found = files.remove(&full);
                if kept.contains(&full) {
                    continue;
                }
                let (bytes, mode) = found.unwrap_or_else(|| panic!("{case}: {full} is missing"));
                assert!(
                    bytes == wanted.bytes,
                    "{case}: {full} is not firmware {number}'s"
                );
                let executable = mode & 0o111 != 0;
                assert_eq!(
                    executable, wanted.executable,
                    "{case}: the mode of {full} is {mode:o}"
                );
            }
            self.assert_recorded(name, firmware, &ledger, &kept, case);
        }
        let mut left = BTreeSet::new();
        for (path, (bytes, _)) in files {
            if allowed.own_files.contains(&path) {
                continue;
            }
            let (name, file) = path.split_once('/').unwrap_or((&path, ""));
            if allowed.kept_files && firmware.skills.contains_key(name) {
                continue;
            }
            let stale = !firmware.skills.contains_key(name) && records.contains_key(name);
            assert!(stale, "{case}: {path} is foreign in the library");
            let record = &records[name];
            assert_eq!(record["stale"], true, "{case}: {record:#}");
            let recorded = if file == "SKILL.md" {
                &record["effective_hash"]
            } else {
                &record["files"][file]["hash"]
            };
            if !allowed.kept_files {
                assert_eq!(
                    *recorded,
                    common::hash(&bytes),
                    "{case}: {path} in {record:#}"
                );
            }
            left.insert(name.to_owned());
        }
        for (name, record) in records {
            let known = firmware.skills.contains_key(name) || left.contains(name);
            assert!(
                known,
                "{case}: {name} has a record, but no file: {record:#}"
            );
        }
        self.assert_state_is_clean(records, case);
    }

    #[track_caller]
    fn assert_recorded(
        &self,
        name: &str,
        firmware: &Firmware,
        ledger: &Value,
        kept: &[String],
        case: &str,
    ) {
        let record = &ledger["skills"][name];
        let text = firmware.text(name);
        let wanted = json!(common::hash(text));
        let told = [&record["origin_hash"], &record["effective_hash"]];
        assert_eq!(told, [&wanted, &wanted], "{case}: {name} in {record:#}");
        assert_eq!(record["status"], "synced", "{case}: {name} in {record:#}");
        assert!(
            record.get("pending").is_none(),
            "{case}: an intent was left: {record:#}"
        );
        assert!(
            record.get("stale").is_none(),
            "{case}: {name} is not stale: {record:#}"
        );
        let base = self.state().join("bases").join(name).join("SKILL.md");
        let base = fs::read(&base).unwrap_or_else(|e| panic!("{case}: {}: {e}", base.display()));
        assert!(base == text, "{case}: the base of {name} is another text");
        let recorded = record["files"].as_object();
        let recorded = recorded.unwrap_or_else(|| panic!("{case}: no files in {record:#}"));
        let mut shipped = firmware.skills[name].clone();
        shipped.remove("SKILL.md");
        shipped.retain(|path, _| !kept.contains(&format!("{name}/{path}")));
        let paths: Vec<&String> = shipped.keys().collect();
        assert_eq!(
            recorded.keys().collect::<Vec<_>>(),
            paths,
            "{case}: {record:#}"
        );
        for (path, file) in shipped {
            assert_eq!(
                recorded[&path]["hash"],
                common::hash(&file.bytes),
                "{case}: {path} in {record:#}"
            );
        }
    }

    #[track_caller]
    fn assert_state_is_clean(&self, records: &serde_json::Map<String, Value>, case: &str) {
        assert_eq!(self.staged(), Vec::<String>::new(), "{case}: left in tmp");
        let known = [
            ".lock",
            ".bundled_manifest.json",
            ".bundled_manifest.json.prev",
            "bases",
            "tmp",
            "usage.json",
        ];
        for name in list(&self.state()) {
            let corrupt = name.starts_with(".bundled_manifest.json.corrupt-");
            assert!(
                corrupt || known.contains(&name.as_str()),
                "{case}: {name} in the state dir"
            );
        }
        for name in list(&self.state().join("bases")) {
            assert!(
                records.contains_key(&name),
                "{case}: a base of {name}, but no record"
            );
        }
    }

    /// What lies in the temporary directory.
    pub fn staged(&self) -> Vec<String> {
        let directory = self.state().join("tmp");
        if directory.exists() {
            list(&directory)
        } else {
            Vec::new()
        }
    }
}

fn list(directory: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    entries.map(name).collect()
}

fn collect(directory: &Path, below: &str, files: &mut BTreeMap<String, (Vec<u8>, u32)>) {
    for name in list(directory) {
        let path = directory.join(&name);
        let found = fs::symlink_metadata(&path).unwrap();
        let name = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        if found.is_dir() {
            collect(&path, &name, files);
        } else {
            assert!(found.is_file(), "{} is no regular file", path.display());
            files.insert(name, (fs::read(&path).unwrap(), found.permissions().mode()));
        }
    }
}

pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in list(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        if fs::symlink_metadata(&from).unwrap().is_dir() {
            copy_tree(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}
