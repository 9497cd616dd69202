//! The gate of confidence, and what is recorded whether or not it lets a lesson pass.

use serde_json::{Value, json};

use super::workspace::{Counts, NO_INSIGHT, Workspace, assert_id, said, text};

fn sure(confidence: f64) -> Value {
    let mut feedback = said("Always say hello");
    feedback["confidence"] = json!(confidence);
    json!({ "feedback": feedback })
}

#[track_caller]
fn assert_blocked(workspace: &Workspace, learned: &Value, reasoning: &str) {
    assert_eq!(learned["action"], "GATE_BLOCKED");
    assert_eq!(learned["reasoning"], reasoning);
    for none in ["skill_entry_id", "snapshot_id", "proposal_id"] {
        assert_eq!(learned[none], Value::Null, "{none}");
    }
    assert_eq!(workspace.counts(), Counts::of(1, 0, 2, 0));
    assert_eq!(
        workspace.events(),
        ["experience_recorded", "experience_recorded"]
    );
    let experience = workspace.experiences().remove(0);
    assert_eq!(learned["experience_id"], experience["experience_id"]);
    for action in ["RECORD", "GATE_BLOCKED"] {
        let audit = workspace.audit(action);
        assert_eq!(audit["subject_id"], experience["experience_id"]);
    }
    let blocked = workspace.audit("GATE_BLOCKED");
    assert_eq!(blocked["details"]["reasoning"], reasoning);
}

#[test]
fn no_insight_is_recorded_and_goes_no_further() {
    let workspace = Workspace::new();
    let bank = workspace.bytes("skill_bank.json");
    let learned = workspace.json(&["learn", "--task", "Play a song"]);
    assert_blocked(&workspace, &learned, "Confidence 0.2 below threshold 0.35");
    assert_eq!(workspace.bytes("skill_bank.json"), bank);
    let experience = workspace.experiences().remove(0);
    assert_eq!(experience["lesson"], NO_INSIGHT);
    assert_eq!(experience["feedback_source"], "default");
    assert_eq!(experience["feedback_confidence"], 0.2);
    assert_eq!(experience["feedback_status"], "positive");
}

#[test]
fn a_confidence_at_the_threshold_passes() {
    let workspace = Workspace::new();
    let learned = workspace.judged("greet", &sure(0.35));
    assert_eq!(learned["action"], "ADD");
}

#[test]
fn without_a_threshold_in_the_contract_it_is_035() {
    for confidence in [0.34, 0.35] {
        let workspace = Workspace::new();
        workspace.change_manifest(|manifest| {
            let contract = manifest["metadata"]["contract"].as_object_mut().unwrap();
            contract.remove("min_feedback_confidence");
        });
        let learned = workspace.judged("greet", &sure(confidence));
        if confidence < 0.35 {
            assert_blocked(&workspace, &learned, "Confidence 0.34 below threshold 0.35");
        } else {
            assert_eq!(learned["action"], "ADD");
        }
    }
}

#[test]
fn the_contract_can_ask_for_more() {
    let workspace = Workspace::governed();
    let learned = workspace.judged("greet", &sure(0.4));
    assert_blocked(&workspace, &learned, "Confidence 0.4 below threshold 0.5");
}

#[test]
fn no_insight_never_gets_into_the_bank_however_low_the_threshold() {
    let workspace = Workspace::new();
    workspace.change_manifest(|manifest| {
        manifest["metadata"]["contract"]["min_feedback_confidence"] = json!(0.1);
    });
    let learned = workspace.json(&["learn", "--task", "Play a song"]);
    assert_blocked(&workspace, &learned, "default feedback carries no insight");
}

#[test]
fn an_experience_tells_where_a_lesson_comes_from() {
    let workspace = Workspace::new();
    let learned = workspace.learn("Always compress photos before uploading", "photo_upload");
    let experience = workspace.experiences().remove(0);
    assert_id(&experience["experience_id"], "exp");
    assert_eq!(learned["experience_id"], experience["experience_id"]);
    assert_eq!(experience["skill_id"], "demo-skill");
    assert_eq!(experience["task_signature"], "photo_upload");
    assert_eq!(
        experience["lesson"],
        "Always compress photos before uploading"
    );
    assert_eq!(experience["feedback_status"], "positive");
    assert_eq!(experience["feedback_source"], "user_input");
    assert_eq!(experience["feedback_confidence"], 0.8);
    let name = format!("experience/{}.json", text(&experience["experience_id"]));
    assert_eq!(workspace.read(&name), experience);
    let audit = workspace.audit("RECORD");
    assert_eq!(audit["event_type"], "experience_recorded");
    assert_eq!(audit["subject_id"], experience["experience_id"]);
    assert_eq!(audit["details"]["lesson"], experience["lesson"]);
    assert_eq!(audit["details"]["confidence"], 0.8);
}

#[test]
fn times_are_utc_in_whole_seconds() {
    let workspace = Workspace::new();
    workspace.learn("Always say hello", "greet");
    let entry = workspace.only_entry();
    let times = [
        workspace.experiences()[0]["recorded_at"].clone(),
        workspace.audits()[0]["created_at"].clone(),
        workspace.snapshots()[0]["created_at"].clone(),
        entry["updated_at"].clone(),
    ];
    for time in times {
        let time = text(&time).to_owned();
        let shape: String = time
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect();
        assert_eq!(shape, "0000-00-00T00:00:00Z", "{time}");
    }
}

#[test]
fn whoever_acts_is_named() {
    let workspace = Workspace::new();
    workspace.learn("Always say hello", "greet");
    let program = format!("aiden-skills/{}", env!("CARGO_PKG_VERSION"));
    for audit in workspace.audits() {
        assert_eq!(audit["actor"], program, "{audit:#}");
        assert_eq!(audit["skill_id"], "demo-skill");
    }
    let other = Workspace::new();
    let judgement = sure(0.8).to_string();
    other.json(&["learn", "--actor", "me", "--judgement", &judgement]);
    for audit in other.audits() {
        assert_eq!(audit["actor"], "me", "{audit:#}");
    }
}
