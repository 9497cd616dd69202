//! `status` and `diff` (contract §3): what is, and what the next sync would do.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs;

use common::{Board, edited, hash, names, version};
use serde_json::{Value, json};

fn status(board: &Board) -> Value {
    board.run(&["--json", "status"]).json()
}

fn of(report: &Value, name: &str) -> Value {
    let skills = report["skills"].as_array().unwrap();
    skills
        .iter()
        .find(|skill| skill["name"] == name)
        .unwrap_or_else(|| panic!("{name} in {report:#}"))
        .clone()
}

/// One skill for nearly every outcome.
fn board() -> Board {
    let all = [
        "bad", "both", "gone", "lost", "same", "stale", "update", "users",
    ];
    let board = Board::synced(&all);
    board.user_removes("gone");
    board.sync().expect(0);
    for name in ["both", "users"] {
        board.user_skill(name, &edited(name));
    }
    for name in ["both", "update"] {
        board.skill(name, &version(name, 2));
    }
    board.user_skill("lost", "");
    board.skill("bad", "torn");
    board.skill("new", &version("new", 1));
    board.skill("adopt", &version("adopt", 1));
    board.user_skill("adopt", &version("adopt", 1));
    board.unship("stale");
    board.user_skill("own", &edited("own"));
    board
}

#[test]
fn next_is_what_the_next_sync_reports() {
    let board = board();
    let shown = status(&board);
    let report = board.sync().expect(3).json();
    for array in common::SKILL_ARRAYS {
        for name in names(&report, array) {
            assert_eq!(of(&shown, &name)["next"], array, "{name}");
        }
    }
}

#[test]
fn the_four_hashes_are_those_of_bundle_library_and_record() {
    let board = board();
    let both = of(&status(&board), "both");
    assert_eq!(both["bundled_hash"], hash(version("both", 2)));
    assert_eq!(both["user_hash"], hash(edited("both")));
    assert_eq!(both["origin_hash"], hash(version("both", 1)));
    assert_eq!(both["effective_hash"], hash(version("both", 1)));
    let gone = of(&status(&board), "gone");
    assert_eq!(gone["status"], "deleted_by_user");
    assert_eq!(gone["user_hash"], Value::Null);
    assert_eq!(of(&status(&board), "new")["origin_hash"], Value::Null);
}

#[test]
fn a_failing_skill_says_why() {
    let board = board();
    let run = board.run(&["--json", "status"]).expect(3);
    assert!(!of(&run.json(), "bad")["error"].as_str().unwrap().is_empty());
}

#[test]
fn the_last_merge_or_failure_is_shown() {
    let board = Board::synced(&["foo"]);
    board.change_record("foo", |record| {
        record["last_merged_at"] = json!("2026-05-01T00:00:00Z");
        record["last_merge_failed_at"] = json!("2026-05-02T00:00:00Z");
        record["last_merge_error"] = json!("it was refused");
    });
    let foo = of(&status(&board), "foo");
    assert_eq!(foo["last_merged_at"], "2026-05-01T00:00:00Z");
    assert_eq!(foo["last_merge_failed_at"], "2026-05-02T00:00:00Z");
    assert!(board.run(&["status"]).stdout.contains("it was refused"));
}

#[test]
fn the_table_has_a_line_for_every_skill_and_the_users_own() {
    let board = board();
    let table = board.run(&["status"]).stdout;
    for name in [
        "adopt", "bad", "both", "gone", "lost", "new", "own", "same", "stale", "update", "users",
    ] {
        let line = table
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some(), "{name} is not in\n{table}");
    }
    let both = table.lines().find(|line| line.starts_with("both")).unwrap();
    assert!(
        both.contains("merge_needed") && both.contains(&hash(edited("both"))[7..15]),
        "{both}"
    );
}

#[test]
fn states_ages_and_files_kept_or_deleted_are_shown() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "shipped");
    board.bundle_file("foo/references/b.md", "shipped");
    board.sync().expect(0);
    board.user_file("foo/references/a.md", "the user's");
    board.user_removes("foo/references/b.md");
    fs::write(
        board.agent().join("skill-state/usage.json"),
        r#"{"foo": {"state": "archived"}}"#,
    )
    .unwrap();
    fs::write(
        board.agent().join("agent.toml"),
        "[skills]\nstale_days = 30\n",
    )
    .unwrap();
    let shown = status(&board);
    assert_eq!(
        shown["lifecycle"],
        json!({"stale_days": 30, "archive_days": 180})
    );
    assert_eq!(of(&shown, "foo")["state"], "archived");
    assert_eq!(of(&shown, "foo")["kept_files"], json!(["references/a.md"]));
    assert_eq!(
        of(&shown, "foo")["deleted_files"],
        json!(["references/b.md"])
    );
    let text = board.run(&["status"]).stdout;
    for line in [
        "    lifecycle: archived",
        "    kept as they are: references/a.md",
        "    deleted, and stay so: references/b.md",
        "Skills that the agent made are stale after 30 days without use, archived after 180.",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} in\n{text}");
    }
}

#[test]
fn only_named_skills_are_shown_and_unknown_names_are_told() {
    let board = board();
    let shown = board.run(&["--json", "status", "same"]).expect(0).json();
    assert_eq!(names(&shown, "skills"), ["same"]);
    let run = board.run(&["status", "nothing-like-it"]);
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("nothing-like-it"));
}

#[test]
fn status_and_diff_write_nothing() {
    let board = board();
    let before = board.snapshot();
    board.run(&["status"]);
    board.run(&["diff", "both"]);
    board.run(&["diff", "both", "--base"]);
    board.run(&["doctor"]);
    before.assert_same(&board.snapshot());
    let fresh = Board::new();
    let before = fresh.snapshot();
    fresh.run(&["status"]);
    fresh.run(&["doctor"]);
    before.assert_same(&fresh.snapshot());
}

#[test]
fn a_diff_is_unified_and_against_the_bundle_unless_told_otherwise() {
    let board = board();
    let against_bundle = board.run(&["diff", "both"]).expect(0).stdout;
    assert!(
        against_bundle.contains("version 2.") && against_bundle.contains("my way"),
        "{against_bundle}"
    );
    assert!(
        against_bundle.lines().any(|line| line.starts_with("@@ ")),
        "{against_bundle}"
    );
    assert!(
        against_bundle.lines().any(|line| line == "+Do it my way."),
        "{against_bundle}"
    );
    assert!(
        against_bundle
            .lines()
            .any(|line| line == "-Do it as in version 2."),
        "{against_bundle}"
    );
    assert_eq!(
        board.run(&["diff", "both", "--bundled"]).stdout,
        against_bundle
    );
    let against_base = board.run(&["diff", "both", "--base"]).expect(0).stdout;
    assert!(
        against_base
            .lines()
            .any(|line| line == "-Do it as in version 1."),
        "{against_base}"
    );
}

#[test]
fn no_difference_is_said_so() {
    let board = board();
    let run = board.run(&["diff", "same"]).expect(0);
    assert!(!run.stdout.contains("@@"), "{run:#?}");
}

#[test]
fn a_diff_of_what_is_not_there_ends_with_1() {
    let board = board();
    for arguments in [&["diff", "nothing-like-it"][..], &["diff", "../outside"]] {
        let run = board.run(arguments).expect(1);
        assert!(!run.stderr.is_empty());
    }
}
