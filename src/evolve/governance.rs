//! A governor's decisions on proposals (kit 6).

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::document::{Action, AuditEntry, Entry, Object, PROTOCOL, PromotionDecision, Proposal};
use super::error::EvolveError;
use super::ids::{Kind, Timestamp, Version};
use super::mutate::{Mutation, mutate};
use super::record::Change;
use super::schema::{DocumentKind, check};
use super::workspace::{AUDIT, EXPERIENCE, Ready, Session, Workspace, file_of};

/// What a decision did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// On which proposal.
    pub proposal_id: String,
    /// `promoted`, `rejected`, `deferred`, or `conflict`: the bank has changed since it was proposed.
    pub outcome: String,
    /// Whether the bank was changed.
    pub applied: bool,
}

impl Workspace<'_> {
    /// Applies a decision, the text of a PromotionDecision.
    ///
    /// # Errors
    /// When it is none, or not one on an open proposal of this skill by its governor; nothing is changed then.
    pub fn decide(&self, text: &str) -> Result<Decided, EvolveError> {
        let session = self.begin()?;
        let (decision, document) = parse(text)?;
        let proposal = self.open_proposal(&session, &decision)?;
        let governor = session.ready.manifest.governor.clone();
        check_decider(&decision, &proposal, governor.as_deref())?;
        let file = file_of(AUDIT, &decision.decision_id)?;
        // Also one that deferred, or came to a conflict: who decides again makes a new one.
        if self.read(&file)?.is_some() {
            return refuse(format!(
                "there is a decision {} already: each is applied once",
                decision.decision_id
            ));
        }
        let (mut change, mut ready) = Change::new(self, session);
        change.write(AUDIT, &decision.decision_id, &document)?;
        let evidence = vec![
            format!("{AUDIT}/{}.json", proposal.proposal_id),
            format!("{AUDIT}/{}.json", decision.decision_id),
        ];
        let id = proposal.proposal_id.as_str();
        let details = |action: &str, more: Value| {
            let mut details = json!({
                "action": action, "reasoning": decision.reason, "decision_id": decision.decision_id,
                "decider": decision.decider
            });
            if let (Some(details), Value::Object(more)) = (details.as_object_mut(), more) {
                details.extend(more);
            }
            details
        };
        let nothing = Value::Null;
        let mut outcome = decision.outcome.as_str();
        let mut applied = false;
        match outcome {
            "rejected" => change.audit(
                "proposal_rejected",
                id,
                details("REJECTED", nothing),
                evidence,
            )?,
            "deferred" => change.audit(
                "governance_decision",
                id,
                details("DEFERRED", nothing),
                evidence,
            )?,
            _ => {
                let at = ready.bank.position(
                    proposal.payload["skill_entry_id"]
                        .as_str()
                        .unwrap_or_default(),
                );
                let now = at
                    .and_then(|at| ready.bank.entries.get(at))
                    .map(|entry| entry.version.clone());
                if now.as_deref() != proposal.payload["base_entry_version"].as_str() {
                    let said = json!({
                        "base_entry_version": proposal.payload["base_entry_version"], "entry_version": now
                    });
                    change.audit(
                        "governance_decision",
                        id,
                        details("CONFLICT", said),
                        evidence,
                    )?;
                    outcome = "conflict";
                } else {
                    let effective = decision.effective_version.clone();
                    let effective = effective.unwrap_or_else(|| proposal.target_version.clone());
                    let mutation = mutation_of(&proposal);
                    let mut accept = |change: &mut Change<'_>, snapshot: &str| {
                        let said = json!({
                            "effective_version": effective, "previous_version": mutation.previous_version,
                            "new_version": mutation.entry.version, "snapshot_id": snapshot,
                            "skill_entry_id": mutation.entry.skill_entry_id, "lesson": mutation.lesson,
                            "experience_id": mutation.experience_id, "proposed_action": mutation.action.to_string()
                        });
                        change.audit(
                            "proposal_accepted",
                            id,
                            details("PROMOTED", said),
                            evidence.clone(),
                        )
                    };
                    mutate(self, &mut change, &mut ready, &mutation, &mut accept)?;
                    ready.manifest.promote(&effective, &decision.decision_id);
                    change.manifest(&ready.manifest);
                    applied = true;
                }
            }
        }
        change.commit()?;
        Ok(Decided {
            proposal_id: proposal.proposal_id,
            outcome: outcome.to_owned(),
            applied,
        })
    }

    /// Puts a change on record, to be decided on; says under which identifier.
    pub(super) fn propose(
        &self,
        change: &mut Change<'_>,
        ready: &Ready,
        mutation: &Mutation,
    ) -> Result<String, EvolveError> {
        let id = change.id(Kind::Proposal)?;
        let base = &ready.manifest.version;
        let version = Version::parse(base).unwrap_or(Version::FIRST);
        let target = match mutation.action {
            Action::Supersede => version.superseded(),
            _ => version.patched(),
        };
        let entry = &mutation.entry;
        let is_new = mutation.action == Action::Add;
        let created_at = change.time();
        let mut payload = json!({
            "skill_entry_id": entry.skill_entry_id, "content": entry.content, "version": entry.version,
            "source_experience_ids": entry.source_experience_ids, "updated_at": entry.updated_at
        });
        if let Some(version) = &mutation.previous_version {
            payload["base_entry_version"] = version.clone().into();
        }
        if is_new || mutation.changes_title {
            payload["title"] = entry.title.clone().into();
        }
        if is_new {
            payload["keywords"] = entry.keywords.clone().into();
            if let Some(signature) = &entry.task_signature {
                payload["task_signature"] = signature.clone().into();
            }
        }
        let proposal = json!({
            "schema_name": "SkillProposal", "schema_version": PROTOCOL, "protocol_version": PROTOCOL, "proposal_id": id,
            "skill_id": ready.manifest.skill_id, "created_at": created_at.as_str(),
            "proposer": {"authority": "local", "id": self.engine.actor}, "status": "candidate",
            "proposal_type": if is_new { "new_skill" } else { "skill_update" }, "base_version": base,
            "target_version": target.to_string(),
            "change_summary": format!("{}: {}", mutation.action, mutation.lesson),
            "proposed_action": mutation.action.to_string(), "proposed_payload": payload,
            "artifacts": [{"type": "evidence", "ref": format!("{EXPERIENCE}/{}.json", mutation.experience_id)}]
        });
        change.write(AUDIT, &id, &proposal)?;
        Ok(id)
    }

    /// The proposals that wait for a decision, oldest first.
    ///
    /// # Errors
    /// When the workspace can't be read.
    pub fn proposals(&self) -> Result<Vec<Value>, EvolveError> {
        self.look()?;
        let audits = self.audits()?;
        let decided = decided(&audits);
        let made: Vec<&str> = audits
            .iter()
            .filter(|audit| audit.event_type == "proposal_created")
            .map(|audit| audit.subject_id.as_str())
            .collect();
        let mut open: Vec<Value> = Vec::new();
        for id in self.ids(AUDIT, Kind::Proposal.prefix())? {
            if !decided.contains(id.as_str()) {
                open.extend(self.document::<Value>(&file_of(AUDIT, &id)?)?);
            }
        }
        let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
        open.sort_by_key(|one| {
            let id = text(one, "proposal_id");
            let place = made.iter().position(|made| *made == id);
            (place, text(one, "created_at"), id)
        });
        Ok(open)
    }

    /// The audit trail, oldest first; of one entry, what changed it and what that rests on.
    ///
    /// # Errors
    /// When the workspace can't be read.
    pub fn history(&self, entry: Option<&str>) -> Result<Vec<AuditEntry>, EvolveError> {
        self.look()?;
        let all = self.audits()?;
        let Some(entry) = entry else {
            return Ok(all);
        };
        let names = |audit: &AuditEntry| {
            let named = audit.details.get("skill_entry_id").and_then(Value::as_str);
            audit.subject_id == entry || named == Some(entry)
        };
        Ok(all.into_iter().filter(names).collect())
    }

    pub(super) fn audits(&self) -> Result<Vec<AuditEntry>, EvolveError> {
        let mut audits: Vec<AuditEntry> = Vec::new();
        for id in self.ids(AUDIT, Kind::Audit.prefix())? {
            audits.extend(self.document::<AuditEntry>(&file_of(AUDIT, &id)?)?);
        }
        // Ours are in the order in which they were made, whatever the clock said; those of others come before.
        let place = |one: &AuditEntry| super::document::sequence(&one.details);
        audits.sort_by(|a, b| {
            let key = |one: &AuditEntry| (place(one), one.created_at.clone(), one.audit_id.clone());
            key(a).cmp(&key(b))
        });
        Ok(audits)
    }

    fn open_proposal(
        &self,
        session: &Session<'_>,
        decision: &PromotionDecision,
    ) -> Result<Proposal, EvolveError> {
        let id = &decision.proposal_id;
        let skill_id = &session.ready.manifest.skill_id;
        if decision.skill_id != *skill_id {
            return refuse(format!(
                "the decision is on skill {:?}, but this is the workspace of {skill_id:?}",
                decision.skill_id
            ));
        }
        if !Kind::Proposal.is(id) || self.read(&file_of(AUDIT, id)?)?.is_none() {
            return refuse(format!(
                "there is no proposal {id:?}: 'evolve proposals' lists those that wait"
            ));
        }
        if decided(&self.audits()?).contains(id.as_str()) {
            return refuse(format!("proposal {id} is decided already"));
        }
        let proposal: Option<Value> = self.document(&file_of(AUDIT, id)?)?;
        let proposal =
            proposal.filter(|proposal| check(DocumentKind::Proposal, proposal).is_empty());
        match proposal.as_ref().map(Proposal::of) {
            Some(proposal) if proposal.skill_id == *skill_id => Ok(proposal),
            Some(proposal) => refuse(format!(
                "proposal {id} is of skill {:?}, not of {skill_id:?}",
                proposal.skill_id
            )),
            None => refuse(format!(
                "proposal {id} can't be read: 'evolve validate' says why"
            )),
        }
    }
}

