//! Doing what was planned, as one batch.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use super::bundle::BundledSkill;
use super::ledger::{Ledger, Record};
use super::observe::{skill_directory, text_path};
use super::plan::{Action, Outcome, SkillPlan, base_of};
use super::report::FileReport;
use crate::skill::{SKILL_FILE, SkillName};
use crate::store::{
    Batch, Committed, Content, Context, Expected, Filesystem, Flush, Journal, Kind, RelPath,
    StoreError, WriteLock, absent_as_none, layout, replacing, state_file,
};

/// What is to be done for a skill, and from what.
pub struct Planned {
    /// The plan.
    pub plan: SkillPlan,
    /// The firmware's side; none where nothing is written.
    pub bundled: Option<BundledSkill>,
    /// The record before, without intents.
    pub before: Option<Record>,
    /// What a merge made.
    pub merged: Option<Vec<u8>>,
}

/// How the ledger of a batch is written.
pub struct LedgerWrite<'a> {
    /// The document's fields of other versions.
    pub ledger: &'a Ledger,
    /// Whether it must be written even if no record changes.
    pub forced: bool,
    /// Whether the present one can't be read: it is kept aside, not as `.prev`.
    pub unreadable: bool,
    /// The time, RFC 3339.
    pub now: &'a str,
    /// How the batch is forced to flash.
    pub flush: Flush,
}

/// What a batch came to.
#[derive(Default)]
pub struct Applied {
    /// The supporting files that were written or removed.
    pub files: FileReport,
    /// What stopped the batch in its middle; its skills say what it meant for them.
    pub error: Option<String>,
}

/// Applies the plans; their outcomes are changed to what really happened.
///
/// # Errors
/// When nothing was changed.
pub fn apply(
    lock: &WriteLock<'_>,
    tree: Option<&dyn Filesystem>,
    plans: &mut BTreeMap<String, Planned>,
    write: &LedgerWrite<'_>,
) -> Result<Applied, StoreError> {
    let mut batch = Batch::new(lock, write.flush);
    for (name, planned) in plans.iter_mut() {
        let Some((bundled, tree)) = planned.bundled.as_ref().zip(tree) else {
            continue;
        };
        if let Err(e) = stage_skill(&mut batch, lock, tree, bundled, planned) {
            batch.abandon(&skill_directory(&bundled.name));
            batch.abandon(&base_of(bundled).parent());
            let before = planned.before.clone();
            planned.plan = SkillPlan::nothing(Outcome::Failed(e.to_string()), before);
            log::debug!("{name}: {e}");
        }
    }
    for planned in plans.values() {
        flush_what_is_relied_on(&mut batch, lock.filesystem(), planned);
    }
    let with_records = |of: &dyn Fn(&str, &Planned) -> Option<Record>| {
        let mut ledger = write.ledger.clone();
        for (name, planned) in plans.iter() {
            match of(name, planned) {
                Some(record) => ledger.records.insert(name.clone(), record),
                None => ledger.records.remove(name),
            };
        }
        ledger
    };
    let settled = |placed: &dyn Fn(&RelPath) -> bool| {
        with_records(&|name, planned| {
            let record = planned.plan.record.clone()?;
            let directory = layout::library().child(name);
            let written = |path: &RelPath| {
                directory
                    .as_ref()
                    .is_ok_and(|directory| placed(&directory.join(path)))
            };
            record.settled(name, written, write.now)
        })
    };
    let intents = with_records(&|_, planned| planned.plan.record.clone());
    let unchanged = settled(&|_| true).records == write.ledger.records && !intents.has_pending();
    let journal = Journal {
        intent: intents.has_pending().then(|| intents.to_json(write.now)),
        settled: &|placed| settled(placed).to_json(write.now),
        keep_previous: !write.unreadable,
    };
    let journal = (write.forced || !unchanged).then_some(&journal);
    if journal.is_none() && batch.is_empty() {
        batch.discard();
        return Ok(Applied::default());
    }
    if write.unreadable
        && let Err(e) = state_file::set_aside(lock, layout::LEDGER)
    {
        batch.discard();
        return Err(e);
    }
    let committed = batch.commit(journal)?;
    let mut applied = Applied {
        error: committed.error.as_ref().map(ToString::to_string),
        ..Applied::default()
    };
    for planned in plans.values_mut() {
        confirm(
            planned,
            &committed,
            applied.error.as_deref(),
            &mut applied.files,
        );
    }
    Ok(applied)
}

