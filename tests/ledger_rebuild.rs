//! A ledger that can't be read is made again (contract §5): no deletion comes back, no edit is lost, and
//! nothing intact needs a merge.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Board, assert_outcome, edited, hash, version};
use serde_json::{Value, json};

/// What has been found in place of a ledger.
const TORN: [&[u8]; 7] = [
    b"",
    b"\0\0\0\0\0\0\0\0",
    b"{\"version\": 1, \"skills\": {\"foo\": {\"orig",
    b"{\"version\": 1, \"skills\": {\"f\xff\xfeo\": {}}}",
    b"[]",
    b"{\"version\": 1}",
    b"{\"version\": \"one\", \"skills\": {}}",
];

/// `edited` is the user's, `gone` was deleted, `same` is as shipped; all recorded.
fn board() -> Board {
    let board = Board::synced(&["edited", "gone", "same"]);
    board.user_skill("edited", &edited("edited"));
    board.user_removes("gone");
    board.sync().expect(0);
    board
}

fn prev(board: &Board) -> PathBuf {
    board.state().join(".bundled_manifest.json.prev")
}

fn corrupt(board: &Board) -> Vec<String> {
    let names = fs::read_dir(board.state())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains(".corrupt-")).collect();
    names.sort();
    names
}

#[track_caller]
fn assert_rebuilt(board: &Board) -> Value {
    let run = board.sync().expect(3);
    let report = run.json();
    assert_eq!(report["ledger"], "rebuilt", "{report:#}");
    assert!(
        ["ledger", ".bundled_manifest.json"]
            .iter()
            .any(|word| run.stderr.contains(word)),
        "it is not reported: {run:#?}"
    );
    for (name, outcome) in [("edited", "kept_user"), ("gone", "deleted_by_user")] {
        assert_outcome(&report, name, outcome);
    }
    assert!(
        ["unchanged", "adopted"]
            .iter()
            .any(|array| common::names(&report, array).contains(&"same".into())),
        "{report:#}"
    );
    assert_eq!(board.text("edited"), edited("edited"));
    assert!(!board.exists("gone"));
    board.assert_record(
        "edited",
        "user_modified",
        &version("edited", 1),
        &version("edited", 1),
    );
    board.assert_record("same", "synced", &version("same", 1), &version("same", 1));
    assert_eq!(board.record("gone")["status"], "deleted_by_user");
    board.assert_at_rest();
    report
}

#[test]
fn from_the_one_before_it_where_that_can_be_read() {
    for torn in TORN {
        let board = board();
        fs::write(board.ledger_path(), torn).unwrap();
        assert_rebuilt(&board);
        assert_eq!(corrupt(&board), [".bundled_manifest.json.corrupt-1"]);
        assert_eq!(
            fs::read(board.state().join(".bundled_manifest.json.corrupt-1")).unwrap(),
            torn
        );
    }
}

#[test]
fn else_from_the_bases() {
    for torn in TORN {
        for before in [Some(torn), None] {
            let board = board();
            fs::write(board.ledger_path(), torn).unwrap();
            match before {
                Some(torn) => fs::write(prev(&board), torn).unwrap(),
                None => common::remove(&prev(&board)),
            }
            assert_rebuilt(&board);
        }
    }
}

#[test]
fn a_missing_ledger_beside_bases_is_made_again_too() {
    for prev_too in [false, true] {
        let board = board();
        common::remove(&board.ledger_path());
        if prev_too {
            common::remove(&prev(&board));
        }
        assert_rebuilt(&board);
        assert_eq!(corrupt(&board), [] as [&str; 0]);
    }
}

#[test]
fn a_missing_ledger_without_bases_is_a_first_boot() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    fs::create_dir_all(board.state()).unwrap();
    let report = board.sync().expect(0).json();
    assert_eq!(report["ledger"], "new");
    assert_outcome(&report, "foo", "copied");
}

