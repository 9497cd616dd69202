//! One whole sync.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::apply::{LedgerWrite, Planned, apply};
use super::bundle::{Bundle, BundleState};
use super::decide::{Decision, UserText, decide};
use super::ledger::{self, Ledger, LedgerError, LedgerState, Loaded, Record, base_path};
use super::merge_job::EngineSetting;
use super::plan::{Observed, Outcome, SkillPlan, files_follow, plan_skill, plan_stale};
use super::report::SkillSyncReport;
use super::settle::Settlement;
use super::{BundledSkill, observe};
use crate::clock;
use crate::library::{self, Library};
use crate::skill::SkillName;
use crate::store::{
    Context, FileHasher, Filesystem, Kind, LinuxFilesystem, LockError, StoreError, WriteLock,
    absent_as_none, layout, state_file,
};

/// Where a sync finds things, and how it runs.
#[derive(Debug, Clone)]
pub struct SkillSyncOptions {
    /// The config dir; made where it is missing.
    pub config_dir: PathBuf,
    /// The bundle.
    pub bundled_skills_dir: PathBuf,
    /// Only say what would be done.
    pub dry_run: bool,
    /// How long to wait for another writer.
    pub lock_timeout: Duration,
    /// The merge engine setting: a merge that failed under another one is needed again.
    pub engine: EngineSetting,
}

impl SkillSyncOptions {
    /// A sync of `bundled_skills_dir` into `config_dir` that waits 10 s for the lock.
    #[must_use]
    pub fn new(config_dir: impl Into<PathBuf>, bundled_skills_dir: impl Into<PathBuf>) -> Self {
        Self {
            config_dir: config_dir.into(),
            bundled_skills_dir: bundled_skills_dir.into(),
            dry_run: false,
            lock_timeout: Duration::from_secs(10),
            engine: EngineSetting::default(),
        }
    }
}

/// Why nothing could be done.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The config dir can't be opened or made.
    #[error(
        "cannot open the config dir {path}: {source}; make it, or name another with --config-dir"
    )]
    ConfigDir {
        /// The directory.
        path: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// The library root is not a directory.
    #[error(
        "the library {path} {what}; nothing was changed. Put a plain directory there, or remove it"
    )]
    LibraryRoot {
        /// The library root.
        path: String,
        /// What it is.
        what: String,
    },
    /// The lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The file system; nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Settles what a cut left, then brings the library up to date with the bundle.
///
/// # Errors
/// When nothing could be done; the library is as it was.
pub fn sync_bundled_skills(options: &SkillSyncOptions) -> Result<SkillSyncReport, SyncError> {
    let bundle = Bundle::open(&options.bundled_skills_dir);
    let config_error = |source| SyncError::ConfigDir {
        path: options.config_dir.display().to_string(),
        source,
    };
    let state = options.config_dir.join(layout::STATE);
    if bundle.state != BundleState::Ok && !state.exists() {
        let mut report = SkillSyncReport::new(bundle.state, LedgerState::New, options.dry_run);
        report.problems.extend(bundle.problem);
        return Ok(report);
    }
    let filesystem = if options.dry_run {
        LinuxFilesystem::open(&options.config_dir)
    } else {
        LinuxFilesystem::open_or_create(&options.config_dir)
    };
    sync_tree(&filesystem.map_err(config_error)?, &bundle, options)
}

/// The same on any file system, for tests that fail or stop single calls.
///
/// # Errors
/// As [`sync_bundled_skills`].
pub fn sync_tree(
    filesystem: &dyn Filesystem,
    bundle: &Bundle,
    options: &SkillSyncOptions,
) -> Result<SkillSyncReport, SyncError> {
    let before = filesystem.flushes();
    check_library_root(filesystem)?;
    let lock = if options.dry_run {
        None
    } else {
        Some(WriteLock::acquire(filesystem, options.lock_timeout)?)
    };
    let now = clock::now();
    let loaded = ledger::load(filesystem)?;
    let mut report = SkillSyncReport::new(bundle.state, loaded.state, options.dry_run);
    report.problems.extend(loaded.problems.iter().cloned());
    report.problems.extend(bundle.problem.clone());
    let mut settled = settle(filesystem, lock.as_ref(), loaded, bundle, &now)?;
    for entry in &settled.foreign {
        let place = layout::temporary();
        let problem =
            format!("{place}/{entry} is not of a format that this version knows; it was left");
        report.problems.push(problem);
    }
    report.merged.append(&mut settled.finished);
    if bundle.state == BundleState::Ok {
        sync_settled(
            filesystem,
            lock.as_ref(),
            bundle,
            options,
            &settled,
            &now,
            &mut report,
        )?;
    }
    report.flushes = filesystem.flushes() - before;
    Ok(report)
}

