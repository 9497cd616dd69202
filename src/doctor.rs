//! What is wrong with library, ledger, bases and configuration, and what repairs it; changes nothing.

use std::time::Duration;

use serde::Serialize;

use crate::config::Settings;
use crate::evolve::faulty_workspaces;
use crate::library::{self, Library};
use crate::merge::llm::Llm;
use crate::store::{
    FileHasher, Filesystem, Hash, Kind, LinuxFilesystem, LockError, RelPath, WriteLock,
    absent_as_none, layout, leftovers,
};
use crate::sync::ledger::{self, Ledger, Record};
use crate::sync::{
    Bundle, BundleState, EngineSetting, SkillSyncOptions, SyncError, check_library_root,
    interrupted, skill_status,
};
use crate::usage::{Ages, Usage};

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub subject: String,
    /// What is wrong.
    pub problem: String,
    /// What repairs it.
    pub repair: String,
}

/// Length of the merge keys that the existing agent writes.
const OLD_KEY_LEN: usize = "sha256:".len() + 16;
/// Less than this, and an update of a few skills may not fit beside the old ones.
const LITTLE_SPACE_BYTES: u64 = 1024 * 1024;

/// Examines everything beneath the config dir.
///
/// # Errors
/// As a sync: when nothing can be examined.
pub fn examine(settings: &Settings, options: &SkillSyncOptions) -> Result<Vec<Finding>, SyncError> {
    let filesystem = LinuxFilesystem::open(&options.config_dir)
        .map_err(|e| SyncError::config_dir(&options.config_dir, e))?;
    let library_exists = check_library_root(&filesystem)?;
    // What another process is in the middle of looks like damage.
    let _held = wait_for_writers(&filesystem, options.lock_timeout)?;
    let mut doctor = Doctor {
        filesystem: &filesystem,
        findings: Vec::new(),
    };
    doctor.configuration(settings);
    doctor.bundle(options);
    let loaded = ledger::load(&filesystem)?;
    for problem in &loaded.problems {
        doctor.find(
            layout::LEDGER,
            problem,
            "the next sync writes it anew and keeps the old one aside",
        );
    }
    if !library_exists && !loaded.ledger.records.is_empty() {
        doctor.find(
            layout::LIBRARY,
            "the library is gone, though the ledger has records",
            "the next sync seeds it again, without the skills that the user had deleted",
        );
    }
    doctor.ledger(&loaded.ledger);
    doctor.leftovers(&loaded.ledger)?;
    doctor.usage();
    doctor.permissions()?;
    doctor.medium();
    doctor.next_sync(options)?;
    let library = library::scan(&filesystem)?;
    doctor.library(&library, settings);
    for (skill, faults) in faulty_workspaces(options) {
        doctor.find(
            &skill,
            format!("{faults} faults are in the documents of what it has learned"),
            format!("'aiden-skills evolve validate --skill {skill}' names them; 'evolve rollback' restores the bank"),
        );
    }
    Ok(doctor.findings)
}

/// Holds the lock, if there is one already: nothing is made for a look.
fn wait_for_writers(
    filesystem: &LinuxFilesystem,
    timeout: Duration,
) -> Result<Option<WriteLock<'_>>, SyncError> {
    if filesystem.metadata(&layout::lock()).is_err() {
        return Ok(None);
    }
    match WriteLock::acquire(filesystem, timeout) {
        Ok(held) => Ok(Some(held)),
        Err(busy @ LockError::Busy { .. }) => Err(busy.into()),
        // What is wrong with the lock is told with all else.
        Err(LockError::Store(_)) => Ok(None),
    }
}

struct Doctor<'a> {
    filesystem: &'a LinuxFilesystem,
    findings: Vec<Finding>,
}