/// Proposals that were accepted, rejected, or changed the bank at once.
fn decided(audits: &[AuditEntry]) -> BTreeSet<&str> {
    let ended = audits.iter().filter_map(|audit| {
        let ends = ["proposal_accepted", "proposal_rejected"].contains(&audit.event_type.as_str());
        match audit.details.get("proposal_id") {
            _ if ends => Some(audit.subject_id.as_str()),
            Some(proposal) => proposal.as_str(),
            None => None,
        }
    });
    ended.collect()
}

fn refuse<T>(reason: String) -> Result<T, EvolveError> {
    Err(EvolveError::Refused(reason))
}

fn parse(text: &str) -> Result<(PromotionDecision, Value), EvolveError> {
    let wrong =
        |reason: String| EvolveError::Input(format!("this is no PromotionDecision: {reason}"));
    let document: Value = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    if let Some(fault) = check(DocumentKind::Decision, &document).first() {
        return Err(wrong(
            format!("{} {}", fault.path, fault.error).trim().to_owned(),
        ));
    }
    let spelt: Object = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    if let Some(key) = spelt.repeated() {
        return Err(wrong(format!("it has the field {key} twice")));
    }
    Ok((PromotionDecision::of(&document), document))
}

fn check_decider(
    decision: &PromotionDecision,
    proposal: &Proposal,
    governor: Option<&str>,
) -> Result<(), EvolveError> {
    let decider = &decision.decider;
    if let Some(governor) = governor.filter(|governor| governor != decider) {
        return refuse(format!(
            "the decision is {decider:?}'s, but the governor of this skill is {governor:?}"
        ));
    }
    if *decider == proposal.proposer {
        return refuse(format!(
            "{decider:?} has made the proposal and can't promote it"
        ));
    }
    Ok(())
}

