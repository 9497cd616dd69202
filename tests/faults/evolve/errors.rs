//! Each call of every change fails in turn, once or from then on, and writes are short.

use std::time::Duration;

use aiden_skills::store::Documents;
use fastrand::Rng;

use super::operations::{ACTS, Desk, NEXT, operations, with_bank};
use super::verdict::{Verdict, files};
use crate::aftermath::Stage;
use crate::board::Board;
use crate::chance;
use crate::cuts::any_cut;
use crate::evolved::{self, BANK, COMMIT, STAGE};
use crate::faulty::{Fault, Faulty};
use crate::simulated::MEDIA;
use crate::table;

const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const EDQUOT: i32 = 122;

/// Judges what is there now, and what cuts right after leave.
fn check(
    verdict: &Verdict<'_>,
    board: &Board,
    outcome: &Result<(), String>,
    case: &str,
    rng: &mut Rng,
) {
    let stage = match outcome {
        Ok(()) => Stage::Reported,
        Err(_) => Stage::Begun,
    };
    if let Err(message) = outcome {
        assert!(
            message.contains("/simulated"),
            "{case}: names no path: {message}"
        );
    }
    let wrong = verdict.judge(&board.filesystem.live(), stage);
    assert!(wrong.is_empty(), "{case}: {}", wrong[0]);
    let history = board.filesystem.history();
    for medium in MEDIA {
        let cut = any_cut(&history, medium, history.effects.len(), rng);
        let wrong = verdict.judge(&history.left_by(&cut), stage);
        assert!(
            wrong.is_empty(),
            "{case}, on {medium}, {}: {}",
            history.describe(&cut),
            wrong[0]
        );
    }
}

/// Makes each change with each call in turn failing, and judges what that and the next command leave.
fn fail_everywhere(what: &str, keeps_nothing: bool, fault: impl Fn(u64) -> Fault) {
    let mut rng = chance::rng(what);
    let mut tried = 0;
    for operation in operations() {
        let before = operation.before();
        let verdict = Verdict::of(&operation);
        for per_file in [false, true] {
            for call in 1.. {
                let mut board = Board::on(before.clone());
                if per_file {
                    board = board.without_syncfs();
                }
                let filesystem = Faulty::new(board.filesystem.clone(), fault(call));
                let outcome = operation.act(&filesystem);
                let case = format!(
                    "{}, {:?} ({}), {outcome:?}",
                    operation.name,
                    fault(call),
                    filesystem.failed()
                );
                check(&verdict, &board, &outcome, &case, &mut rng);
                // When something is taken away all is done.
                let takes_away =
                    ["unlink", "rmdir"].map(|call| filesystem.failed().starts_with(call));
                assert!(outcome.is_ok() || takes_away == [false; 2], "{case}");
                let left = files(&board.filesystem.live());
                let is_kept = left.keys().any(|path| path.starts_with(STAGE));
                assert!(
                    !(keeps_nothing && is_kept) || left.contains_key(COMMIT),
                    "{case}: it takes space still"
                );
                tried += 1;
                if filesystem.calls() < call {
                    assert_eq!(outcome, Ok(()), "{case}");
                    break;
                }
            }
        }
    }
    table::line(&format!("every operation, {what}"), "simulated", tried, 0);
}

#[test]
fn one_failed_call_leaves_all_of_a_change_or_nothing() {
    for (name, errno) in [
        ("EIO", EIO),
        ("ENOSPC", ENOSPC),
        ("EROFS", EROFS),
        ("EDQUOT", EDQUOT),
        ("EINTR", EINTR),
    ] {
        fail_everywhere(&format!("{name} once"), false, |call| {
            Fault::Fail(call, errno)
        });
    }
}

#[test]
fn so_does_a_medium_that_fails_from_some_call_on() {
    fail_everywhere("EROFS from then on", false, |call| {
        Fault::FailFrom(call, EROFS)
    });
    fail_everywhere("EIO from then on", false, |call| Fault::FailFrom(call, EIO));
}

#[test]
fn so_does_a_disk_that_gets_full_and_it_keeps_no_temporary_files() {
    fail_everywhere("full from then on", true, Fault::FullFrom);
}

#[test]
fn writes_that_take_a_few_bytes_at_a_time_end_as_whole_ones_do() {
    let mut rng = chance::rng("short writes of a change");
    let mut tried = 0;
    for operation in operations() {
        let verdict = Verdict::of(&operation);
        let board = Board::on(operation.before());
        let filesystem = Faulty::new(board.filesystem.clone(), Fault::Short(7));
        let outcome = operation.act(&filesystem);
        check(&verdict, &board, &outcome, operation.name, &mut rng);
        assert_eq!(outcome, Ok(()), "{}", operation.name);
        tried += 1;
    }
    table::line("every operation, short writes", "simulated", tried, 0);
}

/// What can't be looked at may be decided on otherwise; what comes of it is whole all the same.
#[test]
fn what_cannot_be_looked_at_leaves_a_whole_workspace() {
    let mut tried = 0;
    for operation in operations() {
        let before = operation.before();
        let verdict = Verdict::of(&operation);
        for call in 1.. {
            let board = Board::on(before.clone());
            let fault = Fault::FailLook(call, EIO);
            let filesystem = Faulty::new(board.filesystem.clone(), fault);
            let outcome = operation.act(&filesystem);
            let case = format!(
                "{}, {fault:?} ({}), {outcome:?}",
                operation.name,
                filesystem.failed()
            );
            drop(Documents::lock(&board.filesystem, Duration::ZERO).unwrap());
            let now = files(&board.filesystem.live());
            let bank = now.get(BANK);
            let is_whole = bank == verdict.before.get(BANK) || bank == verdict.after.get(BANK);
            assert!(
                is_whole,
                "{case}: {:?}",
                now.get(BANK).map(|b| String::from_utf8_lossy(b))
            );
            operation.next(&board.filesystem, NEXT).unwrap();
            let now = files(&board.filesystem.live());
            let mut wrong = evolved::judge(&now);
            wrong.extend(evolved::leftovers(&now));
            let validated =
                Desk::new(&board.filesystem, NEXT).work(|workspace| workspace.validate());
            wrong.extend(validated.unwrap().errors.iter().map(|e| format!("{e:?}")));
            assert!(wrong.is_empty(), "{case}: {wrong:#?}");
            tried += 1;
            if filesystem.looks() < call {
                assert_eq!(outcome, Ok(()), "{case}");
                break;
            }
        }
    }
    let name = "every operation, EIO on a look at the library";
    table::line(name, "simulated", tried, 0);
}

#[test]
fn a_workspace_that_cannot_be_looked_at_is_not_made_again() {
    let filesystem = with_bank(1);
    let before = files(&filesystem.live());
    for call in 1.. {
        let faulty = Faulty::new(filesystem.clone(), Fault::FailLook(call, EIO));
        Desk::new(&faulty, ACTS).init(None).unwrap_err();
        let case = faulty.failed();
        assert_eq!(files(&filesystem.live()), before, "{case}");
        if faulty.looks() < call {
            break;
        }
    }
}
