//! One whole sync.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::apply::{LedgerWrite, apply};
use super::bundle::{Bundle, BundleState};
use super::ledger::{self, Ledger, LedgerError, LedgerState, Loaded};
use super::merge_job::EngineSetting;
use super::plan::Outcome;
use super::planner::Planner;
use super::report::{Merged, SkillSyncReport};
use super::settle::Settlement;
use crate::clock;
use crate::skill::SkillName;
use crate::store::{
    Context, Filesystem, Flush, Kind, LinuxFilesystem, LockError, MissingDirectory, StoreError,
    UnsafeFilesystem, UnsafeFilesystems, WriteLock, absent_as_none, advice, layout, state_file,
};
use crate::usage::Ages;

/// Where a sync finds things, and how it runs.
#[derive(Debug, Clone)]
pub struct SkillSyncOptions {
    /// The config dir; made where it is missing, in a directory that is there.
    pub config_dir: PathBuf,
    /// The bundle.
    pub bundled_skills_dir: PathBuf,
    /// Only say what would be done.
    pub dry_run: bool,
    /// How long to wait for another writer.
    pub lock_timeout: Duration,
    /// The merge engine setting: a merge that failed under another one is needed again.
    pub engine: EngineSetting,
    /// Whether to write where a rename is not atomic.
    pub unsafe_filesystems: UnsafeFilesystems,
    /// When skills that an agent made age; a sync ages none.
    pub ages: Ages,
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
            unsafe_filesystems: UnsafeFilesystems::default(),
            ages: Ages::default(),
        }
    }
}

/// Why nothing could be done.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The config dir can't be opened or made.
    #[error("cannot open the config dir {path}: {source}{}", config_advice(.source))]
    ConfigDir {
        /// The directory.
        path: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// The config dir lies where a cut can tear files.
    #[error("{0}; nothing was changed")]
    Unsafe(UnsafeFilesystem),
    /// The library root is not a directory.
    #[error("the library {path} {what}; nothing was changed")]
    LibraryRoot {
        /// The library root.
        path: String,
        /// What it is.
        what: String,
    },
    /// Something stands in the way of one skill.
    #[error("{name}: {reason}")]
    Skill {
        /// The skill.
        name: String,
        /// What, and what to do about it.
        reason: String,
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

impl SyncError {
    /// The config dir can't be opened or made.
    #[must_use]
    pub fn config_dir(path: &Path, source: std::io::Error) -> Self {
        let source = match source.downcast::<UnsafeFilesystem>() {
            Ok(refused) => return Self::Unsafe(refused),
            Err(source) => source,
        };
        Self::ConfigDir {
            path: path.display().to_string(),
            source,
        }
    }
}

fn config_advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            "; is its partition mounted? Make the directory, or name another with --config-dir"
        }
        _ => advice(error),
    }
}

/// Settles what a cut left, then brings the library up to date with the bundle.
///
/// # Errors
/// When nothing could be done: no file of the library was written, but what an interrupted sync left may have
/// been settled.
pub fn sync_bundled_skills(options: &SkillSyncOptions) -> Result<SkillSyncReport, SyncError> {
    let bundle = Bundle::open(&options.bundled_skills_dir);
    let state = options.config_dir.join(layout::STATE);
    if bundle.state != BundleState::Ok && !state.exists() {
        let mut report = SkillSyncReport::new(bundle.state, LedgerState::New, options.dry_run);
        report.problems.extend(bundle.problem);
        return Ok(report);
    }
    if options.dry_run {
        return sync_tree(&*open_to_look(&options.config_dir)?, &bundle, options);
    }
    sync_tree(&open_to_write(options)?, &bundle, options)
}

/// The config dir, to write in it; made where it is missing.
pub(crate) fn open_to_write(options: &SkillSyncOptions) -> Result<LinuxFilesystem, SyncError> {
    let (directory, on) = (&options.config_dir, options.unsafe_filesystems);
    LinuxFilesystem::open_to_write(directory, on).map_err(|e| SyncError::config_dir(directory, e))
}

