//! From what was observed to what will be done: pure. The store applies it, the report tells it.

use std::collections::BTreeMap;

use super::bundle::{BundledFile, BundledSkill};
use super::decide::{Decision, UserText, decide};
use super::files::{FileDecision, UserFile, decide_files};
use super::ledger::{FileRecord, Intent, Pending, Record, Status, base_path};
use super::merge_job::{EngineSetting, MergeJob};
use super::observe::{Base, UserSkill, text_path};
use crate::skill::{SKILL_FILE, SkillError};
use crate::store::{Hash, RelPath};

/// All that was observed of a valid bundled skill.
pub struct Observed<'a> {
    /// The firmware's side.
    pub bundled: &'a BundledSkill,
    /// The user's SKILL.md.
    pub user: &'a UserSkill,
    /// The user's supporting files; none where they do not follow.
    pub files: &'a BTreeMap<RelPath, UserFile>,
    /// The ledger's record, without intents.
    pub record: Option<&'a Record>,
    /// The base; hashed unless nothing changed.
    pub base: Base,
    /// The engine setting, for the merges that failed before.
    pub engine: EngineSetting,
}

/// Which list of the report a skill is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Seeded.
    Copied,
    /// Replaced, or some of its other files.
    Updated,
    /// The same already; now recorded.
    Adopted,
    /// What a cut left was replaced.
    Repaired,
    /// Nothing to do.
    Unchanged,
    /// The user's.
    KeptUser,
    /// Deleted by the user.
    DeletedByUser,
    /// Not in the bundle any more.
    Stale,
    /// Both sides changed.
    MergeNeeded(MergeJob),
    /// Both sides changed, and merging them failed before.
    MergeSkipped {
        /// The job.
        job: MergeJob,
        /// Why it failed.
        error: String,
    },
    /// Something stands in the way.
    Failed(String),
}

/// Something to do to one path of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Write the bundled file.
    Write {
        /// What it will be.
        file: BundledFile,
        /// What is there now; none: nothing.
        replaces: Option<Hash>,
        /// The executable bit, where it is to be set or cleared; none keeps that of the file replaced.
        executable: Option<bool>,
    },
    /// Remove the file of this hash.
    Remove(Hash),
    /// Write what a merge made of both sides.
    Merge {
        /// What is there now.
        replaces: Hash,
    },
    /// Nothing, but it must still have this hash.
    Confirm(Hash),
}

/// What will be done for one skill.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillPlan {
    /// What the report will say.
    pub outcome: Outcome,
    /// The record, with the intents of `actions`; none for no record.
    pub record: Option<Record>,
    /// By path in the skill.
    pub actions: BTreeMap<RelPath, Action>,
    /// Whether the base is written from the bundle; after SKILL.md, if that has an action.
    pub write_base: bool,
    /// Files that are the user's.
    pub kept_files: Vec<RelPath>,
    /// Bundled files that the user has deleted, and that stay so.
    pub deleted_files: Vec<RelPath>,
}

impl SkillPlan {
    /// Whether the library has no text of this skill.
    #[must_use]
    pub fn brings_text(&self) -> bool {
        let text = self.actions.get(&text_path());
        matches!(text, Some(Action::Write { replaces: None, .. }))
    }

    /// Nothing is done, the record stays.
    #[must_use]
    pub fn nothing(outcome: Outcome, record: Option<Record>) -> Self {
        Self {
            outcome,
            record,
            actions: BTreeMap::new(),
            write_base: false,
            kept_files: Vec::new(),
            deleted_files: Vec::new(),
        }
    }
}

/// Whether the supporting files follow a decision (contract §4).
#[must_use]
pub fn files_follow(decision: Decision) -> bool {
    match decision {
        Decision::StaysDeleted | Decision::Deleted | Decision::TwoWayMerge => false,
        Decision::Copy
        | Decision::Repair
        | Decision::Adopt
        | Decision::Unchanged
        | Decision::Update
        | Decision::KeepUser
        | Decision::ThreeWayMerge => true,
    }
}

/// A record that the bundle has no skill for any more (row 1).
#[must_use]
pub fn plan_stale(record: &Record) -> SkillPlan {
    let record = Record {
        stale: true,
        ..record.clone()
    };
    SkillPlan::nothing(Outcome::Stale, Some(record))
}

