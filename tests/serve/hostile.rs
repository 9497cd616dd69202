//! Clients that mean no good, or do not mean anything: others are served, and memory stays bounded.

use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

use super::daemon::read_answer;
use super::*;

/// What all connections, requests and answers together may hold beyond what an idle daemon does.
const MEMORY_BOUND: u64 = 48 * 1024 * 1024;

fn assert_serves(daemon: &Daemon) {
    let began = Instant::now();
    let answer = daemon
        .tcp()
        .post("/api/tools/skill_read", &json!({"input": {"name": "foo"}}));
    assert_eq!(answer.json()["is_error"], false);
    assert!(output(daemon, "skill_list", json!({})).contains("foo"));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn ten_thousand_idle_connections_keep_nobody_out() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    assert_serves(&daemon);
    let (idle, _) = daemon.memory();
    let (tcp, socket) = (daemon.tcp(), daemon.socket());
    let mut held = std::collections::VecDeque::new();
    for n in 0..10_000 {
        // As many as this process may have open; those before were given up by the daemon long since.
        if held.len() >= 400 {
            held.pop_front();
        }
        held.push_back(if n % 2 == 0 {
            tcp.stream()
        } else {
            socket.stream()
        });
        if n % 2500 == 0 {
            assert_serves(&daemon);
        }
    }
    assert_serves(&daemon);
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid()))
        .unwrap()
        .count();
    assert!(descriptors < 200, "{descriptors} descriptors");
    let (_, most) = daemon.memory();
    println!("memory: {idle} idle, {most} at most");
    assert!(most < idle + MEMORY_BOUND, "{idle} idle, {most} at most");
}

#[test]
fn slow_heads_and_slow_bodies_are_given_up_for_others() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let mut slow = Vec::new();
    for n in 0..200 {
        let mut stream = daemon.tcp().stream();
        let sent: &[u8] = match n % 2 {
            0 => b"GET /api/to",
            _ => b"POST /api/tools/skill_list HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{",
        };
        // The daemon may have closed it already.
        let _ = stream.write_all(sent);
        slow.push(stream);
        if n % 50 == 49 {
            assert_serves(&daemon);
        }
    }
    // Byte after byte, for as long as it lasts.
    let mut dripping = slow.pop().unwrap();
    for _ in 0..20 {
        let _ = dripping.write_all(b" ");
        assert_serves(&daemon);
    }
}

#[test]
fn a_body_of_a_gigabyte_is_refused_unread() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let (idle, _) = daemon.memory();
    let head = "POST /api/tools/skill_list HTTP/1.1\r\nHost: localhost\r\n";
    let sized = format!("{head}Content-Length: 1073741824\r\n\r\n");
    let mut stream = BufReader::new(daemon.socket().stream());
    stream.get_mut().write_all(sized.as_bytes()).unwrap();
    let answer = read_answer(&mut stream, true).unwrap();
    assert_eq!(
        (answer.status, answer.header("connection")),
        (413, Some("close"))
    );
    // One that does not say how long it is.
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    let mut stream = daemon.socket().stream();
    stream.write_all(chunked.as_bytes()).unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
    let mut sent = 0_u64;
    while sent < 1 << 30 && stream.write_all(&chunk).is_ok() {
        sent += 0x10000;
    }
    assert!(sent < 16 << 20, "{sent} bytes were taken");
    let (_, most) = daemon.memory();
    assert!(most < idle + MEMORY_BOUND, "{idle} idle, {most} at most");
    assert_serves(&daemon);
}

#[test]
fn what_is_no_http_is_refused_and_harms_nothing() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let before = board.snapshot();
    let long = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "x".repeat(100_000)
    );
    let headers = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
        "a: b\r\n".repeat(1000)
    );
    for sent in [
        "\r\n\r\n\r\n",
        "\0\u{1}\u{2}",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &long,
        &headers,
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        for client in [daemon.socket(), daemon.tcp()] {
            let mut stream = client.stream();
            let _ = stream.write_all(sent.as_bytes());
            stream.end_writing();
            let mut said = Vec::new();
            let _ = stream.read_to_end(&mut said);
            let said = String::from_utf8_lossy(&said);
            let status: u16 = said
                .split(' ')
                .nth(1)
                .map_or(0, |status| status.parse().unwrap());
            assert!(
                status == 0 || (400..500).contains(&status),
                "{sent:?}: {said}"
            );
        }
    }
    before.assert_same(&board.snapshot());
    assert_serves(&daemon);
}

