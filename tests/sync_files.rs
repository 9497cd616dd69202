//! Supporting files (contract §4): every other regular file of a bundled skill, each by its own hashes.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use common::{Board, assert_outcome, edited, hash, version};
use serde_json::{Value, json};

const FILE: &str = "foo/references/a.md";

/// `foo` with one supporting file, synced once.
fn board() -> Board {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file(FILE, "a1");
    board.sync().expect(0);
    board
}

fn file_record(board: &Board) -> Value {
    board.record("foo")["files"]["references/a.md"].clone()
}

fn assert_counts(report: &Value, copied: u64, updated: u64, removed: u64, kept: &[&str]) {
    let wanted =
        json!({"copied": copied, "updated": updated, "removed": removed, "kept_user": kept});
    assert_eq!(report["files"], wanted, "{report:#}");
}

fn set_mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_skill_comes_with_all_its_files_which_are_counted_apart_from_its_skill_md() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/assets/empty.bin", "");
    board.bundle_file("foo/assets/picture.png", [0x89, b'P', 0, 0xff]);
    board.bundle_file("foo/deep/er/file.txt", "deep");
    board.bundle_file("foo/LICENSE", "MIT");
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "copied");
    assert_counts(&report, 4, 0, 0, &[]);
    assert_eq!(board.read("foo/assets/empty.bin"), "");
    assert_eq!(
        fs::read(board.user_path("foo/assets/picture.png")).unwrap(),
        [0x89, b'P', 0, 0xff]
    );
    assert_eq!(board.read("foo/deep/er/file.txt"), "deep");
    assert_eq!(board.read("foo/LICENSE"), "MIT");
    assert_counts(&board.assert_at_rest(), 0, 0, 0, &[]);
}

#[test]
fn a_file_that_is_new_in_the_bundle_is_copied() {
    let board = board();
    board.bundle_file("foo/references/b.md", "b");
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "updated");
    assert_counts(&report, 1, 0, 0, &[]);
    assert_eq!(board.read("foo/references/b.md"), "b");
    board.assert_at_rest();
}

#[test]
fn an_equal_file_that_is_not_recorded_is_recorded_and_updated_later() {
    let board = board();
    board.bundle_file("foo/references/b.md", "b1");
    board.user_file("foo/references/b.md", "b1");
    let report = board.sync().expect(0).json();
    assert_counts(&report, 0, 0, 0, &[]);
    assert_eq!(
        board.record("foo")["files"]["references/b.md"]["hash"],
        hash("b1")
    );
    board.assert_at_rest();
    board.bundle_file("foo/references/b.md", "b2");
    assert_counts(&board.sync().expect(0).json(), 0, 1, 0, &[]);
    assert_eq!(board.read("foo/references/b.md"), "b2");
}

#[test]
fn another_file_that_is_not_recorded_is_the_users_and_stays_so() {
    let board = board();
    board.bundle_file("foo/references/b.md", "theirs");
    board.user_file("foo/references/b.md", "mine");
    let report = board.sync().expect(0).json();
    assert_counts(&report, 0, 0, 0, &["foo/references/b.md"]);
    assert_eq!(board.record("foo")["files"]["references/b.md"], Value::Null);
    board.bundle_file("foo/references/b.md", "theirs, newer");
    assert_counts(&board.assert_at_rest(), 0, 0, 0, &["foo/references/b.md"]);
    assert_eq!(board.read("foo/references/b.md"), "mine");
}

#[test]
fn a_file_that_the_user_deleted_is_recorded_as_deleted_and_stays_so() {
    let board = board();
    board.user_removes(FILE);
    board.sync().expect(0);
    assert_eq!(file_record(&board)["deleted"], true);
    board.assert_at_rest();
    board.bundle_file(FILE, "a2");
    let report = board.sync().expect(0).json();
    assert_counts(&report, 0, 0, 0, &[]);
    assert!(!board.exists(FILE));
    board.assert_at_rest();
}

#[test]
fn an_untouched_file_follows_the_bundle_and_its_skill_is_updated() {
    let board = board();
    board.bundle_file(FILE, "a2");
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "updated");
    assert_counts(&report, 0, 1, 0, &[]);
    assert_eq!(board.read(FILE), "a2");
    assert_eq!(board.text("foo"), version("foo", 1));
    assert_eq!(file_record(&board)["hash"], hash("a2"));
    board.assert_at_rest();
}

#[test]
fn a_file_may_become_empty_upstream_and_nothing_is_blank_here() {
    let board = board();
    board.bundle_file(FILE, "");
    assert_counts(&board.sync().expect(0).json(), 0, 1, 0, &[]);
    assert_eq!(board.read(FILE), "");
    board.assert_at_rest();
}