/// What a proposal would do.
fn mutation_of(proposal: &Proposal) -> Mutation {
    let payload = &proposal.payload;
    let text = |field: &str| payload[field].as_str().unwrap_or_default().to_owned();
    let texts = |field: &str| -> Vec<String> {
        let all = payload[field].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (_, lesson) = proposal
        .change_summary
        .split_once(": ")
        .unwrap_or(("", &proposal.change_summary));
    let experience = proposal.evidence.rsplit('/').next().unwrap_or_default();
    let updated_at = Timestamp::parse(&text("updated_at"));
    let updated_at = updated_at.unwrap_or_else(|| Timestamp::of(time::OffsetDateTime::UNIX_EPOCH));
    let mut entry = Entry::new(
        text("skill_entry_id"),
        text("title"),
        text("content"),
        &updated_at,
    );
    entry.version = text("version");
    entry.task_signature = payload["task_signature"].as_str().map(str::to_owned);
    entry.keywords = texts("keywords");
    entry.source_experience_ids = texts("source_experience_ids");
    Mutation {
        action: proposal.action,
        changes_title: !entry.title.is_empty(),
        entry,
        previous_version: payload["base_entry_version"].as_str().map(str::to_owned),
        lesson: lesson.to_owned(),
        confidence: 1.0,
        experience_id: experience.trim_end_matches(".json").to_owned(),
        reasoning: "promoted by the governor".into(),
        score: None,
        is_judged: false,
    }
}
