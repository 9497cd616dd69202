//! A governed skill changes by the decisions of its governor only.

use serde_json::{Value, json};

use super::common;
use super::workspace::{
    Counts, JITTER, RETRY, SCRAPING, Workspace, assert_id, bullets, said, text,
};

const MERGED: &str = "1.2.1";

/// What the governor decides on a proposal.
pub fn decision(proposal: &Value, outcome: &str) -> Value {
    let id = text(&proposal["proposal_id"]).replace("prop-", "dec-");
    json!({
        "schema_name": "PromotionDecision", "schema_version": "1.0.0", "protocol_version": "1.0.0",
        "decision_id": id, "proposal_id": proposal["proposal_id"], "skill_id": proposal["skill_id"],
        "decided_at": "2026-04-01T00:00:00Z",
        "decider": {"authority": "governor", "id": "agent-skill-governor"},
        "outcome": outcome, "reason": "it was looked at", "effective_version": proposal["target_version"],
        "evidence_refs": [],
    })
}

/// A governed skill that has one proposal, to merge into an entry.
fn proposed() -> (Workspace, Value) {
    let workspace = Workspace::governed();
    let learned = workspace.learn(JITTER, "api_rate_limiting");
    assert_eq!(learned["action"], "PROPOSE");
    let proposal = workspace.proposals().remove(0);
    assert_eq!(learned["proposal_id"], proposal["proposal_id"]);
    (workspace, proposal)
}

fn proposal_path(proposal: &Value) -> String {
    format!("audit/{}.json", text(&proposal["proposal_id"]))
}

#[track_caller]
fn assert_decided(workspace: &Workspace, decision: &Value, applied: bool) {
    let said = workspace.decide(decision).expect(0).json();
    assert_eq!(said["proposal_id"], decision["proposal_id"]);
    assert_eq!(said["outcome"], decision["outcome"]);
    assert_eq!(said["applied"], applied);
    let copy = format!("audit/{}.json", text(&decision["decision_id"]));
    assert_eq!(workspace.read(&copy), *decision);
}

/// A decision that counts for nothing.
#[track_caller]
fn assert_refused(workspace: &Workspace, decision: &Value) {
    let before = workspace.files();
    let run = workspace.decide(decision).expect(1);
    assert!(!run.stderr.is_empty());
    workspace.assert_files(&before);
}

#[test]
fn a_lesson_becomes_a_proposal_and_the_bank_stays() {
    let workspace = Workspace::governed();
    let bank = workspace.bytes("skill_bank.json");
    let manifest = workspace.bytes("manifest.json");
    let learned = workspace.learn(JITTER, "api_rate_limiting");
    assert_eq!(learned["action"], "PROPOSE");
    assert_eq!(learned["snapshot_id"], Value::Null);
    assert_eq!(workspace.bytes("skill_bank.json"), bank);
    assert_eq!(workspace.bytes("manifest.json"), manifest);
    assert_eq!(workspace.counts(), Counts::of(1, 0, 2, 1));
    let proposal = workspace.proposals().remove(0);
    assert_id(&proposal["proposal_id"], "prop");
    assert_eq!(workspace.read(&proposal_path(&proposal)), proposal);
    assert_eq!(proposal["schema_name"], "SkillProposal");
    assert_eq!(proposal["schema_version"], "1.0.0");
    assert_eq!(proposal["protocol_version"], "1.0.0");
    assert_eq!(proposal["skill_id"], "investment-advisor.skill");
    let proposer = format!("aiden-skills/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        proposal["proposer"],
        json!({"authority": "local", "id": proposer})
    );
    assert_eq!(proposal["status"], "candidate");
    assert_eq!(proposal["proposal_type"], "skill_update");
    assert_eq!(proposal["proposed_action"], "MERGE");
    assert_eq!(proposal["base_version"], "1.2.0");
    assert_eq!(proposal["target_version"], MERGED);
    assert_eq!(proposal["proposed_payload"]["version"], "0.1.3");
    assert!(!text(&proposal["change_summary"]).is_empty());
    let experience = format!("experience/{}.json", text(&learned["experience_id"]));
    let artifacts = json!([{"type": "evidence", "ref": experience}]);
    assert_eq!(proposal["artifacts"], artifacts);
    let audit = workspace.audit("PROPOSE");
    assert_eq!(audit["event_type"], "proposal_created");
    assert_eq!(audit["subject_id"], proposal["proposal_id"]);
    let reasoning = "Governed mode: awaiting governor decision";
    assert_eq!(audit["details"]["reasoning"], reasoning);
    workspace.audit("RECORD");
}

