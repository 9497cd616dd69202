//! Files as the existing agent writes them.

use super::common::{Board, version};
use super::*;

#[test]
fn its_usage_file_is_read_and_what_is_not_ours_is_kept() {
    let board = Board::synced(&["foo"]);
    set_usage(
        &board,
        json!({
            "foo": {"view_count": 3, "last_viewed_at": "2026-05-25T12:00:00+08:00", "state": "stale", "state_changed_at": "2026-05-25T12:10:00+08:00"},
            "bad": 7,
            "odd": {"view_count": "many", "state": "sleeping", "extra": [1]}
        }),
    );
    answer(&board, "skill_read", json!({"name": "foo"}));
    let usage = usage(&board);
    assert_eq!(usage["foo"]["view_count"], 4);
    assert_eq!(usage["foo"]["state"], "stale");
    assert_eq!(usage["bad"], 7);
    assert_eq!(
        usage["odd"],
        json!({"view_count": "many", "state": "sleeping", "extra": [1]})
    );
}

#[test]
fn its_ledger_is_told_of_edits_too() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.user_skill("foo", &version("foo", 1));
    common::write(&board.base_path("foo"), version("foo", 1));
    board.set_records(json!({"foo": {
        "origin_hash": common::hash(version("foo", 1)),
        "status": "synced",
        "base_path": board.base_path("foo").to_str().unwrap(),
        "last_synced_at": "2026-05-25T10:30:00+08:00"
    }}));
    manage(
        &board,
        "patch",
        "foo",
        json!({"old_string": "Do it", "new_string": "Do this"}),
    );
    let record = board.record("foo");
    assert_eq!(record["status"], "user_modified");
    assert_eq!(record["last_synced_at"], "2026-05-25T10:30:00+08:00");
}