#[test]
fn deep_and_odd_json_is_refused_or_answered_but_never_fatal() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let deep = "[".repeat(100_000);
    let long = format!("{{\"input\":{{\"name\":\"{}\"}}}}", "é".repeat(200_000));
    for body in [
        deep.as_str(),
        &long,
        "{\"input\":{\"name\":\"\\ud800\"}}",
        "{\"input\":{\"name\":1e999}}",
        "{\"input\":{\"name\":\"a\\u0000b\"}}",
        "{\"input\":{\"name\":\"../../etc/passwd\"}}",
        "{\"input\":[]}",
        "{\"input\":\"x\"}",
        "{\"input\":{\"limit\":-1}}",
    ] {
        for tool in ["skill_list", "skill_read"] {
            let path = format!("/api/tools/{tool}");
            let answer = daemon.tcp().send("POST", &path, Some(body));
            assert!(
                matches!(answer.status, 200 | 400),
                "{} {}",
                answer.status,
                answer.text()
            );
        }
    }
    assert_serves(&daemon);
}

#[test]
fn a_client_that_takes_no_answer_holds_up_nobody() {
    let board = Board::synced(&["foo"]);
    board.user_skill(
        "big",
        &common::skill_text("big", "Big.", &"x".repeat(60_000)),
    );
    let daemon = Daemon::start(&board);
    let request = json!({"input": {"name": "big"}}).to_string();
    let request = format!(
        "POST /api/tools/skill_read HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{request}",
        request.len()
    );
    let (idle, _) = daemon.memory();
    let mut held = Vec::new();
    for _ in 0..64 {
        let mut stream = daemon.socket().stream();
        for _ in 0..20 {
            if stream.write_all(request.as_bytes()).is_err() {
                break;
            }
        }
        held.push(stream);
    }
    assert_serves(&daemon);
    let (_, most) = daemon.memory();
    assert!(most < idle + MEMORY_BOUND, "{idle} idle, {most} at most");
}

#[test]
fn a_foreign_peer_is_turned_away() {
    use std::os::unix::fs::PermissionsExt;
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start_with(&board, &["--socket-group", "daemon"]);
    // As if somebody had opened up the socket: its mode is not the only thing that keeps others out.
    let mode = std::fs::Permissions::from_mode;
    std::fs::set_permissions(&daemon.socket_path, mode(0o666)).unwrap();
    std::fs::set_permissions(board.root(), mode(0o755)).unwrap();
    let ask = |user: &str, group: &str| {
        let mut command = std::process::Command::new("setpriv");
        command.args([
            "--reuid",
            user,
            "--regid",
            group,
            "--clear-groups",
            "curl",
            "-sS",
            "-o",
            "/dev/null",
            "-w",
        ]);
        command
            .args(["%{http_code}", "--unix-socket"])
            .arg(&daemon.socket_path)
            .arg("http://localhost/healthz");
        common::run(&mut command).stdout
    };
    for _ in 0..5 {
        assert_eq!(ask("nobody", "nogroup"), "403");
    }
    assert_eq!(ask("nobody", "daemon"), "200", "its group is the socket's");
    assert_eq!(
        ask("daemon", "nogroup"),
        "200",
        "the user is a member of the group"
    );
    let mut command = std::process::Command::new("setpriv");
    command.args([
        "--reuid", "nobody", "--regid", "nogroup", "--groups", "daemon", "curl", "-sS",
    ]);
    command
        .arg("--unix-socket")
        .arg(&daemon.socket_path)
        .arg("http://localhost/healthz");
    assert_eq!(
        common::run(&mut command).stdout,
        "ok\n",
        "a further group is the socket's"
    );
    assert_eq!(ask("root", "root"), "200");
    assert_serves(&daemon);
}

#[test]
fn calls_that_wait_for_the_lock_hold_up_no_others() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    output(&daemon, "skill_list", json!({}));
    let lock = std::fs::OpenOptions::new()
        .append(true)
        .open(board.state().join(".lock"))
        .unwrap();
    lock.lock().unwrap();
    let mut waiting = Vec::new();
    let body = json!({"input": {
        "action": "write_file", "name": "foo", "file_path": "references/a.md", "file_content": "x", "reason": "a test"
    }})
    .to_string();
    for _ in 0..40 {
        let mut stream = daemon.socket().stream();
        let head = "POST /api/tools/skill_manage HTTP/1.1\r\nHost: x\r\n";
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        waiting.push(stream);
    }
    let began = Instant::now();
    assert_eq!(daemon.tcp().get("/healthz").status, 200);
    assert_serves(&daemon);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    // A stop neither, though what was counted can't be written now: it says so.
    let ended = daemon.stop();
    assert!(ended.took < Duration::from_secs(5), "{ended:?}");
    assert_eq!(ended.code, Some(3), "{ended:?}");
}

#[test]
fn with_few_descriptors_idle_clients_make_room() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::spawn(&board, &[], |command| {
        // The shell's limit holds for what it becomes.
        let mut limited = std::process::Command::new("sh");
        limited
            .args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\""])
            .arg(command.get_program());
        limited.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        *command = limited;
    });
    let mut idle = Vec::new();
    for _ in 0..60 {
        idle.push(daemon.tcp().stream());
    }
    assert_serves(&daemon);
    assert!(daemon.said().len() < 20, "{:#?}", daemon.said());
}
