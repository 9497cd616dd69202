//! `reset` (contract §3, seed §14): the shipped files again, all or nothing, and it says what it did.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use common::{Board, assert_outcome, edited, hash, version};
use serde_json::{Value, json};

const FILE: &str = "foo/references/a.md";

fn board() -> Board {
    let board = Board::new();
    for name in ["bar", "foo"] {
        board.skill(name, &version(name, 1));
        board.bundle_file(&format!("{name}/references/a.md"), "a1");
    }
    board.sync().expect(0);
    board
}

#[track_caller]
fn assert_shipped(board: &Board, name: &str, n: u32) {
    assert_eq!(board.text(name), version(name, n));
    assert_eq!(board.base(name), version(name, n));
    board.assert_record(name, "synced", &version(name, n), &version(name, n));
}

#[test]
fn without_restore_it_is_wrong_usage_that_says_so() {
    let board = board();
    board.user_skill("foo", &edited("foo"));
    let before = board.snapshot();
    for arguments in [&["reset", "foo"][..], &["reset", "--all"]] {
        let run = board.run(arguments).expect(2);
        assert!(run.stderr.contains("--restore"), "{run:#?}");
    }
    before.assert_same(&board.snapshot());
}

#[test]
fn an_edited_skill_has_the_shipped_text_again_and_the_other_is_left_alone() {
    let board = board();
    for name in ["bar", "foo"] {
        board.user_skill(name, &edited(name));
    }
    board.sync().expect(0);
    let run = board.run(&["reset", "foo", "--restore"]).expect(0);
    assert!(run.stdout.contains("foo"), "{run:#?}");
    assert_shipped(&board, "foo", 1);
    assert_eq!(board.text("bar"), edited("bar"));
    board.assert_at_rest();
}

#[test]
fn a_skill_with_a_needed_merge_has_the_new_version_and_needs_none_any_more() {
    let board = board();
    board.user_skill("foo", &edited("foo"));
    board.skill("foo", &version("foo", 2));
    board.change_record("foo", |record| {
        record["last_failed_merge_key"] = json!("sha256:0123456789abcdef");
        record["last_merge_error"] = json!("refused");
    });
    board.run(&["reset", "foo", "--restore"]).expect(0);
    assert_shipped(&board, "foo", 2);
    assert_eq!(board.record("foo").get("last_failed_merge_key"), None);
    assert_outcome(&board.assert_at_rest(), "foo", "unchanged");
}

