//! The two ends of a merge (contract §5): the texts of one that is pending, and its application or its failure, each under
//! the lock. What makes the merged text is not known here.

use std::collections::BTreeMap;

use super::apply::{LedgerWrite, Planned, apply};
use super::bundle::Bundle;
use super::ledger::{self, Record, Status, base_path};
use super::merge_job::{EngineSetting, MergeJob};
use super::observe::{obstacle, skill_directory, text_path};
use super::plan::{MergedText, Outcome, SkillPlan};
use super::planner::Planner;
use super::run::{Settled, SkillSyncOptions, SyncError, check_library_root, settle};
use crate::clock;
use crate::skill::{MAX_EDIT_BYTES, SKILL_FILE, SkillName};
use crate::store::{
    Bounded, FileHasher, Filesystem, Flush, Hash, RelPath, WriteLock, read_bounded,
};

/// Most characters of a reason in the ledger.
const MAX_REASON_CHARS: usize = 200;
/// Why a merge that was overtaken is not applied (seed §8.7).
pub const LOCAL_CHANGED: &str = "local changed before apply";

/// A merge that is needed, with its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMerge {
    /// Names the texts.
    pub job: MergeJob,
    /// Why it failed before, if it is not to be tried again.
    pub failed_before: Option<String>,
    /// The texts, or why they can't be merged.
    pub texts: Result<MergeTexts, MergeFailure>,
}

/// The texts of a merge, which have the hashes of its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeTexts {
    /// What both sides began with; none if that is not known.
    pub base: Option<String>,
    /// The firmware's.
    pub upstream: String,
    /// The user's.
    pub local: String,
}

/// Why a merge was not applied, and what the ledger keeps of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeFailure {
    /// The program's own words.
    pub reason: String,
    /// Whether the same merge may go well another time.
    pub is_transient: bool,
    /// How many requests have reached a server for it since the start.
    pub attempts: u32,
}

impl MergeFailure {
    /// One that another try does not mend.
    #[must_use]
    pub fn lasting(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_transient: false,
            attempts: 0,
        }
    }

    /// One that another try may mend.
    #[must_use]
    pub fn transient(reason: impl Into<String>) -> Self {
        Self {
            is_transient: true,
            ..Self::lasting(reason)
        }
    }
}

