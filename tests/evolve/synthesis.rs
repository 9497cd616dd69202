//! An entry with too many bullets is made shorter.

use serde_json::{Value, json};

use super::workspace::{Counts, Workspace, bullets, said, text};

/// Bullets none of which says what another does.
const BULLETS: [&str; 15] = [
    "- Check the battery level",
    "- Mute the microphone in calls",
    "- Water plants on Monday",
    "- Pair headphones over Bluetooth",
    "- Rotate pictures of the camera",
    "- Save the shopping list",
    "- Sync contacts with the phone book",
    "- Translate menus into Chinese",
    "- Warm the oven to 180 degrees",
    "- Dim lamps after sunset",
    "- Lock the front door",
    "- Read mail aloud",
    "- Order groceries online",
    "- Charge the vacuum cleaner",
    "- Close browser tabs",
];
const LESSON: &str = "Print tickets before travelling";
const ID: &str = "skl-000000000000";

fn with(lines: &[&str]) -> Workspace {
    Workspace::with_entry(&lines.join("\n"), "0.1.3", "habits")
}

/// Merges the lesson into the only entry, whatever the scores say.
#[track_caller]
fn merge(workspace: &Workspace) -> Value {
    let judgement = json!({
        "feedback": said(LESSON),
        "match": {"skill_entry_id": ID, "relation": "compatible"},
    });
    let learned = workspace.judged("habits", &judgement);
    assert_eq!(learned["action"], "MERGE", "{learned:#}");
    assert_eq!(learned["skill_entry_id"], ID);
    learned
}

#[track_caller]
fn assert_only_merged(workspace: &Workspace, lines: &[&str]) {
    let learned = merge(workspace);
    assert_eq!(learned["synthesized"], false);
    assert_eq!(learned["version"], "0.1.4");
    let entry = workspace.only_entry();
    assert_eq!(entry["version"], "0.1.4");
    let content = format!("{}\n- {LESSON}", lines.join("\n"));
    assert_eq!(entry["content"], content);
    assert_eq!(workspace.counts(), Counts::of(1, 1, 3, 0));
}

#[test]
fn fifteen_bullets_are_not_too_many() {
    let lines = &BULLETS[..14];
    assert_only_merged(&with(lines), lines);
}

#[test]
fn of_sixteen_bullets_the_duplicates_go() {
    let lines = [&BULLETS[..12], &BULLETS[3..6]].concat();
    assert_eq!(lines.len(), 15);
    let workspace = with(&lines);
    let learned = merge(&workspace);
    assert_eq!(learned["synthesized"], true);
    assert_eq!(learned["version"], "0.1.5");
    let entry = workspace.only_entry();
    assert_eq!(entry["version"], "0.1.5");
    let mut left = bullets(&entry);
    left.sort();
    let mut expected: Vec<String> = BULLETS[..12]
        .iter()
        .map(|line| (*line).to_owned())
        .collect();
    expected.push(format!("- {LESSON}"));
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(workspace.counts(), Counts::of(1, 2, 5, 0));
    let reasons: Vec<Value> = workspace
        .snapshots()
        .iter()
        .map(|snapshot| snapshot["reason"].clone())
        .collect();
    let expected =
        ["MERGE", "SYNTHESIZE"].map(|action| format!("Before {action} on skill entry {ID}"));
    assert_eq!(reasons, expected);
    let between = &workspace.snapshots()[1]["skill_bank"]["skills"][0];
    assert_eq!(between["version"], "0.1.4");
    assert_eq!(bullets(between).len(), 16);
    let history = workspace.json(&["history", "--entry", ID]);
    let events: Vec<&str> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|audit| text(&audit["event_type"]))
        .filter(|event| event.starts_with("skill_"))
        .collect();
    assert_eq!(events, ["skill_merged", "skill_synthesized"]);
    for (action, from, to) in [
        ("MERGE", "0.1.3", "0.1.4"),
        ("SYNTHESIZE", "0.1.4", "0.1.5"),
    ] {
        let audit = workspace.audit(action);
        assert_eq!(audit["subject_id"], ID);
        assert_eq!(audit["details"]["previous_version"], from);
        assert_eq!(audit["details"]["new_version"], to);
    }
}

