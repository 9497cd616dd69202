//! Each mutating call fails in turn, once or from then on, and writes are short.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::aftermath::{Aftermath, Stage};
use crate::board::{Board, sync};
use crate::chance;
use crate::cuts::{Examined, any_cut};
use crate::faulty::{Fault, Faulty};
use crate::firmwares::Firmwares;
use crate::judge::Tree;
use crate::scenario::{Scenario, scenarios};
use crate::simulated::{MEDIA, Simulated};
use crate::table;

const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const EDQUOT: i32 = 122;

/// Whether the base of a merged text could not be written: unlike that of an update it may be of a text that no bundle
/// has any more, and then the next merge goes without.
fn costs_base(scenario: &Scenario, failed: &str) -> bool {
    scenario.name.starts_with("merge") && failed.contains("skill-state/bases")
}

/// Runs the operation with each call that looks at the library, or at the bundle, failing in turn.
fn fail_every_look(of_bundle: bool) {
    let firmwares = Firmwares::new();
    let mut rng = chance::rng("a cut after an error of a look");
    let mut tried = 0;
    for scenario in scenarios() {
        let before = scenario.before(&firmwares);
        let aftermath = Aftermath::of(&scenario, &firmwares);
        for call in 1.. {
            let board = Board::on(before.clone());
            scenario.touch(&board, &firmwares);
            let fault = Fault::FailLook(call, EIO);
            let of_library = if of_bundle { Fault::None } else { fault };
            let filesystem = Faulty::new(board.filesystem.clone(), of_library);
            let of_bundle_only = if of_bundle { fault } else { Fault::None };
            firmwares.fault.set(of_bundle_only);
            let outcome = scenario.act(&filesystem, &firmwares);
            let faulty = if of_bundle {
                firmwares.opened()
            } else {
                filesystem
            };
            let case = format!("{}, {fault:?} ({})", scenario.name, faulty.failed());
            // Of what can't be read while a ledger is made again, less is known than without the error; the files must be
            // right all the same.
            let knows_less = scenario.name.starts_with("ledger rebuilt");
            if knows_less || costs_base(&scenario, &faulty.failed()) {
                let wrong = aftermath.judge_library(&board.filesystem.live());
                assert!(wrong.is_empty(), "{case}: {}", wrong[0]);
            } else {
                check(&aftermath, &board, &outcome, &case, &mut rng);
            }
            tried += 1;
            if faulty.looks() < call {
                assert_eq!(outcome, Ok(true), "{case}");
                break;
            }
        }
        firmwares.fault.set(Fault::None);
    }
    let of = if of_bundle {
        "the bundle"
    } else {
        "the library"
    };
    let name = format!("every operation, EIO on a look at {of}");
    table::line(&name, "simulated", tried, 0);
}

#[test]
fn what_of_the_library_cannot_be_looked_at_stays_and_the_next_sync_ends_complete() {
    fail_every_look(false);
}

#[test]
fn what_of_the_bundle_cannot_be_looked_at_stays_and_the_next_sync_ends_complete() {
    fail_every_look(true);
}

/// Runs the operation with each call in turn failing, and judges what that and the next start leave.
fn fail_everywhere(what: &str, fault: impl Fn(u64) -> Fault) {
    let firmwares = Firmwares::new();
    let mut rng = chance::rng(what);
    let mut tried = 0;
    for scenario in scenarios() {
        let before = scenario.before(&firmwares);
        let aftermath = Aftermath::of(&scenario, &firmwares);
        for per_file in [false, true] {
            for call in 1.. {
                let mut board = Board::on(before.clone());
                if per_file {
                    board = board.without_syncfs();
                }
                scenario.touch(&board, &firmwares);
                let filesystem = Faulty::new(board.filesystem.clone(), fault(call));
                let outcome = scenario.act(&filesystem, &firmwares);
                let case = format!(
                    "{}, {:?} ({})",
                    scenario.name,
                    fault(call),
                    filesystem.failed()
                );
                // An empty directory that can't be removed stays, and nobody comes back for it.
                let stays = filesystem.failed().starts_with("rmdir skills/");
                if stays || costs_base(&scenario, &filesystem.failed()) {
                    let wrong = aftermath.judge_library(&board.filesystem.live());
                    assert!(wrong.is_empty(), "{case}: {}", wrong[0]);
                } else {
                    check(&aftermath, &board, &outcome, &case, &mut rng);
                }
                tried += 1;
                if filesystem.calls() < call {
                    assert_eq!(outcome, Ok(true), "{case}");
                    break;
                }
            }
        }
    }
    table::line(&format!("every operation, {what}"), "simulated", tried, 0);
}

/// Judges what is there now, and what a cut right after leaves.
fn check(
    aftermath: &Aftermath<'_>,
    board: &Board,
    outcome: &Result<bool, String>,
    case: &str,
    rng: &mut Rng,
) {
    let stage = match outcome {
        Ok(true) => Stage::Reported,
        _ => Stage::Begun,
    };
    if let Err(message) = outcome {
        assert!(
            message.contains("/simulated"),
            "{case}: names no path: {message}"
        );
    }
    let wrong = aftermath.judge(&board.filesystem.live(), stage);
    assert!(wrong.is_empty(), "{case}: {}", wrong[0]);
    let history = board.filesystem.history();
    let medium = MEDIA[rng.usize(..MEDIA.len())];
    let cut = any_cut(&history, medium, history.effects.len(), rng);
    let wrong = aftermath.judge(&history.left_by(&cut), stage);
    let told = history.describe(&cut);
    assert!(
        wrong.is_empty(),
        "{case}, on {medium}, {told}: {}",
        wrong[0]
    );
}

