//! Power is cut at every effect of every change, and any legal part of what was not flushed is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use aiden_skills::store::Documents;
use fastrand::Rng;

use super::operations::{ACTS, Desk, NEXT, Operation, operations, with_bank};
use super::verdict::{Verdict, files};
use crate::aftermath::Stage;
use crate::board::Board;
use crate::chance;
use crate::cuts::{SAMPLE, any_cut};
use crate::evolved::{BANK, COMMIT, Files, MANIFEST};
use crate::simulated::{Cut, Effort, History, MEDIA, Medium, Simulated};
use crate::table;

/// What a change did to the disk.
pub fn history_of(operation: &Operation, per_file: bool) -> History {
    let mut board = Board::on(operation.before());
    if per_file {
        board = board.without_syncfs();
    }
    operation.act(&board.filesystem).unwrap();
    board.filesystem.history()
}

/// Judges the states that cuts of a change leave, from the last cut to the first: how many there are, and the first that is
/// wrong, with as little lost as it takes.
pub fn try_all(
    verdict: &Verdict<'_>,
    history: &History,
    medium: Medium,
) -> (usize, Option<String>) {
    let mut rng = chance::rng(verdict.operation.name);
    let end = history.effects.len();
    let effort = Effort {
        random: SAMPLE.random * chance::soak(),
        ..SAMPLE
    };
    let judge = |cut: &Cut| {
        let stage = if cut.at == end {
            Stage::Reported
        } else {
            Stage::Begun
        };
        verdict.judge(&history.left_by(cut), stage)
    };
    let mut seen = BTreeSet::new();
    for at in (0..=end).rev() {
        for cut in history.cuts(medium, at, effort, &mut rng) {
            let is_new = seen.insert((history.left_by(&cut).fingerprint(), at == end));
            if is_new && !judge(&cut).is_empty() {
                let cut = history.shrink(cut, |cut| !judge(cut).is_empty());
                let told = format!(
                    "{} on {medium}, {}\n    {}",
                    verdict.operation.name,
                    history.describe(&cut),
                    judge(&cut)[0]
                );
                return (seen.len(), Some(told));
            }
        }
    }
    (seen.len(), None)
}

fn no_cut_harms(per_file: bool) {
    for operation in operations() {
        let verdict = Verdict::of(&operation);
        let history = history_of(&operation, per_file);
        for medium in MEDIA.into_iter().chain([Medium::Process]) {
            let (states, wrong) = try_all(&verdict, &history, medium);
            let violations = usize::from(wrong.is_some());
            let shown = format!("simulated {medium}");
            table::line(operation.name, &shown, states, violations);
            assert_eq!(wrong, None);
            assert!(states > 10, "{}: too few states", operation.name);
        }
    }
}

#[test]
fn no_cut_of_any_change_tears_the_workspace_or_undoes_what_was_reported() {
    no_cut_harms(false);
}

#[test]
fn nor_where_syncfs_is_not_trusted() {
    no_cut_harms(true);
}

/// Kills the process, lets the next command finish what it left on the same running kernel, and cuts the power while it does
/// so or after it has reported.
fn kill_then_cut(
    verdict: &Verdict<'_>,
    per_file: bool,
    medium: Medium,
    rng: &mut Rng,
) -> (usize, Option<String>) {
    const LITTLE: Effort = Effort {
        exhaustive: 2,
        random: 1,
    };
    let operation = verdict.operation;
    let history = history_of(operation, per_file);
    let mut states = 0;
    for killed in 1..history.effects.len() {
        let mut filesystem = Simulated::after_kill(&history, killed);
        if per_file {
            filesystem = filesystem.without_syncfs();
        }
        operation.next(&filesystem, NEXT).unwrap();
        let done = files(&filesystem.live());
        let settling = filesystem.history();
        let end = settling.effects.len();
        let wrong = |cut: &Cut| {
            let left = settling.left_by(cut);
            let undone = cut.at == end && !is_kept(&done, &files(&left));
            let undone = undone.then(|| "what was reported is undone".to_owned());
            undone.or_else(|| verdict.judge(&left, Stage::Settling).into_iter().next())
        };
        let mut cuts = settling.cuts(medium, end, LITTLE, rng);
        cuts.extend((0..6).map(|_| any_cut(&settling, medium, killed, rng)));
        let mut seen = BTreeSet::new();
        cuts.retain(|cut| seen.insert((settling.left_by(cut).fingerprint(), cut.at == end)));
        for cut in cuts {
            states += 1;
            if wrong(&cut).is_some() {
                let cut = settling.shrink(cut, |cut| wrong(cut).is_some());
                let told = format!(
                    "{} on {medium}, killed after {}: {}\n    {}",
                    operation.name,
                    history.call_at(killed),
                    settling.describe(&cut),
                    wrong(&cut).unwrap_or_default()
                );
                return (states, Some(told));
            }
        }
    }
    (states, None)
}

