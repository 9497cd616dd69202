//! Settling a merge that a cut interrupted (contract §5): applied, finished without a model, or forgotten.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use common::{Board, assert_outcome, edited, hash, merge_key, names, skill_text, version};
use serde_json::json;

fn candidate() -> String {
    skill_text("foo", "My own foo", "Do it my way, as in version 2.")
}

fn key() -> String {
    merge_key(
        "three_way",
        "foo",
        &hash(version("foo", 1)),
        &hash(version("foo", 2)),
        &hash(edited("foo")),
    )
}

/// The user's `foo` on version 1 was about to be merged with version 2.
fn merging() -> Board {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.sync().expect(0);
    board.skill("foo", &version("foo", 2));
    board.change_record("foo", |record| {
        record["pending"] = json!({
            "paths": {"SKILL.md": {
                "hash": hash(candidate()), "upstream_hash": hash(version("foo", 2)), "size": candidate().len()
            }},
            "merge_key": key(), "local_hash": hash(edited("foo")), "mode": "three_way", "engine": "llm"
        });
    });
    board
}

fn stage(board: &Board) {
    common::write(&board.staged_path("skills/foo/SKILL.md"), candidate());
    common::write(
        &board.staged_path("skill-state/bases/foo/SKILL.md"),
        version("foo", 2),
    );
}

#[track_caller]
fn assert_merged(board: &Board) {
    board.assert_record("foo", "merged", &version("foo", 2), &candidate());
    assert_eq!(board.record("foo")["last_merged_key"], key());
    assert_eq!(board.base("foo"), version("foo", 2));
    assert_eq!(board.text("foo"), candidate());
    assert_outcome(&board.assert_at_rest(), "foo", "unchanged");
}

#[test]
fn cut_before_its_rename_it_is_finished_without_a_model_and_reported() {
    let board = merging();
    stage(&board);
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "merged");
    let merged = &report["merged"][0];
    assert_eq!(
        [&merged["mode"], &merged["engine"], &merged["merge_key"]],
        ["three_way", "llm", &key()]
    );
    assert!(!merged["summary"].as_str().unwrap().is_empty());
    assert_merged(&board);
}

#[test]
fn cut_after_its_rename_it_is_not_merged_again() {
    let board = merging();
    stage(&board);
    common::remove(&board.staged_path("skills/foo/SKILL.md"));
    board.user_skill("foo", &candidate());
    let report = board.sync().expect(0).json();
    assert_eq!(names(&report, "merge_needed"), [] as [&str; 0]);
    assert_merged(&board);
}

#[test]
fn cut_after_its_base_it_is_applied() {
    let board = merging();
    board.user_skill("foo", &candidate());
    common::write(&board.base_path("foo"), version("foo", 2));
    let report = board.sync().expect(0).json();
    assert_eq!(names(&report, "merge_needed"), [] as [&str; 0]);
    assert_merged(&board);
}

#[test]
fn an_edit_after_it_was_applied_is_an_edit_of_the_merged_text() {
    let board = merging();
    let again = skill_text("foo", "Edited once more", "Again.");
    board.user_skill("foo", &again);
    common::write(&board.base_path("foo"), version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "kept_user");
    board.assert_record("foo", "user_modified", &version("foo", 2), &candidate());
    assert_eq!(board.text("foo"), again);
}

#[test]
fn an_edit_before_it_was_applied_wins_and_the_intent_is_forgotten() {
    let board = merging();
    stage(&board);
    let again = skill_text("foo", "Edited once more", "Again.");
    board.user_skill("foo", &again);
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "merge_needed");
    assert_eq!(
        report["merge_needed"][0]["base_hash"],
        hash(version("foo", 1))
    );
    assert_eq!(report["merge_needed"][0]["local_hash"], hash(&again));
    assert_eq!(board.text("foo"), again);
    assert!(board.record("foo").get("pending").is_none());
}

#[test]
fn with_another_bundle_it_is_forgotten() {
    for (bundled, outcome) in [(3, "merge_needed"), (1, "kept_user")] {
        let board = merging();
        stage(&board);
        board.skill("foo", &version("foo", bundled));
        let report = board.sync().expect(0).json();
        assert_outcome(&report, "foo", outcome);
        assert_eq!(board.text("foo"), edited("foo"));
        assert_eq!(board.base("foo"), version("foo", 1));
        assert!(board.record("foo").get("pending").is_none());
    }
}

#[test]
fn with_a_torn_candidate_it_is_forgotten() {
    for torn in ["", "torn"] {
        let board = merging();
        stage(&board);
        common::write(&board.staged_path("skills/foo/SKILL.md"), torn);
        assert_outcome(&board.sync().expect(0).json(), "foo", "merge_needed");
        assert_eq!(board.text("foo"), edited("foo"));
        assert_eq!(board.base("foo"), version("foo", 1));
    }
}

#[test]
fn without_a_bundle_it_is_not_finished_and_nothing_is_lost() {
    let board = merging();
    stage(&board);
    board.unship("");
    board.sync().expect(3);
    assert_eq!(board.text("foo"), edited("foo"));
    board.skill("foo", &version("foo", 2));
    let report = board.sync().expect(0).json();
    let found = [names(&report, "merge_needed"), names(&report, "merged")].concat();
    assert_eq!(found, ["foo"], "{report:#}");
}

#[test]
fn a_merge_without_a_base_is_finished_too() {
    let board = Board::synced(&["other"]);
    board.skill("foo", &version("foo", 2));
    board.user_skill("foo", &edited("foo"));
    board.change_ledger(|ledger| {
        ledger["skills"]["foo"] = json!({"pending": {
            "paths": {"SKILL.md": {
                "hash": hash(candidate()), "upstream_hash": hash(version("foo", 2)), "size": candidate().len()
            }},
            "merge_key": merge_key("two_way_no_base", "foo", "", &hash(version("foo", 2)), &hash(edited("foo"))),
            "local_hash": hash(edited("foo")), "mode": "two_way_no_base", "engine": "llm"
        }});
    });
    stage(&board);
    let report = board.sync().expect(0).json();
    assert_eq!(report["merged"][0]["mode"], "two_way_no_base");
    board.assert_record("foo", "merged", &version("foo", 2), &candidate());
    assert_eq!(board.text("foo"), candidate());
}

#[test]
fn a_user_file_that_was_deleted_meanwhile_is_not_brought_back() {
    let board = merging();
    stage(&board);
    board.user_removes("foo");
    assert_outcome(&board.sync().expect(0).json(), "foo", "deleted_by_user");
    assert!(!board.exists("foo"));
    board.assert_at_rest();
}