#[test]
fn the_target_version_follows_the_kind_of_change() {
    let workspace = Workspace::governed();
    workspace.learn("Always compress photos before uploading", "photo_upload");
    let proposal = workspace.proposals().remove(0);
    assert_eq!(proposal["proposal_type"], "new_skill");
    assert_eq!(proposal["proposed_action"], "ADD");
    assert_eq!(proposal["target_version"], "1.2.1");
    let payload = &proposal["proposed_payload"];
    assert_eq!(payload["version"], "0.1.0");
    assert_eq!(
        payload["content"],
        "- Always compress photos before uploading"
    );
    let workspace = Workspace::governed();
    let lesson = "Prefer page.$() over page.evaluate() for complex DOM traversals in shadow DOMs";
    workspace.learn(lesson, "web_scraping_dynamic");
    let proposal = workspace.proposals().remove(0);
    assert_eq!(proposal["proposal_type"], "skill_update");
    assert_eq!(proposal["proposed_action"], "SUPERSEDE");
    assert_eq!(proposal["target_version"], "1.3.0");
    assert_eq!(proposal["proposed_payload"]["version"], "0.3.0");
}

#[test]
fn open_proposals_are_listed_oldest_first() {
    let (workspace, first) = proposed();
    workspace.learn("Always compress photos before uploading", "photo_upload");
    let listed = workspace.json(&["proposals"]);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["proposal_id"], first["proposal_id"]);
    assert_decided(&workspace, &decision(&first, "rejected"), false);
    let listed = workspace.json(&["proposals"]);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert_ne!(listed[0]["proposal_id"], first["proposal_id"]);
    assert_eq!(Workspace::new().json(&["proposals"]), json!([]));
}

#[test]
fn a_promotion_applies_the_proposal_once() {
    let (workspace, proposal) = proposed();
    let file = workspace.bytes(&proposal_path(&proposal));
    let before = workspace.bank();
    let manifest = workspace.manifest();
    let promoted = decision(&proposal, "promoted");
    assert_decided(&workspace, &promoted, true);
    assert_eq!(workspace.counts(), Counts::of(1, 1, 4, 1));
    let snapshot = workspace.snapshots().remove(0);
    assert_eq!(snapshot["skill_bank"], before);
    assert_eq!(snapshot["manifest"], manifest);
    let entry = workspace.entry(RETRY);
    assert_eq!(entry["version"], "0.1.3");
    let mut expected = bullets(&before["skills"][1]);
    expected.push(format!("- {JITTER}"));
    assert_eq!(bullets(&entry), expected);
    let experience = workspace.experiences()[0]["experience_id"].clone();
    let sources = json!(["exp-223344556677", experience]);
    assert_eq!(entry["source_experience_ids"], sources);
    assert_eq!(workspace.entry(SCRAPING), before["skills"][0]);
    let manifest = workspace.manifest();
    assert_eq!(manifest["version"], MERGED);
    assert_eq!(
        manifest["official_ref"]["promotion_decision_id"],
        promoted["decision_id"]
    );
    let expected = [
        "experience_recorded",
        "proposal_accepted",
        "proposal_created",
        "snapshot_created",
    ];
    assert_eq!(workspace.events(), expected);
    assert_eq!(workspace.bytes(&proposal_path(&proposal)), file);
    assert_eq!(workspace.json(&["proposals"]), json!([]));
    assert_refused(&workspace, &promoted);
    let mut again = promoted;
    again["decision_id"] = json!("dec-999999999999");
    assert_refused(&workspace, &again);
}

