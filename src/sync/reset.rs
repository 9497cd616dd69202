//! The shipped skill again (seed §14): every bundled file, deleted ones too; the user's own extra files stay.

use std::collections::BTreeMap;

use serde::Serialize;

use super::apply::{LedgerWrite, Planned, apply};
use super::bundle::{Bundle, BundleState};
use super::ledger::{self, Ledger, Record, base_path};
use super::observe::{self, obstacle, skill_directory};
use super::plan::{Action, Outcome, Present, plan_reset};
use super::planner::Planner;
use super::report::Failed;
use super::run::{SkillSyncOptions, SyncError, check_library_root, open_to_write, settle};
use crate::clock;
use crate::store::{
    FileHasher, Filesystem, Flush, RelPath, StoreError, WriteLock, layout, state_file,
};
use crate::usage::{LoadedUsage, State, Usage};

/// Which skills to restore.
#[derive(Debug, Clone)]
pub enum Reset {
    /// These.
    Named(Vec<String>),
    /// Every bundled one, deleted ones too.
    All,
}

/// What a reset did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ResetReport {
    /// These have the shipped files again.
    pub restored: Vec<String>,
    /// These had them already.
    pub unchanged: Vec<String>,
    /// Nothing of these was changed, or the error says what.
    pub failed: Vec<Failed>,
    /// How often data was forced to flash.
    pub flushes: u64,
    /// What was wrong with the ledger or the usage file, for people.
    #[serde(skip)]
    pub problems: Vec<String>,
}

/// Why nothing could be restored.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// There is nothing to restore from.
    #[error("{0}; nothing was changed")]
    Bundle(String),
    /// As in a sync.
    #[error(transparent)]
    Sync(#[from] SyncError),
}

impl From<StoreError> for ResetError {
    fn from(error: StoreError) -> Self {
        Self::Sync(error.into())
    }
}

/// Restores skills to what the firmware ships.
///
/// # Errors
/// When nothing could be done; all is as it was.
pub fn reset_skills(options: &SkillSyncOptions, reset: &Reset) -> Result<ResetReport, ResetError> {
    let bundle = Bundle::open(&options.bundled_skills_dir);
    if bundle.state != BundleState::Ok {
        return Err(ResetError::Bundle(bundle.problem.unwrap_or_default()));
    }
    reset_tree(&open_to_write(options)?, &bundle, options, reset)
}

/// The same on any file system, for tests that fail or stop single calls.
///
/// # Errors
/// As [`reset_skills`].
pub fn reset_tree(
    filesystem: &dyn Filesystem,
    bundle: &Bundle,
    options: &SkillSyncOptions,
    reset: &Reset,
) -> Result<ResetReport, ResetError> {
    let flushes = filesystem.flushes();
    let library_exists = check_library_root(filesystem)?;
    let lock = WriteLock::acquire(filesystem, options.lock_timeout).map_err(SyncError::Lock)?;
    let now = clock::now();
    let loaded = ledger::load(filesystem).map_err(SyncError::Ledger)?;
    let mut report = ResetReport {
        problems: loaded.problems.clone(),
        ..ResetReport::default()
    };
    let mut settled = settle(filesystem, Some(&lock), loaded, bundle, &now)?;
    let mut forced = settled.must_write;
    if !library_exists {
        // Making the root with one skill in it must not turn all others into deletions (row 0b).
        settled
            .ledger
            .records
            .retain(|_, record| record.is_deleted());
        forced = true;
    }
    let names: Vec<String> = match reset {
        Reset::Named(names) => names.clone(),
        Reset::All => {
            let all = bundle.names().filter(|name| bundle.has(name, false));
            all.cloned().collect()
        }
    };
    let mut hasher = FileHasher::default();
    let mut planner = Planner::new(filesystem, bundle, &settled.ledger, options.engine)?;
    let mut plans = BTreeMap::new();
    for name in names {
        if plans.contains_key(&name) {
            continue;
        }
        match plan_one(
            filesystem,
            bundle,
            &mut planner,
            &settled.ledger,
            &name,
            &mut hasher,
        ) {
            Ok(planned) => {
                plans.insert(name, planned);
            }
            Err(error) => report.failed.push(Failed { name, error }),
        }
    }
    let usage = Usage::load(filesystem);
    let at_rest: Vec<String> = plans
        .iter()
        .filter(|(name, planned)| is_at_rest(name, planned, &now) && usage.usage.is_active(name))
        .map(|(name, _)| name.clone())
        .collect();
    for name in at_rest {
        plans.remove(&name);
        report.unchanged.push(name);
    }
    let write = LedgerWrite {
        ledger: &settled.ledger,
        forced,
        unreadable: settled.unreadable,
        now: &now,
        flush: Flush::Filesystem,
    };
    let applied = apply(&lock, bundle.tree(), &mut plans, &write)?;
    report.problems.extend(applied.error);
    for (name, planned) in plans {
        match planned.plan.outcome {
            Outcome::Failed(error) => report.failed.push(Failed { name, error }),
            _ => report.restored.push(name),
        }
    }
    wake(&lock, usage, &mut report, &now);
    report.failed.sort_by(|a, b| a.name.cmp(&b.name));
    report.unchanged.sort();
    report.flushes = filesystem.flushes() - flushes;
    Ok(report)
}

