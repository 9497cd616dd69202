//! Several processes on one config dir.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::board::{Allowed, Board, Workshop};
use crate::common;
use crate::firmware::{large, small};

const ROUNDS: usize = 5;

/// Starts all of these and waits for all; their exit codes, with what they said.
fn all_at_once(board: &Board<'_>, runs: &[(usize, &[&str])]) -> Vec<(i32, String)> {
    let start = |(firmware, arguments): &(usize, &[&str])| {
        let mut command = board.command(*firmware, arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<_> = runs.iter().map(start).collect();
    let end = |child: std::process::Child| {
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.code().unwrap(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    };
    children.into_iter().map(end).collect()
}

/// The records without their times.
fn timeless(board: &Board<'_>) -> Value {
    let mut ledger = board.ledger();
    let times = |value: &mut Value| {
        if let Some(object) = value.as_object_mut() {
            object.retain(|key, _| !key.ends_with("_at"));
        }
    };
    times(&mut ledger);
    for record in ledger["skills"].as_object_mut().unwrap().values_mut() {
        times(record);
    }
    ledger
}

#[test]
fn six_syncs_at_once_on_an_empty_config_dir_end_as_one() {
    let workshop = Workshop::new(vec![large(1)]);
    let alone = workshop.board("alone");
    alone.run(1, &["sync"]).expect(0);
    for round in 0..ROUNDS {
        let board = workshop.board("together");
        // On a board the config dir is there or is not: the partition may be new.
        if round % 2 == 0 {
            fs::create_dir(&board.agent).unwrap();
        }
        let ends = all_at_once(&board, &[(1, &["sync"][..]); 6]);
        for (code, said) in &ends {
            assert_eq!(*code, 0, "{said}");
        }
        let copied =
            |said: &str| common::names(&serde_json::from_str(said).unwrap(), "copied").len();
        let seeded = ends.iter().filter(|(_, said)| copied(said) > 0).count();
        assert_eq!(
            seeded, 1,
            "exactly one of them seeds, the others find it done"
        );
        assert!(board.files() == alone.files(), "the libraries differ");
        assert_eq!(timeless(&board), timeless(&alone));
        board.assert_sync_completes(1, &Allowed::default(), "six syncs at once");
    }
}

#[test]
fn syncs_resets_and_looks_at_once_all_succeed() {
    let workshop = Workshop::new(vec![small(1), small(2)]);
    for round in 0..ROUNDS * 2 {
        let board = workshop.board("together");
        board.run(1, &["sync"]).expect(0);
        let reset: &[&str] = &["reset", "--all", "--restore"];
        let runs: [(usize, &[&str]); 8] = [
            (2, &["sync"]),
            (2, reset),
            (2, &["status"]),
            (2, &["sync"]),
            (2, &["status"]),
            (2, reset),
            (2, &["sync", "--dry-run"]),
            (2, &["sync"]),
        ];
        for ((code, said), run) in all_at_once(&board, &runs).iter().zip(runs) {
            assert_eq!(*code, 0, "round {round}, {run:?}: {said}");
        }
        board.assert_sync_completes(2, &Allowed::default(), "eight at once");
    }
}

/// Both slots' services at once, as no board should do it: still each run is whole.
#[test]
fn two_firmwares_at_once_leave_one_of_both() {
    let workshop = Workshop::new(vec![small(1), small(2)]);
    for _ in 0..ROUNDS {
        let board = workshop.board("together");
        let runs: [(usize, &[&str]); 6] =
            [1, 2, 1, 2, 1, 2].map(|firmware| (firmware, &["sync"][..]));
        for (code, said) in all_at_once(&board, &runs) {
            assert_eq!(code, 0, "{said}");
        }
        board.assert_nothing_torn(&[].into(), "two firmwares at once");
        board.assert_sync_completes(1, &Allowed::default(), "two firmwares, then 1");
        board.assert_sync_completes(2, &Allowed::default(), "two firmwares, then 2");
    }
}