/// The config dir, to look at only; one that is not there yet is empty.
pub(crate) fn open_to_look(config_dir: &Path) -> Result<Box<dyn Filesystem>, SyncError> {
    match LinuxFilesystem::open(config_dir) {
        Ok(filesystem) => Ok(Box::new(filesystem)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Ok(Box::new(MissingDirectory::new(config_dir)))
        }
        Err(e) => Err(SyncError::config_dir(config_dir, e)),
    }
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
    report.problems.extend(settled.problem.take());
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
        let write = LedgerWrite {
            ledger: &settled.ledger,
            forced: settled.must_write,
            unreadable: settled.unreadable,
            now,
            flush: Flush::Filesystem,
        };
        let applied = apply(lock, bundle.tree(), &mut plans, &write)?;
        report.files = applied.files;
        report.problems.extend(applied.error);
        let recorded = |name: &str| plans.get(name).is_some_and(|p| p.plan.record.is_some());
        if let Err(e) = remove_orphaned_bases(lock, &recorded) {
            report.problems.push(e.to_string());
        }
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
        if failed {
            report.merged.retain(|merged| merged.name != name);
        }
        if failed || !finished.contains(&name) {
            report.add(&name, planned.plan.outcome);
        }
    }
    report.skipped_entries.sort();
    report.files.kept_user.sort();
    Ok(())
}

/// A base whose record is gone is of no use, and would bring the record back should the ledger be lost.
fn remove_orphaned_bases(
    lock: &WriteLock<'_>,
    recorded: &dyn Fn(&str) -> bool,
) -> Result<(), StoreError> {
    let filesystem = lock.filesystem();
    let bases = layout::bases();
    let entries = absent_as_none(filesystem.read_dir(&bases)).during(filesystem, "list", &bases)?;
    for entry in entries.unwrap_or_default() {
        let name = entry.name.to_str().map(SkillName::try_from);
        if let Some(Ok(name)) = name.filter(|_| entry.kind == Kind::Directory)
            && !recorded(name.as_str())
        {
            lock.remove_base(&ledger::base_path(&name));
        }
    }
    Ok(())
}

/// A ledger without intents.
pub(super) struct Settled {
    pub ledger: Ledger,
    pub finished: Vec<Merged>,
    pub foreign: Vec<String>,
    /// Leftovers that can't be removed.
    pub problem: Option<String>,
    /// The ledger on disk is missing, or it or a record of it can't be read.
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
    let mut problem = None;
    if let Some(lock) = lock.filter(|_| !settlement.is_clean()) {
        if unreadable && settlement.had_intents() {
            state_file::set_aside(lock, layout::LEDGER)?;
        }
        problem = settlement.apply(lock, !unreadable, now)?;
        if settlement.had_intents() {
            must_write = false;
            unreadable = false;
        }
    }
    Ok(Settled {
        ledger: settlement.ledger,
        finished: settlement.finished,
        foreign: settlement.foreign,
        problem,
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
                    "is a symbolic link, and links are never followed: put a plain directory there"
                        .into(),
                ));
            }
            Kind::File | Kind::Special => {
                return Err(wrong("is not a directory: move it away".into()));
            }
        },
        Err(e) => return Err(wrong(format!("can't be examined: {e}"))),
    }
    if let (Ok(library), Ok(state)) = (
        filesystem.metadata(&path),
        filesystem.metadata(&layout::state()),
    ) && library.id.0 != state.id.0
    {
        let what = format!(
            "lies on another file system than {}: files can't be renamed from there; put both on one",
            layout::STATE
        );
        return Err(wrong(what));
    }
    match filesystem.read_dir(&path) {
        Ok(_) => Ok(true),
        Err(e) => Err(wrong(format!("can't be listed: {e}"))),
    }
}
