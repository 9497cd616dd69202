//! Ageing and waking, with the clock of this machine.

use std::fs;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::common::{Board, skill_text, version};
use super::*;

fn days_ago(days: i64) -> String {
    // An hour more: no clock is exact.
    (OffsetDateTime::now_utc() - Duration::days(days) - Duration::hours(1))
        .format(&Rfc3339)
        .unwrap()
}

/// A skill that an agent made, last used so long ago.
fn aged(days: i64) -> Board {
    let board = Board::synced(&["shipped"]);
    let text = skill_text("own", "My own.", "Do it.")
        .replace("---\n\n", "metadata:\n  created_by: agent\n---\n\n");
    board.user_skill("own", &text);
    board.user_skill("mine", &skill_text("mine", "A person's.", "Do it."));
    let used = json!({"last_used_at": days_ago(days)});
    set_usage(&board, json!({"own": used, "shipped": used, "mine": used}));
    looked(&board, 2);
    board
}

/// The skills were looked at so long ago.
fn looked(board: &Board, days: i64) {
    let scan = json!({"last_evaluated_at": days_ago(days)}).to_string();
    common::write(&board.state().join("lifecycle_scan.json"), scan);
}

fn state(board: &Board) -> String {
    answer(board, "skill_list", json!({}));
    usage(board)["own"]["state"]
        .as_str()
        .unwrap_or("active")
        .to_owned()
}

#[test]
fn what_an_agent_made_and_nobody_uses_gets_stale_and_then_archived() {
    for (days, expected) in [(89, "active"), (91, "stale"), (181, "archived")] {
        let board = aged(days);
        assert_eq!(state(&board), expected, "after {days} days");
        for other in ["shipped", "mine"] {
            assert!(
                usage(&board)[other].get("state").is_none(),
                "{other} is no agent's"
            );
        }
        assert!(board.exists("own/SKILL.md"), "nothing is ever deleted");
    }
}

#[test]
fn the_days_are_settings() {
    let board = aged(10);
    common::write(
        &board.agent().join("agent.toml"),
        "[skills]\nstale_days = 5\narchive_days = 20\n",
    );
    assert_eq!(state(&board), "stale");
}

#[test]
fn skills_are_looked_at_once_a_day() {
    let board = aged(100);
    let scan = board.state().join("lifecycle_scan.json");
    common::write(&scan, json!({"last_evaluated_at": days_ago(0)}).to_string());
    assert_eq!(state(&board), "active");
    common::write(&scan, json!({"last_evaluated_at": days_ago(2)}).to_string());
    assert_eq!(state(&board), "stale");
    let text = std::fs::read_to_string(&scan).unwrap();
    let noted: Value = serde_json::from_str(&text).unwrap();
    assert!(noted["last_evaluated_at"].as_str().unwrap() > days_ago(1).as_str());
}

/// The clock has jumped, or the board was off: nobody could use a skill.
#[test]
fn a_first_look_after_a_long_time_ages_nothing_and_the_next_one_does() {
    for scan in [
        None,
        Some(json!({"last_evaluated_at": days_ago(-400)}).to_string()),
        Some(json!({"last_evaluated_at": days_ago(40)}).to_string()),
        Some("{ torn".into()),
    ] {
        let board = aged(100);
        let path = board.state().join("lifecycle_scan.json");
        match scan {
            Some(scan) => common::write(&path, scan),
            None => std::fs::remove_file(path).unwrap(),
        }
        assert_eq!(state(&board), "active");
        looked(&board, 1);
        assert_eq!(state(&board), "stale");
    }
}

#[test]
fn a_skill_that_is_used_wakes() {
    let board = Board::synced(&["foo"]);
    set_usage(
        &board,
        json!({"foo": {"state": "archived", "use_count": 1, "note": "of another program"}}),
    );
    let said = answer(&board, "skill_mark_used", json!({"name": "foo"}));
    assert_eq!(
        said,
        "Marked skill \"foo\" as used (use_count=2, active again)"
    );
    let entry = &usage(&board)["foo"];
    assert_eq!(
        [&entry["state"], &entry["use_count"], &entry["note"]],
        [&json!("active"), &json!(2), &json!("of another program")]
    );
    assert!(entry["last_used_at"].is_string() && entry["state_changed_at"].is_string());
    assert_eq!(
        answer(&board, "skill_mark_used", json!({"name": "foo"})),
        "Marked skill \"foo\" as used (use_count=3)"
    );
    refusal(&board, "skill_mark_used", json!({"name": "bar"}));
    refusal(&board, "skill_mark_used", json!({}));
}

#[test]
fn doctor_names_what_is_read_and_not_used_and_what_changes_all_the_time() {
    let board = Board::synced(&["a", "b"]);
    set_usage(
        &board,
        json!({"a": {"view_count": 50, "use_count": 1}, "b": {"modify_count": 40}}),
    );
    let said = board.run(&["doctor"]).expect(3).stdout;
    fs::write(
        board.agent().join("agent.toml"),
        "[skills]\nstale_days = 30\narchive_days = 20\n",
    )
    .unwrap();
    let said = said + &board.run(&["doctor"]).expect(3).stdout;
    for line in [
        "agent.toml: archive_days (20) is less than stale_days (30)",
        "a: it was read 50 times, but used only 1 times\n",
        "b: it was changed 40 times\n",
    ] {
        assert!(said.contains(line), "{line:?}: {said}");
    }
}

#[test]
fn reset_makes_an_archived_skill_active() {
    let board = Board::synced(&["foo"]);
    manage(&board, "archive", "foo", json!({}));
    board.run(&["reset", "foo", "--restore"]).expect(0);
    assert_eq!(list(&board, json!({})), ["foo"]);
    assert_eq!(board.text("foo"), version("foo", 1));
}
