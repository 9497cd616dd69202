//! Merge jobs (contract §4 and §5): when one is queued, under which key, and when it is not tried again.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use common::{Board, assert_outcome, edited, hash, merge_key, version};
use serde_json::{Value, json};

fn three_way_key() -> String {
    merge_key(
        "three_way",
        "foo",
        &hash(version("foo", 1)),
        &hash(version("foo", 2)),
        &hash(edited("foo")),
    )
}

fn two_way_key() -> String {
    merge_key(
        "two_way_no_base",
        "foo",
        "",
        &hash(version("foo", 2)),
        &hash(edited("foo")),
    )
}

/// Both sides changed `foo` since version 1.
fn both_changed() -> Board {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.sync().expect(0);
    board.skill("foo", &version("foo", 2));
    board
}

/// The merge of both sides failed before.
fn failed_before(key: &str, engine: &str, transient: bool) -> Board {
    let board = both_changed();
    board.change_record("foo", |record| {
        record["last_failed_merge_key"] = json!(key);
        record["last_merge_failed_at"] = json!("2026-05-25T10:30:00Z");
        record["last_merge_error"] = json!("both sides changed the same place");
        record["last_merge_engine"] = json!(engine);
        record["last_merge_transient"] = json!(transient);
    });
    board
}

fn job(mode: &str, key: &str, base: &Value) -> Value {
    json!([{
        "name": "foo", "mode": mode, "merge_key": key, "base_hash": base,
        "upstream_hash": hash(version("foo", 2)), "local_hash": hash(edited("foo"))
    }])
}

#[test]
fn with_a_base_it_is_a_three_way_job() {
    let report = both_changed().sync().expect(0).json();
    assert_eq!(
        report["merge_needed"],
        job(
            "three_way",
            &three_way_key(),
            &json!(hash(version("foo", 1)))
        )
    );
}

#[test]
fn without_a_record_it_is_a_two_way_job_whose_key_has_an_empty_base() {
    let board = Board::new();
    board.skill("foo", &version("foo", 2));
    board.user_skill("foo", &edited("foo"));
    let report = board.sync().expect(0).json();
    assert_eq!(report["merge_needed"][0]["mode"], "two_way_no_base");
    assert_eq!(report["merge_needed"][0]["merge_key"], two_way_key());
}

#[test]
fn a_base_that_is_missing_or_wrong_makes_it_a_two_way_job() {
    for wrong in [None, Some(version("foo", 9)), Some(String::new())] {
        let board = both_changed();
        match &wrong {
            None => common::remove(&board.base_path("foo")),
            Some(text) => common::write(&board.base_path("foo"), text),
        }
        let report = board.sync().expect(0).json();
        assert_eq!(
            report["merge_needed"][0]["mode"], "two_way_no_base",
            "{wrong:?}"
        );
        assert_eq!(report["merge_needed"][0]["merge_key"], two_way_key());
    }
}

#[test]
fn queuing_a_job_writes_nothing_and_the_status_stays() {
    let board = both_changed();
    let before = board.snapshot();
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "merge_needed");
    assert_eq!(report["flushes"], 0);
    before.assert_same(&board.snapshot());
    assert_eq!(board.record("foo")["status"], "user_modified");
}

#[test]
fn a_job_is_queued_at_every_sync_until_it_is_done() {
    let board = both_changed();
    let first = board.sync().expect(0).json();
    assert_eq!(
        first["merge_needed"],
        board.sync().expect(0).json()["merge_needed"]
    );
}

#[test]
fn a_merge_that_failed_is_skipped_with_its_reason() {
    let board = failed_before(&three_way_key(), "auto", false);
    let before = board.snapshot();
    let report = board.sync().expect(0).json();
    let wanted = json!([{"name": "foo", "merge_key": three_way_key(), "error": "both sides changed the same place"}]);
    assert_eq!(report["merge_skipped"], wanted);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_key_of_the_existing_agent_is_equal_if_it_is_a_prefix() {
    let short = three_way_key()[.."sha256:".len() + 16].to_owned();
    let board = failed_before(&short, "auto", false);
    board.change_record("foo", |record| {
        record.as_object_mut().unwrap().remove("last_merge_engine");
        record
            .as_object_mut()
            .unwrap()
            .remove("last_merge_transient");
    });
    assert_outcome(&board.sync().expect(0).json(), "foo", "merge_skipped");
}

#[test]
fn a_key_that_is_no_whole_key_of_the_existing_agent_is_not_equal() {
    for key in ["", "sha256:", "s"] {
        let board = failed_before(key, "auto", false);
        assert_outcome(&board.sync().expect(0).json(), "foo", "merge_needed");
    }
}

#[test]
fn a_failure_without_an_answer_of_a_model_is_tried_again() {
    let board = failed_before(&three_way_key(), "auto", true);
    assert_outcome(&board.sync().expect(0).json(), "foo", "merge_needed");
}

#[test]
fn other_inputs_are_tried_again() {
    let board = failed_before(&three_way_key(), "auto", false);
    board.skill("foo", &version("foo", 3));
    assert_outcome(&board.sync().expect(0).json(), "foo", "merge_needed");

    let board = failed_before(&three_way_key(), "auto", false);
    board.user_skill("foo", &edited("foo").replace("my way", "another way"));
    assert_outcome(&board.sync().expect(0).json(), "foo", "merge_needed");
}

#[test]
fn another_engine_setting_is_another_try() {
    for (engine, outcome) in [("structural", "merge_skipped"), ("llm", "merge_needed")] {
        let board = failed_before(&three_way_key(), "structural", false);
        let report = board.sync_with(&["--engine", engine]).expect(0).json();
        assert_outcome(&report, "foo", outcome);
    }
}

#[test]
fn a_conflict_record_of_two_texts_without_base_is_skipped_until_one_changes() {
    let board = Board::new();
    board.skill("foo", &version("foo", 2));
    board.user_skill("foo", &edited("foo"));
    board.set_records(json!({"foo": {
        "status": "user_modified", "last_failed_merge_key": two_way_key(), "last_merge_error": "refused"
    }}));
    let report = board.sync().expect(0).json();
    assert_eq!(report["merge_skipped"][0]["error"], "refused");
    board.skill("foo", &version("foo", 3));
    assert_outcome(&board.sync().expect(0).json(), "foo", "merge_needed");
}

#[test]
fn a_merged_skill_that_was_not_edited_since_is_merged_again_with_an_update() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.change_record("foo", |record| {
        record["status"] = json!("merged");
        record["effective_hash"] = json!(hash(edited("foo")));
    });
    board.skill("foo", &version("foo", 2));
    let report = board.sync().expect(0).json();
    assert_eq!(
        report["merge_needed"],
        job(
            "three_way",
            &three_way_key(),
            &json!(hash(version("foo", 1)))
        )
    );
    assert_eq!(board.record("foo")["status"], "merged");
}

#[test]
fn an_update_clears_the_failure_it_makes_pointless() {
    let board = failed_before(&three_way_key(), "auto", false);
    board.user_skill("foo", &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "updated");
    board.assert_record("foo", "synced", &version("foo", 2), &version("foo", 2));
    board.assert_at_rest();
}

#[test]
fn jobs_are_sorted_by_name() {
    let names = ["zebra", "apple", "mango"];
    let board = Board::synced(&names);
    for name in names {
        board.user_skill(name, &edited(name));
        board.skill(name, &version(name, 2));
    }
    let report = board.sync().expect(0).json();
    assert_eq!(
        common::names(&report, "merge_needed"),
        ["apple", "mango", "zebra"]
    );
}