fn sync_settled(
    filesystem: &dyn Filesystem,
    lock: Option<&WriteLock<'_>>,
    bundle: &Bundle,
    options: &SkillSyncOptions,
    settled: &Settled,
    now: &str,
    report: &mut SkillSyncReport,
) -> Result<(), SyncError> {
    report
        .skipped_entries
        .extend(bundle.skipped().iter().cloned());
    let mut planner = Planner::new(filesystem, bundle, &settled.ledger, options.engine)?;
    let mut plans = planner.plan_all(&mut report.skipped_entries);
    if let Some(lock) = lock {
        let forced = settled.must_write;
        if forced && settled.unreadable {
            state_file::set_aside(lock, layout::LEDGER)?;
        }
        let write = LedgerWrite {
            ledger: &settled.ledger,
            forced,
            keep_previous: !settled.unreadable,
            now,
        };
        report.files = apply(lock, bundle.tree(), &mut plans, &write, None)?;
    }
    let finished: BTreeSet<String> = report
        .merged
        .iter()
        .map(|merged| merged.name.clone())
        .collect();
    for (name, planned) in plans {
        let kept = planned.plan.kept_files.iter();
        report
            .files
            .kept_user
            .extend(kept.map(|path| format!("{name}/{path}")));
        let failed = matches!(planned.plan.outcome, Outcome::Failed(_));
        if failed || !finished.contains(&name) {
            report.add(&name, planned.plan.outcome);
        }
    }
    report.skipped_entries.sort();
    report.files.kept_user.sort();
    Ok(())
}

/// A ledger without intents.
pub(super) struct Settled {
    pub ledger: Ledger,
    pub finished: Vec<super::report::Merged>,
    pub foreign: Vec<String>,
    /// The ledger on disk is missing or can't be read.
    pub must_write: bool,
    pub unreadable: bool,
}

/// Settles, durably if there is a lock.
pub(super) fn settle(
    filesystem: &dyn Filesystem,
    lock: Option<&WriteLock<'_>>,
    loaded: Loaded,
    bundle: &Bundle,
    now: &str,
) -> Result<Settled, SyncError> {
    let upstream = |name: &str| bundle.text_hash(name);
    let settlement = Settlement::compute(filesystem, loaded.ledger, &upstream, now)?;
    let mut must_write = loaded.state == LedgerState::Rebuilt;
    let mut unreadable = loaded.unreadable;
    if let Some(lock) = lock.filter(|_| !settlement.is_clean()) {
        if unreadable && settlement.had_intents() {
            state_file::set_aside(lock, layout::LEDGER)?;
        }
        settlement.apply(lock, !unreadable, now)?;
        if settlement.had_intents() {
            must_write = false;
            unreadable = false;
        }
    }
    Ok(Settled {
        ledger: settlement.ledger,
        finished: settlement.finished,
        foreign: settlement.foreign,
        must_write,
        unreadable,
    })
}

/// Row 0c: a library root that is a link, a file or unreadable stops everything. Says whether it exists.
pub(crate) fn check_library_root(filesystem: &dyn Filesystem) -> Result<bool, SyncError> {
    let path = layout::library();
    let wrong = |what: String| SyncError::LibraryRoot {
        path: filesystem
            .location()
            .join(path.as_str())
            .display()
            .to_string(),
        what,
    };
    match absent_as_none(filesystem.metadata(&path)) {
        Ok(None) => return Ok(false),
        Ok(Some(found)) => match found.kind {
            Kind::Directory => {}
            Kind::Link => {
                return Err(wrong(
                    "is a symbolic link, and links are never followed".into(),
                ));
            }
            Kind::File | Kind::Special => return Err(wrong("is not a directory".into())),
        },
        Err(e) => return Err(wrong(format!("can't be examined: {e}"))),
    }
    match filesystem.read_dir(&path) {
        Ok(_) => Ok(true),
        Err(e) => Err(wrong(format!("can't be listed: {e}"))),
    }
}

/// Observes and plans skill by skill.
pub(super) struct Planner<'a> {
    filesystem: &'a dyn Filesystem,
    bundle: &'a Bundle,
    ledger: &'a Ledger,
    engine: EngineSetting,
    /// Row 0b: the library is gone though the ledger has records; data loss, not deletion.
    library_lost: bool,
    hasher: FileHasher,
    library: Option<Result<Library, String>>,
}

