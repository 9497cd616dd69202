//! Rows 0a to 0c of the decision table (contract §4): a bundle or a library that is not there is neither
//! removed by the firmware nor deleted by the user.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use common::{Board, SKILL_ARRAYS, assert_outcome, edited, names, version};
use serde_json::{Value, json};

fn assert_nothing_in_arrays(report: &Value) {
    for array in SKILL_ARRAYS {
        assert_eq!(report[array], json!([]), "{array} of {report:#}");
    }
}

#[test]
fn row_0a_a_missing_bundle_changes_no_record_and_no_file() {
    let board = Board::synced(&["bar", "foo"]);
    board.user_removes("bar");
    board.unship("");
    let before = board.snapshot();
    let report = board.sync().expect(3).json();
    assert_eq!(report["bundle"], "missing");
    assert_nothing_in_arrays(&report);
    before.assert_same(&board.snapshot());
}

#[test]
fn row_0a_a_bundle_without_a_skill_is_empty_and_changes_nothing() {
    let board = Board::synced(&["foo"]);
    board.unship("foo");
    board.bundle_file("README.md", "no skill");
    board.bundle_file("foo/references/a.md", "no SKILL.md beside it");
    let before = board.snapshot();
    let report = board.sync().expect(3).json();
    assert_eq!(report["bundle"], "empty");
    assert_nothing_in_arrays(&report);
    before.assert_same(&board.snapshot());
}

#[test]
fn row_0a_a_bundle_that_cannot_be_read_changes_nothing() {
    let board = Board::synced(&["foo"]);
    board.unship("");
    common::write(&board.bundle(), "a file where the directory belongs");
    let before = board.snapshot();
    let report = board.sync().expect(3).json();
    assert_eq!(report["bundle"], "unreadable");
    assert_nothing_in_arrays(&report);
    before.assert_same(&board.snapshot());
}

#[test]
fn row_0b_a_lost_library_is_seeded_again_without_what_the_user_had_deleted() {
    let board = Board::synced(&["bar", "foo", "gone"]);
    board.user_removes("gone");
    board.sync().expect(0);
    board.user_skill("bar", &edited("bar"));
    board.sync().expect(0);
    common::remove(&board.library());
    let report = board.sync().json();
    assert_eq!(names(&report, "copied"), ["bar", "foo"]);
    assert_eq!(names(&report, "deleted_by_user"), ["gone"]);
    for name in ["bar", "foo"] {
        assert_eq!(board.text(name), version(name, 1));
        board.assert_record(name, "synced", &version(name, 1), &version(name, 1));
    }
    assert!(!board.exists("gone"));
    assert_eq!(board.record("gone")["status"], "deleted_by_user");
    board.assert_at_rest();
}

#[test]
fn row_0b_stale_records_go_with_a_lost_library() {
    let board = Board::synced(&["bar", "foo"]);
    board.unship("bar");
    board.sync().expect(0);
    common::remove(&board.library());
    let report = board.sync().json();
    assert_eq!(names(&report, "copied"), ["foo"]);
    assert_eq!(board.record("bar"), Value::Null);
    board.assert_at_rest();
}

#[test]
fn row_0b_a_library_and_a_bundle_lost_together_are_no_deletion_when_the_bundle_is_back() {
    let board = Board::synced(&["foo"]);
    common::remove(&board.library());
    board.unship("");
    board.sync().expect(3);
    board.skill("foo", &version("foo", 1));
    let report = board.sync().json();
    assert_outcome(&report, "foo", "copied");
    assert_eq!(board.text("foo"), version("foo", 1));
}

#[test]
fn row_0b_supporting_files_come_back_with_a_lost_library() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "a");
    board.sync().expect(0);
    common::remove(&board.library());
    assert_outcome(&board.sync().json(), "foo", "copied");
    assert_eq!(board.read("foo/references/a.md"), "a");
    board.assert_at_rest();
}

#[test]
fn row_0c_a_library_root_that_is_a_link_stops_the_sync() {
    let board = Board::synced(&["foo"]);
    let elsewhere = board.root().join("elsewhere");
    std::fs::rename(board.library(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, board.library()).unwrap();
    board.skill("foo", &version("foo", 2));
    let before = board.snapshot();
    let run = board.sync().expect(1);
    assert!(run.stderr.contains("skills"), "{run:#?}");
    before.assert_same(&board.snapshot());
}

#[test]
fn row_0c_a_library_root_that_is_a_file_stops_the_sync() {
    let board = Board::synced(&["foo"]);
    common::remove(&board.library());
    common::write(&board.library(), "a file");
    let before = board.snapshot();
    board.sync().expect(1);
    before.assert_same(&board.snapshot());
}

#[test]
fn relative_directories_are_taken_from_the_working_directory() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    let mut command = common::bare_command();
    command.args([
        "sync",
        "--config-dir",
        "agent",
        "--bundled-dir",
        "./bundle/",
    ]);
    common::run(command.current_dir(board.root())).expect(0);
    assert_eq!(board.text("foo"), version("foo", 1));
}
