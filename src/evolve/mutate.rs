//! A change of the bank: snapshot before, audit after, and a shorter text where it got too long (kit 5.5, 5.6).

use serde_json::json;

use super::content::count_bullets;
use super::document::{Action, Bank, Entry};
use super::error::EvolveError;
use super::record::Change;
use super::synthesis::synthesise;
use super::workspace::{BANK, EXPERIENCE, Ready, SNAPSHOTS, Workspace};

/// What is to be done with the bank.
pub(super) struct Mutation {
    pub action: Action,
    /// As it will be.
    pub entry: Entry,
    /// None: it is new.
    pub previous_version: Option<String>,
    /// Whether the title is another one than before.
    pub changes_title: bool,
    pub lesson: String,
    pub confidence: f64,
    pub experience_id: String,
    pub reasoning: String,
    pub score: Option<f64>,
    /// Whether a calling agent or a model decided.
    pub is_judged: bool,
}

/// What was done.
pub(super) struct Outcome {
    /// Taken before it.
    pub snapshot_id: String,
    /// Of the entry now.
    pub version: String,
    pub synthesized: bool,
}

/// Changes the bank, and makes the entry shorter if it is too long by then. `audit` tells of the change, given the snapshot
/// that was taken before it.
pub(super) fn mutate(
    workspace: &Workspace<'_>,
    change: &mut Change<'_>,
    ready: &mut Ready,
    mutation: &Mutation,
    audit: &mut dyn FnMut(&mut Change<'_>, &str) -> Result<(), EvolveError>,
) -> Result<Outcome, EvolveError> {
    let whose = match mutation.previous_version {
        None => "new",
        Some(_) => mutation.entry.skill_entry_id.as_str(),
    };
    let reason = format!("Before {} on skill entry {whose}", mutation.action);
    let (snapshot_id, taken_at) =
        change.snapshot(&reason, &ready.manifest_text, &ready.bank_text)?;
    put(&mut ready.bank, &mutation.entry, taken_at.as_str());
    ready.bank_text = ready.bank.to_file();
    audit(change, &snapshot_id)?;
    let mut outcome = Outcome {
        snapshot_id,
        version: mutation.entry.version.clone(),
        synthesized: false,
    };
    shorten(workspace, change, ready, mutation, &mut outcome)?;
    change.put(BANK, ready.bank_text.clone());
    Ok(outcome)
}

/// The audit entry of a change that nobody had to decide on.
pub(super) fn audit_of(
    change: &mut Change<'_>,
    mutation: &Mutation,
    snapshot: &str,
    proposal: Option<&str>,
) -> Result<(), EvolveError> {
    let details = json!({
        "action": mutation.action.to_string(), "lesson": mutation.lesson, "confidence": mutation.confidence,
        "reasoning": mutation.reasoning, "previous_version": mutation.previous_version,
        "new_version": mutation.entry.version, "experience_id": mutation.experience_id, "snapshot_id": snapshot,
        "match_score": mutation.score.map(|score| (score * 1000.0).round() / 1000.0),
        "judgement": mutation.is_judged.then_some(true), "proposal_id": proposal
    });
    let evidence = evidence(&mutation.experience_id, snapshot);
    change.audit(
        mutation.action.event(),
        &mutation.entry.skill_entry_id,
        details,
        evidence,
    )
}

/// Puts an entry in the place of the one with its identifier, or behind all others.
fn put(bank: &mut Bank, entry: &Entry, at_least: &str) {
    let time = entry.updated_at.as_str().max(at_least).to_owned();
    match bank.position(&entry.skill_entry_id) {
        Some(at) => bank.change(at, |known| {
            known.content.clone_from(&entry.content);
            known.version.clone_from(&entry.version);
            if !entry.title.is_empty() {
                known.title.clone_from(&entry.title);
            }
            known
                .source_experience_ids
                .clone_from(&entry.source_experience_ids);
            known.updated_at = time;
        }),
        None => {
            let mut entry = entry.clone();
            entry.updated_at = time;
            bank.entries.push(entry);
        }
    }
}

fn shorten(
    workspace: &Workspace<'_>,
    change: &mut Change<'_>,
    ready: &mut Ready,
    mutation: &Mutation,
    outcome: &mut Outcome,
) -> Result<(), EvolveError> {
    // A model that goes first is asked when the lock is given back.
    if workspace
        .engine
        .advisor
        .is_some_and(super::Advisor::is_first)
    {
        return Ok(());
    }
    let Some(long) = too_long(ready, &mutation.entry.skill_entry_id) else {
        return Ok(());
    };
    let cause = Cause {
        lesson: &mutation.lesson,
        confidence: mutation.confidence,
        experience_id: &mutation.experience_id,
    };
    let shorter = synthesise(&long.content);
    if let Some(version) = synthesize(change, ready, &long, shorter, "rules", &cause)? {
        outcome.version = version;
        outcome.synthesized = true;
    }
    Ok(())
}

/// An entry with more bullets than it should have.
pub(super) fn too_long(ready: &Ready, id: &str) -> Option<Entry> {
    let threshold = ready.manifest.contract.synthesis_threshold;
    let at = ready.bank.position(id)?;
    let entry = ready.bank.entries.get(at)?;
    (count_bullets(&entry.content) as u64 > threshold).then(|| entry.clone())
}

/// What made an entry too long.
pub(super) struct Cause<'c> {
    pub lesson: &'c str,
    pub confidence: f64,
    pub experience_id: &'c str,
}

