//! Back to a snapshot.

use std::fs;

use serde_json::{Value, json};

use super::common;
use super::governance::decision;
use super::workspace::{Counts, EMPTY, JITTER, Workspace, text};

const PHOTOS: &str = "Always compress photos before uploading";

/// Added and merged: two snapshots; and the bank between the two.
fn merged() -> (Workspace, Value) {
    let workspace = Workspace::new();
    workspace.learn(PHOTOS, "photo_upload");
    let between = workspace.bank();
    let second = workspace.learn(
        "Compress photos before uploading them to albums",
        "photo_upload",
    );
    assert_eq!(second["action"], "MERGE");
    (workspace, between)
}

fn path_of(snapshot: &Value) -> String {
    format!("snapshots/{}.json", text(&snapshot["snapshot_id"]))
}

/// The oldest snapshot, changed.
fn spoil(workspace: &Workspace, change: impl FnOnce(&mut Value)) -> String {
    let mut snapshot = workspace.snapshots().remove(0);
    let path = workspace.path(&path_of(&snapshot));
    let id = text(&snapshot["snapshot_id"]).to_owned();
    change(&mut snapshot);
    common::write(&path, snapshot.to_string());
    id
}

#[test]
fn without_a_target_the_newest_change_is_undone() {
    let (workspace, between) = merged();
    let newest = workspace.snapshots().pop().unwrap();
    let said = workspace.json(&["rollback", "--reason", "it was wrong"]);
    assert_eq!(said, json!({"snapshot_id": newest["snapshot_id"]}));
    assert_eq!(workspace.bank(), between);
    let audit = workspace.audit("ROLLBACK");
    assert_eq!(audit["event_type"], "rollback_executed");
    assert_eq!(audit["subject_id"], newest["snapshot_id"]);
    assert_eq!(audit["details"]["reasoning"], "it was wrong");
}

#[test]
fn a_named_snapshot_is_restored_whatever_came_after_it() {
    let (workspace, _) = merged();
    let first = workspace.snapshots().remove(0);
    let id = text(&first["snapshot_id"]);
    let rollback = ["rollback", "--to", id, "--reason", "from the start"];
    assert_eq!(workspace.json(&rollback), json!({ "snapshot_id": id }));
    let empty: Value = serde_json::from_str(EMPTY).unwrap();
    assert_eq!(workspace.bank(), empty);
}

#[test]
fn what_a_rollback_replaces_is_kept_in_a_snapshot() {
    let (workspace, between) = merged();
    let newest = workspace.snapshots().pop().unwrap();
    let last = workspace.bank();
    workspace.json(&["rollback", "--reason", "it was wrong"]);
    assert_eq!(workspace.counts(), Counts::of(2, 3, 8, 0));
    let kept = workspace.snapshots().pop().unwrap();
    let reason = format!("Before ROLLBACK to {}", text(&newest["snapshot_id"]));
    assert_eq!(kept["reason"], reason);
    assert_eq!(kept["skill_bank"], last);
    let rollback = |to: &str| {
        workspace.json(&["rollback", "--to", to, "--reason", "there and back"]);
        workspace.bank()
    };
    assert_eq!(rollback(text(&kept["snapshot_id"])), last);
    assert_eq!(rollback(text(&newest["snapshot_id"])), between);
}

#[test]
fn a_rollback_again_does_not_undo_the_first() {
    let (workspace, between) = merged();
    let first = workspace.json(&["rollback", "--reason", "it was wrong"]);
    let second = workspace.json(&["rollback", "--reason", "it was wrong"]);
    assert_eq!(first, second);
    assert_eq!(workspace.bank(), between);
}

#[test]
fn without_such_a_snapshot_nothing_changes() {
    let (workspace, _) = merged();
    for id in ["snap-000000000000", "../manifest", "snap-", ""] {
        let rollback = ["rollback", "--to", id, "--reason", "x"];
        let before = workspace.files();
        let run = workspace.run(&rollback);
        assert!(matches!(run.code, 1 | 2), "{id}: {run:?}");
        workspace.assert_files(&before);
    }
    let rollback = ["rollback", "--to", "snap-000000000000", "--reason", "x"];
    let said = workspace.refused(&rollback);
    assert!(said.contains("cannot restore"), "{said}");
    let fresh = Workspace::new();
    let said = fresh.refused(&["rollback", "--reason", "x"]);
    assert!(said.contains("cannot restore"), "{said}");
}

