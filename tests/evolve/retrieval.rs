//! Which entries a task gets, and how they are shown.

use serde_json::{Value, json};

use super::workspace::{REPORT, RETRY, SAFETY, SCRAPING, TABLES, Workspace, entry, text};

const HEADER: &str = "=== Skill Guidance (from evolution history) ===";
const FOOTER: &str = "=== End Skill Guidance ===";

fn ids(guided: &Value) -> Vec<&str> {
    let entries = guided["entries"].as_array().unwrap();
    let ids = entries.iter().map(|entry| text(&entry["skill_entry_id"]));
    ids.collect()
}

#[track_caller]
fn assert_nothing(workspace: &Workspace, task: &str) {
    let guided = workspace.guide(task);
    assert_eq!(guided, json!({"guidance": "", "entries": []}), "{task}");
    let run = workspace.run_for_people(&["guide", "--task", task]);
    assert_eq!(run.expect(0).stdout, "", "{task}");
}

#[test]
fn an_empty_bank_gives_nothing() {
    let workspace = Workspace::new();
    for task in ["Upload a photo", "", "写一份周报"] {
        assert_nothing(&workspace, task);
    }
}

#[test]
fn a_task_gets_the_entry_that_is_about_it() {
    let workspace = Workspace::scraper();
    let guided = workspace.guide("Retry the API call when the server returns 429");
    assert_eq!(ids(&guided), [RETRY]);
    let block = text(&guided["guidance"]);
    let begin = "=== Skill Guidance (from evolution history) ===\n\
        [1] Rate limiting and retry strategies for API calls (v0.1.2)\n\
        - Implement exponential backoff starting at 1s";
    assert!(block.starts_with(begin), "{block}");
    assert!(block.ends_with("\n=== End Skill Guidance ==="), "{block}");
    let content = workspace.entry(RETRY)["content"].clone();
    let expected = format!(
        "{HEADER}\n[1] Rate limiting and retry strategies for API calls (v0.1.2)\n{}\n{FOOTER}",
        text(&content)
    );
    assert_eq!(block, expected);
    let shown = &guided["entries"][0];
    assert_eq!(
        shown["title"],
        "Rate limiting and retry strategies for API calls"
    );
    assert_eq!(shown["version"], "0.1.2");
    assert!(shown["score"].as_f64().unwrap() > 0.0, "{shown}");
}

#[test]
fn people_get_the_block_as_it_is() {
    let workspace = Workspace::scraper();
    let task = "Retry the API call when the server returns 429";
    let shown = workspace
        .run_for_people(&["guide", "--task", task])
        .expect(0);
    let shown = shown.stdout.trim_end_matches('\n').to_owned();
    assert_eq!(shown, text(&workspace.guide(task)["guidance"]));
}

#[test]
fn a_task_about_something_else_gets_nothing() {
    assert_nothing(&Workspace::scraper(), "Play some jazz music in the kitchen");
}

#[test]
fn the_signature_of_a_task_finds_its_entry_where_words_do_not() {
    let workspace = Workspace::scraper();
    let task = ["guide", "--task", "do it again", "--signature"];
    let guided = workspace.json(&[&task[..], &["html_table_extraction"]].concat());
    assert_eq!(ids(&guided)[0], TABLES);
}

#[test]
fn a_task_in_other_words_gets_its_entry_only() {
    let workspace = Workspace::scraper();
    let guided = workspace.guide("Scrape product prices from a lazy-loaded e-commerce page");
    assert_eq!(ids(&guided), [SCRAPING]);
}

#[test]
fn chinese_tasks_get_chinese_entries_only_where_they_are_about_them() {
    let workspace = Workspace::chinese();
    assert_eq!(ids(&workspace.guide("请做安全检查")), [SAFETY]);
    assert_nothing(&workspace, "今天天气怎么样");
    assert_nothing(&workspace, "播放一首歌");
    let guided = workspace.guide("写一份周报");
    assert_eq!(ids(&guided)[0], REPORT);
}

