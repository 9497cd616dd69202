//! What the daemon does by itself.

use std::fs;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn it_syncs_at_start_and_then_merges() {
    let board = Board::synced(&["foo"]);
    board.user_skill(
        "foo",
        &version("foo", 1).replacen("---\n", "---\nsource: me\n", 1),
    );
    board.skill("foo", &version("foo", 2));
    board.skill("new", &version("new", 1));
    let daemon = Daemon::start(&board);
    // The first answer has the sync in it.
    assert!(output(&daemon, "skill_list", json!({})).contains("\"new\""));
    daemon.until("it is merged", || board.text("foo").contains("version 2"));
    assert!(board.text("foo").contains("source: me"));
    let text = || daemon.socket().get("/metrics").text();
    daemon.until("it is counted", || {
        text().contains("aiden_skills_merges_total{outcome=\"applied\"} 1")
    });
}

#[test]
fn a_model_that_hangs_holds_up_neither_calls_nor_a_stop() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.skill("foo", &version("foo", 2));
    let settings = format!(
        "[model]\nprovider = \"here\"\nmodel = \"m\"\n[model_providers.here]\ntype = \"openai\"\napi_key = \"k\"\nbase_url = \"http://{}\"\n",
        silent.local_addr().unwrap()
    );
    fs::write(board.agent().join("agent.toml"), settings).unwrap();
    let daemon = Daemon::start_with(&board, &["--engine", "llm"]);
    daemon.says("merging foo");
    let began = Instant::now();
    // Another merge is not waited for, and a hang up syncs meanwhile.
    for _ in 0..9 {
        assert_eq!(daemon.socket().send("POST", "/api/merge", None).status, 409);
    }
    board.skill("new", &version("new", 1));
    daemon.signal(nix::sys::signal::Signal::SIGHUP);
    daemon.until("it is synced", || board.exists("new/SKILL.md"));
    assert!(output(&daemon, "skill_list", json!({})).contains("foo"));
    let patch = json!({
        "action": "write_file", "name": "foo", "file_path": "references/a.md", "file_content": "x", "reason": "a test"
    });
    output(&daemon, "skill_manage", patch);
    assert!(began.elapsed() < Duration::from_secs(10));
    let ended = daemon.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.took < Duration::from_secs(5), "{ended:?}");
    assert_eq!(board.text("foo"), edited("foo"));
}

#[test]
fn a_library_that_cannot_be_used_is_told_and_used_when_it_can() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    fs::write(board.library(), "in the way").unwrap();
    let daemon = Daemon::start(&board);
    daemon.says("could not be synced");
    assert_eq!(call(&daemon, "skill_list", json!({}))["is_error"], true);
    assert_eq!(daemon.socket().get("/healthz").status, 200);
    assert_ne!(daemon.socket().get("/api/profile").status, 200);
    fs::remove_file(board.library()).unwrap();
    daemon.signal(nix::sys::signal::Signal::SIGHUP);
    daemon.until("it is synced", || board.exists("foo/SKILL.md"));
    assert!(
        daemon
            .socket()
            .get("/api/profile")
            .text()
            .contains("- foo:")
    );
}

#[test]
fn counts_that_cannot_be_written_are_written_when_they_can() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    // A directory in the place of the file of counts stands for a disk that takes nothing.
    let usage = board.state().join("usage.json");
    fs::create_dir(&usage).unwrap();
    output(&daemon, "skill_read", json!({"name": "foo"}));
    daemon.says("counts are kept for the next time");
    fs::remove_dir(&usage).unwrap();
    let text = || fs::read_to_string(&usage).unwrap_or_default();
    daemon.until("they are written", || text().contains("\"view_count\": 1"));
}