#[test]
fn the_version_is_the_one_that_the_governor_says() {
    let (workspace, proposal) = proposed();
    let mut promoted = decision(&proposal, "promoted");
    promoted["effective_version"] = json!("2.0.0");
    assert_decided(&workspace, &promoted, true);
    assert_eq!(workspace.manifest()["version"], "2.0.0");
    assert_eq!(workspace.entry(RETRY)["version"], "0.1.3");
}

#[test]
fn a_new_entry_comes_with_its_promotion() {
    let workspace = Workspace::governed();
    workspace.learn("Always compress photos before uploading", "photo_upload");
    let proposal = workspace.proposals().remove(0);
    assert_decided(&workspace, &decision(&proposal, "promoted"), true);
    let bank = workspace.bank();
    assert_eq!(bank["skills"].as_array().unwrap().len(), 4);
    let id = text(&proposal["proposed_payload"]["skill_entry_id"]);
    let content = workspace.entry(id)["content"].clone();
    assert_eq!(content, "- Always compress photos before uploading");
}

#[test]
fn a_rejection_is_final() {
    let (workspace, proposal) = proposed();
    let bank = workspace.bytes("skill_bank.json");
    let manifest = workspace.bytes("manifest.json");
    assert_decided(&workspace, &decision(&proposal, "rejected"), false);
    assert_eq!(workspace.counts(), Counts::of(1, 0, 3, 1));
    let expected = [
        "experience_recorded",
        "proposal_created",
        "proposal_rejected",
    ];
    assert_eq!(workspace.events(), expected);
    assert_eq!(workspace.bytes("skill_bank.json"), bank);
    assert_eq!(workspace.bytes("manifest.json"), manifest);
    let mut promoted = decision(&proposal, "promoted");
    promoted["decision_id"] = json!("dec-999999999999");
    assert_refused(&workspace, &promoted);
}

#[test]
fn what_is_deferred_can_be_promoted_later() {
    let (workspace, proposal) = proposed();
    let bank = workspace.bytes("skill_bank.json");
    let file = workspace.bytes(&proposal_path(&proposal));
    assert_decided(&workspace, &decision(&proposal, "deferred"), false);
    assert_eq!(workspace.counts(), Counts::of(1, 0, 3, 1));
    let audit = workspace.audit("DEFERRED");
    assert_eq!(audit["event_type"], "governance_decision");
    assert_eq!(audit["subject_id"], proposal["proposal_id"]);
    assert_eq!(workspace.bytes("skill_bank.json"), bank);
    assert_eq!(workspace.bytes(&proposal_path(&proposal)), file);
    let listed = workspace.json(&["proposals"]);
    assert_eq!(listed[0]["proposal_id"], proposal["proposal_id"]);
    let mut promoted = decision(&proposal, "promoted");
    promoted["decision_id"] = json!("dec-999999999999");
    assert_decided(&workspace, &promoted, true);
    assert_eq!(workspace.entry(RETRY)["version"], "0.1.3");
}

#[test]
fn a_decision_that_nobody_may_take_changes_nothing() {
    let (workspace, proposal) = proposed();
    for (pointer, value) in [
        ("/outcome", json!("approved")),
        ("/outcome", json!("Promoted")),
        ("/outcome", json!(null)),
        ("/decider/authority", json!("local")),
        ("/decider/id", json!("somebody-else")),
        ("/skill_id", json!("another.skill")),
        ("/proposal_id", json!("prop-999999999999")),
        ("/proposal_id", json!("../manifest")),
        ("/decision_id", json!("../../x")),
        ("/schema_name", json!("SkillProposal")),
        ("/effective_version", json!("the next")),
    ] {
        let mut wrong = decision(&proposal, "promoted");
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert_refused(&workspace, &wrong);
    }
    assert_refused(&workspace, &json!({}));
    assert_refused(&workspace, &json!("promoted"));
    let missing = workspace.board.root().join("nothing.json");
    let missing = missing.to_str().unwrap();
    workspace.refused(&["decide", "--decision", missing]);
    workspace.refused_with(2, &["decide"]);
}