fn stage_skill(
    batch: &mut Batch<'_, '_>,
    lock: &WriteLock<'_>,
    tree: &dyn Filesystem,
    bundled: &BundledSkill,
    planned: &Planned,
) -> Result<(), StoreError> {
    let plan = &planned.plan;
    let filesystem = lock.filesystem();
    let directory = skill_directory(&bundled.name);
    let source = bundled_directory(&bundled.name);
    let text = directory.join(&text_path());
    if !plan.actions.is_empty() {
        let there = absent_as_none(filesystem.metadata(&directory));
        let there = there.during(filesystem, "examine", &directory)?.is_some();
        batch.enter(&directory, plan.brings_text() && !there);
    }
    // What goes makes room for what comes: a directory may take the place of a file.
    let goes = |action: &Action| matches!(action, Action::Remove(_));
    let (first, then): (Vec<_>, Vec<_>) = plan.actions.iter().partition(|(_, action)| goes(action));
    for (path, action) in first.into_iter().chain(then) {
        let target = directory.join(path);
        match *action {
            Action::Remove(hash) => batch.remove(&target, hash),
            Action::Confirm(hash) => batch.confirm(&target, hash),
            Action::Write {
                file,
                replaces,
                executable,
            } => {
                let (expected, attributes) = match replaces {
                    None => (Expected::Absent, batch.fresh(file.executable)),
                    Some(hash) => {
                        let current = filesystem
                            .metadata(&target)
                            .during(filesystem, "examine", &target)?;
                        (Expected::Content(hash), replacing(&current, executable))
                    }
                };
                let content = Content::Copy {
                    filesystem: tree,
                    path: &source.join(path),
                    hash: file.hash,
                };
                batch.write(&target, &content, expected, attributes)?;
            }
            Action::Merge { replaces } => {
                let current = filesystem
                    .metadata(&target)
                    .during(filesystem, "examine", &target)?;
                let content = Content::Bytes(planned.merged.as_deref().unwrap_or_default());
                let expected = Expected::Content(replaces);
                batch.write(&target, &content, expected, replacing(&current, None))?;
            }
        }
    }
    if plan.write_base {
        let content = Content::Copy {
            filesystem: tree,
            path: &source.join(&text_path()),
            hash: bundled.text.hash,
        };
        let after = plan.actions.contains_key(&text_path()).then_some(&text);
        batch.follow(&base_of(bundled), &content, after)?;
    }
    Ok(())
}

fn bundled_directory(name: &SkillName) -> RelPath {
    RelPath::root()
        .child(name.as_str())
        .unwrap_or_else(|_| RelPath::root())
}

/// What the user did is on flash before the ledger relies on it: else a cut could bring a deleted file back
/// beside a record that takes it for a new one, or take away one that was adopted, which would read as deleted.
fn flush_what_is_relied_on(
    batch: &mut Batch<'_, '_>,
    filesystem: &dyn Filesystem,
    planned: &Planned,
) {
    let Some(bundled) = &planned.bundled else {
        return;
    };
    let directory = skill_directory(&bundled.name);
    let before = planned.before.as_ref();
    let after = planned.plan.record.as_ref();
    let mut relied_on: Vec<RelPath> = Vec::new();
    if after.is_some_and(Record::is_deleted) && !before.is_some_and(Record::is_deleted) {
        relied_on.push(directory.join(&text_path()));
    }
    let file_before = |path: &RelPath| before.and_then(|record| record.files.as_ref()?.get(path));
    let files = after.and_then(|record| record.files.as_ref());
    for (path, record) in files.into_iter().flatten() {
        if file_before(path) == Some(record) {
            continue;
        }
        let full = directory.join(path);
        if !record.deleted {
            batch.flush_file(full.clone());
        }
        relied_on.push(full);
    }
    for (path, action) in &planned.plan.actions {
        if matches!(action, Action::Confirm(_)) {
            batch.flush_file(directory.join(path));
            relied_on.push(directory.join(path));
        }
    }
    let above: BTreeSet<RelPath> = relied_on
        .iter()
        .flat_map(RelPath::ancestors_from_top)
        .collect();
    // One that can't be looked at may be there: then its flush tells, and nothing is relied on that was not flushed.
    let is_there = |path: &RelPath| match filesystem.metadata(path) {
        Ok(found) => found.kind == Kind::Directory,
        Err(e) => !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    };
    for existing in above.into_iter().filter(is_there) {
        batch.flush_names_of(existing);
    }
}

/// Turns what was planned into what was done.
fn confirm(
    planned: &mut Planned,
    committed: &Committed,
    reason: Option<&str>,
    files: &mut FileReport,
) {
    if !committed.recorded && planned.plan.record != planned.before {
        let reason = reason.unwrap_or("the ledger could not be written");
        planned.plan.outcome = Outcome::Failed(format!("not or only in part written: {reason}"));
        return;
    }
    let Some(bundled) = &planned.bundled else {
        return;
    };
    let directory = skill_directory(&bundled.name);
    let mut missing = None;
    for (path, action) in &planned.plan.actions {
        if !committed.placed.contains(&directory.join(path)) {
            missing = missing.or(Some(path));
            continue;
        }
        if path.as_str() == SKILL_FILE {
            continue;
        }
        match action {
            Action::Write { replaces: None, .. } => files.copied += 1,
            Action::Write { .. } => files.updated += 1,
            Action::Remove(_) => files.removed += 1,
            Action::Merge { .. } | Action::Confirm(_) => {}
        }
    }
    let failed = |path: &RelPath| committed.failed.get(path).map(ToString::to_string);
    let error = failed(&directory).or_else(|| failed(&base_of(bundled)));
    planned.plan.outcome = Outcome::Failed(match (error, missing, reason) {
        (Some(error), _, _) => error,
        (None, None, _) => return,
        (None, Some(_), Some(reason)) => format!("not or only in part written: {reason}"),
        (None, Some(missing), None) => {
            format!("{missing} was changed while the sync ran; the next sync looks at it again")
        }
    });
}
