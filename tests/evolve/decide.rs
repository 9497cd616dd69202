//! What becomes of a lesson: a new entry, a part of one, a correction of one, or nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::workspace::{
    Counts, EMPTY, JITTER, REPORT, RETRY, SAFETY, SCRAPING, TABLES, Workspace, assert_id, bullets,
    text,
};

const PHOTOS: &str = "Always compress photos before uploading";

/// The audit of a change, which says between which versions it was and on what grounds.
#[track_caller]
fn assert_change(workspace: &Workspace, learned: &Value, action: &str, from: &str, to: &str) {
    assert_eq!(learned["action"], action, "{learned:#}");
    assert_eq!(learned["version"], to, "{learned:#}");
    assert_eq!(learned["synthesized"], false, "{learned:#}");
    assert_eq!(learned["proposal_id"], Value::Null, "{learned:#}");
    let audit = workspace.audit(action);
    let event = match action {
        "ADD" => "skill_added",
        "MERGE" => "skill_merged",
        _ => "skill_superseded",
    };
    assert_eq!(audit["event_type"], event);
    assert_eq!(audit["subject_id"], learned["skill_entry_id"]);
    let details = &audit["details"];
    assert_eq!(details["lesson"], learned["feedback"]["lesson"]);
    assert_eq!(details["confidence"], learned["feedback"]["confidence"]);
    assert_eq!(details["reasoning"], learned["reasoning"]);
    assert!(!text(&details["reasoning"]).is_empty());
    assert_eq!(details["new_version"], to);
    assert_eq!(details["experience_id"], learned["experience_id"]);
    assert_eq!(details["snapshot_id"], learned["snapshot_id"]);
    if action != "ADD" {
        assert_eq!(details["previous_version"], from);
    }
    let snapshot = format!("snapshots/{}.json", text(&learned["snapshot_id"]));
    let snapshot = workspace.read(&snapshot);
    let subject = match action {
        "ADD" => "new",
        _ => text(&learned["skill_entry_id"]),
    };
    let reason = format!("Before {action} on skill entry {subject}");
    assert_eq!(snapshot["reason"], reason);
    let taken = workspace.audit("SNAPSHOT");
    assert_eq!(taken["event_type"], "snapshot_created");
    assert_eq!(taken["subject_id"], learned["snapshot_id"]);
    assert_eq!(taken["details"]["reasoning"], reason);
}

/// Every entry but this one is as it was.
#[track_caller]
fn assert_others(before: &Value, after: &Value, id: &str) {
    let others = |bank: &Value| -> Vec<Value> {
        let mut skills = bank["skills"].as_array().unwrap().clone();
        skills.retain(|entry| entry["skill_entry_id"] != id);
        skills
    };
    assert_eq!(others(before), others(after));
}

#[test]
fn a_lesson_that_is_like_no_entry_becomes_a_new_one() {
    let workspace = Workspace::new();
    let manifest = workspace.manifest();
    let learned = workspace.learn(PHOTOS, "photo_upload");
    assert_change(&workspace, &learned, "ADD", "", "0.1.0");
    assert_eq!(workspace.counts(), Counts::of(1, 1, 3, 0));
    let entry = workspace.only_entry();
    assert_id(&entry["skill_entry_id"], "skl");
    assert_eq!(entry["skill_entry_id"], learned["skill_entry_id"]);
    assert_eq!(entry["title"], PHOTOS);
    assert_eq!(entry["content"], format!("- {PHOTOS}"));
    assert_eq!(entry["version"], "0.1.0");
    assert_eq!(entry["task_signature"], "photo_upload");
    assert_eq!(
        entry["source_experience_ids"],
        json!([learned["experience_id"]])
    );
    let keywords = entry["keywords"].as_array().unwrap();
    let distinct: BTreeSet<&str> = keywords.iter().map(text).collect();
    assert!((1..=5).contains(&keywords.len()), "{keywords:?}");
    assert_eq!(distinct.len(), keywords.len());
    assert!(distinct.iter().all(|one| *one == one.to_lowercase()));
    for id in workspace.audits() {
        assert_id(&id["audit_id"], "aud");
    }
    let snapshot = workspace.snapshots().remove(0);
    assert_id(&snapshot["snapshot_id"], "snap");
    let empty: Value = serde_json::from_str(EMPTY).unwrap();
    assert_eq!(snapshot["skill_bank"], empty);
    assert_eq!(snapshot["manifest"], manifest);
    assert!(text(&snapshot["created_at"]) <= text(&entry["updated_at"]));
    assert_eq!(workspace.manifest(), manifest, "its version is untouched");
}