/// How a merge ended.
#[derive(Debug, Clone, Copy)]
pub enum Conclusion<'a> {
    /// With a valid text.
    Merged {
        /// All of SKILL.md.
        text: &'a str,
        /// What made it.
        engine: &'a str,
    },
    /// Without one.
    Failed(&'a MergeFailure),
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concluded {
    /// The library has the merged text.
    Applied {
        /// What could not be done beside it.
        problem: Option<String>,
    },
    /// The library is as it was, and the ledger says why.
    Failed(MergeFailure),
    /// Another process has applied this merge meanwhile.
    Superseded,
}

/// The merge that a skill needs now, if it needs one.
///
/// # Errors
/// As a sync's, while looking.
pub fn pending_merge(
    filesystem: &dyn Filesystem,
    bundle: &Bundle,
    name: &str,
    engine: EngineSetting,
) -> Result<Option<PendingMerge>, SyncError> {
    let now = clock::now();
    let settled = settle(filesystem, None, ledger::load(filesystem)?, bundle, &now)?;
    let mut planner = Planner::new(filesystem, bundle, &settled.ledger, engine)?;
    let outcome = planner.plan(name).map(|planned| planned.plan.outcome);
    let (job, failed_before) = match outcome {
        Some(Outcome::MergeNeeded(job)) => (job, None),
        Some(Outcome::MergeSkipped { job, error }) => (job, Some(error)),
        Some(Outcome::Failed(reason)) => {
            let name = name.to_owned();
            return Err(SyncError::Skill { name, reason });
        }
        _ => return Ok(None),
    };
    let texts = read_texts(filesystem, bundle, &job);
    Ok(Some(PendingMerge {
        job,
        failed_before,
        texts,
    }))
}

fn read_texts(
    filesystem: &dyn Filesystem,
    bundle: &Bundle,
    job: &MergeJob,
) -> Result<MergeTexts, MergeFailure> {
    let name =
        SkillName::try_from(job.name.as_str()).map_err(|e| MergeFailure::lasting(e.to_string()))?;
    let text = skill_directory(&name).join(&text_path());
    let base = base_path(&name);
    let bundled = RelPath::root()
        .child(name.as_str())
        .map_err(|e| MergeFailure::lasting(e.to_string()))?
        .join(&text_path());
    let tree = bundle
        .tree()
        .ok_or_else(|| MergeFailure::transient("the bundle can't be read"))?;
    let base = job
        .base_hash
        .map(|hash| read_text(filesystem, &base, hash, "base"))
        .transpose()?;
    Ok(MergeTexts {
        base,
        upstream: read_text(tree, &bundled, job.upstream_hash, "firmware's")?,
        local: read_text(filesystem, &text, job.local_hash, "library's")?,
    })
}

fn read_text(
    tree: &dyn Filesystem,
    path: &RelPath,
    hash: Hash,
    whose: &str,
) -> Result<String, MergeFailure> {
    let read = read_bounded(tree, path, MAX_EDIT_BYTES)
        .map_err(|e| MergeFailure::transient(obstacle(path, &e)))?;
    let bytes = match read {
        Some(Bounded::Whole(bytes)) => bytes,
        Some(Bounded::TooLarge { bytes }) => {
            return Err(MergeFailure::lasting(format!(
                "the {whose} {SKILL_FILE} is too large to merge ({bytes} bytes > {MAX_EDIT_BYTES} bytes)"
            )));
        }
        None => Vec::new(),
    };
    if Hash::of(&bytes) != hash {
        let reason = format!("the {whose} {SKILL_FILE} changed while it was read");
        return Err(MergeFailure::transient(reason));
    }
    String::from_utf8(bytes).map_err(|_| {
        MergeFailure::lasting(format!("the {whose} {SKILL_FILE} is not valid UTF-8 text"))
    })
}

/// Applies a merge, or records why not; under the lock.
///
/// # Errors
/// When neither could be done; all is as it was, or intents stand that the next start settles.
pub fn conclude_merge(
    filesystem: &dyn Filesystem,
    bundle: &Bundle,
    options: &SkillSyncOptions,
    job: &MergeJob,
    conclusion: Conclusion<'_>,
) -> Result<Concluded, SyncError> {
    check_library_root(filesystem)?;
    let lock = WriteLock::acquire(filesystem, options.lock_timeout)?;
    let conclude = Conclude {
        lock: &lock,
        bundle,
        job,
        engine: options.engine,
        now: clock::now(),
    };
    match conclusion {
        Conclusion::Merged { text, engine } => conclude.merged(text, engine),
        Conclusion::Failed(failure) => {
            let settled = conclude.settle()?;
            if conclude.is_superseded(&settled) {
                return Ok(Concluded::Superseded);
            }
            conclude.record(&settled, failure.clone())
        }
    }
}

struct Conclude<'a> {
    lock: &'a WriteLock<'a>,
    bundle: &'a Bundle,
    job: &'a MergeJob,
    engine: EngineSetting,
    now: String,
}

