//! Killed before every single call that changes files, of every operation of a small case.

use std::collections::BTreeSet;
use std::fs;

use crate::board::{Allowed, Board, Cases, Workshop};
use crate::common::{self, edited, names};
use crate::firmware::small;
use crate::tracer::{Blow, Call, mutating_calls, strike};

fn workshop() -> Workshop {
    Workshop::new(vec![small(1), small(2), small(3)])
}

fn seeded<'w>(workshop: &'w Workshop, firmware: usize) -> Board<'w> {
    let board = workshop.board("start");
    assert_eq!(board.run(firmware, &["sync"]).code, 0);
    board
}

fn kill_points(start: &Board<'_>, firmware: usize, arguments: &[&str]) -> Vec<Call> {
    let mut calls = mutating_calls(&start.fork("recorded"), firmware, arguments);
    // A call that does nothing leaves what the one before it left.
    calls.retain(|call| !call.fails);
    println!("{} calls of {arguments:?} to be killed before", calls.len());
    calls
}

/// Kills `sync` of `firmware` before each of its calls; then the same firmware starts, or another one and
/// then the first again.
fn assert_any_cut_is_repaired(start: &Board<'_>, firmware: usize, allowed: &Allowed) {
    for call in kill_points(start, firmware, &["sync"]) {
        let cut = start.fork("cut");
        strike(&cut, firmware, &["sync"], &call, Blow::Kill);
        assert_repaired(&cut, firmware, allowed, &format!("killed before {call:?}"));
    }
}

fn assert_repaired(cut: &Board<'_>, firmware: usize, allowed: &Allowed, case: &str) {
    for next in cut.workshop().numbers() {
        let case = format!("{case}, then firmware {next}");
        let board = cut.fork("next");
        board.assert_sync_completes(next, allowed, &case);
        if next != firmware {
            let back = format!("{case}, then firmware {firmware} again");
            board.assert_sync_completes(firmware, allowed, &back);
        }
    }
}

#[test]
fn a_first_seed_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = workshop.board("start");
    assert_any_cut_is_repaired(&start, 2, &Allowed::default());
}

#[test]
fn an_update_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 1);
    assert_any_cut_is_repaired(&start, 2, &Allowed::default());
}

#[test]
fn a_rollback_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 2);
    assert_any_cut_is_repaired(&start, 1, &Allowed::default());
}

#[test]
fn an_update_that_drops_a_skill_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 2);
    assert_any_cut_is_repaired(&start, 3, &Allowed::default());
}

#[test]
fn the_repair_of_a_blank_file_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 1);
    fs::write(start.library().join("alpha/SKILL.md"), b"").unwrap();
    fs::write(start.library().join("beta/SKILL.md"), [0; 4096]).unwrap();
    assert_any_cut_is_repaired(&start, 1, &Allowed::default());
}

#[test]
fn seeding_a_lost_library_again_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 1);
    fs::remove_dir_all(start.library()).unwrap();
    assert_any_cut_is_repaired(&start, 1, &Allowed::default());
}

#[test]
fn a_lost_library_at_a_firmware_update_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 1);
    fs::remove_dir_all(start.library()).unwrap();
    assert_any_cut_is_repaired(&start, 2, &Allowed::default());
}

#[test]
fn rebuilding_a_torn_ledger_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 1);
    tear(&start, "");
    let rebuilt = Allowed {
        rebuilt: true,
        ..Allowed::default()
    };
    assert_any_cut_is_repaired(&start, 1, &rebuilt);
}

#[test]
fn rebuilding_a_ledger_from_the_bases_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 1);
    tear(&start, "");
    tear(&start, ".prev");
    let rebuilt = Allowed {
        rebuilt: true,
        kept_files: true,
        ..Allowed::default()
    };
    assert_any_cut_is_repaired(&start, 1, &rebuilt);
}

/// As a cut leaves a file that was written in place.
pub fn tear(board: &Board<'_>, suffix: &str) {
    let mut path = board.ledger_path().into_os_string();
    path.push(suffix);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
}

