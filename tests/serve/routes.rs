//! The other routes of contract §7, and which door has them.

use super::*;

#[test]
fn what_is_the_agents_is_not_on_tcp() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let before = board.snapshot();
    for path in [
        "/api/profile",
        "/api/skills",
        "/api/skills/foo/diff",
        "/",
        "/api",
        "/x",
    ] {
        assert_eq!(daemon.tcp().get(path).status, 404, "{path}");
    }
    for path in [
        "/api/sync",
        "/api/merge",
        "/api/skills/reload",
        "/api/skills/foo/reset",
        "/api/skills/foo/archive",
    ] {
        assert_eq!(daemon.tcp().send("POST", path, None).status, 404, "{path}");
    }
    before.assert_same(&board.snapshot());
    for client in [daemon.tcp(), daemon.socket()] {
        assert_eq!(client.get("/healthz").text(), "ok\n");
        assert_eq!(client.send("HEAD", "/healthz", None).status, 200);
        assert_eq!(client.get("/metrics").status, 200);
        assert_eq!(client.get("/api/tool-skills").status, 200);
        let wrong = client.send("POST", "/api/tools", None);
        assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET")));
    }
}

#[test]
fn a_host_that_is_not_ours_is_refused_and_no_other_origin_gets_anything() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let tcp = daemon.tcp();
    for host in ["evil.example", "127.0.0.1:1", "localhost.evil.example"] {
        let answer = tcp.clone().with("Host", host).get("/api/tools");
        assert_eq!(answer.status, 421, "{host}");
    }
    let port = daemon.tcp_address().port();
    let answer = tcp
        .clone()
        .with("Host", &format!("localhost:{port}"))
        .get("/api/tools");
    assert_eq!(answer.status, 200);
    let answer = tcp
        .clone()
        .with("Origin", "http://evil.example")
        .get("/api/tools");
    assert_eq!(answer.status, 403);
    assert!(
        tcp.get("/api/tools")
            .header("access-control-allow-origin")
            .is_none()
    );
    let answer = tcp.send("OPTIONS", "/api/tools", None);
    assert_eq!(answer.status, 405);
}

#[test]
fn the_profile_has_a_tag_and_a_generation_that_grows_with_changes_only() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let socket = daemon.socket();
    let first = socket.get("/api/profile?active=foo,none&task=do%20foo&lang=zh");
    let document = first.json();
    let text = document["profile"].as_str().unwrap();
    assert!(
        text.contains("## Active skills") && text.contains("[foo]"),
        "{text}"
    );
    assert_eq!(document["missing"], json!(["none"]));
    let tag = first.header("etag").unwrap().to_owned();
    let known = socket.clone().with("If-None-Match", &tag);
    let path = "/api/profile?active=foo,none&task=do%20foo&lang=zh";
    let again = known.get(path);
    assert_eq!((again.status, again.body.len()), (304, 0));
    // Counting changes nothing that an agent sees.
    output(&daemon, "skill_read", json!({"name": "foo"}));
    assert_eq!(known.get(path).status, 304);
    board.user_skill("foo", &edited("foo"));
    let changed = known.get(path);
    assert_eq!(changed.status, 200);
    assert!(changed.json()["generation"].as_u64() > document["generation"].as_u64());
    assert_eq!(socket.get("/api/profile?lang=fr").status, 400);
    board
        .run(&[
            "tool",
            "skill_manage",
            r#"{"action":"archive","name":"foo","reason":"x"}"#,
        ])
        .expect(0);
    let archived = socket.get("/api/profile").json();
    assert!(archived["generation"].as_u64() > changed.json()["generation"].as_u64());
    assert!(!archived["profile"].as_str().unwrap().contains("- foo:"));
    drop(daemon);
    // A daemon that was started again is not taken for the one before.
    let daemon = Daemon::start(&board);
    let after = daemon.socket().get("/api/profile").json();
    assert!(after["generation"].as_u64() > archived["generation"].as_u64());
}

#[test]
fn status_and_diff_are_as_on_the_command_line() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.skill("foo", &version("foo", 2));
    // Without an engine the job stays.
    let daemon = Daemon::start_with(&board, &["--engine", "off"]);
    let socket = daemon.socket();
    let status = socket.get("/api/skills").json();
    assert_eq!(
        status,
        board.run(&["--json", "--engine", "off", "status"]).json()
    );
    for (against, flag) in [("bundled", "--bundled"), ("base", "--base")] {
        let shown = socket
            .get(&format!("/api/skills/foo/diff?against={against}"))
            .json();
        let printed = board.run(&["--json", "diff", flag, "foo"]).json();
        assert_eq!(shown["diff"], printed["diff"], "{against}");
    }
    let texts = socket.get("/api/skills/foo/diff").json()["texts"].clone();
    let wanted =
        json!({"base": version("foo", 1), "bundled": version("foo", 2), "library": edited("foo")});
    assert_eq!(texts, wanted);
    let preview = socket.get("/api/skills/foo/diff?against=preview").json();
    assert_eq!(
        preview["diff"],
        board.run(&["--json", "diff", "--preview", "foo"]).json()["diff"]
    );
    assert_eq!(socket.get("/api/skills/none/diff").status, 404);
    assert_eq!(socket.get("/api/skills/..%2f..%2fx/diff").status, 404);
    assert_eq!(socket.get("/api/skills/foo/diff?against=x").status, 400);
}