#[test]
fn edited_and_deleted_files_come_back_and_the_users_own_stay() {
    let board = board();
    board.bundle_file("foo/references/b.md", "b1");
    board.bundle_file("foo/scripts/run.sh", "#!/bin/sh\n");
    fs::set_permissions(
        board.bundle().join("foo/scripts/run.sh"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    board.sync().expect(0);
    board.user_file(FILE, "mine");
    board.user_removes("foo/references/b.md");
    board.user_file("foo/references/extra.md", "my own");
    board.user_file("foo/notes.txt", "my own");
    fs::set_permissions(
        board.user_path("foo/scripts/run.sh"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    board.sync().expect(0);
    board.run(&["reset", "foo", "--restore"]).expect(0);
    assert_eq!(board.read(FILE), "a1");
    assert_eq!(board.read("foo/references/b.md"), "b1");
    assert_eq!(board.read("foo/references/extra.md"), "my own");
    assert_eq!(board.read("foo/notes.txt"), "my own");
    let mode = fs::metadata(board.user_path("foo/scripts/run.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0o111);
    let files = board.record("foo")["files"].clone();
    assert_eq!(files["references/a.md"]["hash"], hash("a1"));
    assert_ne!(files["references/b.md"]["deleted"], true);
    board.assert_at_rest();
    board.bundle_file("foo/references/b.md", "b2");
    board.sync().expect(0);
    assert_eq!(
        board.read("foo/references/b.md"),
        "b2",
        "a restored file follows the bundle again"
    );
}

#[test]
fn a_deleted_skill_comes_back_with_all_its_files() {
    let board = board();
    board.user_removes("foo");
    board.sync().expect(0);
    board.run(&["reset", "foo", "--restore"]).expect(0);
    assert_shipped(&board, "foo", 1);
    assert_eq!(board.read(FILE), "a1");
    assert_outcome(&board.assert_at_rest(), "foo", "unchanged");
}

#[test]
fn a_skill_that_was_deleted_a_moment_ago_comes_back_too() {
    let board = board();
    board.user_removes("foo");
    board.run(&["reset", "foo", "--restore"]).expect(0);
    assert_shipped(&board, "foo", 1);
    board.assert_at_rest();
}

#[test]
fn all_is_every_bundled_skill_and_no_other() {
    let board = board();
    board.skill("new", &version("new", 1));
    board.user_skill("bar", &edited("bar"));
    board.user_removes("foo");
    board.user_skill("own", &edited("own"));
    board.sync().expect(0);
    board.run(&["reset", "--all", "--restore"]).expect(0);
    for name in ["bar", "foo", "new"] {
        assert_shipped(&board, name, 1);
    }
    assert_eq!(board.text("own"), edited("own"));
    assert_eq!(board.record("own"), Value::Null);
    board.assert_at_rest();
}

#[test]
fn a_conflict_without_a_base_is_over_after_it() {
    let board = board();
    board.skill("mine", &version("mine", 1));
    board.user_skill("mine", &edited("mine"));
    assert_outcome(&board.sync().expect(0).json(), "mine", "merge_needed");
    board.run(&["reset", "mine", "--restore"]).expect(0);
    assert_shipped(&board, "mine", 1);
    board.assert_at_rest();
}

#[test]
fn the_lifecycle_state_becomes_active_and_the_counters_stay() {
    let board = board();
    let usage = board.state().join("usage.json");
    let entry = json!({"view_count": 12, "use_count": 5, "state": "archived", "state_changed_at": "2026-05-25T12:10:00+08:00",
        "of_the_other_slot": [1]});
    common::write(
        &usage,
        json!({"foo": entry, "bar": entry, "own": {"state": "stale"}}).to_string(),
    );
    board.run(&["reset", "foo", "--restore"]).expect(0);
    let after: Value = serde_json::from_slice(&fs::read(&usage).unwrap()).unwrap();
    assert_eq!(after["foo"]["state"].as_str().unwrap_or("active"), "active");
    assert_eq!(after["foo"]["view_count"], 12);
    assert_eq!(after["foo"]["use_count"], 5);
    assert_eq!(after["foo"]["of_the_other_slot"], json!([1]));
    assert_eq!(after["bar"], entry);
    assert_eq!(after["own"], json!({"state": "stale"}));
}

#[test]
fn nothing_to_do_is_said_and_writes_nothing() {
    let board = board();
    let done = board.run(&["reset", "bar", "--restore"]).expect(0);
    let before = board.snapshot();
    let again = board.run(&["reset", "foo", "--restore"]).expect(0);
    before.assert_same(&board.snapshot());
    board.user_skill("foo", &edited("foo"));
    let restored = board.run(&["reset", "foo", "--restore"]).expect(0);
    assert_ne!(again.stdout, restored.stdout, "a no-op says no-op");
    assert_eq!(done.stdout.replace("bar", "foo"), again.stdout);
}

#[test]
fn one_that_fails_leaves_files_base_and_ledger_as_they_were() {
    type Obstacle = (&'static str, fn(&Board));
    let obstacles: [Obstacle; 5] = [
        ("a link to the skill", |board| {
            board.user_removes("foo");
            symlink("bar", board.user_path("foo")).unwrap();
        }),
        ("a link as SKILL.md", |board| {
            board.user_removes("foo/SKILL.md");
            symlink("../bar/SKILL.md", board.user_path("foo/SKILL.md")).unwrap();
        }),
        ("a link as references", |board| {
            board.user_skill("foo", &edited("foo"));
            board.user_removes("foo/references");
            symlink("../bar/references", board.user_path("foo/references")).unwrap();
        }),
        ("a directory as a file", |board| {
            board.user_skill("foo", &edited("foo"));
            board.user_removes(FILE);
            board.user_file(&format!("{FILE}/inner"), "x");
        }),
        ("an invalid bundle", |board| {
            board.user_skill("foo", &edited("foo"));
            board.skill("foo", "torn");
        }),
    ];
    for (what, obstruct) in obstacles {
        let board = board();
        obstruct(&board);
        let before = board.snapshot();
        let run = board.run(&["reset", "foo", "--restore"]);
        assert!(matches!(run.code, 1 | 3), "{what}: {run:#?}");
        assert!(run.stderr.contains("foo"), "{what}: {run:#?}");
        before.assert_same(&board.snapshot());
    }
}

#[test]
fn one_that_fails_does_not_keep_the_others_from_being_restored() {
    let board = board();
    for name in ["bar", "foo"] {
        board.user_skill(name, &edited(name));
    }
    board.user_removes("foo/SKILL.md");
    symlink("nowhere", board.user_path("foo/SKILL.md")).unwrap();
    board.run(&["reset", "--all", "--restore"]).expect(3);
    assert_shipped(&board, "bar", 1);
    assert!(
        fs::symlink_metadata(board.user_path("foo/SKILL.md"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn an_unknown_name_fails_by_its_name_and_nothing_is_written() {
    let board = board();
    board.user_skill("own", &edited("own"));
    let before = board.snapshot();
    for name in ["own", "nothing-like-it", "../outside", "", "/etc"] {
        let run = board.run(&["reset", name, "--restore"]);
        assert!(matches!(run.code, 1..=3), "{name:?}: {run:#?}");
    }
    before.assert_same(&board.snapshot());
}

#[test]
fn a_skill_that_is_not_bundled_any_more_is_left_alone() {
    let board = board();
    board.unship("foo");
    board.sync().expect(0);
    board.user_skill("foo", &edited("foo"));
    let before = board.snapshot();
    let run = board.run(&["reset", "foo", "--restore"]);
    assert!(matches!(run.code, 1 | 3), "{run:#?}");
    before.assert_same(&board.snapshot());
}

#[test]
fn without_a_bundle_nothing_is_done() {
    let board = board();
    board.user_skill("foo", &edited("foo"));
    board.unship("");
    let before = board.snapshot();
    for arguments in [
        &["reset", "foo", "--restore"][..],
        &["reset", "--all", "--restore"],
    ] {
        board.run(arguments).expect(1);
    }
    before.assert_same(&board.snapshot());
}

#[test]
fn resetting_one_skill_of_a_lost_library_makes_no_deletion_of_the_others() {
    let board = board();
    common::remove(&board.library());
    board.run(&["reset", "foo", "--restore"]);
    assert_eq!(board.text("foo"), version("foo", 1));
    assert_outcome(&board.sync().json(), "bar", "copied");
    assert_eq!(board.text("bar"), version("bar", 1));
}

#[test]
fn a_blank_skill_is_restored() {
    let board = board();
    board.user_skill("foo", "\0\0");
    board.user_file(FILE, "");
    board.run(&["reset", "foo", "--restore"]).expect(0);
    assert_shipped(&board, "foo", 1);
    assert_eq!(board.read(FILE), "a1");
}

#[test]
fn the_usage_file_keeps_its_owner_and_mode() {
    let board = Board::synced(&["foo"]);
    let usage = board.state().join("usage.json");
    common::write(
        &usage,
        r#"{"foo":{"state":"archived","view_count":3},"odd":5}"#,
    );
    std::os::unix::fs::chown(&usage, Some(1000), Some(1000)).unwrap();
    fs::set_permissions(&usage, fs::Permissions::from_mode(0o600)).unwrap();
    board.user_skill("foo", &edited("foo"));
    board.run(&["reset", "foo", "--restore"]).expect(0);
    let now = fs::metadata(&usage).unwrap();
    assert_eq!((now.uid(), now.mode() & 0o7777), (1000, 0o600));
    let usage: serde_json::Value = serde_json::from_slice(&fs::read(&usage).unwrap()).unwrap();
    assert_eq!(usage["foo"]["state"], "active");
    assert_eq!(usage["foo"]["view_count"], 3);
    assert_eq!(usage["odd"], 5);
}

#[test]
fn a_name_that_something_else_holds_is_left_alone() {
    let board = Board::synced(&["foo"]);
    board.skill("bar", &version("bar", 1));
    board.skill("baz", &version("baz", 1));
    board.user_file("bar/notes.txt", "mine");
    board.user_file("elsewhere/SKILL.md", version("baz", 7));
    board.run(&["reset", "--all", "--restore"]).expect(3);
    assert!(!board.exists("bar/SKILL.md") && !board.exists("baz"));
}
