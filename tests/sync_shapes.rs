//! What is a file today and a directory tomorrow, or larger than a skill may be.

mod common;

use common::{Board, assert_outcome, failure, version};
use std::os::unix::fs::symlink;

fn board_with(file: &str, content: &str) -> Board {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file(file, content);
    board.sync().expect(0);
    board
}

#[test]
fn a_directory_takes_the_place_of_a_file_that_nobody_touched() {
    let board = board_with("foo/references/thing", "a file");
    board.unship("foo/references/thing");
    board.bundle_file("foo/references/thing/inner.md", "inside");
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "updated");
    assert_eq!(board.read("foo/references/thing/inner.md"), "inside");
    assert_eq!(report["files"]["removed"], 1);
    assert_eq!(report["files"]["copied"], 1);
    board.assert_at_rest();
}

#[test]
fn a_file_takes_the_place_of_a_directory_that_nobody_touched() {
    let board = board_with("foo/references/thing/deep/inner.md", "inside");
    board.unship("foo/references/thing");
    board.bundle_file("foo/references/thing", "a file");
    board.sync().expect(0);
    assert_eq!(board.read("foo/references/thing"), "a file");
    board.assert_at_rest();
}

#[test]
fn what_the_user_put_there_does_not_give_way() {
    let board = board_with("foo/references/thing/inner.md", "inside");
    board.user_file("foo/references/thing/own.md", "mine");
    board.unship("foo/references/thing");
    board.bundle_file("foo/references/thing", "a file");
    let report = board.sync().expect(3).json();
    assert!(failure(&report, "foo").contains("references/thing is a directory"));
    assert_eq!(board.read("foo/references/thing/own.md"), "mine");
    assert_eq!(board.read("foo/references/thing/inner.md"), "inside");

    let board = board_with("foo/references/thing", "a file");
    board.user_file("foo/references/thing", "mine");
    board.unship("foo/references/thing");
    board.bundle_file("foo/references/thing/inner.md", "inside");
    board.sync().expect(3);
    assert_eq!(board.read("foo/references/thing"), "mine");
}

#[test]
fn a_bundled_file_that_turned_into_a_link_by_a_slip_of_the_build_removes_nothing() {
    let board = board_with("foo/references/a.md", "text");
    let shipped = board.bundle().join("foo/references/a.md");
    common::remove(&shipped);
    symlink("/etc/hostname", &shipped).unwrap();
    let report = board.sync().expect(3).json();
    assert_eq!(report["skipped_entries"][0]["path"], "foo/references/a.md");
    assert_eq!(board.read("foo/references/a.md"), "text");
    common::remove(&shipped);
    board.bundle_file("foo/references/a.md", "newer");
    board.sync().expect(0);
    assert_eq!(board.read("foo/references/a.md"), "newer");
}

#[test]
fn a_text_of_the_users_that_is_larger_than_any_skill_is_kept_unread() {
    let board = Board::synced(&["foo"]);
    let large = format!("{}{}", version("foo", 1), "x".repeat(70 * 1024));
    board.user_skill("foo", &large);
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "kept_user");
    assert_eq!(board.record("foo")["status"], "user_modified");

    board.skill("foo", &version("foo", 2));
    let report = board.sync().expect(3).json();
    assert!(failure(&report, "foo").contains("is too large"));
    assert_eq!(board.text("foo"), large);
}