/// Rows 3 to 12.
#[must_use]
pub fn plan_skill(observed: &Observed<'_>) -> SkillPlan {
    let bundled = observed.bundled.text;
    let decision = decide(bundled.hash, observed.user.text, observed.record);
    let mut record = observed.record.cloned().unwrap_or_default();
    record.stale = false;
    let mut plan = SkillPlan::nothing(Outcome::Unchanged, None);
    plan.write_base = base_is_wrong(observed, &record);
    match decision {
        Decision::StaysDeleted => plan.outcome = Outcome::DeletedByUser,
        Decision::Deleted => {
            plan.outcome = Outcome::DeletedByUser;
            record.status = Some(Status::DeletedByUser);
            record.files = None;
        }
        Decision::Copy | Decision::Repair | Decision::Update => {
            plan.outcome = match decision {
                Decision::Copy => Outcome::Copied,
                Decision::Repair => Outcome::Repaired,
                _ => Outcome::Updated,
            };
            plan.write_base = observed.base != Base::Hashed(bundled.hash);
            let replaces = match observed.user.text {
                UserText::Blank(hash) | UserText::Text(hash) => Some(hash),
                UserText::Absent | UserText::TooLarge { .. } => None,
            };
            let action = Action::Write {
                file: bundled,
                replaces,
                executable: None,
            };
            act_on_text(&mut plan, &mut record, bundled, action);
        }
        Decision::Adopt => {
            plan.outcome = Outcome::Adopted;
            plan.write_base = observed.base != Base::Hashed(bundled.hash);
            let known = [record.origin_hash, record.effective()] == [Some(bundled.hash); 2];
            if known && !plan.write_base {
                record.effective_hash = Some(bundled.hash);
                record.status = Some(Status::Synced);
                record.forget_merge_failure();
            } else {
                act_on_text(
                    &mut plan,
                    &mut record,
                    bundled,
                    Action::Confirm(bundled.hash),
                );
            }
        }
        Decision::Unchanged => {
            let at_rest = record.effective() == record.origin_hash;
            record.status = Some(if at_rest {
                Status::Synced
            } else {
                Status::Merged
            });
        }
        Decision::KeepUser => {
            plan.outcome = Outcome::KeptUser;
            record.status = Some(Status::UserModified);
        }
        Decision::TwoWayMerge | Decision::ThreeWayMerge => {
            plan.outcome = merge_outcome(observed, decision);
        }
    }
    if files_follow(decision) {
        plan_files(observed, &mut plan, &mut record);
    }
    plan.record = (observed.record.is_some() || record.pending.is_some()).then_some(record);
    plan
}

/// Where the bundle still has the origin, a missing or wrong base is written from it, whatever the row.
fn base_is_wrong(observed: &Observed<'_>, record: &Record) -> bool {
    let bundled = observed.bundled.text;
    record.origin_hash == Some(bundled.hash)
        && match observed.base {
            Base::Missing => true,
            Base::Sized(len) => len != bundled.len,
            Base::Hashed(hash) => hash != bundled.hash,
        }
}

fn act_on_text(plan: &mut SkillPlan, record: &mut Record, bundled: BundledFile, action: Action) {
    intend(record, text_path(), Some(bundled));
    plan.actions.insert(text_path(), action);
}

/// Notes that a path will have the bundled file, or be removed.
fn intend(record: &mut Record, path: RelPath, bundled: Option<BundledFile>) {
    let intent = match bundled {
        None => Intent::default(),
        Some(file) => Intent {
            hash: Some(file.hash),
            upstream_hash: Some(file.hash),
            size: Some(file.len),
            executable: file.executable,
        },
    };
    let pending = record.pending.get_or_insert_with(Pending::default);
    pending.paths.insert(path, intent);
}

/// A merged text, and what made it.
#[derive(Debug, Clone, Copy)]
pub struct MergedText<'a> {
    /// Of its bytes.
    pub hash: Hash,
    /// In bytes.
    pub len: u64,
    /// The engine.
    pub engine: &'a str,
}

/// The application of a merge: SKILL.md becomes the merged text, the supporting files follow as in any row.
#[must_use]
pub fn plan_merged(observed: &Observed<'_>, job: &MergeJob, merged: MergedText<'_>) -> SkillPlan {
    let bundled = observed.bundled.text;
    let mut record = observed.record.cloned().unwrap_or_default();
    record.stale = false;
    let intent = Intent {
        hash: Some(merged.hash),
        upstream_hash: Some(bundled.hash),
        size: Some(merged.len),
        executable: false,
    };
    record.pending = Some(Pending {
        paths: BTreeMap::from([(text_path(), intent)]),
        merge_key: Some(job.merge_key.clone()),
        local_hash: Some(job.local_hash),
        mode: Some(job.mode),
        engine: Some(merged.engine.to_owned()),
        ..Pending::default()
    });
    let mut plan = SkillPlan::nothing(Outcome::Updated, None);
    plan.write_base = observed.base != Base::Hashed(bundled.hash);
    let replaces = job.local_hash;
    let action = if merged.hash == replaces {
        Action::Confirm(replaces)
    } else {
        Action::Merge { replaces }
    };
    plan.actions.insert(text_path(), action);
    plan_files(observed, &mut plan, &mut record);
    plan.record = Some(record);
    plan
}

