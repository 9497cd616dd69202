//! Entries that are shown again and again and never confirmed.

use serde_json::{Value, json};

use super::workspace::{JITTER, RETRY, Workspace};

const TASK: &str = "Retry the API call when the server returns 429";

fn shown(workspace: &Workspace, times: usize) {
    for _ in 0..times {
        let guided = workspace.guide(TASK);
        assert_eq!(guided["entries"][0]["skill_entry_id"], RETRY);
    }
}

fn suggestions(workspace: &Workspace) -> Vec<Value> {
    let said = workspace.json(&["prune"]);
    said.as_array().unwrap().clone()
}

#[test]
fn what_was_shown_forty_times_and_never_confirmed_is_suggested() {
    let workspace = Workspace::scraper();
    assert_eq!(workspace.json(&["prune"]), json!([]));
    shown(&workspace, 39);
    assert_eq!(workspace.json(&["prune"]), json!([]));
    shown(&workspace, 1);
    let before = workspace.files();
    let suggested = suggestions(&workspace);
    assert_eq!(suggested.len(), 1);
    assert!(suggested[0].to_string().contains(RETRY), "{suggested:#?}");
    workspace.assert_files(&before);
}

#[test]
fn what_was_merged_into_is_confirmed() {
    let workspace = Workspace::scraper();
    shown(&workspace, 40);
    assert_eq!(suggestions(&workspace).len(), 1);
    let learned = workspace.learn(JITTER, "api_rate_limiting");
    assert_eq!(learned["skill_entry_id"], RETRY);
    assert_eq!(workspace.json(&["prune"]), json!([]));
}

#[test]
fn a_task_that_gets_nothing_counts_for_nothing() {
    let workspace = Workspace::scraper();
    for _ in 0..40 {
        workspace.guide("Play some jazz music in the kitchen");
    }
    assert_eq!(workspace.json(&["prune"]), json!([]));
}
