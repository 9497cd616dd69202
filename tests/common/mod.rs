//! A board for the tests: a firmware bundle and a config dir in a temporary directory, and the program run
//! on them as a boot script runs it.

#![allow(dead_code, missing_docs, clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod snapshot;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use snapshot::Snapshot;

/// Longer than any run may take; a run that hangs fails its test instead of blocking all.
const PATIENCE: Duration = Duration::from_secs(60);

/// The arrays of a sync report of which every skill is in exactly one.
pub const SKILL_ARRAYS: [&str; 12] = [
    "copied",
    "updated",
    "adopted",
    "repaired",
    "unchanged",
    "kept_user",
    "deleted_by_user",
    "stale",
    "merged",
    "merge_needed",
    "merge_skipped",
    "failed",
];

/// The text of a valid SKILL.md.
pub fn skill_text(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
}

/// Version `n` of the firmware's text of a skill.
pub fn version(name: &str, n: u32) -> String {
    skill_text(
        name,
        &format!("What {name} does, version {n}"),
        &format!("Do it as in version {n}."),
    )
}

/// A text that only the user can have written.
pub fn edited(name: &str) -> String {
    skill_text(name, &format!("My own {name}"), "Do it my way.")
}

pub fn hash(bytes: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(bytes.as_ref());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The key of contract §5.
pub fn merge_key(mode: &str, name: &str, base: &str, upstream: &str, local: &str) -> String {
    hash(format!("{mode}|{name}|{base}|{upstream}|{local}"))
}

/// A run of the program.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The one JSON document on standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("standard output is not one JSON document ({e}): {self:#?}"))
    }

    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code of {self:#?}");
        self
    }
}

/// Runs a command, but not for ever.
pub fn run(command: &mut Command) -> Run {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let out = drain(child.stdout.take().unwrap());
    let err = drain(child.stderr.take().unwrap());
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Run {
        code: status
            .code()
            .unwrap_or_else(|| panic!("{command:?} was killed: {status}")),
        stdout: out.join().unwrap(),
        stderr: err.join().unwrap(),
    }
}