#[test]
fn a_long_lesson_gets_a_short_title() {
    let workspace = Workspace::new();
    let lesson = "Always compress the photos of a journey through the mountains of the north before \
        uploading them to the album, because the network of the train is slow";
    workspace.learn(lesson, "photo_upload");
    let entry = workspace.only_entry();
    let title = text(&entry["title"]);
    assert!(title.chars().count() <= 80, "{title}");
    assert!(lesson.starts_with(title), "{title}");
    assert!(
        !lesson[title.len()..].starts_with(char::is_alphanumeric),
        "{title}"
    );
    assert_eq!(entry["content"], format!("- {lesson}"));
}

#[test]
fn a_lesson_on_the_same_subject_is_appended() {
    let workspace = Workspace::scraper();
    let before = workspace.bank();
    let learned = workspace.learn(JITTER, "api_rate_limiting");
    assert_change(&workspace, &learned, "MERGE", "0.1.2", "0.1.3");
    assert_eq!(workspace.counts(), Counts::of(1, 1, 3, 0));
    assert_eq!(learned["skill_entry_id"], RETRY);
    let old = before["skills"][1].clone();
    let new = workspace.entry(RETRY);
    let content = format!("{}\n- {JITTER}", text(&old["content"]));
    assert_eq!(new["content"], content);
    assert_eq!(bullets(&new).len(), 5);
    assert_eq!(new["version"], "0.1.3");
    let sources = json!(["exp-223344556677", learned["experience_id"]]);
    assert_eq!(new["source_experience_ids"], sources);
    for same in ["title", "keywords", "task_signature"] {
        assert_eq!(new[same], old[same]);
    }
    assert!(text(&new["updated_at"]) > text(&old["updated_at"]));
    assert_others(&before, &workspace.bank(), RETRY);
    assert_eq!(workspace.snapshots()[0]["skill_bank"], before);
}

#[test]
fn another_number_corrects_a_bullet_in_its_place() {
    let workspace = Workspace::scraper();
    let before = workspace.bank();
    let lesson =
        "Use a timeout of 30s for page.waitForSelector() on lazy-loaded elements; 10s is too short";
    let learned = workspace.learn(lesson, "web_scraping_dynamic");
    assert_change(&workspace, &learned, "SUPERSEDE", "0.2.1", "0.3.0");
    assert_eq!(workspace.counts(), Counts::of(1, 1, 3, 0));
    assert_eq!(learned["skill_entry_id"], SCRAPING);
    let old = before["skills"][0].clone();
    let new = workspace.entry(SCRAPING);
    let mut expected = bullets(&old);
    expected[1] = format!("- {lesson}");
    assert_eq!(bullets(&new), expected);
    for same in ["title", "keywords", "task_signature"] {
        assert_eq!(new[same], old[same]);
    }
    let sources = new["source_experience_ids"].as_array().unwrap();
    assert_eq!(sources.len(), 4);
    assert_eq!(sources[3], learned["experience_id"]);
    assert_others(&before, &workspace.bank(), SCRAPING);
}

#[test]
fn the_opposite_corrects_a_bullet() {
    let always = "- Always use tabs for indentation";
    let workspace = Workspace::with_entry(always, "0.1.4", "indentation");
    let learned = workspace.learn("Never use tabs for indentation", "indentation");
    assert_change(&workspace, &learned, "SUPERSEDE", "0.1.4", "0.2.0");
    let content = workspace.only_entry()["content"].clone();
    assert_eq!(content, "- Never use tabs for indentation");
}

