//! Settling what a cut left (contract §5), path by path, by the intents in the ledger: hand-made states, as a
//! cut leaves them, and what the next boot makes of them.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use common::{Board, assert_outcome, edited, hash, names, version};
use serde_json::{Value, json};

const FILE: &str = "references/a.md";

fn intent(text: &str) -> Value {
    json!({"hash": hash(text), "upstream_hash": hash(text), "size": text.len()})
}

/// Version 1 of `foo` is recorded; the firmware has version 2, and its update was interrupted.
fn interrupted() -> Board {
    let board = Board::synced(&["foo"]);
    let text = version("foo", 2);
    board.skill("foo", &text);
    board.change_record("foo", |record| {
        record["pending"] = json!({"paths": {"SKILL.md": intent(&text)}})
    });
    board
}

/// A seed of `foo` was interrupted: a record with nothing but an intent.
fn interrupted_seed() -> Board {
    let board = Board::synced(&["other"]);
    let text = version("foo", 1);
    board.skill("foo", &text);
    board.change_ledger(|ledger| {
        ledger["skills"]["foo"] = json!({"pending": {"paths": {"SKILL.md": intent(&text)}}});
    });
    board
}

fn stage_text(board: &Board, text: &str) {
    common::write(&board.staged_path("skills/foo/SKILL.md"), text);
}

fn stage_base(board: &Board, text: &str) {
    common::write(&board.staged_path("skill-state/bases/foo/SKILL.md"), text);
}

/// Nothing is left of the interruption.
#[track_caller]
fn assert_settled(board: &Board, origin: &str, effective: &str) {
    board.assert_record(
        "foo",
        if origin == effective {
            "synced"
        } else {
            "merged"
        },
        origin,
        effective,
    );
    assert_eq!(board.base("foo"), origin);
    assert!(
        !board.staged_path("").exists() || !any_file_below(&board.staged_path("")),
        "tmp/ is not swept"
    );
    board.assert_at_rest();
}

fn any_file_below(path: &std::path::Path) -> bool {
    let Ok(entries) = std::fs::read_dir(path) else {
        return false;
    };
    entries
        .map(|entry| entry.unwrap().path())
        .any(|path| path.is_file() || any_file_below(&path))
}

#[test]
fn a_seed_cut_before_its_rename_is_no_record_and_is_seeded() {
    let board = interrupted_seed();
    stage_text(&board, &version("foo", 1));
    stage_base(&board, &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "copied");
    assert_settled(&board, &version("foo", 1), &version("foo", 1));
}

#[test]
fn a_seed_cut_after_its_rename_is_a_record_with_its_base() {
    let board = interrupted_seed();
    board.user_skill("foo", &version("foo", 1));
    stage_base(&board, &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "unchanged");
    assert_settled(&board, &version("foo", 1), &version("foo", 1));
}

#[test]
fn a_seed_cut_after_its_base_is_a_record_too() {
    let board = interrupted_seed();
    board.user_skill("foo", &version("foo", 1));
    common::write(&board.base_path("foo"), version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "unchanged");
    assert_settled(&board, &version("foo", 1), &version("foo", 1));
}

#[test]
fn a_seed_whose_file_was_edited_after_it_was_placed_is_an_edit_with_a_base() {
    let board = interrupted_seed();
    board.user_skill("foo", &edited("foo"));
    stage_base(&board, &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "kept_user");
    board.assert_record(
        "foo",
        "user_modified",
        &version("foo", 1),
        &version("foo", 1),
    );
    assert_eq!(board.base("foo"), version("foo", 1));
    assert_eq!(board.text("foo"), edited("foo"));
}

#[test]
fn a_seed_that_was_placed_and_then_deleted_stays_deleted() {
    let board = interrupted_seed();
    stage_base(&board, &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "deleted_by_user");
    assert!(!board.exists("foo"));
    assert_eq!(board.record("foo")["status"], "deleted_by_user");
    board.assert_at_rest();
}

#[test]
fn an_update_cut_before_its_rename_is_forgotten_and_done_again() {
    let board = interrupted();
    stage_text(&board, &version("foo", 2));
    stage_base(&board, &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "updated");
    assert_settled(&board, &version("foo", 2), &version("foo", 2));
}

#[test]
fn an_update_cut_after_its_rename_is_done() {
    let board = interrupted();
    board.user_skill("foo", &version("foo", 2));
    stage_base(&board, &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "unchanged");
    assert_settled(&board, &version("foo", 2), &version("foo", 2));
}