/// Puts the shorter text in the place of an entry's, and tells of it; without one, it only tells. Says its version now.
pub(super) fn synthesize(
    change: &mut Change<'_>,
    ready: &mut Ready,
    entry: &Entry,
    shorter: Option<String>,
    by: &str,
    cause: &Cause<'_>,
) -> Result<Option<String>, EvolveError> {
    let threshold = ready.manifest.contract.synthesis_threshold;
    let id = &entry.skill_entry_id;
    let before = count_bullets(&entry.content);
    let after = shorter.as_deref().map_or(before, count_bullets);
    let mut details = json!({
        "action": Action::Synthesize.to_string(), "lesson": cause.lesson, "confidence": cause.confidence,
        "reasoning": format!("{before} bullets are more than {threshold}"), "before": before, "after": after,
        "outcome": if shorter.is_some() { "reduced" } else { "no_reduction" }, "by": by,
        "experience_id": cause.experience_id, "unresolved": (after as u64 > threshold).then_some(true)
    });
    let event = Action::Synthesize.event();
    let (Some(shorter), Some(at)) = (shorter, ready.bank.position(id)) else {
        let evidence = vec![format!("{EXPERIENCE}/{}.json", cause.experience_id)];
        change.audit(event, id, details, evidence)?;
        return Ok(None);
    };
    let reason = format!("Before SYNTHESIZE on skill entry {id}");
    let (snapshot_id, taken_at) =
        change.snapshot(&reason, &ready.manifest_text, &ready.bank_text)?;
    let version = entry.version().patched().to_string();
    details["previous_version"] = entry.version.clone().into();
    details["new_version"] = version.clone().into();
    details["snapshot_id"] = snapshot_id.clone().into();
    ready.bank.change(at, |entry| {
        entry.content = shorter;
        entry.version.clone_from(&version);
        entry.updated_at = taken_at.as_str().to_owned();
    });
    ready.bank_text = ready.bank.to_file();
    change.put(BANK, ready.bank_text.clone());
    change.audit(
        event,
        id,
        details,
        evidence(cause.experience_id, &snapshot_id),
    )?;
    Ok(Some(version))
}

fn evidence(experience: &str, snapshot: &str) -> Vec<String> {
    vec![
        format!("{EXPERIENCE}/{experience}.json"),
        format!("{SNAPSHOTS}/{snapshot}.json"),
    ]
}
