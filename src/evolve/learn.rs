//! The learning loop (kit 5): feedback, gate, record, decide, change or propose.

use serde::Serialize;
use serde_json::{Map, json};

use super::content::keywords_of;
use super::critique::critique;
use super::decide::{Decision, Judged, decide, discard_token};
use super::document::{Action, Bank, Entry, Experience, FeedbackSource, Mode};
use super::error::EvolveError;
use super::feedback::{Evidence, Feedback, RunResult, extract, went_well};
use super::ids::{Kind, Timestamp, Version};
use super::judgement::Judgement;
use super::mutate::{Mutation, Outcome, audit_of, mutate};
use super::record::Change;
use super::retrieval::{MAX_ENTRIES, retrieve};
use super::signature::signature_of;
use super::workspace::{AUDIT, EXPERIENCE, Ready, Workspace, file_of};
use crate::text::{Field, Index as Weights, tokens};

/// What a task was, and what came of it.
#[derive(Debug, Clone, Default)]
pub struct Task<'t> {
    /// The kind of task.
    pub signature: Option<&'t str>,
    /// What the user asked for.
    pub text: Option<&'t str>,
    /// What the user said afterwards.
    pub feedback: Option<&'t str>,
    /// What came of it.
    pub result: Option<RunResult>,
    /// What a calling agent judges.
    pub judgement: Judgement,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Learned {
    /// What was read.
    pub feedback: Feedback,
    /// ADD, MERGE, SUPERSEDE, DISCARD, GATE_BLOCKED or PROPOSE.
    pub action: &'static str,
    /// Whether the entry was made shorter.
    pub synthesized: bool,
    /// Which entry.
    pub skill_entry_id: Option<String>,
    /// Its version now, or, proposed, after a promotion.
    pub version: Option<String>,
    /// What was recorded.
    pub experience_id: String,
    /// Taken before the change.
    pub snapshot_id: Option<String>,
    /// What waits for a governor, or is on record.
    pub proposal_id: Option<String>,
    /// In a sentence.
    pub reasoning: String,
}

