//! `serve` (contract §7): the daemon as its clients and its init system see it.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[path = "../common/mod.rs"]
mod common;

#[path = "../merge/stand_in.rs"]
mod stand_in;

mod at_once;
mod background;
mod daemon;
mod endurance;
mod evolution;
mod hostile;
mod routes;
mod runs;
mod signals;
mod systemd;
mod tools;

use common::{Board, edited, version};
use daemon::{Answer, Daemon};
use serde_json::{Value, json};

#[track_caller]
fn call(daemon: &Daemon, tool: &str, input: Value) -> Value {
    let path = format!("/api/tools/{tool}");
    let answer = daemon.socket().post(&path, &json!({"input": input}));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// What a tool answered; it must not have refused.
#[track_caller]
fn output(daemon: &Daemon, tool: &str, input: Value) -> String {
    let called = call(daemon, tool, input);
    assert_eq!(called["is_error"], false, "{called}");
    called["output"].as_str().unwrap().to_owned()
}