#[test]
fn a_file_that_the_user_emptied_is_an_edit() {
    let board = board();
    board.user_file(FILE, "");
    board.bundle_file(FILE, "a2");
    assert_counts(&board.sync().expect(0).json(), 0, 0, 0, &[FILE]);
    assert_eq!(board.read(FILE), "");
}

#[test]
fn an_untouched_file_that_was_dropped_upstream_is_removed_and_forgotten() {
    let board = board();
    board.unship(FILE);
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "updated");
    assert_counts(&report, 0, 0, 1, &[]);
    assert!(!board.exists(FILE));
    assert_eq!(file_record(&board), Value::Null);
    board.assert_at_rest();

    board.bundle_file(FILE, "back");
    assert_counts(&board.sync().expect(0).json(), 1, 0, 0, &[]);
    assert_eq!(board.read(FILE), "back");
    board.assert_at_rest();
}

#[test]
fn an_edited_file_is_kept_when_the_bundle_changes_or_drops_it() {
    let board = board();
    board.user_file(FILE, "mine");
    assert_counts(&board.sync().expect(0).json(), 0, 0, 0, &[FILE]);
    board.bundle_file(FILE, "a2");
    assert_counts(&board.sync().expect(0).json(), 0, 0, 0, &[FILE]);
    board.unship(FILE);
    assert_counts(&board.sync().expect(0).json(), 0, 0, 0, &[FILE]);
    assert_eq!(board.read(FILE), "mine");
    board.assert_at_rest();
}

#[test]
fn an_edited_file_that_equals_the_bundle_is_ours_again() {
    let board = board();
    board.user_file(FILE, "a2");
    board.sync().expect(0);
    board.bundle_file(FILE, "a2");
    assert_counts(&board.sync().expect(0).json(), 0, 0, 0, &[]);
    assert_eq!(file_record(&board)["hash"], hash("a2"));
    board.assert_at_rest();
    board.bundle_file(FILE, "a3");
    assert_counts(&board.sync().expect(0).json(), 0, 1, 0, &[]);
    assert_eq!(board.read(FILE), "a3");
}

#[test]
fn a_deleted_file_that_the_user_puts_back_is_judged_by_its_text_again() {
    let board = board();
    board.user_removes(FILE);
    board.sync().expect(0);
    board.user_file(FILE, "a1");
    board.sync().expect(0);
    assert_eq!(board.read(FILE), "a1");
    board.assert_at_rest();
    board.bundle_file(FILE, "a2");
    board.sync().expect(0);
    assert_eq!(board.read(FILE), "a2");
}

#[test]
fn an_executable_bit_that_changed_upstream_arrives_in_both_directions() {
    let board = board();
    let user = board.user_path(FILE);
    let bundled = board.bundle().join(FILE);
    assert_eq!(mode(&user), 0o644);
    for (upstream, arrived) in [(0o755, 0o755), (0o644, 0o644), (0o555, 0o755)] {
        set_mode(&bundled, upstream);
        let report = board.sync().expect(0).json();
        assert_outcome(&report, "foo", "updated");
        assert_counts(&report, 0, 1, 0, &[]);
        assert_eq!(mode(&user), arrived);
        board.assert_at_rest();
    }
}

#[test]
fn an_executable_bit_that_the_user_changed_stays() {
    let board = board();
    set_mode(&board.user_path(FILE), 0o755);
    board.assert_at_rest();
    assert_eq!(mode(&board.user_path(FILE)), 0o755);
}

#[test]
fn an_executable_bit_does_not_overwrite_an_edited_file() {
    let board = board();
    board.user_file(FILE, "mine");
    set_mode(&board.bundle().join(FILE), 0o755);
    assert_counts(&board.sync().expect(0).json(), 0, 0, 0, &[FILE]);
    assert_eq!(board.read(FILE), "mine");
}

#[test]
fn an_edited_skill_md_freezes_none_of_the_other_files() {
    let board = board();
    board.bundle_file("foo/references/dropped.md", "d");
    board.sync().expect(0);
    board.user_skill("foo", &edited("foo"));
    board.bundle_file(FILE, "a2");
    board.bundle_file("foo/references/b.md", "b");
    board.unship("foo/references/dropped.md");
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "updated");
    assert_counts(&report, 1, 1, 1, &[]);
    assert_eq!(board.text("foo"), edited("foo"));
    assert_eq!(board.record("foo")["status"], "user_modified");
    assert_eq!(board.read(FILE), "a2");
    let report = board.assert_at_rest();
    assert_outcome(&report, "foo", "kept_user");
}

