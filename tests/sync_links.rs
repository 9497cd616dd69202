//! Links and special files (contract §4): none is ever followed, replaced or waited for.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::{Board, assert_outcome, version};

fn make_fifo(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Skills `bar` and `foo`, each with a supporting file, and a directory outside that must not be touched.
fn board() -> Board {
    let board = Board::new();
    for name in ["bar", "foo"] {
        board.skill(name, &version(name, 1));
        board.bundle_file(&format!("{name}/references/a.md"), "a1");
    }
    board.sync().expect(0);
    common::write(&board.root().join("outside/SKILL.md"), version("foo", 1));
    common::write(&board.root().join("outside/a.md"), "a1");
    board
}

/// A new version of everything comes, but a link stands in `foo`: `bar` goes on, `foo` fails, and neither
/// the link nor what it points to is touched.
fn assert_only_foo_fails(board: &Board) {
    for name in ["bar", "foo"] {
        board.skill(name, &version(name, 2));
        board.bundle_file(&format!("{name}/references/a.md"), "a2");
    }
    let before = board.snapshot();
    let report = board.sync().expect(3).json();
    let after = board.snapshot();
    assert_outcome(&report, "foo", "failed");
    assert_outcome(&report, "bar", "updated");
    for path in ["agent/skills/foo", "outside", "agent/skill-state/bases/foo"] {
        before.below(path).assert_same(&after.below(path));
    }
    assert_eq!(
        board.record("foo")["origin_hash"],
        common::hash(version("foo", 1))
    );
}

#[test]
fn a_skill_directory_that_is_a_link_is_refused() {
    let board = board();
    board.user_removes("foo");
    symlink(board.root().join("outside"), board.user_path("foo")).unwrap();
    assert_only_foo_fails(&board);
}

#[test]
fn a_skill_md_that_is_a_link_is_refused() {
    let board = board();
    board.user_removes("foo/SKILL.md");
    symlink(
        board.root().join("outside/SKILL.md"),
        board.user_path("foo/SKILL.md"),
    )
    .unwrap();
    assert_only_foo_fails(&board);
}

#[test]
fn a_skill_md_that_is_a_dangling_link_is_no_deletion() {
    let board = board();
    board.user_removes("foo/SKILL.md");
    symlink("nowhere", board.user_path("foo/SKILL.md")).unwrap();
    assert_only_foo_fails(&board);
}

#[test]
fn a_skill_md_that_is_a_directory_is_refused() {
    let board = board();
    board.user_removes("foo/SKILL.md");
    board.user_file("foo/SKILL.md/inner", "x");
    assert_only_foo_fails(&board);
}

#[test]
fn a_skill_directory_that_is_a_file_is_no_deletion() {
    let board = board();
    board.user_removes("foo");
    board.user_file("foo", "a file where a directory belongs");
    assert_only_foo_fails(&board);
}

#[test]
fn a_references_directory_that_is_a_link_is_never_written_through() {
    let board = board();
    board.user_removes("foo/references");
    symlink(
        board.root().join("outside"),
        board.user_path("foo/references"),
    )
    .unwrap();
    assert_only_foo_fails(&board);
}

#[test]
fn a_references_directory_that_is_a_file_is_no_deletion() {
    let board = board();
    board.user_removes("foo/references");
    board.user_file("foo/references", "a file");
    assert_only_foo_fails(&board);
}

#[test]
fn a_supporting_file_that_is_a_link_is_never_followed_or_replaced() {
    let board = board();
    board.user_removes("foo/references/a.md");
    symlink(
        board.root().join("outside/a.md"),
        board.user_path("foo/references/a.md"),
    )
    .unwrap();
    assert_only_foo_fails(&board);
}

#[test]
fn a_fifo_in_place_of_a_skill_md_does_not_hang() {
    let board = board();
    board.user_removes("foo/SKILL.md");
    make_fifo(&board.user_path("foo/SKILL.md"));
    assert_only_foo_fails(&board);
}

#[test]
fn a_fifo_in_place_of_a_supporting_file_does_not_hang() {
    let board = board();
    board.user_removes("foo/references/a.md");
    make_fifo(&board.user_path("foo/references/a.md"));
    assert_only_foo_fails(&board);
}

#[test]
fn fifos_and_links_elsewhere_in_the_library_are_left_alone() {
    let board = board();
    make_fifo(&board.user_path("pipe"));
    make_fifo(&board.user_path("mine/SKILL.md"));
    make_fifo(&board.user_path("foo/references/pipe"));
    symlink("/", board.user_path("foo/assets")).unwrap();
    symlink("..", board.user_path("loop")).unwrap();
    assert_outcome(&board.assert_at_rest(), "foo", "unchanged");
}

#[test]
fn links_and_fifos_in_the_bundle_are_skipped_named_and_cost_only_themselves() {
    let board = Board::new();
    common::write(&board.root().join("outside/secret.md"), "secret");
    for name in ["bar", "foo"] {
        board.skill(name, &version(name, 1));
        board.bundle_file(&format!("{name}/references/a.md"), "a1");
    }
    let foo = board.bundle().join("foo");
    symlink(board.root().join("outside"), foo.join("assets")).unwrap();
    symlink(
        board.root().join("outside/secret.md"),
        foo.join("references/link.md"),
    )
    .unwrap();
    symlink("a.md", foo.join("references/inner.md")).unwrap();
    make_fifo(&foo.join("scripts/pipe"));
    let report = board.sync().expect(3).json();
    assert_eq!(common::names(&report, "copied"), ["bar", "foo"]);
    assert_eq!(board.read("foo/references/a.md"), "a1");
    let skipped = report["skipped_entries"].as_array().unwrap();
    let paths: Vec<&str> = skipped
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    let wanted = [
        "foo/assets",
        "foo/references/inner.md",
        "foo/references/link.md",
        "foo/scripts/pipe",
    ];
    assert_eq!(paths, wanted);
    for path in wanted {
        assert!(!board.exists(path), "{path}");
    }
    let before = board.snapshot();
    board.sync().expect(3);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_bundled_file_that_turns_into_a_link_is_named_and_an_edited_copy_of_it_stays() {
    let board = board();
    board.user_file("foo/references/a.md", "mine");
    board.unship("foo/references/a.md");
    symlink("/etc/hostname", board.bundle().join("foo/references/a.md")).unwrap();
    let report = board.sync().expect(3).json();
    assert_eq!(report["skipped_entries"][0]["path"], "foo/references/a.md");
    assert_eq!(board.read("foo/references/a.md"), "mine");
}

#[test]
fn a_bundled_skill_md_that_is_a_link_or_a_fifo_is_not_copied() {
    for fifo in [false, true] {
        let board = board();
        board.unship("foo/SKILL.md");
        let path = board.bundle().join("foo/SKILL.md");
        if fifo {
            make_fifo(&path);
        } else {
            symlink(board.root().join("outside/SKILL.md"), &path).unwrap();
        }
        board.skill("bar", &version("bar", 2));
        let report = board.sync().expect(3).json();
        assert_outcome(&report, "bar", "updated");
        assert_eq!(board.text("foo"), version("foo", 1));
        assert_ne!(board.record("foo")["status"], "deleted_by_user");
    }
}

#[test]
fn a_bundled_skill_directory_that_is_a_link_is_not_followed() {
    let board = board();
    common::write(
        &board.root().join("outside/linked/SKILL.md"),
        version("linked", 1),
    );
    symlink(
        board.root().join("outside/linked"),
        board.bundle().join("linked"),
    )
    .unwrap();
    let report = board.sync().json();
    assert_outcome(&report, "foo", "unchanged");
    assert!(!board.exists("linked"));
}

#[test]
fn a_state_file_that_is_a_link_is_refused_and_never_detached() {
    let board = board();
    let elsewhere = board.root().join("elsewhere.json");
    std::fs::rename(board.ledger_path(), &elsewhere).unwrap();
    symlink(&elsewhere, board.ledger_path()).unwrap();
    board.skill("foo", &version("foo", 2));
    let before = board.snapshot();
    let run = board.sync();
    assert_eq!(run.code, 1, "{run:#?}");
    assert!(run.stderr.contains(".bundled_manifest.json"), "{run:#?}");
    before.assert_same(&board.snapshot());
}

#[test]
fn a_ledger_that_is_a_fifo_does_not_hang() {
    let board = board();
    common::remove(&board.ledger_path());
    make_fifo(&board.ledger_path());
    let before = board.snapshot().below("agent/skills");
    assert_eq!(board.sync().code, 1);
    before.assert_same(&board.snapshot().below("agent/skills"));
}

#[test]
fn a_state_dir_that_is_a_link_is_refused() {
    let board = board();
    let elsewhere = board.root().join("elsewhere");
    std::fs::rename(board.state(), &elsewhere).unwrap();
    symlink(&elsewhere, board.state()).unwrap();
    board.skill("foo", &version("foo", 2));
    let before = board.snapshot();
    assert_eq!(board.sync().code, 1);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_base_that_is_a_link_is_not_written_through() {
    let board = board();
    common::remove(&board.base_path("foo"));
    symlink(
        board.root().join("outside/SKILL.md"),
        board.base_path("foo"),
    )
    .unwrap();
    board.skill("foo", &version("foo", 2));
    let before = board.snapshot();
    board.sync();
    let after = board.snapshot();
    before.below("outside").assert_same(&after.below("outside"));
}

#[test]
fn state_directories_that_are_links_are_never_swept_or_written_through() {
    for link in ["tmp", "tmp/v1", "bases", "bases/foo"] {
        let board = board();
        let outside = board.root().join("outside");
        common::write(&outside.join("skills/foo/SKILL.md"), version("foo", 5));
        let path = board.state().join(link);
        if std::fs::symlink_metadata(&path).is_ok() {
            common::remove(&path);
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&outside, &path).unwrap();
        board.skill("foo", &version("foo", 2));
        board.user_skill("bar", "");
        let before = board.snapshot().below("outside");
        board.sync();
        board.run(&["reset", "--all", "--restore"]);
        before.assert_same(&board.snapshot().below("outside"));
    }
}

#[test]
fn a_lock_file_that_is_a_link_is_refused() {
    let board = board();
    let target = board.root().join("outside/lock");
    common::remove(&board.state().join(".lock"));
    symlink(&target, board.state().join(".lock")).unwrap();
    board.skill("foo", &version("foo", 2));
    let before = board.snapshot();
    board.sync().expect(1);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_usage_file_that_is_a_link_is_not_detached_by_a_reset() {
    let board = board();
    let target = board.root().join("outside/usage.json");
    common::write(&target, "{\"foo\": {\"state\": \"archived\"}}");
    symlink(&target, board.state().join("usage.json")).unwrap();
    let before = board.snapshot();
    let run = board.run(&["reset", "foo", "--restore"]);
    assert_ne!(run.code, 0, "{run:#?}");
    let after = board.snapshot();
    for path in ["outside", "agent/skill-state/usage.json", "agent/skills"] {
        before.below(path).assert_same(&after.below(path));
    }
}
