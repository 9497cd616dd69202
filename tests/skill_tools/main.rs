//! The four skill tools, through the binary: seed §18 and contract §6.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[path = "../common/mod.rs"]
mod common;

mod existing;
mod hostile;
mod lifecycle;
mod list;
mod manage;
mod read;
mod session;

use common::{Board, Run};
use serde_json::{Value, json};

fn tool(board: &Board, name: &str, input: Value) -> Run {
    board.run(&["tool", name, &input.to_string()])
}

/// What a tool answers, without the line break behind it.
#[track_caller]
fn answer(board: &Board, name: &str, input: Value) -> String {
    let run = tool(board, name, input).expect(0);
    assert_eq!(run.stderr, "");
    run.stdout.strip_suffix('\n').unwrap().to_owned()
}

/// Why a tool refuses: one line, and nothing was changed.
#[track_caller]
fn refusal(board: &Board, name: &str, input: Value) -> String {
    let before = board.snapshot();
    let run = tool(board, name, input).expect(1);
    before.assert_same(&board.snapshot());
    assert_eq!(run.stdout, "");
    let line = run.stderr.strip_suffix('\n').unwrap().to_owned();
    assert!(!line.contains('\n') && line.len() < 600, "{line}");
    line
}

#[track_caller]
fn manage(board: &Board, action: &str, name: &str, more: Value) -> String {
    answer(board, "skill_manage", request(action, name, more))
}

#[track_caller]
fn refused(board: &Board, action: &str, name: &str, more: Value) -> String {
    refusal(board, "skill_manage", request(action, name, more))
}

fn request(action: &str, name: &str, more: Value) -> Value {
    let mut request = json!({"action": action, "name": name, "reason": "a test"});
    request
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    request
}

fn usage(board: &Board) -> Value {
    let path = board.state().join("usage.json");
    let text = std::fs::read_to_string(path).unwrap_or_else(|_| "{}".into());
    serde_json::from_str(&text).unwrap()
}

fn set_usage(board: &Board, usage: Value) {
    common::write(&board.state().join("usage.json"), usage.to_string());
}

fn list(board: &Board, input: Value) -> Vec<String> {
    let listed: Value = serde_json::from_str(&answer(board, "skill_list", input)).unwrap();
    listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}