/// Whether all that was done is there still.
fn is_kept(done: &Files, left: &Files) -> bool {
    done.iter()
        .all(|(path, bytes)| left.get(path) == Some(bytes))
}

#[test]
fn what_the_next_command_after_a_kill_reports_survives_a_cut() {
    let mut rng = chance::rng("a cut after a kill of a change");
    for operation in operations() {
        let verdict = Verdict::of(&operation);
        for per_file in [false, true] {
            for medium in MEDIA {
                let (states, wrong) = kill_then_cut(&verdict, per_file, medium, &mut rng);
                let name = "every operation, killed and settled";
                let shown = format!("simulated {medium}");
                table::line(name, &shown, states, usize::from(wrong.is_some()));
                assert_eq!(wrong, None);
            }
        }
    }
}

#[test]
fn nor_does_a_second_cut_while_the_first_is_settled_harm() {
    const TIMES: usize = 100;
    let mut rng = chance::rng("a second cut of a change");
    let mut tried = 0;
    for operation in operations() {
        let verdict = Verdict::of(&operation);
        let history = history_of(&operation, rng.bool());
        for _ in 0..TIMES * chance::soak() {
            for medium in MEDIA {
                let first = any_cut(&history, medium, 0, &mut rng);
                let mut board = Board::on(history.left_by(&first));
                if rng.bool() {
                    board = board.without_syncfs();
                }
                operation.next(&board.filesystem, NEXT).unwrap();
                let settling = board.filesystem.history();
                let second = any_cut(&settling, medium, 0, &mut rng);
                let left = settling.left_by(&second);
                let wrong = verdict.judge(&left, Stage::Settling);
                assert!(
                    wrong.is_empty(),
                    "{} on {medium}: {}; {}\n    {}",
                    operation.name,
                    history.describe(&first),
                    settling.describe(&second),
                    wrong[0]
                );
                tried += 1;
            }
        }
    }
    table::line("every operation, cut twice", "simulated", tried, 0);
}

/// Who only reads takes no lock.
#[test]
fn who_sees_the_bank_changed_finds_all_that_tells_of_it() {
    for operation in operations() {
        let verdict = Verdict::of(&operation);
        for per_file in [false, true] {
            let history = history_of(&operation, per_file);
            for killed in 0..=history.effects.len() {
                let now = files(&history.after_kill(killed));
                let is_new = |path: &str| {
                    let new = now.get(path) == verdict.after.get(path);
                    new && verdict.before.get(path) != verdict.after.get(path)
                };
                if is_new(BANK) || is_new(MANIFEST) {
                    let told = verdict.after.keys().filter(|path| path.contains('/'));
                    let missing: Vec<&String> =
                        told.filter(|path| !now.contains_key(*path)).collect();
                    assert!(missing.is_empty(), "{}: {missing:?}", operation.name);
                }
            }
        }
    }
}

/// Making a workspace counts as done once its list is in place, whoever comes next.
#[test]
fn something_is_learned_in_a_workspace_whose_making_was_killed() {
    let all = operations();
    let made = all.iter().find(|one| one.name == "workspace made").unwrap();
    let history = history_of(made, false);
    let mut learned = 0;
    for killed in 0..=history.effects.len() {
        let filesystem = Simulated::after_kill(&history, killed);
        let left = files(&filesystem.live());
        let is_made = [COMMIT, MANIFEST]
            .iter()
            .any(|name| left.contains_key(*name));
        let outcome = Desk::new(&filesystem, NEXT).add("Dim lamps after sunset");
        let case = format!("killed after {}: {outcome:?}", history.call_at(killed));
        assert_eq!(outcome.is_ok(), is_made, "{case}");
        assert!(
            is_made || outcome.unwrap_err().contains("evolve init"),
            "{case}"
        );
        learned += usize::from(is_made);
    }
    assert!(learned > 5);
}

/// What the first of two counts has staged is of the same length and begins as what the second has.
#[test]
fn a_document_that_is_changed_again_is_not_taken_for_the_one_before() {
    const MANY: u64 = 200;
    let board = Board::on(with_bank(1).live());
    let desk = Desk::new(&board.filesystem, ACTS);
    let entry = |number: u64| format!("skl-{number:012x}");
    desk.count((0..MANY).map(entry)).unwrap();
    let mut versions = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..2 {
        desk.count([entry(MANY - 1)]).unwrap();
        versions.push(files(&board.filesystem.live()));
        ends.push(board.filesystem.history().effects.len());
    }
    let history = board.filesystem.history();
    let effort = Effort {
        exhaustive: 8,
        random: 20,
    };
    let mut rng = chance::rng("two counts");
    for medium in MEDIA {
        for at in ends[0]..=ends[1] {
            for cut in history.cuts(medium, at, effort, &mut rng) {
                let board = Board::on(history.left_by(&cut));
                drop(Documents::lock(&board.filesystem, Duration::ZERO).unwrap());
                let now = files(&board.filesystem.live());
                assert!(
                    versions.contains(&now),
                    "{medium}: {}",
                    history.describe(&cut)
                );
            }
        }
    }
}