#[test]
fn the_files_of_an_updated_and_of_a_repaired_skill_follow() {
    for blank in [false, true] {
        let board = board();
        if blank {
            board.user_skill("foo", "");
        }
        board.skill("foo", &version("foo", 2));
        board.bundle_file(FILE, "a2");
        let report = board.sync().expect(0).json();
        assert_outcome(&report, "foo", if blank { "repaired" } else { "updated" });
        assert_counts(&report, 0, 1, 0, &[]);
        assert_eq!(board.read(FILE), "a2");
        board.assert_at_rest();
    }
}

#[test]
fn the_files_of_an_adopted_skill_are_copied_recorded_or_kept() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    for (file, text) in [("equal", "same"), ("missing", "new"), ("other", "theirs")] {
        board.bundle_file(&format!("foo/references/{file}.md"), text);
    }
    board.user_skill("foo", &version("foo", 1));
    board.user_file("foo/references/equal.md", "same");
    board.user_file("foo/references/other.md", "mine");
    let report = board.sync().expect(0).json();
    assert_counts(&report, 1, 0, 0, &["foo/references/other.md"]);
    assert_eq!(board.read("foo/references/missing.md"), "new");
    assert_eq!(board.read("foo/references/other.md"), "mine");
    let files = board.record("foo")["files"].clone();
    assert_eq!(files["references/equal.md"]["hash"], hash("same"));
    assert_eq!(files["references/missing.md"]["hash"], hash("new"));
    assert_eq!(files.get("references/other.md"), None);
    board.assert_at_rest();
}

#[test]
fn an_equal_file_of_an_adopted_or_repaired_skill_follows_the_next_firmware() {
    for text in [version("foo", 1), String::new()] {
        let board = Board::new();
        board.skill("foo", &version("foo", 1));
        board.bundle_file(FILE, "a1");
        board.user_skill("foo", &text);
        board.user_file(FILE, "a1");
        board.sync().expect(0);
        board.bundle_file(FILE, "a2");
        assert_counts(&board.sync().expect(0).json(), 0, 1, 0, &[]);
        assert_eq!(board.read(FILE), "a2");
    }
}

#[test]
fn a_record_without_files_takes_equal_ones_copies_missing_ones_and_keeps_others() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    for (file, text) in [("equal", "same"), ("missing", "new"), ("other", "theirs")] {
        board.bundle_file(&format!("foo/references/{file}.md"), text);
    }
    board.sync().expect(0);
    board.user_removes("foo/references/missing.md");
    board.user_file("foo/references/other.md", "mine");
    board.change_record("foo", |record| {
        record.as_object_mut().unwrap().remove("files");
    });
    let report = board.sync().expect(0).json();
    assert_counts(&report, 1, 0, 0, &["foo/references/other.md"]);
    assert_eq!(board.read("foo/references/missing.md"), "new");
    assert_eq!(board.read("foo/references/other.md"), "mine");
    assert_eq!(
        board.record("foo")["files"]["references/equal.md"]["hash"],
        hash("same")
    );
    board.assert_at_rest();
}

#[test]
fn the_users_own_extra_files_are_never_touched() {
    let board = board();
    board.user_file("foo/references/extra.md", "mine");
    board.user_file("foo/private.txt", "mine");
    let before = board.snapshot();
    board.skill("foo", &version("foo", 2));
    board.bundle_file(FILE, "a2");
    board.sync().expect(0);
    let after = board.snapshot();
    for path in [
        "agent/skills/foo/references/extra.md",
        "agent/skills/foo/private.txt",
    ] {
        before.below(path).assert_same(&after.below(path));
    }
}

#[test]
fn the_files_wait_for_a_two_way_merge() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file(FILE, "a1");
    board.user_skill("foo", &edited("foo"));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "merge_needed");
    assert!(!board.exists(FILE));
    board.assert_at_rest();
}

#[test]
fn the_files_follow_while_a_three_way_merge_is_needed() {
    let board = board();
    board.user_skill("foo", &edited("foo"));
    board.skill("foo", &version("foo", 2));
    board.bundle_file(FILE, "a2");
    let report = board.sync().expect(0).json();
    assert_eq!(common::names(&report, "merge_needed"), ["foo"]);
    assert_counts(&report, 0, 1, 0, &[]);
    assert_eq!(board.read(FILE), "a2");
    assert_eq!(board.text("foo"), edited("foo"));
    board.assert_at_rest();
}