impl<'a> Planner<'a> {
    pub fn new(
        filesystem: &'a dyn Filesystem,
        bundle: &'a Bundle,
        ledger: &'a Ledger,
        engine: EngineSetting,
    ) -> Result<Self, StoreError> {
        let root = layout::library();
        let there =
            absent_as_none(filesystem.metadata(&root)).during(filesystem, "examine", &root)?;
        Ok(Self {
            filesystem,
            bundle,
            ledger,
            engine,
            library_lost: there.is_none() && !ledger.records.is_empty(),
            hasher: FileHasher::default(),
            library: None,
        })
    }

    /// Plans all bundled and all recorded skills.
    pub fn plan_all(
        &mut self,
        skipped: &mut Vec<super::SkippedEntry>,
    ) -> BTreeMap<String, Planned> {
        let names: BTreeSet<&String> = self
            .bundle
            .names()
            .chain(self.ledger.records.keys())
            .collect();
        let mut plans = BTreeMap::new();
        for name in names {
            if let Some(planned) = self.plan(name) {
                if let Some(bundled) = &planned.bundled {
                    skipped.extend(bundled.skipped.iter().cloned());
                }
                plans.insert(name.clone(), planned);
            }
        }
        plans
    }

    /// Plans one; `None` if there is no such skill in bundle or ledger.
    pub fn plan(&mut self, name: &str) -> Option<Planned> {
        let mut record = self.ledger.records.get(name);
        let in_bundle = self.bundle.has(name, record.is_some());
        if !in_bundle && record.is_none() {
            return None;
        }
        if self.library_lost {
            record = record.filter(|record| record.is_deleted());
        }
        let before = record.cloned();
        if !in_bundle {
            let plan = match record {
                Some(record) => plan_stale(record),
                None => SkillPlan::nothing(Outcome::Stale, None),
            };
            return Some(Planned {
                plan,
                bundled: None,
                before,
            });
        }
        Some(match self.plan_bundled(name, record) {
            Ok((plan, bundled)) => Planned {
                plan,
                bundled: Some(bundled),
                before,
            },
            Err(reason) => Planned {
                plan: SkillPlan::nothing(Outcome::Failed(reason), before.clone()),
                bundled: None,
                before,
            },
        })
    }

    fn plan_bundled(
        &mut self,
        name: &str,
        record: Option<&Record>,
    ) -> Result<(SkillPlan, BundledSkill), String> {
        // What this program recorded together with its files was valid when it was written.
        let known_good = |hash| {
            record.is_some_and(|record| record.files.is_some() && record.origin_hash == Some(hash))
        };
        let bundled = self.bundle.read(name, &mut self.hasher, known_good)?;
        let user = observe::user_skill(self.filesystem, &bundled.name)?;
        if record.is_none() {
            self.check_free(&bundled.name, user.text == UserText::Absent)?;
        }
        let decision = decide(bundled.text.hash, user.text, record);
        let files = if files_follow(decision) {
            observe::user_files(self.filesystem, &bundled, record, &mut self.hasher)?
        } else {
            BTreeMap::new()
        };
        let base = observe::base(
            self.filesystem,
            &base_path(&bundled.name),
            decision != Decision::Unchanged,
            &mut self.hasher,
        );
        let plan = plan_skill(&Observed {
            bundled: &bundled,
            user: &user,
            files: &files,
            record,
            base,
            engine: self.engine,
        });
        Ok((plan, bundled))
    }

    /// Row 2: a name without record must not be taken by something else.
    fn check_free(&mut self, name: &SkillName, text_is_absent: bool) -> Result<(), String> {
        let directory = observe::skill_directory(name);
        if text_is_absent && let Some(entry) = observe::foreign_content(self.filesystem, name)? {
            return Err(format!(
                "{directory} has no SKILL.md but other things in it (first: {entry:?}); move the directory away, or delete it, to get the shipped skill"
            ));
        }
        let filesystem = self.filesystem;
        let library = self
            .library
            .get_or_insert_with(|| library::scan(filesystem).map_err(|e| e.to_string()));
        let library = library.as_ref().map_err(Clone::clone)?;
        let own = |skill: &&library::LibrarySkill| skill.directory.as_str() == name.as_str();
        match library.named(name.as_str()).find(|skill| !own(skill)) {
            Some(other) => Err(format!(
                "the library has a skill of this name in {}/{}; rename that one, or delete it, to get the shipped skill",
                layout::library(),
                other.directory
            )),
            None => Ok(()),
        }
    }
}
