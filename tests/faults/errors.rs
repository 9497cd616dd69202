//! Each mutating call fails in turn, once or from then on.

use crate::board::Board;
use crate::faulty::Fault;
use crate::scenario::{Scenario, check_recovered, scenarios, ship_all};

const ERRNOS: [(&str, i32); 4] = [("EIO", 5), ("ENOSPC", 28), ("EROFS", 30), ("EDQUOT", 122)];

fn fail_everywhere(scenario: &Scenario, fault: impl Fn(u64) -> Fault) {
    let shipped = Board::new();
    let bundles = ship_all(&shipped);
    for call in 1.. {
        let board = Board::new();
        (scenario.prepare)(&board, &bundles[0], &bundles[1]);
        let before = Board::tree(&board.library(""));
        let filesystem = board.filesystem(fault(call));
        let outcome = (scenario.act)(&board, &filesystem, &bundles[1]);
        let finished = filesystem.calls() < call;
        let last = filesystem
            .log()
            .get(usize::try_from(call).unwrap() - 1)
            .cloned()
            .unwrap_or_default();
        let case = format!("{}, {:?} ({last})", scenario.name, fault(call));
        drop(filesystem);
        check_whole(&board, &before, &bundles[1], &case);
        if let Err(message) = &outcome {
            assert!(
                message.contains(&board.agent().display().to_string()),
                "{case}: {message}"
            );
        }
        let report = board.sync(&bundles[1]);
        assert!(report.failed.is_empty(), "{case}: {report:?}");
        check_recovered(&board, scenario, &bundles[1], outcome == Ok(true), &case);
        board.check_at_rest(&bundles[1], &case);
        if finished {
            assert_eq!(outcome, Ok(true), "{case}");
            break;
        }
    }
}

/// Every file of the library is as it was, or as the bundle has it, or gone because the bundle dropped it.
fn check_whole(board: &Board, before: &crate::board::Tree, bundle: &std::path::Path, case: &str) {
    let bundled = Board::tree(bundle);
    for (path, (content, _)) in Board::tree(&board.library("")) {
        let is =
            |tree: &crate::board::Tree| tree.get(&path).is_some_and(|(text, _)| *text == content);
        assert!(
            is(before) || is(&bundled),
            "{case}: {path} is torn or foreign: {content:?}"
        );
    }
}

#[test]
fn one_failed_call_leaves_every_file_old_or_new_and_the_next_sync_ends_complete() {
    for scenario in scenarios() {
        for (_, errno) in ERRNOS {
            fail_everywhere(&scenario, |call| Fault::Fail(call, errno));
        }
    }
}

#[test]
fn a_medium_that_fails_from_some_call_on_loses_nothing() {
    for scenario in scenarios() {
        fail_everywhere(&scenario, |call| Fault::FailFrom(call, 30));
        fail_everywhere(&scenario, |call| Fault::FailFrom(call, 5));
    }
}

#[test]
fn a_disk_that_gets_full_loses_nothing_and_keeps_no_temporary_files() {
    for scenario in scenarios() {
        fail_everywhere(&scenario, Fault::FullFrom);
    }
}

#[test]
fn a_file_is_only_taken_for_deleted_if_its_directory_can_be_read_to_its_end() {
    let shipped = Board::new();
    let bundles = ship_all(&shipped);
    let board = Board::new();
    assert!(board.sync(&bundles[0]).is_whole());
    std::fs::remove_file(board.library("alpha/references/a.md")).unwrap();
    let before = board.ledger().ledger;
    let filesystem = board.filesystem(Fault::Unlistable("skills/alpha/references"));
    let report = board.sync_with(&filesystem, &bundles[0]).unwrap();
    assert_eq!(report.failed.len(), 1, "{report:?}");
    assert!(
        report.failed[0].error.contains("alpha/references"),
        "{report:?}"
    );
    assert_eq!(board.ledger().ledger, before);
    board.sync(&bundles[0]);
    assert_ne!(board.ledger().ledger, before);
}