#[test]
fn a_deletion_that_only_the_lost_ledger_knew_does_not_come_back() {
    let board = Board::synced(&["foo"]);
    board.user_removes("foo");
    board.sync().expect(0);
    // The one before it still has the skill as synced.
    fs::write(board.ledger_path(), "torn").unwrap();
    let report = board.sync().expect(3).json();
    assert_outcome(&report, "foo", "deleted_by_user");
    assert!(!board.exists("foo"));
}

#[test]
fn a_seeded_skill_that_only_the_lost_ledger_knew_needs_no_merge() {
    let board = Board::synced(&["foo"]);
    board.skill("new", &version("new", 1));
    board.skill("foo", &version("foo", 2));
    board.sync().expect(0);
    fs::write(board.ledger_path(), "torn").unwrap();
    let report = board.sync().expect(3).json();
    assert_eq!(report["merge_needed"], json!([]), "{report:#}");
    board.assert_record("new", "synced", &version("new", 1), &version("new", 1));
    board.assert_record("foo", "synced", &version("foo", 2), &version("foo", 2));
    board.assert_at_rest();
}

#[test]
fn a_deletion_after_a_seed_that_only_the_lost_ledger_knew_does_not_come_back() {
    let board = Board::synced(&["foo"]);
    board.skill("new", &version("new", 1));
    board.sync().expect(0);
    board.user_removes("new");
    fs::write(board.ledger_path(), "torn").unwrap();
    let report = board.sync().expect(3).json();
    assert_outcome(&report, "new", "deleted_by_user");
    assert!(!board.exists("new"));
}

#[test]
fn an_edit_beside_an_update_is_a_three_way_merge_after_a_rebuild_from_bases() {
    let board = board();
    board.skill("edited", &version("edited", 2));
    board.skill("same", &version("same", 2));
    fs::write(board.ledger_path(), "torn").unwrap();
    common::remove(&prev(&board));
    let report = board.sync().expect(3).json();
    assert_eq!(report["merge_needed"][0]["mode"], "three_way", "{report:#}");
    assert_outcome(&report, "same", "updated");
    assert_outcome(&report, "gone", "deleted_by_user");
    assert_eq!(board.text("edited"), edited("edited"));
}

#[test]
fn with_the_library_gone_as_well_all_is_seeded_again() {
    let board = board();
    common::remove(&board.library());
    common::remove(&board.ledger_path());
    common::remove(&prev(&board));
    let report = board.sync().json();
    assert_eq!(report["ledger"], "rebuilt");
    assert_eq!(common::names(&report, "copied"), ["edited", "gone", "same"]);
    board.assert_at_rest();
}

#[test]
fn three_unreadable_ledgers_are_kept() {
    let board = board();
    for n in 0..5 {
        fs::write(board.ledger_path(), format!("torn {n}")).unwrap();
        board.sync().expect(3);
    }
    let kept = corrupt(&board);
    assert_eq!(kept.len(), 3, "{kept:?}");
    let newest = kept
        .iter()
        .any(|name| fs::read_to_string(board.state().join(name)).unwrap() == "torn 4");
    assert!(newest, "the newest one is among those kept");
}

#[test]
fn one_unreadable_record_costs_only_itself() {
    for wrong in [
        json!(17),
        json!("x"),
        json!({"origin_hash": 5}),
        json!({"origin_hash": "sha256:short"}),
    ] {
        for name in ["edited", "gone", "same"] {
            let board = board();
            board.change_ledger(|ledger| {
                ledger["of_the_other_slot"] = json!(1);
                ledger["skills"][name] = wrong.clone();
            });
            let report = assert_rebuilt(&board);
            assert!(!report["ledger"].is_null());
            assert_eq!(board.ledger()["of_the_other_slot"], 1);
        }
    }
}

