//! Merging, through the binary and the library: what is applied, what every failure leaves, and what goes over the wire.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../tools/mod.rs"]
mod tools;

mod applied;
mod failures;
mod model;
mod preview;
mod real_model;
mod secrets;
mod settings;
mod stand_in;
mod stopped;
mod worker;

use common::{Board, hash, merge_key, skill_text};
use serde_json::Value;

/// A body of lines that are far enough from each other to be changed one by one.
const BODY: &str = "# Steps\n\nFirst, look.\n\nSecond, think.\n\nThird, act.";

/// A text of the skill with some of its words changed.
fn text(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = skill_text(name, &format!("What {name} does"), BODY);
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

fn base(name: &str) -> String {
    text(name, &[])
}

fn upstream(name: &str) -> String {
    text(name, &[("First, look.", "First, look twice.")])
}

fn local(name: &str) -> String {
    text(name, &[("Third, act.", "Third, act gently.")])
}

fn both(name: &str) -> String {
    text(
        name,
        &[
            ("First, look.", "First, look twice."),
            ("Third, act.", "Third, act gently."),
        ],
    )
}

/// A text of the user's that changes what the firmware changes, so that no merge without a model is possible.
fn clashing(name: &str) -> String {
    text(name, &[("First, look.", "First, look my way.")])
}

fn key(name: &str, local: &str) -> String {
    merge_key(
        "three_way",
        name,
        &hash(base(name)),
        &hash(upstream(name)),
        &hash(local),
    )
}

/// Both sides have changed these skills, and a sync has named the merges.
fn diverged(names: &[&str], local: fn(&str) -> String) -> Board {
    let board = Board::new();
    for name in names {
        board.skill(name, &base(name));
    }
    board.sync().expect(0);
    for name in names {
        board.user_skill(name, &local(name));
    }
    board.sync().expect(0);
    for name in names {
        board.skill(name, &upstream(name));
    }
    let report = board.sync().expect(0).json();
    assert_eq!(common::names(&report, "merge_needed"), names);
    board
}

/// `merge --json`, of whose reports the rules of all reports hold.
fn merge(board: &Board, arguments: &[&str]) -> common::Run {
    let run = board.run(&[&["--json", "merge"], arguments].concat());
    if matches!(run.code, 0 | 3) {
        let report = run.json();
        let failed = common::names(&report, "merge_failed");
        common::check_report(&report);
        for name in failed {
            let in_another = common::SKILL_ARRAYS
                .iter()
                .any(|array| common::names(&report, array).contains(&name));
            assert!(!in_another, "{name} is in two arrays: {report:#}");
        }
    }
    run
}

/// A record without its times, which are RFC 3339 where they are.
#[track_caller]
fn record(board: &Board, name: &str) -> Value {
    let mut record = board.record(name);
    for time in ["last_synced_at", "last_merged_at", "last_merge_failed_at"] {
        if let Some(value) = record.as_object_mut().unwrap().remove(time) {
            let text = value.as_str().unwrap();
            assert!(text.len() >= 20 && text.contains('T'), "{time}: {text}");
        }
    }
    record
}

/// A record after a failed merge, without its times.
fn failed_record(name: &str, local: &str, engine: &str, error: &str, transient: bool) -> Value {
    let mut record = serde_json::json!({
        "origin_hash": hash(base(name)),
        "effective_hash": hash(base(name)),
        "status": "user_modified",
        "base_path": format!("skill-state/bases/{name}/SKILL.md"),
        "files": {},
        "last_failed_merge_key": key(name, local),
        "last_merge_error": error,
        "last_merge_engine": engine,
    });
    if transient {
        record["last_merge_transient"] = true.into();
    }
    record
}
