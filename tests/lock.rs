//! One lock covers all writing (contract §4), and a dry run leaves no trace.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Board, assert_outcome, version};
use serde_json::json;

/// Another process that holds the lock until dropped.
struct Holder(Child);

impl Holder {
    fn of(lock: &Path) -> Self {
        let mut flock = Command::new("flock");
        flock.arg(lock).args(["sh", "-c", "echo held; exec cat"]);
        let mut child = flock
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "held\n");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // `cat` ends at the end of its input.
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

fn locked() -> (Board, Holder) {
    let board = Board::synced(&["foo"]);
    board.skill("foo", &version("foo", 2));
    let holder = Holder::of(&board.state().join(".lock"));
    (board, holder)
}

#[test]
fn a_sync_gives_up_with_4_after_the_lock_timeout_and_nothing_is_written() {
    let (board, _holder) = locked();
    let before = board.snapshot();
    let started = Instant::now();
    let run = board
        .run(&["--lock-timeout", "0.3", "--json", "sync"])
        .expect(4);
    let waited = started.elapsed();
    assert!(
        waited >= Duration::from_millis(300) && waited < Duration::from_secs(5),
        "{waited:?}"
    );
    assert!(run.stderr.contains("lock"), "{run:#?}");
    before.assert_same(&board.snapshot());
}

#[test]
fn a_lock_timeout_of_0_does_not_wait() {
    let (board, _holder) = locked();
    board.run(&["sync", "--lock-timeout", "0"]).expect(4);
}

#[test]
fn a_reset_needs_the_lock_too() {
    let (board, _holder) = locked();
    let before = board.snapshot();
    board
        .run(&["reset", "foo", "--restore", "--lock-timeout", "0"])
        .expect(4);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_sync_goes_on_when_the_lock_is_released_in_time() {
    let (board, holder) = locked();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(holder);
        });
        assert_outcome(&board.sync().expect(0).json(), "foo", "updated");
    });
}

#[test]
fn what_only_looks_needs_no_lock() {
    let (board, _holder) = locked();
    for arguments in [
        &["sync", "--dry-run", "--lock-timeout", "0"][..],
        &["status", "--lock-timeout", "0"],
        &["diff", "foo", "--lock-timeout", "0"],
    ] {
        board.run(arguments).expect(0);
    }
}

#[test]
fn the_lock_file_is_never_unlinked() {
    let board = Board::synced(&["foo"]);
    let inode = |board: &Board| {
        std::fs::metadata(board.state().join(".lock"))
            .unwrap()
            .ino()
    };
    let before = inode(&board);
    board.skill("foo", &version("foo", 2));
    board.sync().expect(0);
    board.run(&["reset", "--all", "--restore"]).expect(0);
    assert_eq!(inode(&board), before);
}

#[test]
fn syncs_at_the_same_time_end_like_one_alone() {
    let names: Vec<String> = (0..30).map(|n| format!("skill-{n:02}")).collect();
    let board = Board::new();
    let alone = Board::new();
    for name in &names {
        for board in [&board, &alone] {
            board.skill(name, &version(name, 1));
        }
    }
    let mut copied: Vec<String> = Vec::new();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| board.sync().expect(0).json()))
            .collect();
        for run in runs {
            copied.extend(common::names(&run.join().unwrap(), "copied"));
        }
    });
    copied.sort();
    assert_eq!(copied, names, "each is seeded by exactly one of them");
    alone.sync().expect(0);
    alone
        .snapshot()
        .below("agent/skills")
        .assert_same_content(&board.snapshot().below("agent/skills"));
    for name in &names {
        board.assert_record(name, "synced", &version(name, 1), &version(name, 1));
    }
    board.assert_at_rest();
}

#[test]
fn a_dry_run_says_what_a_sync_would_do_and_creates_nothing() {
    let board = Board::synced(&["foo", "gone"]);
    board.user_removes("gone");
    board.skill("foo", &version("foo", 2));
    board.skill("new", &version("new", 1));
    common::write(&board.staged_path("skills/left/SKILL.md"), "left behind");
    let before = board.snapshot();
    let report = board.sync_with(&["--dry-run"]).expect(0).json();
    assert_eq!(report["dry_run"], true);
    assert_eq!(report["flushes"], 0);
    before.assert_same(&board.snapshot());
    let real = board.sync().expect(0).json();
    for array in common::SKILL_ARRAYS {
        assert_eq!(report[array], real[array], "{array}");
    }
}

#[test]
fn a_dry_run_at_first_boot_does_not_even_make_the_config_dir() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    let before = board.snapshot();
    assert_eq!(
        board.sync_with(&["--dry-run"]).expect(0).json()["copied"],
        json!(["foo"])
    );
    before.assert_same(&board.snapshot());
    common::remove(&board.agent());
    let before = board.snapshot();
    board.sync_with(&["--dry-run"]);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_sync_makes_the_config_dir_where_there_is_none() {
    let board = Board::new();
    common::remove(&board.agent());
    board.skill("foo", &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "copied");
    assert_eq!(board.text("foo"), version("foo", 1));
}

#[test]
fn a_dry_run_with_a_lost_library_does_not_make_its_root() {
    let board = Board::synced(&["foo"]);
    common::remove(&board.library());
    let before = board.snapshot();
    assert_outcome(&board.sync_with(&["--dry-run"]).json(), "foo", "copied");
    before.assert_same(&board.snapshot());
    board.run(&["status"]);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_dry_run_and_a_status_before_the_first_boot_say_what_it_would_do_and_make_nothing() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    std::fs::remove_dir_all(board.agent()).unwrap();
    let report = board.sync_with(&["--dry-run"]).expect(0).json();
    common::assert_outcome(&report, "foo", "copied");
    let status = board.run(&["--json", "status"]).expect(0).json();
    assert_eq!(status["skills"][0]["next"], "copied");
    assert!(!board.agent().exists());
}
