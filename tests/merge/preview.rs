//! What is shown of a merge before it is done.

use serde_json::json;

use super::*;

#[test]
fn diff_shows_what_merging_without_a_model_would_change_and_changes_nothing() {
    let board = diverged(&["foo"], local);
    let before = board.snapshot();
    let run = board.run(&["diff", "foo", "--preview"]).expect(0);
    assert!(
        run.stdout
            .starts_with("--- library/foo/SKILL.md\n+++ preview/foo/SKILL.md\n")
    );
    assert!(
        run.stdout
            .contains("\n-First, look.\n+First, look twice.\n"),
        "{run:?}"
    );
    let json = board
        .run(&["--json", "diff", "foo", "--preview"])
        .expect(0)
        .json();
    assert_eq!(json["diff"], run.stdout);
    before.assert_same(&board.snapshot());
}

#[test]
fn diff_names_what_cannot_be_merged_without_a_model() {
    let board = diverged(&["foo"], clashing);
    let run = board.run(&["--json", "diff", "foo", "--preview"]).expect(3);
    assert_eq!(
        run.json()["conflicts"],
        json!(["both sides changed line 8"])
    );
    let run = board.run(&["diff", "foo", "--preview"]).expect(3);
    assert_eq!(
        run.stdout,
        "foo can't be merged without a model: both sides changed line 8.\n"
    );
}

#[test]
fn diff_says_when_there_is_nothing_to_merge_or_no_such_skill() {
    let board = diverged(&["foo"], local);
    merge(&board, &[]).expect(0);
    let run = board.run(&["diff", "foo", "--preview"]).expect(0);
    assert_eq!(run.stdout, "foo has nothing to merge.\n");
    let run = board.run(&["diff", "nothing", "--preview"]).expect(1);
    assert!(
        run.stderr.contains("there is no skill \"nothing\""),
        "{run:?}"
    );
}

#[test]
fn status_says_what_is_to_be_expected_of_a_pending_merge() {
    let board = diverged(&["bar", "foo"], local);
    board.user_skill("foo", &clashing("foo"));
    let status = board.run(&["--json", "status"]).expect(0).json();
    let outlook = |at: usize| status["skills"][at]["merge"].clone();
    assert_eq!(
        outlook(0),
        json!({"mode": "three_way", "settles": true, "conflicts": []})
    );
    assert_eq!(outlook(1)["settles"], false);
    assert_eq!(
        outlook(1)["conflicts"],
        json!(["both sides changed line 8"])
    );
    let run = board.run(&["status"]).expect(0);
    assert!(
        run.stdout.contains("merge: can be done without a model"),
        "{run:?}"
    );
    assert!(
        run.stdout
            .contains("merge: can't be done without a model: both sides changed line 8"),
        "{run:?}"
    );
}

#[test]
fn status_tells_of_the_last_merge_and_of_the_last_failure() {
    let board = diverged(&["bar", "foo"], local);
    board.user_skill("foo", &clashing("foo"));
    merge(&board, &[]).expect(0);
    let status = board.run(&["--json", "status"]).expect(0).json();
    assert_eq!(status["skills"][0]["last_merge_engine"], "structural");
    assert!(status["skills"][0]["last_merged_at"].is_string());
    let error = status["skills"][1]["last_merge_error"].as_str().unwrap();
    assert!(
        error.starts_with("conflict: both sides changed line 8"),
        "{error}"
    );
}
