//! The MCP server against clients that do not behave; real ones are in `tests/clients`.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Board, skill_text};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);
/// What a server may take while 5,000 answers of 30 KiB wait for their client.
const MAX_MEMORY_KB: u64 = 32 * 1024;

/// A server, and both ends of its streams.
struct Server {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Option<Lines<BufReader<ChildStdout>>>,
}

impl Server {
    fn start(board: &Board) -> Self {
        let mut command = board.command(&["mcp"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (requests, answers) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut server = Self {
            child,
            requests,
            answers: Some(BufReader::new(answers).lines()),
        };
        server.send(
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        );
        assert_eq!(server.answer()["id"], 0);
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let requests = self.requests.as_mut().unwrap();
        requests.write_all(line.as_bytes()).unwrap();
    }

    fn answer(&mut self) -> Value {
        let line = self.answers.as_mut().unwrap().next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn peak_memory_kb(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        line.unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    }

    fn ends(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "it goes on");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "skill_read", "arguments": {"name": "large"}}})
}

fn board() -> Board {
    let board = Board::new();
    board.skill(
        "large",
        &skill_text("large", "A long one.", &"word ".repeat(6000)),
    );
    board.sync().expect(0);
    board
}

#[test]
fn a_client_that_takes_no_answers_is_not_read_from_and_loses_none() {
    let board = board();
    let mut server = Server::start(&board);
    let mut requests = server.requests.take().unwrap();
    let count = 5000;
    let writer = thread::spawn(move || {
        for id in 1..=count {
            writeln!(requests, "{}", read(id)).unwrap();
        }
        requests
    });
    // What fits into pipes and the server is taken; then it stands still.
    let mut last = 0;
    let begun = Instant::now();
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = server.peak_memory_kb();
        if now == last {
            break;
        }
        last = now;
        assert!(begun.elapsed() < PATIENCE, "its memory grows: {now} kB");
    }
    assert!(!writer.is_finished(), "all of it was read");
    let mut missing: BTreeSet<u64> = (1..=count).collect();
    while !missing.is_empty() {
        let answer = server.answer();
        assert!(missing.remove(&answer["id"].as_u64().unwrap()));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.len() > 30_000);
    }
    assert!(
        server.peak_memory_kb() < MAX_MEMORY_KB,
        "{} kB",
        server.peak_memory_kb()
    );
    drop(writer.join().unwrap());
    assert_eq!(server.ends(), Some(0));
}

#[test]
fn a_call_is_answered_though_it_was_cancelled_or_its_number_is_in_use() {
    let board = board();
    let mut server = Server::start(&board);
    for _ in 0..100 {
        server.send(&read(7));
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
    }
    for _ in 0..100 {
        assert_eq!(server.answer()["id"], 7);
    }
}

#[test]
fn lines_that_are_no_requests_are_passed_over() {
    let board = board();
    let mut server = Server::start(&board);
    let requests = server.requests.as_mut().unwrap();
    requests.write_all(b"no JSON\n\n{\"jsonrpc\": \n").unwrap();
    requests.write_all(&vec![b'x'; 3 << 20]).unwrap();
    requests.write_all(b"\n").unwrap();
    server.send(&read(1));
    assert_eq!(server.answer()["id"], 1);
    assert!(server.peak_memory_kb() < MAX_MEMORY_KB);
}

#[test]
fn it_ends_once_nobody_takes_answers_any_more() {
    let board = board();
    let mut server = Server::start(&board);
    drop(server.answers.take());
    server.send(&read(1));
    assert_eq!(server.ends(), Some(0));
}