/// Makes the restored skills active again.
fn wake(lock: &WriteLock<'_>, loaded: LoadedUsage, report: &mut ResetReport, now: &str) {
    if let Some(reason) = loaded.unreadable {
        let name = layout::USAGE;
        let problem = format!("{name} can't be read, lifecycle states stay as they are: {reason}");
        return report.problems.push(problem);
    }
    let mut usage = loaded.usage;
    let woken = report
        .restored
        .iter()
        .filter(|name| usage.set_lifecycle(name, State::Active, now))
        .count();
    if woken > 0
        && let Err(e) = state_file::write(lock, layout::USAGE, &usage.to_json(), false)
    {
        report.problems.push(e.to_string());
    }
}

fn plan_one(
    filesystem: &dyn Filesystem,
    bundle: &Bundle,
    planner: &mut Planner<'_>,
    ledger: &Ledger,
    name: &str,
    hasher: &mut FileHasher,
) -> Result<Planned, String> {
    if !bundle.has(name, false) {
        return Err("the bundle has no such skill, so there is nothing to restore; 'status' lists the bundled ones".into());
    }
    let bundled = bundle.read(name, hasher, |_| false)?;
    let directory = skill_directory(&bundled.name);
    let paths = std::iter::once(observe::text_path()).chain(bundled.files.keys().cloned());
    let mut present = BTreeMap::new();
    for path in paths {
        let full: RelPath = directory.join(&path);
        let state = hasher
            .hash(filesystem, &full)
            .map_err(|e| obstacle(&full, &e))?;
        if let Some(state) = state {
            let there = Present {
                hash: state.hash,
                executable: state.metadata.is_executable(),
            };
            present.insert(path, there);
        }
    }
    let before = ledger.records.get(name).cloned();
    if before.is_none() {
        // Nor does a reset take a name that something else holds (row 2).
        planner.check_free(&bundled.name, !present.contains_key(&observe::text_path()))?;
    }
    let base = observe::base(filesystem, &base_path(&bundled.name), true, hasher)?;
    let plan = plan_reset(&bundled, before.as_ref(), &present, base);
    Ok(Planned {
        plan,
        bundled: Some(bundled),
        before,
        merged: None,
    })
}

/// Whether the skill has all shipped files and its record says so.
fn is_at_rest(name: &str, planned: &Planned, now: &str) -> bool {
    let confirms = |action: &Action| matches!(action, Action::Confirm(_));
    let settled = planned
        .plan
        .record
        .clone()
        .and_then(|r| r.settled(name, |_| true, now));
    let same = |before: &Record| {
        let after = Record {
            last_synced_at: before.last_synced_at.clone(),
            ..settled.clone().unwrap_or_default()
        };
        *before == after
    };
    planned.plan.actions.values().all(confirms)
        && !planned.plan.write_base
        && planned.before.as_ref().is_some_and(same)
}