#[test]
fn an_unreadable_record_that_neither_the_ledger_before_nor_a_base_knows_is_no_record() {
    let board = Board::synced(&["foo"]);
    common::remove(&board.state().join(".bundled_manifest.json.prev"));
    common::remove(&board.base_path("foo"));
    board.change_ledger(|ledger| ledger["skills"]["foo"] = json!(17));
    assert_outcome(&board.sync().expect(3).json(), "foo", "adopted");
    board.assert_record("foo", "synced", &version("foo", 1), &version("foo", 1));
    board.assert_at_rest();
}

#[test]
fn reading_a_torn_ledger_writes_nothing() {
    for missing in [false, true] {
        let board = board();
        if missing {
            common::remove(&board.ledger_path());
        } else {
            fs::write(board.ledger_path(), "torn").unwrap();
        }
        let before = board.snapshot();
        for arguments in [
            &["sync", "--dry-run"][..],
            &["status"],
            &["diff", "edited"],
            &["doctor"],
        ] {
            board.run(arguments);
        }
        before.assert_same(&board.snapshot());
    }
}

#[test]
fn a_torn_ledger_and_no_bundle_resurrect_nothing_later() {
    let board = board();
    let away = board.root().join("away");
    fs::rename(board.bundle(), &away).unwrap();
    fs::write(board.ledger_path(), "torn").unwrap();
    board.sync().expect(3);
    fs::rename(&away, board.bundle()).unwrap();
    let report = board.sync().json();
    assert_outcome(&report, "gone", "deleted_by_user");
    assert_outcome(&report, "edited", "kept_user");
    assert!(!board.exists("gone"));
}

#[test]
fn the_ledger_of_an_empty_file_system_after_a_cut_is_read_as_torn_not_as_new() {
    let board = board();
    let length = fs::metadata(board.ledger_path()).unwrap().len();
    fs::write(
        board.ledger_path(),
        vec![0; usize::try_from(length).unwrap()],
    )
    .unwrap();
    assert_rebuilt(&board);
}

#[test]
fn an_unreadable_usage_file_is_set_aside_and_not_lost() {
    let board = Board::synced(&["foo"]);
    let usage = board.state().join("usage.json");
    fs::write(&usage, "torn").unwrap();
    board.user_skill("foo", &edited("foo"));
    board.sync().expect(0);
    board.run(&["reset", "foo", "--restore"]);
    assert_eq!(board.text("foo"), version("foo", 1));
    let kept = fs::read_to_string(&usage).is_ok_and(|text| text == "torn")
        || fs::read_to_string(board.state().join("usage.json.corrupt-1"))
            .is_ok_and(|text| text == "torn");
    assert!(kept, "{:?}", corrupt(&board));
}

#[test]
fn hashes_in_a_rebuilt_record_are_those_of_the_base() {
    let board = board();
    fs::write(board.ledger_path(), "torn").unwrap();
    common::remove(&prev(&board));
    board.sync().expect(3);
    assert_eq!(
        board.record("edited")["origin_hash"],
        hash(version("edited", 1))
    );
    assert_eq!(board.record("edited")["status"], "user_modified");
}

/// After a batch the ledger before is the one with the intents, and what was staged for them is swept.
#[test]
fn an_intent_of_the_ledger_before_that_did_not_come_true_is_not_taken_for_done() {
    let board = Board::synced(&["foo"]);
    let (old, new) = (version("foo", 1), version("foo", 2));
    board.skill("foo", &new);
    board.change_record("foo", |record| {
        record["pending"] = json!({"paths": {"SKILL.md": {
            "hash": common::hash(&new), "upstream_hash": common::hash(&new), "size": new.len()
        }}});
    });
    fs::rename(
        board.ledger_path(),
        board.state().join(".bundled_manifest.json.prev"),
    )
    .unwrap();
    fs::write(board.ledger_path(), "torn").unwrap();
    assert_eq!(board.text("foo"), old);
    let report = board.sync().expect(3).json();
    assert_outcome(&report, "foo", "updated");
    assert_eq!(board.text("foo"), new);
    board.assert_at_rest();
}
