//! The skill tools over HTTP.

use super::*;

#[test]
fn tcp_has_list_and_read_and_the_socket_all_four() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let names = |answer: Answer| -> Vec<String> {
        let tools = answer.json()["tools"].as_array().unwrap().clone();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    };
    assert_eq!(
        names(daemon.tcp().get("/api/tools")),
        ["skill_list", "skill_read"]
    );
    let all = [
        "skill_list",
        "skill_read",
        "skill_manage",
        "skill_mark_used",
    ];
    assert_eq!(names(daemon.socket().get("/api/tools")), all);
    for hidden in ["skill_manage", "skill_mark_used", "nothing"] {
        let path = format!("/api/tools/{hidden}");
        let answer = daemon.tcp().post(&path, &json!({"input": {"name": "foo"}}));
        assert_eq!(answer.status, 404, "{hidden}");
    }
    let list = daemon.socket().get("/api/tools").json()["tools"][0].clone();
    let keys: Vec<&String> = list.as_object().unwrap().keys().collect();
    let mut wanted = [
        "name",
        "category",
        "description",
        "input_mode",
        "example_input",
        "args_schema",
        "http",
    ];
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    assert_eq!(
        list["http"],
        json!({"method": "POST", "path": "/api/tools/skill_list"})
    );
    assert!(serde_json::from_str::<Value>(list["example_input"].as_str().unwrap()).is_ok());
}

#[test]
fn a_call_answers_in_the_shape_of_the_existing_agent() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let tcp = daemon.tcp();
    let called = tcp
        .post("/api/tools/skill_read", &json!({"input": {"name": "foo"}}))
        .json();
    assert_eq!(called["tool"], "skill_read");
    assert_eq!(called["output"], board.text("foo"));
    assert_eq!(called["is_error"], false);
    assert_eq!(called["raw_input"], r#"{"name":"foo"}"#);
    assert!(called["duration_ms"].is_u64() && called.get("error").is_none());
    assert!(called["called_at"].as_str().unwrap().ends_with('Z'));
    let raw = json!({"raw_input": "{\"name\": \"foo\"}"});
    let called = tcp.post("/api/tools/skill_read", &raw).json();
    assert_eq!(
        (&called["output"], &called["raw_input"]),
        (&json!(board.text("foo")), &raw["raw_input"])
    );
    let refused = tcp.post("/api/tools/skill_read", &json!({"input": {"name": "bar"}}));
    assert_eq!(refused.status, 200);
    let refused = refused.json();
    assert_eq!(refused["is_error"], true);
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .starts_with("there is no skill \"bar\"")
    );
    let listed = tcp.send("POST", "/api/tools/skill_list", None).json();
    assert!(
        listed["output"]
            .as_str()
            .unwrap()
            .contains(r#""name":"foo""#)
    );
}

#[test]
fn a_body_that_is_no_input_is_refused_before_anything_is_called() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let before = board.snapshot();
    for body in [
        "{",
        "[]",
        "\"x\"",
        "{\"name\": \"foo\"}",
        "{\"raw_input\": \"{\"}",
        "{\"raw_input\": 1}",
        "{\"input\": {}, \"raw_input\": \"{}\"}",
        "\u{0}",
        "{\"input\":{}}x",
    ] {
        let answer = daemon
            .tcp()
            .send("POST", "/api/tools/skill_list", Some(body));
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert!(answer.json()["error"].is_string());
    }
    before.assert_same(&board.snapshot());
}

#[test]
fn an_agent_changes_only_what_its_session_has_read() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let patch = |old: &str, new: &str| {
        json!({"input": {
            "action": "patch", "name": "foo", "old_string": old, "new_string": new, "reason": "a test"
        }})
        .to_string()
    };
    let read = json!({"input": {"name": "foo"}}).to_string();
    let path = "/api/tools/skill_manage";
    let mut one = daemon.socket().connect();
    let refused = one.send("POST", path, Some(&patch("Do it", "Done"))).json();
    assert!(
        refused["error"].as_str().unwrap().contains("skill_read"),
        "{refused}"
    );
    one.send("POST", "/api/tools/skill_read", Some(&read));
    assert_eq!(
        one.send("POST", path, Some(&patch("Do it", "Done"))).json()["is_error"],
        false
    );
    let mut other = daemon.socket().connect();
    assert_eq!(
        other.send("POST", path, Some(&patch("Done", "x"))).json()["is_error"],
        true
    );
    // Its header makes an agent's connections one session.
    let named = daemon.socket().with("Aiden-Session", "agent 7");
    named.send("POST", "/api/tools/skill_read", Some(&read));
    assert_eq!(
        named.send("POST", path, Some(&patch("Done", "Did"))).json()["is_error"],
        false
    );
    assert!(board.text("foo").contains("Did"));
    // What another one has changed meanwhile must be read again.
    let refused = one.send("POST", path, Some(&patch("Did", "y"))).json();
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("has changed since"),
        "{refused}"
    );
    let wrong = daemon.socket().with("Aiden-Session", &"x".repeat(200));
    assert_eq!(wrong.get("/api/tools").status, 400);
}