#[test]
fn a_file_with_the_intended_hash_was_written_even_if_it_is_still_staged() {
    let board = interrupted();
    board.user_skill("foo", &version("foo", 2));
    stage_text(&board, &version("foo", 2));
    stage_base(&board, &version("foo", 2));
    board.sync().expect(0);
    assert_settled(&board, &version("foo", 2), &version("foo", 2));
}

#[test]
fn an_edit_before_the_rename_is_an_edit_of_the_old_version() {
    let board = interrupted();
    board.user_skill("foo", &edited("foo"));
    stage_text(&board, &version("foo", 2));
    stage_base(&board, &version("foo", 2));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "merge_needed");
    assert_eq!(
        report["merge_needed"][0]["base_hash"],
        hash(version("foo", 1))
    );
    assert_eq!(board.text("foo"), edited("foo"));
}

#[test]
fn an_edit_after_the_rename_is_an_edit_of_the_new_version() {
    let board = interrupted();
    board.user_skill("foo", &edited("foo"));
    stage_base(&board, &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "kept_user");
    board.assert_record(
        "foo",
        "user_modified",
        &version("foo", 2),
        &version("foo", 2),
    );
    assert_eq!(board.base("foo"), version("foo", 2));
    assert_eq!(board.text("foo"), edited("foo"));
}

#[test]
fn a_slot_switch_after_the_rename_is_neither_an_edit_nor_a_merge() {
    for bundled in [1, 3] {
        let board = interrupted();
        board.user_skill("foo", &version("foo", 2));
        stage_base(&board, &version("foo", 2));
        board.skill("foo", &version("foo", bundled));
        assert_outcome(&board.sync().expect(0).json(), "foo", "updated");
        assert_settled(&board, &version("foo", bundled), &version("foo", bundled));
    }
}

#[test]
fn a_slot_switch_back_before_the_rename_finds_everything_unchanged() {
    let board = interrupted();
    stage_text(&board, &version("foo", 2));
    stage_base(&board, &version("foo", 2));
    board.skill("foo", &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "unchanged");
    assert_settled(&board, &version("foo", 1), &version("foo", 1));
}

#[test]
fn a_slot_switch_to_a_bundle_without_the_skill_makes_it_stale() {
    let board = interrupted_seed();
    board.user_skill("foo", &version("foo", 1));
    stage_base(&board, &version("foo", 1));
    board.unship("foo");
    assert_outcome(&board.sync().expect(0).json(), "foo", "stale");
    board.skill("foo", &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "updated");
}

#[test]
fn it_happens_even_when_the_bundle_cannot_be_used() {
    let board = interrupted();
    board.user_skill("foo", &version("foo", 2));
    stage_base(&board, &version("foo", 2));
    board.unship("");
    assert_eq!(board.sync().expect(3).json()["bundle"], "missing");
    board.assert_record("foo", "synced", &version("foo", 2), &version("foo", 2));
    assert_eq!(board.base("foo"), version("foo", 2));
}

#[test]
fn a_bare_intent_with_the_library_lost_is_no_deletion() {
    let board = interrupted_seed();
    common::remove(&board.library());
    assert_eq!(names(&board.sync().json(), "copied"), ["foo", "other"]);
}

#[test]
fn supporting_files_are_settled_each_by_itself() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    for file in ["a", "b", "c", "d"] {
        board.bundle_file(&format!("foo/references/{file}.md"), format!("{file}1"));
    }
    board.sync().expect(0);
    // The firmware changes a, b and c and drops d; a and d were done when the power went, b was edited after
    // it was placed, and c was still to come.
    for file in ["a", "b", "c"] {
        board.bundle_file(&format!("foo/references/{file}.md"), format!("{file}2"));
    }
    board.unship("foo/references/d.md");
    board.change_record("foo", |record| {
        record["pending"] = json!({"paths": {
            "references/a.md": intent("a2"), "references/b.md": intent("b2"), "references/c.md": intent("c2"),
            "references/d.md": {"hash": null, "upstream_hash": null}
        }});
    });
    board.user_file("foo/references/a.md", "a2");
    board.user_file("foo/references/b.md", "mine");
    common::write(&board.staged_path("skills/foo/references/c.md"), "c2");
    board.user_removes("foo/references/d.md");
    let report = board.sync().expect(0).json();
    assert_eq!(
        report["files"],
        json!({"copied": 0, "updated": 1, "removed": 0, "kept_user": ["foo/references/b.md"]})
    );
    for (file, text) in [("a", "a2"), ("b", "mine"), ("c", "c2")] {
        assert_eq!(board.read(&format!("foo/references/{file}.md")), text);
    }
    let files = board.record("foo")["files"].clone();
    assert_eq!(files["references/a.md"]["hash"], hash("a2"));
    assert_eq!(
        files["references/b.md"]["hash"],
        hash("b2"),
        "b was ours before it was edited"
    );
    assert_eq!(files.get("references/d.md"), None);
    board.assert_at_rest();
}