#[test]
fn a_rollback_needs_a_reason() {
    let (workspace, _) = merged();
    workspace.refused_with(2, &["rollback"]);
}

#[test]
fn a_snapshot_that_would_not_be_valid_is_not_restored() {
    let (workspace, _) = merged();
    workspace.leave_invalid();
    let original = workspace.snapshots().remove(0);
    let spoilt: [fn(&mut Value); 6] = [
        |snapshot| snapshot["manifest"] = json!({}),
        |snapshot| snapshot["manifest"]["governance"] = json!({}),
        |snapshot| snapshot["skill_bank"] = json!({"skills": {}}),
        |snapshot| snapshot["skill_bank"] = json!({"skills": [{"title": "x"}]}),
        |snapshot| snapshot["skill_bank"] = json!([]),
        |snapshot| *snapshot = json!({"snapshot_id": snapshot["snapshot_id"]}),
    ];
    for change in spoilt {
        let id = spoil(&workspace, change);
        workspace.refused(&["rollback", "--to", &id, "--reason", "x"]);
        common::write(&workspace.path(&path_of(&original)), original.to_string());
    }
    common::write(&workspace.path(&path_of(&original)), "{\"snapshot_id\": ");
    let id = text(&original["snapshot_id"]);
    let said = workspace.refused(&["rollback", "--to", id, "--reason", "x"]);
    assert!(said.contains("cannot restore"), "{said}");
}

#[test]
fn a_torn_manifest_is_restored_and_kept_aside() {
    let (workspace, between) = merged();
    let manifest = workspace.manifest();
    let torn = b"{\"schema_name\": \"SkillMan";
    common::write(&workspace.path("manifest.json"), torn);
    workspace.refused(&["learn", "--task", "Always say hello."]);
    workspace.json(&["rollback", "--reason", "the manifest is torn"]);
    assert_eq!(workspace.manifest(), manifest);
    assert_eq!(workspace.bank(), between);
    assert_eq!(workspace.audit("ROLLBACK")["skill_id"], "demo-skill");
    assert_eq!(workspace.with_bytes(torn).len(), 1);
}

#[test]
fn a_rollback_brings_back_the_version_of_a_governed_skill() {
    let workspace = Workspace::governed();
    let (manifest, bank) = (workspace.manifest(), workspace.bank());
    workspace.learn(JITTER, "api_rate_limiting");
    let proposal = workspace.proposals().remove(0);
    workspace.decide(&decision(&proposal, "promoted")).expect(0);
    assert_ne!(workspace.manifest(), manifest);
    workspace.json(&["rollback", "--reason", "it was wrong"]);
    assert_eq!(workspace.manifest(), manifest);
    assert_eq!(workspace.bank(), bank);
}

#[test]
fn no_two_snapshots_are_of_the_same_second() {
    let workspace = Workspace::new();
    for _ in 0..3 {
        workspace.learn(PHOTOS, "photo_upload");
    }
    workspace.json(&["rollback", "--reason", "it was wrong"]);
    let snapshots = workspace.snapshots();
    assert_eq!(snapshots.len(), 4);
    let times: Vec<&str> = snapshots
        .iter()
        .map(|one| text(&one["created_at"]))
        .collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
}

#[test]
fn the_newest_snapshot_is_the_last_one_taken_though_the_clock_went_back() {
    let workspace = Workspace::new();
    workspace.learn(PHOTOS, "photo_upload");
    spoil(&workspace, |snapshot| {
        snapshot["created_at"] = json!("2199-12-31T23:59:59Z");
    });
    let between = workspace.bank();
    let learned = workspace.learn(PHOTOS, "photo_upload");
    let id = text(&learned["snapshot_id"]);
    let newest = workspace.read(&format!("snapshots/{id}.json"));
    assert_eq!(newest["created_at"], "2200-01-01T00:00:00Z");
    workspace.json(&["rollback", "--reason", "it was wrong"]);
    assert_eq!(workspace.bank(), between);
}

#[test]
fn a_board_whose_snapshots_are_gone_still_learns() {
    let (workspace, _) = merged();
    // As after a restored backup that left them out; the audits that tell of them are then without them.
    workspace.leave_invalid();
    fs::remove_dir_all(workspace.path("snapshots")).unwrap();
    assert_eq!(workspace.learn(PHOTOS, "photo_upload")["action"], "MERGE");
    assert_eq!(workspace.snapshots().len(), 1);
}