impl Workspace<'_> {
    /// Learns from a task. Nothing is changed where this is an error.
    ///
    /// # Errors
    /// When the workspace can't be used or written, or the judgement names what there is not.
    pub fn learn(&self, task: &Task<'_>) -> Result<Learned, EvolveError> {
        let signature = signature_of(task.signature, task.text);
        let advice = self.advice(task, signature.as_deref());
        let session = self.begin()?;
        let (mut change, ready) = Change::new(self, session);
        let mut confirmed = self.proven(task, signature.as_deref(), &ready.bank);
        let earlier = self.earlier(&change, signature.as_deref())?;
        let feedback = self.feedback(task, earlier.last());
        let experience = experience(&mut change, &feedback, signature.as_deref(), &earlier)?;
        let id = experience.experience_id.clone();
        change.experience(experience)?;
        let evidence = vec![format!("{EXPERIENCE}/{id}.json")];
        let judged_parts = task.judgement.parts();
        let judged_by = (!judged_parts.is_empty()).then_some(judged_parts);
        let recorded = json!({
            "action": "RECORD", "lesson": feedback.lesson, "confidence": feedback.confidence,
            "reasoning": format!("Feedback from {}", feedback.source.as_str()), "judgement": judged_by
        });
        change.audit("experience_recorded", &id, recorded, evidence.clone())?;
        let mut learned = Learned {
            feedback: feedback.clone(),
            action: "GATE_BLOCKED",
            synthesized: false,
            skill_entry_id: None,
            version: None,
            experience_id: id.clone(),
            snapshot_id: None,
            proposal_id: None,
            reasoning: String::new(),
        };
        if let Some(reason) = gate(&feedback, ready.manifest.contract.min_feedback_confidence) {
            let details = json!({
                "action": "GATE_BLOCKED", "lesson": feedback.lesson, "confidence": feedback.confidence, "reasoning": reason
            });
            change.audit("experience_recorded", &id, details, evidence)?;
            learned.reasoning = reason;
        } else if let Some(token) = discard_token(&feedback.lesson) {
            let reason = "Lesson contains discard token".to_owned();
            let details = json!({
                "action": "DISCARD", "lesson": feedback.lesson, "confidence": feedback.confidence,
                "reasoning": reason, "token": token
            });
            change.audit("skill_discarded", &id, details, evidence)?;
            learned.action = "DISCARD";
            learned.reasoning = reason;
        } else {
            let mut judged = task.judgement.judged();
            if judged.relation.is_none() {
                judged.relation = advice
                    .filter(|advice| advice.still_holds(&ready.bank))
                    .map(|advice| advice.relation);
            }
            let entries = &ready.bank.entries;
            let decision = decide(entries, &feedback.lesson, signature.as_deref(), &judged)
                .map_err(EvolveError::Input)?;
            let mutation = self.mutation(
                &mut change,
                &ready.bank,
                &decision,
                &feedback,
                signature.as_deref(),
                &id,
                &judged,
            )?;
            self.conclude(&mut change, ready, mutation, &mut learned)?;
        }
        if learned.action == Action::Merge.as_str() {
            confirmed.extend(learned.skill_entry_id.clone());
        }
        self.count_confirmations(confirmed, &mut change);
        change.commit()?;
        if let Err(e) = self.shorten_by_model(&mut learned) {
            log::warn!("the entry could not be made shorter: {e}");
        }
        Ok(learned)
    }

    /// Changes the bank at once, or proposes it.
    fn conclude(
        &self,
        change: &mut Change<'_>,
        mut ready: Ready,
        mutation: Mutation,
        learned: &mut Learned,
    ) -> Result<(), EvolveError> {
        learned.reasoning.clone_from(&mutation.reasoning);
        learned.skill_entry_id = Some(mutation.entry.skill_entry_id.clone());
        learned.version = Some(mutation.entry.version.clone());
        let mode = ready.manifest.governance_mode();
        if mode == Mode::Governed || !ready.manifest.contract.auto_promote {
            let proposal = self.propose(change, &ready, &mutation)?;
            learned.proposal_id = Some(proposal.clone());
            let reason = match mode {
                Mode::Governed => "Governed mode: awaiting governor decision",
                Mode::Standalone => {
                    "Standalone mode without auto_promote: put on record, and changed at once"
                }
            };
            let details = json!({
                "action": "PROPOSE", "lesson": mutation.lesson, "confidence": mutation.confidence, "reasoning": reason,
                "proposed_action": mutation.action.to_string(), "skill_entry_id": mutation.entry.skill_entry_id
            });
            let evidence = vec![format!("{AUDIT}/{proposal}.json")];
            change.audit("proposal_created", &proposal, details, evidence)?;
            if mode == Mode::Governed {
                learned.action = "PROPOSE";
                learned.reasoning = format!("{reason} ({})", mutation.reasoning);
                return Ok(());
            }
        }
        let Outcome {
            snapshot_id,
            version,
            synthesized,
        } = mutate(
            self,
            change,
            &mut ready,
            &mutation,
            &mut |change, snapshot| {
                audit_of(change, &mutation, snapshot, learned.proposal_id.as_deref())
            },
        )?;
        learned.action = mutation.action.as_str();
        learned.snapshot_id = Some(snapshot_id);
        learned.version = Some(version);
        learned.synthesized = synthesized;
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "what a change is made of")]
    fn mutation(
        &self,
        change: &mut Change<'_>,
        bank: &Bank,
        decision: &Decision,
        feedback: &Feedback,
        signature: Option<&str>,
        experience_id: &str,
        judged: &Judged,
    ) -> Result<Mutation, EvolveError> {
        let now = change.time();
        let known = decision.at.and_then(|at| bank.entries.get(at));
        let entry = match known {
            Some(known) => {
                let version = match decision.action {
                    Action::Supersede => known.version().superseded(),
                    _ => known.version().patched(),
                };
                changed_entry(known, decision, version, experience_id, &now)
            }
            None => {
                let id = change.id(Kind::Entry)?;
                let mut entry =
                    Entry::new(id, decision.title.clone(), decision.content.clone(), &now);
                entry.task_signature = signature.map(str::to_owned);
                entry.keywords = judged
                    .keywords
                    .clone()
                    .unwrap_or_else(|| keywords(bank, &feedback.lesson));
                entry.source_experience_ids = vec![experience_id.to_owned()];
                entry
            }
        };
        Ok(Mutation {
            action: decision.action,
            previous_version: known.map(|known| known.version.clone()),
            changes_title: known.is_some_and(|known| known.title != entry.title),
            entry,
            lesson: feedback.lesson.clone(),
            confidence: feedback.confidence,
            experience_id: experience_id.to_owned(),
            reasoning: decision.reasoning.clone(),
            score: decision.score,
            is_judged: judged.relation.is_some() || judged.content.is_some(),
        })
    }

    pub(super) fn feedback(&self, task: &Task<'_>, before: Option<&Experience>) -> Feedback {
        task.judgement
            .feedback()
            .unwrap_or_else(|| extract(&evidence(task, before), self.engine.markers))
    }

    /// The last experiences of a signature, newest last.
    fn earlier(
        &self,
        change: &Change<'_>,
        signature: Option<&str>,
    ) -> Result<Vec<Experience>, EvolveError> {
        let recent = signature.map_or(&[][..], |signature| change.index().recent(signature));
        let mut earlier = Vec::new();
        for id in recent {
            earlier.extend(self.document::<Experience>(&file_of(EXPERIENCE, id)?)?);
        }
        Ok(earlier)
    }

    /// Entries that this task has shown to be good, for they guide such a task and it went well.
    fn proven(&self, task: &Task<'_>, signature: Option<&str>, bank: &Bank) -> Vec<String> {
        if went_well(&evidence(task, None)) != Some(true) {
            return Vec::new();
        }
        let text = task.text.unwrap_or_default();
        let guiding = retrieve(&bank.entries, text, signature, MAX_ENTRIES);
        let entries = guiding.iter().filter_map(|one| bank.entries.get(one.at));
        entries.map(|entry| entry.skill_entry_id.clone()).collect()
    }
}

