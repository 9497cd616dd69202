//! What a sync did (contract §3, "JSON of `sync`").

use serde::Serialize;

use super::bundle::{BundleState, SkippedEntry};
use super::ledger::LedgerState;
use super::merge_job::{MergeJob, MergeMode};
use super::plan::Outcome;

/// The outcome of a sync. Every bundled or recorded skill is in exactly one of the skill lists, unless the
/// bundle could not be used: then all are empty. Lists are sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillSyncReport {
    /// Whether there was a bundle.
    pub bundle: BundleState,
    /// How the ledger was found.
    pub ledger: LedgerState,
    /// Whether nothing was written because nothing was to be.
    pub dry_run: bool,
    /// Seeded.
    pub copied: Vec<String>,
    /// Replaced by the firmware's newer text, or some of its other files.
    pub updated: Vec<String>,
    /// The same as the bundled one already, and recorded now.
    pub adopted: Vec<String>,
    /// Blank after a power cut, and written again.
    pub repaired: Vec<String>,
    /// As before.
    pub unchanged: Vec<String>,
    /// The user's.
    pub kept_user: Vec<String>,
    /// Deleted by the user.
    pub deleted_by_user: Vec<String>,
    /// In the bundle no more.
    pub stale: Vec<String>,
    /// Merged; in a sync, those that a cut had interrupted.
    pub merged: Vec<Merged>,
    /// Both sides changed.
    pub merge_needed: Vec<MergeJob>,
    /// Both sides changed, and merging these texts failed before.
    pub merge_skipped: Vec<MergeSkipped>,
    /// Something stands in the way.
    pub failed: Vec<Failed>,
    /// Supporting files.
    pub files: FileReport,
    /// Parts of bundled skills that are never copied.
    pub skipped_entries: Vec<SkippedEntry>,
    /// How often data was forced to flash.
    pub flushes: u64,
    /// What was wrong with bundle, ledger or state dir, for people; left out where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A merge that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// The skill.
    pub name: String,
    /// Which texts there were.
    pub mode: Option<MergeMode>,
    /// What made the text.
    pub engine: String,
    /// Names the inputs.
    pub merge_key: String,
    /// What was done, in a sentence.
    pub summary: String,
}

/// A merge that is not tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeSkipped {
    /// The skill.
    pub name: String,
    /// Names the inputs.
    pub merge_key: String,
    /// Why it failed.
    pub error: String,
}

/// A skill that nothing was done for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The skill.
    pub name: String,
    /// Why, and what to do.
    pub error: String,
}

/// What became of supporting files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// How many were new.
    pub copied: u64,
    /// How many were replaced.
    pub updated: u64,
    /// How many were removed.
    pub removed: u64,
    /// The user's, by path in the library.
    pub kept_user: Vec<String>,
}

impl SkillSyncReport {
    /// An empty report.
    #[must_use]
    pub fn new(bundle: BundleState, ledger: LedgerState, dry_run: bool) -> Self {
        Self {
            bundle,
            ledger,
            dry_run,
            copied: Vec::new(),
            updated: Vec::new(),
            adopted: Vec::new(),
            repaired: Vec::new(),
            unchanged: Vec::new(),
            kept_user: Vec::new(),
            deleted_by_user: Vec::new(),
            stale: Vec::new(),
            merged: Vec::new(),
            merge_needed: Vec::new(),
            merge_skipped: Vec::new(),
            failed: Vec::new(),
            files: FileReport::default(),
            skipped_entries: Vec::new(),
            flushes: 0,
            problems: Vec::new(),
        }
    }

    /// Adds a skill; they come in the order of their names.
    pub fn add(&mut self, name: &str, outcome: Outcome) {
        let list = match outcome {
            Outcome::Copied => &mut self.copied,
            Outcome::Updated => &mut self.updated,
            Outcome::Adopted => &mut self.adopted,
            Outcome::Repaired => &mut self.repaired,
            Outcome::Unchanged => &mut self.unchanged,
            Outcome::KeptUser => &mut self.kept_user,
            Outcome::DeletedByUser => &mut self.deleted_by_user,
            Outcome::Stale => &mut self.stale,
            Outcome::MergeNeeded(job) => return self.merge_needed.push(job),
            Outcome::MergeSkipped { job, error } => {
                return self.merge_skipped.push(MergeSkipped {
                    name: job.name,
                    merge_key: job.merge_key,
                    error,
                });
            }
            Outcome::Failed(error) => {
                return self.failed.push(Failed {
                    name: name.to_owned(),
                    error,
                });
            }
        };
        list.push(name.to_owned());
    }

    /// Every skill in any of the lists.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let needed = self.merge_needed.iter().map(|job| &job.name);
        let skipped = self.merge_skipped.iter().map(|skipped| &skipped.name);
        let merged = self.merged.iter().map(|merged| &merged.name);
        let failed = self.failed.iter().map(|failed| &failed.name);
        let others = self.without_merge().into_iter().flatten();
        others
            .chain(needed)
            .chain(skipped)
            .chain(merged)
            .chain(failed)
            .map(String::as_str)
    }

    /// Whether a skill is there, and nothing of it is to be merged.
    #[must_use]
    pub fn needs_nothing(&self, name: &str) -> bool {
        self.without_merge()
            .into_iter()
            .flatten()
            .any(|known| known == name)
    }

    fn without_merge(&self) -> [&Vec<String>; 8] {
        [
            &self.copied,
            &self.updated,
            &self.adopted,
            &self.repaired,
            &self.unchanged,
            &self.kept_user,
            &self.deleted_by_user,
            &self.stale,
        ]
    }

    /// Whether bundle, ledger, configuration and every skill were as they should be.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.bundle == BundleState::Ok
            && self.ledger != LedgerState::Rebuilt
            && self.failed.is_empty()
            && self.skipped_entries.is_empty()
            && self.problems.is_empty()
    }
}