#[test]
fn a_reversed_preference_corrects_a_bullet() {
    let workspace = Workspace::scraper();
    let before = workspace.entry(SCRAPING);
    let lesson = "Prefer page.$() over page.evaluate() for complex DOM traversals in shadow DOMs";
    let learned = workspace.learn(lesson, "web_scraping_dynamic");
    assert_change(&workspace, &learned, "SUPERSEDE", "0.2.1", "0.3.0");
    let mut expected = bullets(&before);
    expected[3] = format!("- {lesson}");
    assert_eq!(bullets(&workspace.entry(SCRAPING)), expected);
}

#[test]
fn a_chinese_number_corrects_a_bullet() {
    let workspace = Workspace::chinese();
    let learned = workspace.learn("周报不要超过两页", "weekly_report");
    assert_change(&workspace, &learned, "SUPERSEDE", "0.1.0", "0.2.0");
    assert_eq!(learned["skill_entry_id"], REPORT);
    let content = workspace.entry(REPORT)["content"].clone();
    assert_eq!(content, "- 周报不要超过两页\n- 每次都要先列风险");
}

#[test]
fn chinese_lessons_are_merged_or_added() {
    let workspace = Workspace::chinese();
    let learned = workspace.learn("安全检查后必须记录结果", "safety_check");
    assert_change(&workspace, &learned, "MERGE", "0.1.0", "0.1.1");
    assert_eq!(learned["skill_entry_id"], SAFETY);
    let expected = [
        "- 每次都要先做安全检查",
        "- 不要跳过验证",
        "- 安全检查后必须记录结果",
    ];
    assert_eq!(bullets(&workspace.entry(SAFETY)), expected);
    let learned = workspace.learn("拍照前检查电量", "photo");
    assert_eq!(learned["action"], "ADD");
    assert_eq!(learned["version"], "0.1.0");
    assert_eq!(workspace.bank()["skills"].as_array().unwrap().len(), 4);
}

#[test]
fn the_same_lesson_again_confirms_it() {
    let workspace = Workspace::new();
    let first = workspace.learn(PHOTOS, "photo_upload");
    let second = workspace.learn(PHOTOS, "photo_upload");
    assert_eq!(second["action"], "MERGE");
    let entry = workspace.only_entry();
    assert_eq!(entry["version"], "0.1.1");
    assert_eq!(entry["content"], format!("- {PHOTOS}"));
    assert_eq!(
        entry["source_experience_ids"],
        json!([first["experience_id"], second["experience_id"]])
    );
    assert_eq!(workspace.counts(), Counts::of(2, 2, 6, 0));
}

#[test]
fn a_lesson_for_once_only_is_recorded_and_discarded() {
    for (lesson, token) in [
        ("This is a one-off task, ignore this", "one-off"),
        ("本次为临时方案", "临时"),
        ("Delete TEMPORARY files first", "temporary"),
        ("Do not reuse the cookie", "do not reuse"),
        ("Please ignore this warning", "ignore this"),
        ("Open it one time", "one time"),
        ("Skip the review just this once", "just this once"),
        ("这是一次性的要求", "一次性"),
        ("不要复用这个会话", "不要复用"),
        ("请忽略这次的结果", "忽略这次"),
        ("仅此一次跳过验证", "仅此一次"),
        ("先删除临时文件", "临时"),
    ] {
        let workspace = Workspace::new();
        let bank = workspace.bytes("skill_bank.json");
        let learned = workspace.learn(lesson, "once");
        assert_eq!(learned["action"], "DISCARD", "{lesson}");
        assert_eq!(learned["reasoning"], "Lesson contains discard token");
        for none in ["skill_entry_id", "snapshot_id", "proposal_id"] {
            assert_eq!(learned[none], Value::Null, "{none}");
        }
        assert_eq!(workspace.counts(), Counts::of(1, 0, 2, 0), "{lesson}");
        let audit = workspace.audit("DISCARD");
        assert_eq!(audit["event_type"], "skill_discarded");
        assert_eq!(audit["subject_id"], learned["experience_id"]);
        let details = &audit["details"];
        assert_eq!(details["reasoning"], "Lesson contains discard token");
        let fields = details.as_object().unwrap().iter();
        let mut named = fields.filter(|(name, _)| *name != "lesson");
        assert!(
            named.any(|(_, value)| value.to_string().to_lowercase().contains(token)),
            "{token} is not named: {audit:#}"
        );
        assert_eq!(workspace.bytes("skill_bank.json"), bank);
    }
}