#[test]
fn a_removal_that_did_not_come_is_forgotten_and_done_again() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file(&format!("foo/{FILE}"), "a1");
    board.sync().expect(0);
    board.unship(&format!("foo/{FILE}"));
    board.change_record("foo", |record| {
        record["pending"] = json!({"paths": {FILE: {"hash": null, "upstream_hash": null}}});
    });
    assert_eq!(board.sync().expect(0).json()["files"]["removed"], 1);
    assert!(!board.exists(&format!("foo/{FILE}")));
    board.assert_at_rest();
}

#[test]
fn a_removal_whose_file_was_put_back_edited_keeps_the_edit() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file(&format!("foo/{FILE}"), "a1");
    board.sync().expect(0);
    board.unship(&format!("foo/{FILE}"));
    board.change_record("foo", |record| {
        record["pending"] = json!({"paths": {FILE: {"hash": null, "upstream_hash": null}}});
    });
    board.user_file(&format!("foo/{FILE}"), "mine");
    board.sync().expect(0);
    assert_eq!(board.read(&format!("foo/{FILE}")), "mine");
}

#[test]
fn what_only_looks_computes_it_and_writes_nothing() {
    let board = interrupted();
    board.user_skill("foo", &version("foo", 2));
    stage_base(&board, &version("foo", 2));
    let before = board.snapshot();
    let report = board.sync_with(&["--dry-run"]).expect(0).json();
    assert_outcome(&report, "foo", "unchanged");
    let status = board.run(&["--json", "status", "foo"]).json();
    assert_eq!(status["skills"][0]["origin_hash"], hash(version("foo", 2)));
    assert_eq!(status["skills"][0]["next"], "unchanged");
    board.run(&["diff", "foo", "--base"]);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_reset_settles_first() {
    let board = interrupted();
    board.user_skill("foo", &version("foo", 2));
    stage_base(&board, &version("foo", 2));
    board.skill("other", &version("other", 1));
    board.run(&["reset", "other", "--restore"]).expect(0);
    assert_settled_after_reset(&board);
}

fn assert_settled_after_reset(board: &Board) {
    board.assert_record("foo", "synced", &version("foo", 2), &version("foo", 2));
    assert_eq!(board.base("foo"), version("foo", 2));
    assert_eq!(board.text("other"), version("other", 1));
}

#[test]
fn leftovers_without_an_intent_are_swept() {
    let board = Board::synced(&["foo"]);
    common::write(&board.staged_path("skills/left/SKILL.md"), "left");
    common::write(
        &board.staged_path("skill-state/bases/left/SKILL.md"),
        "left",
    );
    board.sync().expect(0);
    assert!(!any_file_below(&board.staged_path("")));
    assert!(!board.exists("left"));
    board.assert_at_rest();
}

#[test]
fn what_another_version_left_in_tmp_stays_and_is_reported() {
    let board = Board::synced(&["foo"]);
    let foreign = ["v2/skills/foo/SKILL.md", "old.candidate.SKILL.md"];
    for path in foreign {
        common::write(&board.state().join("tmp").join(path), "not ours");
    }
    board.skill("foo", &version("foo", 2));
    let run = board.sync();
    assert_outcome(&run.json(), "foo", "updated");
    for path in foreign {
        assert_eq!(
            std::fs::read_to_string(board.state().join("tmp").join(path)).unwrap(),
            "not ours"
        );
        let entry = path.split('/').next().unwrap();
        assert!(
            run.stderr.contains(entry),
            "{entry} is not reported: {run:#?}"
        );
        assert!(
            board.run(&["doctor"]).stdout.contains(entry),
            "doctor does not name {entry}"
        );
    }
}