#[test]
fn sync_merge_reset_archive_and_reload_do_what_they_say() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let socket = daemon.socket();
    board.skill("new", &version("new", 1));
    let dry = socket.post("/api/sync", &json!({"dry_run": true})).json();
    assert_eq!(
        (&dry["dry_run"], &dry["copied"]),
        (&json!(true), &json!(["new"]))
    );
    assert!(!board.exists("new"));
    let report = socket.send("POST", "/api/sync", None).json();
    assert_eq!(report["copied"], json!(["new"]));
    board.user_skill(
        "foo",
        &version("foo", 1).replacen("---\n", "---\nsource: me\n", 1),
    );
    board.skill("foo", &version("foo", 2));
    let merged = socket.post("/api/merge", &json!({"names": ["foo"]})).json();
    assert_eq!(merged["merged"][0]["name"], "foo", "{merged}");
    assert!(board.text("foo").contains("source: me") && board.text("foo").contains("version 2"));
    assert_eq!(
        socket.post("/api/merge", &json!({"names": "foo"})).status,
        400
    );
    for (path, body, status) in [
        ("/api/sync", json!({"dry-run": true}), 400),
        ("/api/merge", json!({"retry": true}), 400),
        ("/api/merge", json!({"names": ["none"]}), 404),
    ] {
        let answer = socket.post(path, &body);
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
    }
    let reset = socket.send("POST", "/api/skills/foo/reset", None).json();
    assert_eq!(reset["restored"], json!(["foo"]));
    assert_eq!(board.text("foo"), version("foo", 2));
    assert_eq!(
        socket.send("POST", "/api/skills/none/reset", None).status,
        404
    );
    let archived = socket.send("POST", "/api/skills/foo/archive", None).json();
    assert_eq!(archived["output"], "Marked skill \"foo\" as archived");
    assert_eq!(
        socket.send("POST", "/api/skills/none/archive", None).status,
        404
    );
    assert_eq!(
        socket.send("POST", "/api/skills/reload", None).json(),
        json!({"status": "ok"})
    );
}

#[test]
fn metrics_count_calls_merges_syncs_and_flushes() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    output(&daemon, "skill_read", json!({"name": "foo"}));
    call(&daemon, "skill_read", json!({"name": "none"}));
    let text = daemon.socket().get("/metrics").text();
    for line in [
        "aiden_skills_tool_calls_total{tool=\"skill_read\",result=\"ok\"} 1",
        "aiden_skills_tool_calls_total{tool=\"skill_read\",result=\"error\"} 1",
        "aiden_skills_skills{status=\"synced\"} 1",
        "aiden_skills_syncs_total{result=\"whole\"} 1",
        "aiden_skills_merges_total{outcome=\"applied\"} 0",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} in\n{text}");
    }
    let flushes = |text: &str| -> u64 {
        let line = text
            .lines()
            .find(|line| line.starts_with("aiden_skills_flushes_total "));
        line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(flushes(&text), 0, "a sync of what is there flushes nothing");
    board.skill("new", &version("new", 1));
    daemon.socket().send("POST", "/api/sync", None);
    assert!(flushes(&daemon.socket().get("/metrics").text()) >= 1);
}

#[test]
fn the_page_is_one_document_and_all_else_there_needs_the_token() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    let daemon = Daemon::start_with(&board, &["--console", "127.0.0.1:0"]);
    let page = daemon.page();
    let without = page.clone().with("Authorization", "Bearer 0000");
    let shown = without.get("/");
    assert_eq!(shown.status, 200);
    let policy = shown.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(!shown.text().contains("http://") && !shown.text().contains("https://"));
    for path in [
        "/api/skills",
        "/api/tools",
        "/metrics",
        "/healthz",
        "/api/profile",
    ] {
        assert_eq!(without.get(path).status, 401, "{path}");
        assert_eq!(page.get(path).status, 200, "{path}");
    }
    assert_eq!(
        without.send("POST", "/api/skills/foo/reset", None).status,
        401
    );
    assert_eq!(board.text("foo"), edited("foo"));
    assert_eq!(page.send("POST", "/api/skills/foo/reset", None).status, 200);
    assert_eq!(board.text("foo"), version("foo", 1));
    assert_eq!(page.with("Host", "evil.example").get("/").status, 421);
    board
        .run(&["serve", "--socket", "off", "--http", "off"])
        .expect(2);
    let run = board.run(&[
        "serve",
        "--socket",
        "off",
        "--http",
        "off",
        "--console",
        "0.0.0.0:1",
    ]);
    run.expect(2);
}