#[test]
fn without_a_governor_in_the_manifest_any_governor_may_decide() {
    let (workspace, proposal) = proposed();
    workspace.change_manifest(|manifest| {
        let governance = manifest["governance"].as_object_mut().unwrap();
        governance.remove("governor_id");
    });
    let mut promoted = decision(&proposal, "promoted");
    promoted["decider"]["id"] = json!("somebody-else");
    assert_decided(&workspace, &promoted, true);
}

#[test]
fn who_learns_in_the_governors_name_still_only_proposes() {
    let workspace = Workspace::governed();
    let bank = workspace.bytes("skill_bank.json");
    let judgement = json!({ "feedback": said(JITTER) }).to_string();
    let actor = ["learn", "--actor", "agent-skill-governor"];
    let learned = workspace.json(&[&actor[..], &["--judgement", &judgement]].concat());
    assert_eq!(learned["action"], "PROPOSE");
    assert_eq!(workspace.bytes("skill_bank.json"), bank);
    let proposer = workspace.proposals()[0]["proposer"].clone();
    assert_eq!(
        proposer,
        json!({"authority": "local", "id": "agent-skill-governor"})
    );
}

#[test]
fn a_promotion_onto_an_entry_that_has_changed_is_a_conflict() {
    let (workspace, first) = proposed();
    workspace.learn(
        "Log each retry with exponential backoff and its delay",
        "api_rate_limiting",
    );
    let mut proposals = workspace.proposals();
    proposals.retain(|one| one["proposal_id"] != first["proposal_id"]);
    let second = proposals.remove(0);
    assert_eq!(second["proposed_action"], "MERGE");
    assert_decided(&workspace, &decision(&first, "promoted"), true);
    let bank = workspace.bytes("skill_bank.json");
    let manifest = workspace.bytes("manifest.json");
    let run = workspace.decide(&decision(&second, "promoted")).expect(3);
    let said = run.json();
    assert_eq!(said["proposal_id"], second["proposal_id"]);
    assert_eq!(said["outcome"], "conflict");
    assert_eq!(said["applied"], false);
    let audit = workspace.audit("CONFLICT");
    assert_eq!(audit["event_type"], "governance_decision");
    assert_eq!(audit["subject_id"], second["proposal_id"]);
    assert_eq!(workspace.bytes("skill_bank.json"), bank);
    assert_eq!(workspace.bytes("manifest.json"), manifest);
    assert_eq!(workspace.snapshots().len(), 1);
}

#[test]
fn evidence_named_by_its_id_alone_is_accepted() {
    let (workspace, proposal) = proposed();
    let mut other = proposal.clone();
    other["artifacts"][0]["ref"] = workspace.experiences()[0]["experience_id"].clone();
    let path = workspace.path(&proposal_path(&proposal));
    common::write(&path, other.to_string());
    workspace.json(&["validate"]);
    assert_decided(&workspace, &decision(&other, "promoted"), true);
}

#[test]
fn a_decision_can_come_on_standard_input() {
    let (workspace, proposal) = proposed();
    let text = decision(&proposal, "promoted").to_string();
    let run = workspace.run_with_input(&["decide", "--decision", "-"], &text);
    assert_eq!(run.expect(0).json()["applied"], true);
}

#[test]
fn a_standalone_skill_that_does_not_promote_itself_records_a_proposal_and_changes_at_once() {
    let workspace = Workspace::new();
    workspace.change_manifest(|manifest| {
        manifest["metadata"]["contract"]["auto_promote"] = json!(false);
    });
    let learned = workspace.learn("Always compress photos before uploading", "photo_upload");
    assert_id(&learned["proposal_id"], "prop");
    assert_eq!(learned["version"], "0.1.0");
    assert_eq!(
        workspace.only_entry()["skill_entry_id"],
        learned["skill_entry_id"]
    );
    assert_eq!(workspace.counts(), Counts::of(1, 1, 4, 1));
    let proposal = workspace.proposals().remove(0);
    assert_eq!(proposal["proposal_type"], "new_skill");
    assert_eq!(proposal["proposal_id"], learned["proposal_id"]);
    let audit = workspace.audit("PROPOSE");
    assert_eq!(audit["subject_id"], proposal["proposal_id"]);
    workspace.audit("ADD");
    assert_eq!(workspace.manifest()["version"], "0.1.0");
}