#[test]
fn only_lines_with_a_dash_and_two_blanks_at_most_before_it_are_bullets() {
    let mut lines = BULLETS[..13].to_vec();
    lines.extend(["  - sub", "    - deep", "    - deeper", "* x", "* y", "-z"]);
    assert_only_merged(&with(&lines), &lines);
    let mut lines = BULLETS[..13].to_vec();
    lines.extend(["  - Stop at noon", "  - Stop at noon"]);
    let learned = merge(&with(&lines));
    assert_eq!(learned["synthesized"], true, "sixteen with both");
}

#[test]
fn what_can_not_be_shorter_stays_as_it_is_and_an_audit_says_so() {
    let workspace = with(&BULLETS);
    let learned = merge(&workspace);
    assert_eq!(learned["version"], "0.1.4");
    let entry = workspace.only_entry();
    assert_eq!(entry["version"], "0.1.4");
    let content = format!("{}\n- {LESSON}", BULLETS.join("\n"));
    assert_eq!(entry["content"], content);
    let audits = workspace.audits();
    let tried: Vec<&Value> = audits
        .iter()
        .filter(|audit| audit["event_type"] == "skill_synthesized")
        .collect();
    assert_eq!(tried.len(), 1, "tried once, not for ever");
    let details = &tried[0]["details"];
    assert_eq!(details["outcome"], "no_reduction");
    assert_eq!(details["before"], 16);
    assert_eq!(details["after"], 16);
}

#[test]
fn the_threshold_is_the_contracts() {
    let lines = ["# Learned Rule", "- always check", "- always check"];
    let workspace = with(&lines);
    workspace.change_manifest(|manifest| {
        manifest["metadata"]["contract"]["synthesis_threshold"] = json!(2);
    });
    let learned = merge(&workspace);
    assert_eq!(learned["synthesized"], true);
    let expected = format!("# Learned Rule\n- always check\n- {LESSON}");
    assert_eq!(workspace.only_entry()["content"], expected);
}

#[test]
fn bullets_that_say_the_same_become_one_but_a_number_or_a_negation_is_never_lost() {
    let lines = [
        "- Wait for the page to load completely before the click",
        "- Wait for the page to load completely before clicking",
        "- Wait 10s for the server of the shop to answer the request",
        "- Wait for the server of the shop to answer the request",
        "- Do not open the advertisement on the first page of results",
        "- Open the advertisement on the first page of results",
    ];
    let workspace = with(&lines);
    workspace.change_manifest(|manifest| {
        manifest["metadata"]["contract"]["synthesis_threshold"] = json!(4);
    });
    let learned = merge(&workspace);
    assert_eq!(learned["synthesized"], true);
    let left = bullets(&workspace.only_entry());
    assert!(
        !left.contains(&lines[0].to_owned()),
        "the newest wording stays: {left:#?}"
    );
    for kept in [lines[1], lines[2], lines[4]] {
        assert!(left.contains(&kept.to_owned()), "{kept} is gone: {left:#?}");
    }
    assert!(left.contains(&format!("- {LESSON}")));
}

#[test]
fn a_corrected_entry_is_made_shorter_too() {
    let lines = ["- Always use tabs", "- Check it", "- Check it"];
    let workspace = Workspace::with_entry(&lines.join("\n"), "0.1.3", "indentation");
    workspace.change_manifest(|manifest| {
        manifest["metadata"]["contract"]["synthesis_threshold"] = json!(2);
    });
    let learned = workspace.learn("Never use tabs", "indentation");
    assert_eq!(learned["action"], "SUPERSEDE");
    assert_eq!(learned["synthesized"], true);
    let entry = workspace.only_entry();
    assert_eq!(entry["version"], "0.2.1");
    assert_eq!(entry["content"], "- Never use tabs\n- Check it");
}