fn evidence<'t>(task: &'t Task<'_>, before: Option<&'t Experience>) -> Evidence<'t> {
    Evidence {
        task: task.text,
        said: task.feedback,
        result: task.result.as_ref(),
        before,
    }
}

/// Why feedback changes nothing, if it does not.
pub(super) fn gate(feedback: &Feedback, least: f64) -> Option<String> {
    if feedback.confidence < least {
        let confidence = feedback.confidence;
        return Some(format!("Confidence {confidence} below threshold {least}"));
    }
    (feedback.source == FeedbackSource::Default)
        .then(|| "default feedback carries no insight".to_owned())
}

fn experience(
    change: &mut Change<'_>,
    feedback: &Feedback,
    signature: Option<&str>,
    earlier: &[Experience],
) -> Result<Experience, EvolveError> {
    Ok(Experience {
        experience_id: change.id(Kind::Experience)?,
        skill_id: change.skill_id().to_owned(),
        recorded_at: change.time().as_str().to_owned(),
        task_signature: signature.map(str::to_owned),
        lesson: feedback.lesson.clone(),
        feedback_status: feedback.status,
        feedback_source: feedback.source,
        feedback_confidence: feedback.confidence,
        reasoning: feedback.reasoning.clone(),
        cross_rollout_critique: critique(earlier),
        metadata: Map::new(),
    })
}

fn changed_entry(
    known: &Entry,
    decision: &Decision,
    version: Version,
    experience_id: &str,
    now: &Timestamp,
) -> Entry {
    let mut entry = known.clone();
    entry.content.clone_from(&decision.content);
    entry.title.clone_from(&decision.title);
    entry.version = version.to_string();
    entry.source_experience_ids.push(experience_id.to_owned());
    entry.updated_at = now.as_str().to_owned();
    entry
}

/// Keywords of a new entry: the words that say most among the entries of the bank.
fn keywords(bank: &Bank, lesson: &str) -> Vec<String> {
    const WHOLE: [Field; 1] = [Field {
        weight: 1.0,
        length: 0.0,
    }];
    let query = tokens(lesson).into_iter().collect();
    let documents = bank
        .entries
        .iter()
        .map(|entry| vec![vec![entry.title.as_str(), entry.content.as_str()]]);
    let weights = Weights::for_query(&WHOLE, &query, documents);
    keywords_of(lesson, |token| weights.weight_of(token))
}
