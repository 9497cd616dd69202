//! A caller that reads for itself: what it may decide, and what it may not.

use serde_json::{Value, json};

use super::workspace::{Counts, JITTER, RETRY, SCRAPING, TABLES, Workspace, bullets, said, text};

fn judgement(id: &str, relation: &str) -> Value {
    json!({
        "feedback": said(JITTER),
        "match": {"skill_entry_id": id, "relation": relation},
    })
}

#[test]
fn a_match_of_the_callers_wins_over_the_scores_and_the_audit_says_so() {
    let workspace = Workspace::scraper();
    let retry = workspace.entry(RETRY);
    let learned = workspace.judged("api_rate_limiting", &judgement(TABLES, "contradict"));
    assert_eq!(learned["action"], "SUPERSEDE");
    assert_eq!(learned["skill_entry_id"], TABLES);
    let entry = workspace.entry(TABLES);
    assert_eq!(entry["version"], "0.2.0");
    assert!(
        bullets(&entry).contains(&format!("- {JITTER}")),
        "{entry:#}"
    );
    assert_eq!(workspace.entry(RETRY), retry);
    let details = workspace.audit("SUPERSEDE")["details"].to_string();
    let says_so = ["judgement", "judgment", "caller", "supplied", "agent"];
    assert!(
        says_so
            .iter()
            .any(|word| details.to_lowercase().contains(word)),
        "{details}"
    );
}

#[test]
fn a_compatible_match_of_the_callers_is_merged() {
    let workspace = Workspace::scraper();
    let learned = workspace.judged("x", &judgement(TABLES, "compatible"));
    assert_eq!(learned["action"], "MERGE");
    let entry = workspace.entry(TABLES);
    assert_eq!(entry["version"], "0.1.1");
    assert_eq!(bullets(&entry).len(), 5);
}

#[test]
fn what_matches_nothing_for_the_caller_is_new() {
    let workspace = Workspace::scraper();
    let learned = workspace.judged("api_rate_limiting", &judgement(RETRY, "none"));
    assert_eq!(learned["action"], "ADD");
    assert_eq!(workspace.entry(RETRY)["version"], "0.1.2");
}

#[test]
fn a_callers_title_and_keywords_are_those_of_a_new_entry() {
    let workspace = Workspace::new();
    workspace.judged(
        "photo",
        &json!({
            "feedback": said("Always compress photos before uploading"),
            "title": "Small photos", "keywords": ["photo", "upload", "size"],
        }),
    );
    let entry = workspace.only_entry();
    assert_eq!(entry["title"], "Small photos");
    assert_eq!(entry["keywords"], json!(["photo", "upload", "size"]));
    assert_eq!(
        entry["content"],
        "- Always compress photos before uploading"
    );
}

#[test]
fn a_callers_content_is_that_of_the_entry() {
    let workspace = Workspace::scraper();
    let content = "- Read the header of a table twice\n- Expand merged cells";
    let mut judgement = judgement(TABLES, "contradict");
    judgement["content"] = json!(content);
    let learned = workspace.judged("x", &judgement);
    assert_eq!(learned["action"], "SUPERSEDE");
    assert_eq!(workspace.entry(TABLES)["content"], content);
    assert_eq!(workspace.entry(TABLES)["version"], "0.2.0");
    assert_eq!(workspace.counts(), Counts::of(1, 1, 3, 0));
}

#[test]
fn a_judgement_without_feedback_decides_only_on_the_match() {
    let workspace = Workspace::scraper();
    let learned = workspace.json(&[
        "learn",
        "--task",
        "Always read tables twice.",
        "--judgement",
        &json!({"match": {"skill_entry_id": SCRAPING, "relation": "compatible"}}).to_string(),
    ]);
    assert_eq!(learned["feedback"]["source"], "user_input");
    assert_eq!(learned["feedback"]["lesson"], "Always read tables twice");
    assert_eq!(learned["action"], "MERGE");
    assert_eq!(learned["skill_entry_id"], SCRAPING);
}

#[test]
fn a_judgement_passes_neither_the_gate_nor_the_discard_tokens() {
    let workspace = Workspace::scraper();
    let bank = workspace.bank();
    let mut unsure = judgement(TABLES, "contradict");
    unsure["feedback"]["confidence"] = json!(0.1);
    assert_eq!(workspace.judged("x", &unsure)["action"], "GATE_BLOCKED");
    let mut once = judgement(TABLES, "contradict");
    once["feedback"]["lesson"] = json!("Just this once skip the header");
    assert_eq!(workspace.judged("x", &once)["action"], "DISCARD");
    let mut nothing = judgement(TABLES, "contradict");
    nothing["feedback"]["source"] = json!("default");
    assert_eq!(workspace.judged("x", &nothing)["action"], "GATE_BLOCKED");
    assert_eq!(workspace.bank(), bank);
    assert_eq!(workspace.counts(), Counts::of(3, 0, 6, 0));
}

#[test]
fn a_judgement_that_can_not_be_used_changes_nothing() {
    let workspace = Workspace::scraper();
    let mut wrong = vec![
        judgement("skl-ffffffffffff", "compatible"),
        judgement("../../x", "contradict"),
        judgement(TABLES, "similar"),
    ];
    for (key, value) in [
        ("title", json!("")),
        ("title", json!(7)),
        ("content", json!("")),
        ("keywords", json!("one")),
        ("keywords", json!([1])),
    ] {
        let mut judgement = judgement(TABLES, "compatible");
        judgement[key] = value;
        wrong.push(judgement);
    }
    let before = workspace.files();
    for judgement in wrong {
        let run = workspace.run(&["learn", "--judgement", &judgement.to_string()]);
        assert!(matches!(run.code, 1 | 2), "{judgement:#}: {run:?}");
        assert!(!run.stderr.is_empty());
        workspace.assert_files(&before);
    }
}

#[test]
fn a_governor_is_not_passed_by_a_judgement_either() {
    let workspace = Workspace::governed();
    let bank = workspace.bytes("skill_bank.json");
    let learned = workspace.judged("x", &judgement(TABLES, "contradict"));
    assert_eq!(learned["action"], "PROPOSE");
    assert_eq!(workspace.bytes("skill_bank.json"), bank);
    let proposal = workspace.proposals().remove(0);
    assert_eq!(proposal["proposed_action"], "SUPERSEDE");
    assert_eq!(text(&proposal["proposed_payload"]["version"]), "0.2.0");
}