fn merge_outcome(observed: &Observed<'_>, decision: Decision) -> Outcome {
    let origin = observed.record.and_then(|record| record.origin_hash);
    let base = origin.filter(|origin| {
        decision == Decision::ThreeWayMerge && observed.base == Base::Hashed(*origin)
    });
    let bundled = observed.bundled;
    let local = match observed.user.text {
        UserText::Text(local) | UserText::Blank(local) => local,
        UserText::TooLarge { bytes } => {
            return Outcome::Failed(format!(
                "both sides changed it, and the library's {SKILL_FILE} {}; shorten it, or restore the shipped one with: aiden-skills reset {} --restore",
                SkillError::TooLarge { size: bytes },
                bundled.name
            ));
        }
        UserText::Absent => return Outcome::Unchanged,
    };
    let job = MergeJob::new(bundled.name.as_str(), base, bundled.text.hash, local);
    let failed = observed
        .record
        .and_then(|record| job.failed_before(record, observed.engine))
        .map(str::to_owned);
    match failed {
        Some(error) => Outcome::MergeSkipped { job, error },
        None => Outcome::MergeNeeded(job),
    }
}

fn plan_files(observed: &Observed<'_>, plan: &mut SkillPlan, record: &mut Record) {
    let no_files = BTreeMap::new();
    let recorded = observed
        .record
        .and_then(|record| record.files.as_ref())
        .unwrap_or(&no_files);
    let bundled = &observed.bundled.files;
    let decided = decide_files(bundled, observed.files, recorded);
    let mut files = recorded.clone();
    for (path, decision) in decided {
        // What the bundle has as a link or device was not dropped: a slip of the build removes nothing.
        let left_out = |path: &RelPath| observed.bundled.left_out.contains(path);
        if left_out(&path) || path.ancestors_from_top().any(|above| left_out(&above)) {
            continue;
        }
        let file = bundled.get(&path).copied();
        match decision {
            FileDecision::Nothing => {}
            FileDecision::Keep => plan.kept_files.push(path),
            FileDecision::Record => {
                if let Some(file) = file {
                    files.insert(path, FileRecord::of(file));
                }
            }
            FileDecision::Delete => {
                let deleted = FileRecord {
                    deleted: true,
                    ..FileRecord::default()
                };
                files.insert(path, deleted);
            }
            FileDecision::Copy => {
                if let Some(file) = file {
                    intend(record, path.clone(), Some(file));
                    plan.actions
                        .insert(path, write(file, None, Some(file.executable)));
                }
            }
            FileDecision::Replace(hash) => {
                if let Some(file) = file {
                    let before = recorded.get(&path).map(|record| record.executable);
                    let bit = Some(file.executable).filter(|_| before != Some(file.executable));
                    intend(record, path.clone(), Some(file));
                    plan.actions.insert(path, write(file, Some(hash), bit));
                }
            }
            FileDecision::Remove(hash) => {
                intend(record, path.clone(), None);
                plan.actions.insert(path, Action::Remove(hash));
            }
        }
    }
    let is_deleted =
        |(path, file): &(&RelPath, &FileRecord)| file.deleted && bundled.contains_key(*path);
    let deleted = files.iter().filter(is_deleted);
    plan.deleted_files = deleted.map(|(path, _)| path.clone()).collect();
    // An absent `files` means that another program wrote the record; from here on it is ours.
    record.files = Some(files);
    let writes_files = plan.actions.keys().any(|path| *path != text_path());
    let stays = matches!(
        plan.outcome,
        Outcome::Unchanged | Outcome::KeptUser | Outcome::Adopted
    );
    if writes_files && stays {
        plan.outcome = Outcome::Updated;
    }
}

fn write(file: BundledFile, replaces: Option<Hash>, executable: Option<bool>) -> Action {
    Action::Write {
        file,
        replaces,
        executable,
    }
}

/// A file as it is before a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Present {
    /// Of its bytes.
    pub hash: Hash,
    /// Whether anyone may execute it.
    pub executable: bool,
}

/// Every bundled file again, whatever is there (seed §14).
#[must_use]
pub fn plan_reset(
    bundled: &BundledSkill,
    record: Option<&Record>,
    present: &BTreeMap<RelPath, Present>,
    base: Base,
) -> SkillPlan {
    let mut record = record.cloned().unwrap_or_default();
    record.stale = false;
    record.pending = None;
    let mut plan = SkillPlan::nothing(Outcome::Updated, None);
    plan.write_base = base != Base::Hashed(bundled.text.hash);
    let all = std::iter::once((text_path(), bundled.text)).chain(
        bundled
            .files
            .iter()
            .map(|(path, file)| (path.clone(), *file)),
    );
    for (path, file) in all {
        intend(&mut record, path.clone(), Some(file));
        let bit_fits = |there: &Present| path == text_path() || there.executable == file.executable;
        let action = match present.get(&path) {
            Some(there) if there.hash == file.hash && bit_fits(there) => Action::Confirm(file.hash),
            there => write(file, there.map(|there| there.hash), Some(file.executable)),
        };
        plan.actions.insert(path, action);
    }
    plan.record = Some(record);
    plan
}

impl FileRecord {
    /// The record of a bundled file as it was written or found.
    #[must_use]
    pub fn of(file: BundledFile) -> Self {
        Self {
            hash: Some(file.hash),
            size: Some(file.len),
            executable: file.executable,
            ..Self::default()
        }
    }
}

/// Where the base of a bundled skill lies.
#[must_use]
pub fn base_of(bundled: &BundledSkill) -> RelPath {
    base_path(&bundled.name)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