impl Conclude<'_> {
    fn settle(&self) -> Result<Settled, SyncError> {
        let filesystem = self.lock.filesystem();
        let loaded = ledger::load(filesystem)?;
        settle(filesystem, Some(self.lock), loaded, self.bundle, &self.now)
    }

    /// Whether somebody else was faster with the same texts.
    fn is_superseded(&self, settled: &Settled) -> bool {
        let record = settled.ledger.records.get(&self.job.name);
        record.is_some_and(|record| record.last_merged_key.as_ref() == Some(&self.job.merge_key))
    }

    fn merged(&self, text: &str, engine: &str) -> Result<Concluded, SyncError> {
        let settled = self.settle()?;
        if self.is_superseded(&settled) {
            return Ok(Concluded::Superseded);
        }
        let merged = MergedText {
            hash: Hash::of(text.as_bytes()),
            len: text.len() as u64,
            engine,
        };
        let filesystem = self.lock.filesystem();
        let mut planner = Planner::new(filesystem, self.bundle, &settled.ledger, self.engine)?;
        let (plan, bundled) = match planner.plan_merge(self.job, merged) {
            Ok(Some(planned)) => planned,
            Ok(None) => return self.record(&settled, self.what_changed()),
            Err(reason) => return self.record(&settled, MergeFailure::transient(reason)),
        };
        let before = settled.ledger.records.get(&self.job.name).cloned();
        let files = |record: Option<&Record>| record.and_then(|record| record.files.clone());
        let is_alone =
            plan.actions.len() == 1 && files(plan.record.as_ref()) == files(before.as_ref());
        let planned = Planned {
            plan,
            bundled: Some(bundled),
            before,
            merged: Some(text.as_bytes().to_vec()),
        };
        let flush = if is_alone {
            Flush::Files
        } else {
            Flush::Filesystem
        };
        match self.apply(&settled, planned, flush)? {
            None => Ok(Concluded::Applied { problem: None }),
            Some(reason) => {
                let settled = self.settle()?;
                if self.is_superseded(&settled) {
                    let problem = Some(format!("{}: {reason}", self.job.name));
                    return Ok(Concluded::Applied { problem });
                }
                let changed = self.local_hash() != Some(self.job.local_hash);
                let failure = if changed {
                    MergeFailure::lasting(LOCAL_CHANGED)
                } else {
                    MergeFailure::transient(reason)
                };
                self.record(&settled, failure)
            }
        }
    }

    /// Applies a plan; answers why it failed, if it did.
    fn apply(
        &self,
        settled: &Settled,
        planned: Planned,
        flush: Flush,
    ) -> Result<Option<String>, SyncError> {
        let write = LedgerWrite {
            ledger: &settled.ledger,
            forced: settled.must_write,
            unreadable: settled.unreadable,
            now: &self.now,
            flush,
        };
        let mut plans = BTreeMap::from([(self.job.name.clone(), planned)]);
        apply(self.lock, self.bundle.tree(), &mut plans, &write)?;
        let outcome = plans
            .into_values()
            .next()
            .map(|planned| planned.plan.outcome);
        Ok(match outcome {
            Some(Outcome::Failed(reason)) => Some(reason),
            _ => None,
        })
    }

    /// Notes a failure in the ledger. One that says nothing new is not written: flash wears out.
    fn record(&self, settled: &Settled, failure: MergeFailure) -> Result<Concluded, SyncError> {
        let before = settled.ledger.records.get(&self.job.name).cloned();
        let mut record = before.clone().unwrap_or_default();
        note_failure(&mut record, self.job, &failure, self.engine);
        let at = record.last_merge_failed_at.replace(self.now.clone());
        let says_news = before.as_ref().is_none_or(|before| {
            let as_before = Record {
                last_merge_failed_at: at,
                ..record.clone()
            };
            as_before != *before
        });
        if says_news {
            let planned = Planned {
                plan: SkillPlan::nothing(Outcome::Unchanged, Some(record)),
                bundled: None,
                before,
                merged: None,
            };
            if let Some(reason) = self.apply(settled, planned, Flush::Files)? {
                let name = self.job.name.clone();
                return Err(SyncError::Skill { name, reason });
            }
        }
        Ok(Concluded::Failed(failure))
    }

    /// The user's change is another merge; that of the slot or of the state dir may be undone, and then this one is wanted.
    fn what_changed(&self) -> MergeFailure {
        if self.local_hash() == Some(self.job.local_hash) {
            MergeFailure::transient("the firmware's text or the base changed before apply")
        } else {
            MergeFailure::lasting(LOCAL_CHANGED)
        }
    }

    fn local_hash(&self) -> Option<Hash> {
        let name = SkillName::try_from(self.job.name.as_str()).ok()?;
        let text = skill_directory(&name).join(&text_path());
        let state = FileHasher::default().hash(self.lock.filesystem(), &text);
        state.ok().flatten().map(|state| state.hash)
    }
}

/// What a failed merge leaves in a record (contract §5, "Failures").
fn note_failure(
    record: &mut Record,
    job: &MergeJob,
    failure: &MergeFailure,
    engine: EngineSetting,
) {
    let reason = failure.reason.chars().take(MAX_REASON_CHARS).collect();
    record.last_failed_merge_key = Some(job.merge_key.clone());
    record.last_merge_error = Some(reason);
    record.last_merge_engine = Some(engine.as_str().to_owned());
    record.last_merge_transient = failure.is_transient;
    record.merge_attempts = failure.attempts;
    if !record.is_deleted() {
        record.status = Some(Status::UserModified);
    }
}