#[test]
fn one_failed_call_leaves_every_file_old_or_new_and_the_next_sync_ends_complete() {
    for (name, errno) in [
        ("EIO", EIO),
        ("ENOSPC", ENOSPC),
        ("EROFS", EROFS),
        ("EDQUOT", EDQUOT),
    ] {
        fail_everywhere(&format!("{name} once"), |call| Fault::Fail(call, errno));
    }
}

#[test]
fn nor_does_an_interrupted_call_harm() {
    fail_everywhere("EINTR once", |call| Fault::Fail(call, EINTR));
}

#[test]
fn a_medium_that_fails_from_some_call_on_loses_nothing() {
    fail_everywhere("EROFS from then on", |call| Fault::FailFrom(call, EROFS));
    fail_everywhere("EIO from then on", |call| Fault::FailFrom(call, EIO));
}

#[test]
fn a_disk_that_gets_full_loses_nothing_and_keeps_no_temporary_files() {
    fail_everywhere("full from then on", Fault::FullFrom);
}

#[test]
fn writes_that_take_a_few_bytes_at_a_time_end_as_whole_ones_do() {
    let firmwares = Firmwares::new();
    let mut rng = chance::rng("short writes");
    let mut tried = 0;
    for scenario in scenarios() {
        let aftermath = Aftermath::of(&scenario, &firmwares);
        let board = Board::on(scenario.before(&firmwares));
        scenario.touch(&board, &firmwares);
        let filesystem = Faulty::new(board.filesystem.clone(), Fault::Short(7));
        let outcome = scenario.act(&filesystem, &firmwares);
        check(&aftermath, &board, &outcome, scenario.name, &mut rng);
        assert_eq!(outcome, Ok(true), "{}", scenario.name);
        tried += 1;
    }
    table::line("every operation, short writes", "simulated", tried, 0);
}

#[test]
fn a_file_is_only_taken_for_deleted_if_its_directory_can_be_read_to_its_end() {
    let firmwares = Firmwares::new();
    let board = Board::new();
    assert!(board.sync(&firmwares.older).unwrap().is_whole());
    board.remove("skills/alpha/references/a.md");
    let before = board.ledger().ledger;
    let unlistable = Fault::Unlistable("skills/alpha/references");
    let filesystem = Faulty::new(board.filesystem.clone(), unlistable);
    let report = sync(&filesystem, &firmwares.older).unwrap();
    assert_eq!(report.failed.len(), 1, "{report:?}");
    assert!(
        report.failed[0].error.contains("alpha/references"),
        "{report:?}"
    );
    assert_eq!(board.ledger().ledger, before);
    board.sync(&firmwares.older).unwrap();
    assert_ne!(board.ledger().ledger, before);
}

/// Skills, and files of skills, that the ledger says the user deleted.
fn deletions(tree: &Tree) -> BTreeSet<String> {
    let records = tree
        .ledger()
        .and_then(|ledger| ledger["skills"].as_object());
    let mut deletions = BTreeSet::new();
    for (name, record) in records.into_iter().flatten() {
        if record["status"] == "deleted_by_user" {
            deletions.insert(name.clone());
        }
        let files = record["files"].as_object().into_iter().flatten();
        let deleted = files.filter(|(_, file)| file["deleted"] == true);
        deletions.extend(deleted.map(|(path, _)| format!("{name}/{path}")));
    }
    deletions
}

#[test]
fn what_cannot_be_looked_at_while_a_kill_is_settled_never_counts_as_deleted_by_the_user() {
    const KILLS: usize = 4;
    let firmwares = Firmwares::new();
    let mut rng = chance::rng("a failed look while settling");
    let mut tried = 0;
    for scenario in scenarios() {
        let examined = Examined::new(&scenario, &firmwares, false);
        let undisturbed = &examined.aftermath.undisturbed;
        let next = &undisturbed.next[0];
        let trees = [&undisturbed.before, &next.of_before, &next.of_after];
        let real: BTreeSet<String> = trees.into_iter().flat_map(deletions).collect();
        for _ in 0..KILLS * chance::soak() {
            let killed = rng.usize(examined.begin + 1..examined.history.effects.len());
            for call in 1.. {
                let board = Board {
                    filesystem: Simulated::after_kill(&examined.history, killed),
                };
                let fault = Fault::FailLook(call, EIO);
                let filesystem = Faulty::new(board.filesystem.clone(), fault);
                // It may fail; what it leaves is judged.
                let _ = sync(&filesystem, &firmwares.newer);
                board.sync(&firmwares.newer).unwrap();
                let made_up: Vec<String> = deletions(&board.tree())
                    .difference(&real)
                    .cloned()
                    .collect();
                assert!(
                    made_up.is_empty(),
                    "{}, killed after {}, {fault:?} ({}): {made_up:?}",
                    scenario.name,
                    examined.history.call_at(killed),
                    filesystem.failed()
                );
                tried += 1;
                if filesystem.looks() < call {
                    break;
                }
            }
        }
    }
    let name = "every operation, killed, EIO on a look while settling";
    table::line(name, "simulated", tried, 0);
}
