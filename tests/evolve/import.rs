//! A bank of the kit's Python era.

use serde_json::{Value, json};

use super::common;
use super::workspace::{SCRAPING, Workspace, text};

fn old_bank() -> Value {
    json!({"skills": [
        {
            "skill_entry_id": "skill-0123456789ab", "title": "Plan",
            "content": "# Learned Rule\n- Always include a plan section", "version": "0.1.1",
            "task_signature": "plan", "keywords": ["plan", "section"],
            "source_experience_ids": ["bank-exp-00112233aabb", "exp-445566778899"],
            "updated_at": "2025-11-02T10:00:00Z",
        },
        {
            "skill_entry_id": "skill-ba9876543210", "title": "安全检查",
            "content": "- 每次都要先做安全检查", "version": "0.1.0", "task_signature": "safety",
            "keywords": ["安全"], "source_experience_ids": [], "updated_at": "2025-11-01T10:00:00Z",
        },
    ]})
}

fn import(workspace: &Workspace, text: &str) -> common::Run {
    let path = workspace.board.root().join("skills.json");
    common::write(&path, text);
    workspace.run(&["import", path.to_str().unwrap()])
}

#[test]
fn old_ids_become_those_of_the_kit_and_all_else_stays() {
    let workspace = Workspace::new();
    let run = import(&workspace, &old_bank().to_string()).expect(0);
    assert_eq!(run.json(), json!({"imported": 2}));
    let mut plan = old_bank()["skills"][0].clone();
    plan["skill_entry_id"] = json!("skl-0123456789ab");
    plan["source_experience_ids"] = json!(["exp-00112233aabb", "exp-445566778899"]);
    assert_eq!(workspace.entry("skl-0123456789ab"), plan);
    let mut safety = old_bank()["skills"][1].clone();
    safety["skill_entry_id"] = json!("skl-ba9876543210");
    assert_eq!(workspace.entry("skl-ba9876543210"), safety);
    let report = workspace.json(&["validate"]);
    assert_eq!(report["errors"], json!([]));
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("exp-00112233aabb"), "{report:#}");
}

#[test]
fn what_was_there_stays_and_can_be_had_back() {
    let workspace = Workspace::scraper();
    let before = workspace.bank();
    import(&workspace, &old_bank().to_string()).expect(0);
    assert_eq!(workspace.bank()["skills"].as_array().unwrap().len(), 5);
    assert_eq!(workspace.entry(SCRAPING), before["skills"][0]);
    assert_eq!(workspace.snapshots()[0]["skill_bank"], before);
    workspace.json(&["rollback", "--reason", "not mine"]);
    assert_eq!(workspace.bank(), before);
}

#[test]
fn what_is_imported_is_found_and_learned_on() {
    let workspace = Workspace::new();
    import(&workspace, &old_bank().to_string()).expect(0);
    let guided = workspace.guide("请做安全检查");
    assert_eq!(guided["entries"][0]["skill_entry_id"], "skl-ba9876543210");
    let learned = workspace.learn("Include a plan section and keep it reusable.", "plan");
    assert_eq!(learned["action"], "MERGE");
    assert_eq!(learned["skill_entry_id"], "skl-0123456789ab");
    let entry = workspace.entry("skl-0123456789ab");
    assert!(text(&entry["content"]).starts_with("# Learned Rule\n- Always"));
}

#[test]
fn a_bank_of_the_kit_itself_is_taken_too() {
    let workspace = Workspace::new();
    let bank = Workspace::scraper().bank();
    let run = import(&workspace, &bank.to_string()).expect(0);
    assert_eq!(run.json()["imported"], 3);
    assert_eq!(workspace.entry(SCRAPING), bank["skills"][0]);
}

#[test]
fn what_is_no_bank_changes_nothing() {
    let workspace = Workspace::new();
    let before = workspace.files();
    let mut wrong = vec![
        "{".to_owned(),
        "[]".into(),
        "{}".into(),
        r#"{"skills": {}}"#.into(),
    ];
    for (key, value) in [
        ("skill_entry_id", json!("skill-../../x")),
        ("content", json!("")),
        ("version", json!("one")),
        ("updated_at", json!("yesterday")),
    ] {
        let mut bank = old_bank();
        bank["skills"][1][key] = value;
        wrong.push(bank.to_string());
    }
    for text in wrong {
        let run = import(&workspace, &text).expect(1);
        assert!(!run.stderr.is_empty());
        workspace.assert_files(&before);
    }
    let missing = workspace.board.root().join("nothing.json");
    workspace.refused(&["import", missing.to_str().unwrap()]);
    workspace.refused_with(2, &["import"]);
}