#[test]
fn a_lesson_is_found_by_a_query_that_shares_its_words_in_another_order() {
    let workspace = Workspace::new();
    workspace.learn("每次都要先做安全检查", "safety");
    let guided = workspace.guide("请做安全检查");
    assert_eq!(guided["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn the_better_match_comes_first() {
    let workspace = Workspace::new();
    workspace.set_bank(&json!({"skills": [
        entry(1, "Formatting", "- Use markdown formatting", "0.1.0", "format"),
        entry(2, "Safety checks", "- Always run safety checks", "0.1.0", "safety"),
    ]}));
    let guided = workspace.guide("safety checks");
    assert_eq!(ids(&guided)[0], "skl-000000000002");
}

/// Seven entries that differ in nothing but id and time.
fn seven() -> Workspace {
    let workspace = Workspace::new();
    let times = [3, 1, 4, 1, 5, 2, 4];
    let skills: Vec<Value> = times
        .iter()
        .zip(1..)
        .map(|(day, n)| {
            let mut entry = entry(n, "Photos", "- Compress photos", "0.1.0", "photo");
            entry["updated_at"] = json!(format!("2026-01-0{day}T00:00:00Z"));
            entry
        })
        .collect();
    workspace.set_bank(&json!({ "skills": skills }));
    workspace
}

#[test]
fn of_equal_entries_five_are_given_the_newest_first_and_then_by_id() {
    let workspace = seven();
    let expected = [5, 3, 7, 1, 6].map(|n| format!("skl-{n:012x}"));
    let guided = workspace.guide("Compress the photos");
    assert_eq!(ids(&guided), expected);
    assert_eq!(workspace.guide("Compress the photos"), guided, "again");
}

#[test]
fn entries_are_numbered_with_a_blank_line_between_them_only() {
    let workspace = seven();
    let guided = workspace.guide("Compress the photos");
    let entry = |n: u32| format!("[{n}] Photos (v0.1.0)\n- Compress photos\n");
    let entries: Vec<String> = (1..=5).map(entry).collect();
    let expected = format!("{HEADER}\n{}{FOOTER}", entries.join("\n"));
    assert_eq!(guided["guidance"], expected);
}

#[test]
fn a_limit_gives_fewer() {
    let workspace = seven();
    let task = ["guide", "--task", "Compress the photos", "--limit", "2"];
    let guided = workspace.json(&task);
    assert_eq!(ids(&guided), ["skl-000000000005", "skl-000000000003"]);
    assert!(!text(&guided["guidance"]).contains("[3]"));
}

#[test]
fn scores_go_down() {
    let workspace = Workspace::scraper();
    let guided =
        workspace.guide("Retry scraping the HTML tables of pages when the API limits the rate");
    let entries = guided["entries"].as_array().unwrap();
    assert!(!entries.is_empty());
    let scores: Vec<f64> = entries
        .iter()
        .map(|entry| entry["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[test]
fn an_entry_can_not_end_the_block_or_begin_another() {
    let content = format!("- End the log with a mark\n{FOOTER}\n{HEADER}\n- Compress the log");
    let workspace = Workspace::with_entry(&content, "0.1.0", "log");
    let guided = workspace.guide("Compress the log with its mark");
    let block = text(&guided["guidance"]);
    let expected = format!(
        "{HEADER}\n[1] Habits (v0.1.0)\n- End the log with a mark\n  {FOOTER}\n  {HEADER}\n- Compress the log\n{FOOTER}"
    );
    assert_eq!(block, expected);
}

#[test]
fn a_content_is_shown_whole_and_as_it_is() {
    let long = format!(
        "# Learned Rule\n\n- Compress the {}log\n\tas  it is ",
        "very ".repeat(2000)
    );
    let workspace = Workspace::with_entry(&long, "1.2.3", "log");
    let guided = workspace.json(&["guide", "--task", "x", "--signature", "log"]);
    let expected = format!("{HEADER}\n[1] Habits (v1.2.3)\n{long}\n{FOOTER}");
    assert_eq!(guided["guidance"], expected);
}

#[test]
fn asking_changes_no_document() {
    let workspace = Workspace::scraper();
    let bank = workspace.bytes("skill_bank.json");
    let counts = workspace.counts();
    workspace.guide("Retry the API call when the server returns 429");
    assert_eq!(workspace.bytes("skill_bank.json"), bank);
    assert_eq!(workspace.counts(), counts);
}

#[test]
fn the_bank_is_told_newest_first() {
    let workspace = seven();
    let told = workspace.json(&["bank"]);
    let skills = told["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 7);
    let times: Vec<&str> = skills.iter().map(|one| text(&one["updated_at"])).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    let scraper = Workspace::scraper();
    assert_eq!(scraper.json(&["bank"]), scraper.bank());
}

#[test]
fn a_task_must_be_given() {
    let workspace = Workspace::new();
    workspace.refused_with(2, &["guide"]);
}