fn drain(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A firmware bundle and a config dir.
pub struct Board {
    dir: TempDir,
}

impl Board {
    /// An empty bundle, and a config dir as it is at first boot.
    pub fn new() -> Self {
        Self::in_dir(tempfile::tempdir().unwrap())
    }

    pub fn in_dir(dir: TempDir) -> Self {
        fs::create_dir(dir.path().join("bundle")).unwrap();
        fs::create_dir(dir.path().join("agent")).unwrap();
        Self { dir }
    }

    /// A board that was synced once with version 1 of these skills.
    pub fn synced(names: &[&str]) -> Self {
        let board = Self::new();
        for name in names {
            board.skill(name, &version(name, 1));
        }
        board.sync().expect(0);
        board
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn bundle(&self) -> PathBuf {
        self.root().join("bundle")
    }

    pub fn agent(&self) -> PathBuf {
        self.root().join("agent")
    }

    pub fn library(&self) -> PathBuf {
        self.agent().join("skills")
    }

    pub fn state(&self) -> PathBuf {
        self.agent().join("skill-state")
    }

    pub fn user_path(&self, path: &str) -> PathBuf {
        self.library().join(path)
    }

    pub fn base_path(&self, name: &str) -> PathBuf {
        self.state().join("bases").join(name).join("SKILL.md")
    }

    pub fn staged_path(&self, path: &str) -> PathBuf {
        self.state().join("tmp/v1").join(path)
    }

    pub fn ledger_path(&self) -> PathBuf {
        self.state().join(".bundled_manifest.json")
    }

    /// The firmware ships this SKILL.md.
    pub fn skill(&self, name: &str, text: &str) {
        self.bundle_file(&format!("{name}/SKILL.md"), text);
    }

    pub fn bundle_file(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write(&self.bundle().join(path), bytes);
    }

    /// The firmware ships this no more.
    pub fn unship(&self, path: &str) {
        remove(&self.bundle().join(path));
    }

    /// The user writes a file of the library.
    pub fn user_file(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write(&self.user_path(path), bytes);
    }

    /// The user writes a SKILL.md.
    pub fn user_skill(&self, name: &str, text: &str) {
        self.user_file(&format!("{name}/SKILL.md"), text);
    }

    /// The user removes a file or a directory of the library.
    pub fn user_removes(&self, path: &str) {
        remove(&self.user_path(path));
    }

    pub fn read(&self, path: &str) -> String {
        let path = self.user_path(path);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn text(&self, name: &str) -> String {
        self.read(&format!("{name}/SKILL.md"))
    }

    pub fn base(&self, name: &str) -> String {
        let path = self.base_path(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(self.user_path(path)).is_ok()
    }

    /// The program, with the board's directories in flags and nothing of ours in its environment.
    pub fn command<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = bare_command();
        command.arg("--config-dir").arg(self.agent());
        command.arg("--bundled-dir").arg(self.bundle());
        command.args(arguments);
        command
    }

    pub fn run<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Run {
        run(&mut self.command(arguments))
    }

    /// `sync --json`; of every report the rules hold that concern all reports.
    pub fn sync(&self) -> Run {
        self.sync_with(&[])
    }

    pub fn sync_with(&self, flags: &[&str]) -> Run {
        let arguments = [&["--json", "sync"], flags].concat();
        let run = self.run(&arguments);
        if matches!(run.code, 0 | 3) {
            check_report(&run.json());
        }
        run
    }

    pub fn ledger_text(&self) -> String {
        fs::read_to_string(self.ledger_path()).unwrap()
    }

    pub fn ledger(&self) -> Value {
        serde_json::from_str(&self.ledger_text()).unwrap()
    }

    pub fn set_ledger(&self, ledger: &Value) {
        write(
            &self.ledger_path(),
            serde_json::to_string_pretty(ledger).unwrap(),
        );
    }

    /// A ledger with these records.
    pub fn set_records(&self, records: Value) {
        self.set_ledger(&json!({
            "version": 1, "updated_at": "2026-05-25T10:30:00+08:00", "skills": records
        }));
    }

    pub fn change_ledger(&self, change: impl FnOnce(&mut Value)) {
        let mut ledger = self.ledger();
        change(&mut ledger);
        self.set_ledger(&ledger);
    }

    pub fn change_record(&self, name: &str, change: impl FnOnce(&mut Value)) {
        self.change_ledger(|ledger| change(&mut ledger["skills"][name]));
    }

    /// A record of the ledger; `null` where there is none.
    pub fn record(&self, name: &str) -> Value {
        self.ledger()["skills"][name].clone()
    }

    /// Status, O and E of a record are these; all the contract's names at once.
    #[track_caller]
    pub fn assert_record(&self, name: &str, status: &str, origin: &str, effective: &str) {
        let record = self.record(name);
        assert_eq!(record["status"], status, "status in {record:#}");
        assert_eq!(
            record["origin_hash"],
            hash(origin),
            "origin_hash in {record:#}"
        );
        assert_eq!(
            record["effective_hash"],
            hash(effective),
            "effective_hash in {record:#}"
        );
        assert!(
            record.get("pending").is_none(),
            "an intent was left: {record:#}"
        );
    }

    /// Everything beneath the board's directory.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(self.root())
    }

    /// Another sync does nothing and leaves no trace, not even a time of access.
    #[track_caller]
    pub fn assert_at_rest(&self) -> Value {
        let before = self.snapshot();
        snapshot::forget_access(self.root());
        let run = self.sync();
        let accessed = snapshot::accessed(self.root());
        before.assert_same(&self.snapshot());
        let report = run.json();
        assert_eq!(report["flushes"], 0, "a no-op flushed: {report:#}");
        for array in ["copied", "updated", "adopted", "repaired", "merged"] {
            assert_eq!(
                report[array],
                json!([]),
                "a no-op did something: {report:#}"
            );
        }
        assert_eq!(
            accessed,
            Vec::<PathBuf>::new(),
            "a no-op changed the time of access of these"
        );
        report
    }
}

/// The program without any arguments, and nothing of ours in its environment.
pub fn bare_command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aiden-skills"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AIDEN_") {
            command.env_remove(name);
        }
    }
    command.env_remove("NO_COLOR");
    command
}

/// What holds of every report of a sync.
#[track_caller]
pub fn check_report(report: &Value) {
    let mut seen = std::collections::BTreeSet::new();
    for array in SKILL_ARRAYS {
        let names = names(report, array);
        let mut sorted = names.clone();
        sorted.sort();
        assert_eq!(names, sorted, "{array} is not sorted by name: {report:#}");
        for name in names {
            assert!(
                seen.insert(name.clone()),
                "{name} is in two arrays: {report:#}"
            );
        }
    }
    if report["bundle"] != "ok" {
        assert_eq!(
            seen.len(),
            0,
            "the bundle was not used, the arrays must be empty: {report:#}"
        );
    }
}

/// The names in one of a report's arrays.
#[track_caller]
pub fn names(report: &Value, array: &str) -> Vec<String> {
    let entries = report[array]
        .as_array()
        .unwrap_or_else(|| panic!("no array {array} in {report:#}"));
    let name = |entry: &Value| {
        let name = entry.as_str().or_else(|| entry["name"].as_str());
        name.unwrap_or_else(|| panic!("{array} has {entry}"))
            .to_owned()
    };
    entries.iter().map(name).collect()
}

/// The skill is in this array of the report, and so in no other.
#[track_caller]
pub fn assert_outcome(report: &Value, name: &str, array: &str) {
    let found = SKILL_ARRAYS
        .iter()
        .find(|array| names(report, array).iter().any(|one| one == name));
    assert_eq!(found, Some(&array), "the outcome of {name} in {report:#}");
}

/// The reason that a report gives for a failed skill.
#[track_caller]
pub fn failure(report: &Value, name: &str) -> String {
    let failed = report["failed"].as_array().unwrap();
    let entry = failed.iter().find(|entry| entry["name"] == name);
    let entry = entry.unwrap_or_else(|| panic!("{name} did not fail: {report:#}"));
    entry["error"].as_str().unwrap().to_owned()
}

pub fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub fn remove(path: &Path) {
    let found = fs::symlink_metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if found.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}
