//! Where a model takes part in learning. It is asked without the lock, for it may take its time, and what it says counts if
//! the entry is still the one that it was asked about.

use super::decide::discard_token;
use super::document::Bank;
use super::error::EvolveError;
use super::learn::{Learned, Task, gate};
use super::matching::{MATCH, Relation, best_match, contradicted};
use super::model;
use super::mutate::{Cause, synthesize, too_long};
use super::record::Change;
use super::synthesis::synthesise;
use super::workspace::Workspace;

/// From here on a model is asked whether a lesson belongs to an entry, where rules say that it does not.
const DOUBT: f64 = 0.15;

/// How a lesson stands to an entry, as a model sees it.
pub(super) struct Advice {
    pub relation: (String, Relation),
    version: String,
}

impl Advice {
    /// Whether the entry is still the one that was asked about.
    pub fn still_holds(&self, bank: &Bank) -> bool {
        let at = bank.position(&self.relation.0);
        at.and_then(|at| bank.entries.get(at))
            .is_some_and(|entry| entry.version == self.version)
    }
}

impl Workspace<'_> {
    /// What a model says of lesson and entry; asked before the lock is taken.
    pub(super) fn advice(&self, task: &Task<'_>, signature: Option<&str>) -> Option<Advice> {
        let advisor = self.engine.advisor?;
        let ready = self.resume().ok()?;
        let feedback = self.feedback(task, None);
        let is_open = gate(&feedback, ready.manifest.contract.min_feedback_confidence).is_none()
            && discard_token(&feedback.lesson).is_none()
            && task.judgement.judged().relation.is_none();
        if !is_open {
            return None;
        }
        let found = best_match(&ready.bank.entries, &feedback.lesson, signature)?;
        let entry = ready.bank.entries.get(found.at)?;
        let is_known = found.score >= MATCH && !contradicted(entry, &feedback.lesson).is_empty();
        if found.score < DOUBT || (is_known && !advisor.is_first()) {
            return None;
        }
        let relation = model::relation(advisor, &feedback.lesson, entry)?;
        Some(Advice {
            relation: (entry.skill_entry_id.clone(), relation),
            version: entry.version.clone(),
        })
    }

    /// Makes an entry shorter that is too long still, if a model is there to do it.
    pub(super) fn shorten_by_model(&self, learned: &mut Learned) -> Result<(), EvolveError> {
        let (Some(advisor), Some(id), Some(_)) = (
            self.engine.advisor,
            learned.skill_entry_id.clone(),
            &learned.snapshot_id,
        ) else {
            return Ok(());
        };
        let Some(long) = too_long(&self.resume()?, &id) else {
            return Ok(());
        };
        let asked = model::synthesis(advisor, &long.content);
        let (shorter, by) = match asked {
            Some(shorter) => (Some(shorter), "model"),
            // The rules have had their turn already, unless the model goes first.
            None if advisor.is_first() => (synthesise(&long.content), "rules"),
            None => return Ok(()),
        };
        let session = self.begin()?;
        let (mut change, mut ready) = Change::new(self, session);
        if too_long(&ready, &id).is_none_or(|now| now.version != long.version) {
            return Ok(());
        }
        let cause = Cause {
            lesson: &learned.feedback.lesson,
            confidence: learned.feedback.confidence,
            experience_id: &learned.experience_id,
        };
        let version = synthesize(&mut change, &mut ready, &long, shorter, by, &cause)?;
        change.commit()?;
        if let Some(version) = version {
            learned.version = Some(version);
            learned.synthesized = true;
        }
        Ok(())
    }
}