/// The start after a cut is cut as well.
#[test]
fn settling_killed_before_any_call_is_completed() {
    let workshop = workshop();
    let start = seeded(&workshop, 1);
    let calls = kill_points(&start, 2, &["sync"]);
    let mut cases = Cases::default();
    let placing = calls.iter().filter(|call| call.name.starts_with("rename"));
    for first in placing {
        let cut = start.fork("first-cut");
        strike(&cut, 2, &["sync"], first, Blow::Kill);
        for second in kill_points(&cut, 2, &["sync"]) {
            let again = cut.fork("second-cut");
            strike(&again, 2, &["sync"], &second, Blow::Kill);
            cases.check(|| {
                let case = format!("killed before {first:?}, then before {second:?}");
                again.assert_sync_completes(2, &Allowed::default(), &case);
            });
        }
    }
    cases.assert_all_held();
}

/// A reset is for the skills that were edited; a cut in it leaves each as the user had it or as shipped, and
/// the next reset completes it.
#[test]
fn a_reset_killed_before_any_call_is_completed_by_the_next() {
    let workshop = workshop();
    let start = seeded(&workshop, 1);
    let edit = edited("alpha");
    fs::write(start.library().join("alpha/SKILL.md"), &edit).unwrap();
    fs::write(start.library().join("alpha/notes.md"), "mine").unwrap();
    fs::remove_file(start.library().join("beta/scripts/run.sh")).unwrap();
    fs::remove_dir_all(start.library().join("gamma")).unwrap();
    assert_eq!(start.run(1, &["sync"]).code, 0);
    let reset = ["reset", "--all", "--restore"];
    let own: BTreeSet<String> = ["alpha/notes.md".to_owned()].into();
    let own_or_edited: BTreeSet<String> = own
        .iter()
        .cloned()
        .chain(["alpha/SKILL.md".to_owned()])
        .collect();
    for call in kill_points(&start, 1, &reset) {
        let cut = start.fork("cut");
        strike(&cut, 1, &reset, &call, Blow::Kill);
        for next in workshop.numbers() {
            let case = format!("killed before {call:?}, then firmware {next}");
            let board = cut.fork("next");
            let run = board.run(next, &["sync"]).expect(0);
            let report = run.json();
            common::check_report(&report);
            board.assert_nothing_torn(&own_or_edited, &case);
            let text = fs::read(board.library().join("alpha/SKILL.md")).unwrap();
            let touched: Vec<String> = ["kept_user", "merge_needed"]
                .iter()
                .flat_map(|o| names(&report, o))
                .collect();
            if text == edit.as_bytes() {
                let outcome = if next == 1 {
                    "kept_user"
                } else {
                    "merge_needed"
                };
                assert_eq!(names(&report, outcome), ["alpha"], "{case}: {report:#}");
                assert_eq!(touched, ["alpha"], "{case}: {report:#}");
            } else {
                assert_eq!(text, workshop.firmware(next).text("alpha"), "{case}");
                assert_eq!(touched, Vec::<String>::new(), "{case}: {report:#}");
            }
            let gone = !board.library().join("gamma/SKILL.md").exists();
            let deleted = names(&report, "deleted_by_user").contains(&"gamma".to_owned());
            let shipped = workshop.firmware(next).skills.contains_key("gamma");
            assert_eq!(deleted, gone && shipped, "{case}: {report:#}");
            assert_eq!(
                report["files"]["kept_user"].as_array().unwrap().len(),
                0,
                "{case}: {report:#}"
            );
            board.run(next, &reset).expect(0);
            let allowed = Allowed {
                own_files: own.clone(),
                ..Allowed::default()
            };
            if shipped {
                board.assert_sync_completes(next, &allowed, &case);
            }
            assert_eq!(
                fs::read(board.library().join("alpha/notes.md")).unwrap(),
                b"mine",
                "{case}"
            );
        }
    }
}