#[test]
fn the_bundle_for_outside_agents_is_a_valid_skill_that_names_what_works() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let bundle = daemon.tcp().get("/api/tool-skills").json();
    let skill = &bundle["skills"][0];
    assert_eq!(skill["tool_names"], json!(["skill_list", "skill_read"]));
    let text = skill["markdown"].as_str().unwrap();
    assert!(text.contains(&format!(
        "http://{}/api/tools/skill_list",
        daemon.tcp_address()
    )));
    let directory = board
        .root()
        .join("linted")
        .join(skill["name"].as_str().unwrap());
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("SKILL.md"), text).unwrap();
    board
        .run(&["lint", directory.parent().unwrap().to_str().unwrap()])
        .expect(0);
}

#[test]
fn counts_are_gathered_shown_at_once_and_written_later() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let usage = board.state().join("usage.json");
    let began = std::time::Instant::now();
    for _ in 0..50 {
        output(&daemon, "skill_read", json!({"name": "foo"}));
    }
    let used = output(&daemon, "skill_mark_used", json!({"name": "foo"}));
    assert_eq!(used, "Marked skill \"foo\" as used (use_count=1)");
    let listed: Value = serde_json::from_str(&output(&daemon, "skill_list", json!({}))).unwrap();
    assert_eq!(
        (&listed[0]["view_count"], &listed[0]["use_count"]),
        (&json!(50), &json!(1))
    );
    let text = || std::fs::read_to_string(&usage).unwrap_or_default();
    if began.elapsed() < std::time::Duration::from_secs(4) {
        assert!(!text().contains("view_count"), "{}", text());
    }
    daemon.until("counts are written", || {
        text().contains("\"view_count\": 50")
    });
    output(&daemon, "skill_read", json!({"name": "foo"}));
    assert_eq!(daemon.stop().code, Some(0));
    assert!(text().contains("\"view_count\": 51"), "{}", text());
}

#[test]
fn counts_of_other_processes_and_of_deleted_skills_are_kept_right() {
    let board = Board::synced(&["foo", "gone"]);
    let daemon = Daemon::start(&board);
    output(&daemon, "skill_read", json!({"name": "foo"}));
    output(&daemon, "skill_read", json!({"name": "gone"}));
    let tool = |tool: &str, input: Value| board.run(&["tool", tool, &input.to_string()]).expect(0);
    for _ in 0..3 {
        tool("skill_read", json!({"name": "foo"}));
    }
    tool(
        "skill_manage",
        json!({"action": "delete", "name": "gone", "reason": "a test"}),
    );
    assert_eq!(daemon.stop().code, Some(0));
    let usage = std::fs::read_to_string(board.state().join("usage.json")).unwrap();
    let usage: Value = serde_json::from_str(&usage).unwrap();
    assert_eq!(usage["foo"]["view_count"], 4);
    assert!(usage.get("gone").is_none(), "{usage}");
}

#[test]
fn counts_of_a_skill_that_is_away_for_a_while_are_kept() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    for _ in 0..5 {
        output(&daemon, "skill_read", json!({"name": "foo"}));
    }
    let away = board.root().join("away");
    std::fs::rename(board.library(), &away).unwrap();
    // Longer than counts are held back.
    std::thread::sleep(std::time::Duration::from_secs(6));
    std::fs::rename(&away, board.library()).unwrap();
    assert_eq!(daemon.stop().code, Some(0));
    let usage = std::fs::read_to_string(board.state().join("usage.json")).unwrap();
    assert!(usage.contains("\"view_count\": 5"), "{usage}");
}

#[test]
fn a_count_that_was_shown_never_goes_back() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(12);
    let mut last = 0;
    while std::time::Instant::now() < until {
        output(&daemon, "skill_read", json!({"name": "foo"}));
        let listed: Value =
            serde_json::from_str(&output(&daemon, "skill_list", json!({}))).unwrap();
        let count = listed[0]["view_count"].as_u64().unwrap();
        assert_eq!(count, last + 1);
        last = count;
    }
}