impl Doctor<'_> {
    fn find(&mut self, subject: &str, problem: impl Into<String>, repair: impl Into<String>) {
        self.findings.push(Finding {
            subject: subject.to_owned(),
            problem: problem.into(),
            repair: repair.into(),
        });
    }

    fn configuration(&mut self, settings: &Settings) {
        for problem in settings.warnings.iter().chain(&settings.broken) {
            self.find("configuration", problem, "correct the value");
        }
        let Ages {
            stale_days,
            archive_days,
        } = settings.ages;
        if archive_days < stale_days {
            self.find(
                "agent.toml",
                format!("archive_days ({archive_days}) is less than stale_days ({stale_days}): no skill is ever stale, it is archived at once"),
                "let archive_days be the larger one",
            );
        }
        if let Err(e) = settings.tools() {
            self.find(
                "tools file",
                e,
                "correct the file, or the setting that names it",
            );
        }
        let asks = matches!(settings.engine, EngineSetting::Auto | EngineSetting::Llm);
        if asks && settings.model.is_named() {
            let model = settings.model.settings(&|name| std::env::var_os(name));
            let made = model.map_err(|e| e.to_string()).and_then(Llm::new);
            if let Err(e) = made {
                let repair = "correct [model] or [skills.merge] in agent.toml";
                self.find(
                    "agent.toml",
                    format!("no skill can be merged by a model: {e}"),
                    repair,
                );
            }
        }
    }

    fn bundle(&mut self, options: &SkillSyncOptions) {
        let bundle = Bundle::open(&options.bundled_skills_dir);
        if bundle.state != BundleState::Ok {
            let problem = bundle.problem.clone().unwrap_or_default();
            self.find(
                "bundle",
                problem,
                "mount the firmware's partition, or name the directory with --bundled-dir",
            );
        }
        let mut hasher = FileHasher::default();
        let names: Vec<String> = bundle
            .names()
            .filter(|name| bundle.has(name, false))
            .cloned()
            .collect();
        for name in names {
            // What makes a skill fail is told with the next sync.
            let skill = bundle.read(&name, &mut hasher, |_| true);
            for entry in skill.map(|skill| skill.skipped).unwrap_or_default() {
                let problem = format!("{} is never copied: {}", entry.path, entry.error);
                self.find("bundle", problem, "correct it in the next firmware");
            }
        }
    }

    fn ledger(&mut self, ledger: &Ledger) {
        for (name, paths) in interrupted(ledger) {
            let problem = format!("writing {name} was interrupted ({paths} paths)");
            self.find(layout::LEDGER, problem, "the next sync settles it");
        }
        let foreign: Vec<&str> = ledger
            .records
            .iter()
            .filter(|(_, record)| written_by_the_existing_agent(record))
            .map(|(name, _)| name.as_str())
            .collect();
        if !foreign.is_empty() {
            let problem = format!(
                "it looks as if another program's sync had written these records: {}",
                foreign.join(", ")
            );
            self.find(
                layout::LEDGER,
                problem,
                "switch off the agent's own skill sync; the next sync adds what is missing",
            );
        }
        let mut hasher = FileHasher::default();
        for (name, record) in &ledger.records {
            self.base(name, record, &mut hasher);
        }
    }

    fn base(&mut self, name: &str, record: &Record, hasher: &mut FileHasher) {
        let Some(origin) = record.origin_hash.filter(|_| !record.is_deleted()) else {
            return;
        };
        let path = layout::bases()
            .child(name)
            .and_then(|directory| directory.child(crate::skill::SKILL_FILE));
        let Ok(path) = path else {
            return;
        };
        let found: Option<Hash> = match hasher.hash(self.filesystem, &path) {
            Ok(state) => state.map(|state| state.hash),
            Err(e) => {
                let repair = "put a plain file there, or remove what is there; then run a sync";
                return self.find(name, format!("the base {path} can't be read: {e}"), repair);
            }
        };
        if found != Some(origin) {
            let what = if found.is_some() {
                "is not the text it should be"
            } else {
                "is missing"
            };
            let repair = "remove it; if the bundle still has that text, the next sync writes it, else the next merge goes without a base";
            self.find(name, format!("the base {path} {what}"), repair);
        }
    }

    fn leftovers(&mut self, ledger: &Ledger) -> Result<(), SyncError> {
        let (ours, foreign) = leftovers(self.filesystem)?;
        if ours && !ledger.has_pending() {
            let problem = "temporary files were left behind";
            self.find(layout::TEMPORARY, problem, "the next sync removes them");
        }
        for entry in foreign {
            let problem = format!("{entry} is not of a format that this version knows");
            let repair = "another version of the program owns it; remove it if there is none";
            self.find(layout::TEMPORARY, problem, repair);
        }
        let state = layout::state();
        let entries = absent_as_none(self.filesystem.read_dir(&state))
            .map_err(|e| crate::store::StoreError::new(self.filesystem, "list", &state, e))?;
        for entry in entries.unwrap_or_default() {
            let name = entry.name.to_string_lossy();
            if name.contains(".corrupt-") {
                let problem = format!("{name} was kept when it could not be read");
                self.find(layout::STATE, problem, "look at it, then remove it");
            }
        }
        Ok(())
    }

    fn usage(&mut self) {
        let loaded = Usage::load(self.filesystem);
        if let Some(reason) = loaded.unreadable {
            let repair =
                "it counts from zero again when it is next written; the old one is kept aside";
            self.find(layout::USAGE, format!("it can't be read: {reason}"), repair);
        }
        for (name, views, uses) in loaded.usage.misleading() {
            let problem = format!("it was read {views} times, but used only {uses} times");
            self.find(
                name,
                problem,
                "say in its description more exactly when to use it",
            );
        }
        for (name, changes) in loaded.usage.unstable() {
            let problem = format!("it was changed {changes} times");
            self.find(
                name,
                problem,
                "review it: the flow it describes does not hold still",
            );
        }
    }

    fn permissions(&mut self) -> Result<(), SyncError> {
        let root = layout::library();
        let Some(library) = absent_as_none(self.filesystem.metadata(&root))
            .ok()
            .flatten()
        else {
            return Ok(());
        };
        let state = layout::state();
        let files = [layout::LEDGER, layout::USAGE, ".lock"].map(layout::state_file);
        for path in [root, state].into_iter().chain(files) {
            let Some(found) = absent_as_none(self.filesystem.metadata(&path))
                .ok()
                .flatten()
            else {
                continue;
            };
            self.permission(&path, &found, library.owner);
        }
        Ok(())
    }

    fn medium(&mut self) {
        let shown = self.filesystem.location().display().to_string();
        if let Ok(Some(kind)) = self.filesystem.unsafe_kind() {
            let problem = format!("it is on {kind}, where a power cut can tear files");
            self.find(&shown, problem, "put the config dir on ext4, f2fs or UBIFS");
        }
        let Ok(space) = self.filesystem.space() else {
            return;
        };
        if space.read_only {
            let repair =
                "mount it read-write, or see the kernel's log for the error that made it so";
            self.find(&shown, "the file system is read-only", repair);
        } else if space.free_bytes < LITTLE_SPACE_BYTES {
            let problem = format!("there are only {} KiB free", space.free_bytes / 1024);
            self.find(&shown, problem, "free some space on that file system");
        }
    }

    /// What stands in the way of the next sync.
    fn next_sync(&mut self, options: &SkillSyncOptions) -> Result<(), SyncError> {
        for skill in skill_status(options, &[])?.skills {
            if let Some(error) = skill.error.filter(|_| skill.next == "failed") {
                self.find(
                    &skill.name,
                    format!("the next sync fails: {error}"),
                    "do what it says, then run a sync",
                );
            }
        }
        Ok(())
    }

    fn permission(
        &mut self,
        path: &RelPath,
        found: &crate::store::Metadata,
        owner: crate::store::Owner,
    ) {
        let shown = path.to_string();
        let is_file = *path != layout::library() && *path != layout::state();
        if is_file && !matches!(found.kind, Kind::File | Kind::Link) {
            self.find(&shown, "it is not a regular file", "move it away");
        } else if found.kind == Kind::Link {
            self.find(
                &shown,
                "it is a symbolic link, which is never followed",
                "put a plain file or directory there",
            );
        } else if found.owner != owner {
            let (uid, gid) = (owner.uid, owner.gid);
            let problem = format!(
                "it belongs to {}:{}, but the library to {uid}:{gid}",
                found.owner.uid, found.owner.gid
            );
            self.find(&shown, problem, format!("chown {uid}:{gid} {shown}"));
        } else if found.mode & 0o002 != 0 {
            self.find(
                &shown,
                "everybody may write it",
                format!("chmod o-w {shown}"),
            );
        }
    }

    fn library(&mut self, library: &Library, settings: &Settings) {
        let tools = settings.tools().ok().flatten();
        for skill in &library.skills {
            let subject = format!("{}/{}", layout::LIBRARY, skill.directory);
            let document = match &skill.document {
                Ok(document) => document,
                Err(e) => {
                    let repair = format!(
                        "correct the file; a built-in skill is restored by: aiden-skills reset {} --restore",
                        skill.directory
                    );
                    self.find(&subject, format!("it does not load: {e}"), repair);
                    continue;
                }
            };
            let unknown = tools
                .as_ref()
                .map(|tools| tools.unknown(document.allowed_tools()));
            for tool in unknown.unwrap_or_default() {
                let problem = format!("it allows the tool {tool:?}, which does not exist");
                self.find(&subject, problem, "correct the name in allowed_tools");
            }
            if !skill.directory.as_str().contains('/')
                && document.name() != skill.directory.as_str()
            {
                let problem = format!(
                    "its name is {:?}, not that of its directory",
                    document.name()
                );
                self.find(&subject, problem, "make them the same");
            }
        }
        for problem in &library.problems {
            let subject = format!("{}/{}", layout::LIBRARY, problem.path);
            self.find(&subject, &problem.message, "as it says");
        }
    }
}

/// That program stores short keys and absolute paths, and drops the fields it does not know.
fn written_by_the_existing_agent(record: &Record) -> bool {
    let keys = [&record.last_merged_key, &record.last_failed_merge_key];
    let short = keys
        .into_iter()
        .flatten()
        .any(|key| key.len() == OLD_KEY_LEN);
    let absolute = record
        .base_path
        .as_deref()
        .is_some_and(|path| path.starts_with('/'));
    let without_files = record.files.is_none()
        && record.origin_hash.is_some()
        && !record.is_deleted()
        && !record.stale;
    short || absolute || without_files
}