#[test]
fn words_that_only_end_as_a_token_are_kept() {
    for lesson in [
        "Log timeouts that happened one timeout at a time",
        "Contemporary buildings have no thirteenth floor",
    ] {
        let learned = Workspace::new().learn(lesson, "log");
        assert_eq!(learned["action"], "ADD", "{lesson}");
    }
}

#[test]
fn two_lessons_on_one_plan_are_one_entry() {
    let workspace = Workspace::new();
    let added = workspace.learn("Always include a plan section.", "plan");
    assert_eq!(added["action"], "ADD");
    assert_eq!(added["version"], "0.1.0");
    let merged = workspace.learn("Include a plan section and keep it reusable.", "plan");
    assert_eq!(merged["action"], "MERGE");
    assert_eq!(merged["version"], "0.1.1");
    workspace.json(&["rollback", "--reason", "once was enough"]);
    assert_eq!(workspace.only_entry()["version"], "0.1.0");
}

#[test]
fn a_heading_stays_above_what_is_appended() {
    let old = "# Safety\n- Always check safety";
    let workspace = Workspace::with_entry(old, "0.1.0", "safety");
    let learned = workspace.learn("Always verify safety before launch", "safety");
    assert_change(&workspace, &learned, "MERGE", "0.1.0", "0.1.1");
    let content = workspace.only_entry()["content"].clone();
    assert_eq!(
        content,
        format!("{old}\n- Always verify safety before launch")
    );
}

#[test]
fn a_heading_stays_above_what_is_corrected() {
    let old = "# Learned Rule\n- Always use tabs for indentation\n- End files with a newline";
    let workspace = Workspace::with_entry(old, "0.1.0", "indentation");
    let learned = workspace.learn("Never use tabs for indentation", "indentation");
    assert_change(&workspace, &learned, "SUPERSEDE", "0.1.0", "0.2.0");
    let content = workspace.only_entry()["content"].clone();
    assert_eq!(content, old.replace("Always", "Never"));
}

#[test]
fn the_history_is_told_oldest_first_and_of_one_entry_alone() {
    let workspace = Workspace::scraper();
    workspace.learn(JITTER, "api_rate_limiting");
    workspace.learn(PHOTOS, "photo_upload");
    let history = workspace.json(&["history"]);
    let actions: Vec<&str> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|audit| text(&audit["details"]["action"]))
        .collect();
    let expected = ["RECORD", "SNAPSHOT", "MERGE", "RECORD", "SNAPSHOT", "ADD"];
    assert_eq!(actions, expected);
    let history = workspace.json(&["history", "--entry", RETRY]);
    let history = history.to_string();
    assert!(history.contains("skill_merged"), "{history}");
    assert!(!history.contains("skill_added"), "{history}");
    assert_eq!(workspace.json(&["history", "--entry", TABLES]), json!([]));
}

#[test]
fn what_is_learned_at_the_same_time_is_learned_one_after_the_other() {
    let workspace = Workspace::new();
    let lessons = [
        ("Compress photos before uploading", "photo"),
        ("Water the plants on Mondays", "garden"),
        ("Reply to customers in French", "mail"),
        ("Charge the vacuum cleaner at noon", "cleaning"),
    ];
    let command = |(lesson, signature): (&str, &str)| {
        let judgement = json!({"feedback": super::workspace::said(lesson)}).to_string();
        let dir = workspace.dir.to_str().unwrap();
        workspace.board.command(&[
            "evolve",
            "learn",
            "--workspace",
            dir,
            "--signature",
            signature,
            "--judgement",
            &judgement,
        ])
    };
    let running: Vec<std::process::Child> = lessons
        .iter()
        .map(|lesson| {
            command(*lesson)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut one in running {
        assert!(one.wait().unwrap().success());
    }
    assert_eq!(workspace.bank()["skills"].as_array().unwrap().len(), 4);
    assert_eq!(workspace.counts(), Counts::of(4, 4, 12, 0));
    let mut sizes: Vec<usize> = workspace
        .snapshots()
        .iter()
        .map(|snapshot| snapshot["skill_bank"]["skills"].as_array().unwrap().len())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 1, 2, 3]);
}
