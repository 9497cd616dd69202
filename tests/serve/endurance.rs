//! A long day: memory, space and network.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::*;

/// One call every five seconds.
const CALLS_OF_A_DAY: usize = 17_280;
/// What allocators keep of what was freed, and no more.
const GROWTH: u64 = 1024 * 1024;

#[test]
fn memory_stays_flat_over_a_days_worth_of_calls() {
    let board = Board::synced(&["foo", "bar", "baz"]);
    // With the one heap that boards' musl has; glibc would have one for each thread, and fill them all in time.
    let daemon = Daemon::spawn(&board, &[], |command| {
        command.env("MALLOC_ARENA_MAX", "1");
    });
    let mut connection = daemon.socket().connect();
    let call = |tool: &str, input: Value| {
        (
            format!("/api/tools/{tool}"),
            json!({"input": input}).to_string(),
        )
    };
    let write = json!({
        "action": "write_file", "name": "bar", "file_path": "references/a.md", "file_content": "x", "reason": "a test"
    });
    let calls = [
        call("skill_list", json!({"query": "foo"})),
        call("skill_read", json!({"name": "foo"})),
        call("skill_mark_used", json!({"name": "foo"})),
        call("skill_read", json!({"name": "none"})),
    ];
    let mut early = 0;
    for turn in 0..CALLS_OF_A_DAY {
        let (path, body) = match turn % 500 {
            0 => &call("skill_manage", write.clone()),
            _ => &calls[turn % calls.len()],
        };
        assert_eq!(connection.send("POST", path, Some(body)).status, 200);
        if turn % 100 == 0 {
            assert_eq!(connection.send("GET", "/api/profile", None).status, 200);
            // Each of its own session, and its own connection.
            let session = daemon
                .socket()
                .with("Aiden-Session", &format!("session {turn}"));
            session.post("/api/tools/skill_read", &json!({"input": {"name": "foo"}}));
        }
        if turn == CALLS_OF_A_DAY / 4 {
            (early, _) = daemon.memory();
        }
    }
    let (late, _) = daemon.memory();
    println!("memory: {early} early, {late} late");
    assert!(late < early + GROWTH, "{early} early, {late} late");
}

/// A small file system, gone when dropped.
struct Small(PathBuf);

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn it_survives_the_loss_of_space_and_goes_on_when_there_is_some() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    let mount = ["-t", "tmpfs", "-o", "size=256k,mode=0755", "tmpfs"];
    let mounted = Command::new("mount")
        .args(mount)
        .arg(board.agent())
        .status()
        .unwrap();
    assert!(mounted.success(), "mounting needs root");
    let _small = Small(board.agent());
    let daemon = Daemon::start(&board);
    output(&daemon, "skill_read", json!({"name": "foo"}));
    let filler = board.agent().join("filler");
    let mut size = 256 * 1024;
    while size > 0 && fs::write(&filler, vec![b'x'; size]).is_err() {
        size -= 4096;
    }
    let write = json!({
        "action": "write_file", "name": "foo", "file_path": "references/a.md", "file_content": "x".repeat(20_000),
        "reason": "a test"
    });
    let refused = call(&daemon, "skill_manage", write.clone());
    assert_eq!(refused["is_error"], true, "{refused}");
    assert!(
        refused["error"].as_str().unwrap().contains("space"),
        "{refused}"
    );
    board.skill(
        "new",
        &common::skill_text("new", "New.", &"x".repeat(30_000)),
    );
    let report = daemon.socket().send("POST", "/api/sync", None);
    assert_ne!(report.json()["copied"], json!(["new"]));
    output(&daemon, "skill_read", json!({"name": "foo"}));
    fs::remove_file(&filler).unwrap();
    output(&daemon, "skill_manage", write);
    let report = daemon.socket().send("POST", "/api/sync", None).json();
    assert_eq!(report["copied"], json!(["new"]), "{report}");
    let usage = || fs::read_to_string(board.state().join("usage.json")).unwrap_or_default();
    daemon.until("counts are written", || {
        usage().contains("\"view_count\": 2")
    });
    assert_eq!(daemon.stop().code, Some(0));
}

#[test]
fn a_merge_is_done_when_the_network_comes() {
    // Nobody listens at this address yet.
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.skill("foo", &version("foo", 2));
    stand_in::configure(&board, "openai", &format!("http://{address}/v1"), "");
    let daemon = Daemon::start_with(&board, &["--engine", "llm"]);
    daemon.says("foo merge failed");
    assert_eq!(board.record("foo")["last_merge_transient"], true);
    let merged = edited("foo").replace("my way", "our way");
    let answer =
        json!({"status": "merged", "merged_skill_md": merged, "summary": "Both."}).to_string();
    let answer = json!({"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]});
    let listener = std::net::TcpListener::bind(address).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stand_in::serve_over(&mut stream, answer.to_string().as_bytes());
        }
    });
    // The first retry comes after a minute.
    let began = std::time::Instant::now();
    while began.elapsed().as_secs() < 100 && !board.text("foo").contains("our way") {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(board.text("foo"), merged, "{:#?}", daemon.said());
    assert_eq!(board.record("foo")["status"], "merged");
}
