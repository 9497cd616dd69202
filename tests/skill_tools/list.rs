use super::common::{Board, bare_command, run, skill_text};
use super::*;

#[test]
fn skills_are_one_line_of_json_with_their_counters() {
    let board = Board::synced(&["foo"]);
    set_usage(
        &board,
        json!({"foo": {"view_count": 12, "use_count": 5, "modify_count": 1}}),
    );
    let text = answer(&board, "skill_list", json!({}));
    assert_eq!(
        text,
        r#"[{"name":"foo","description":"What foo does, version 1","state":"active","view_count":12,"use_count":5,"modify_count":1}]"#
    );
}

#[test]
fn without_skills_it_is_an_empty_array() {
    let board = Board::new();
    assert_eq!(answer(&board, "skill_list", json!({})), "[]");
    assert_eq!(
        answer(&board, "skill_list", json!({"query": "anything"})),
        "[]"
    );
}

#[test]
fn archived_ones_are_left_out_unless_asked_for() {
    let board = Board::synced(&["a", "b", "c"]);
    set_usage(
        &board,
        json!({"b": {"state": "archived"}, "c": {"state": "stale"}}),
    );
    assert_eq!(list(&board, json!({})), ["a", "c"]);
    assert_eq!(
        list(&board, json!({"include_archived": true})),
        ["a", "c", "b"]
    );
    assert_eq!(list(&board, json!({"state": "archived"})), ["b"]);
    assert_eq!(list(&board, json!({"state": "stale"})), ["c"]);
    let error = refusal(&board, "skill_list", json!({"state": "gone"}));
    assert_eq!(
        error,
        "there is no state \"gone\": use active, stale or archived"
    );
}

#[test]
fn without_a_query_what_is_used_more_and_more_recently_comes_first() {
    let board = Board::synced(&["a", "b", "c", "d"]);
    set_usage(
        &board,
        json!({
            "c": {"use_count": 2, "last_used_at": "2026-01-01T00:00:00Z"},
            "d": {"use_count": 2, "last_used_at": "2026-02-01T00:00:00Z"},
            "b": {"use_count": 9, "state": "stale"}
        }),
    );
    assert_eq!(list(&board, json!({})), ["d", "c", "a", "b"]);
    assert_eq!(list(&board, json!({"limit": 2})), ["d", "c"]);
    assert_eq!(
        refusal(&board, "skill_list", json!({"limit": 0})),
        "the field `limit` must be at least 1; leave it out to list all"
    );
}

#[test]
fn with_a_query_the_best_match_comes_first() {
    let board = Board::new();
    for (name, description, body) in [
        (
            "payment-confirm",
            "Confirm amount and payee before a payment.",
            "Look twice.",
        ),
        (
            "app-login",
            "Log in to an app.",
            "Never pay while logging in: see payment rules.",
        ),
        ("wifi", "连接酒店无线网络", "打开设置。"),
        ("other", "Something else.", "Nothing."),
    ] {
        board.user_skill(name, &skill_text(name, description, body));
    }
    assert_eq!(
        list(&board, json!({"query": "payment login"})),
        ["app-login", "payment-confirm"]
    );
    assert_eq!(
        list(&board, json!({"query": "confirming payments"}))[0],
        "payment-confirm"
    );
    assert_eq!(list(&board, json!({"query": "酒店网络"})), ["wifi"]);
    assert_eq!(
        list(&board, json!({"query": "MENT-CONF"})),
        ["payment-confirm"],
        "a part of a word"
    );
    assert_eq!(list(&board, json!({"query": "zebra"})), [""; 0]);
    assert_eq!(list(&board, json!({"query": "  "})).len(), 4);
}

#[test]
fn a_skill_is_found_by_its_keywords_too_wherever_they_stand() {
    let board = Board::new();
    for (name, keywords) in [
        ("text", "metadata:\n  keywords: 登录 验证码\n"),
        ("items", "tags: [sign-in, 7]\ntriggers: {no: list}\n"),
        ("none", ""),
    ] {
        let text = skill_text(name, "Log in to an app.", "Tap.");
        board.user_skill(
            name,
            &text.replace("---\n\n", &format!("{keywords}---\n\n")),
        );
    }
    assert_eq!(list(&board, json!({"query": "登录"})), ["text"]);
    assert_eq!(list(&board, json!({"query": "Sign-In"})), ["items"]);
}

#[test]
fn the_skills_of_this_firmware_are_found_in_chinese() {
    let board = Board::new();
    let mut sync = bare_command();
    sync.args(["sync", "--config-dir"]).arg(board.agent());
    sync.arg("--bundled-dir")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/oem-skills"));
    run(&mut sync).expect(0);
    for (query, wanted) in [
        ("登录微信账号", "app-login"),
        ("连接无线网络", "device-settings"),
        ("支付前确认", "payment-confirm"),
        ("做一个计划", "planner"),
        ("搜索资料", "research"),
        ("编写技能", "skill-authoring"),
        ("点击屏幕", "ui-operator"),
    ] {
        let found = list(&board, json!({"query": query}));
        assert_eq!(found.first().map(String::as_str), Some(wanted), "{query}");
    }
}

#[test]
fn skills_for_other_devices_are_hidden_unless_asked_for() {
    let board = Board::new();
    let text = skill_text("phone", "For phones.", "Tap.").replace(
        "---\n\n",
        "metadata:\n  device_types: [iOS, Android]\n---\n\n",
    );
    board.user_skill("phone", &text);
    board.user_skill("all", &skill_text("all", "For all.", "Tap."));
    let listed = |device: &str, more: &str| {
        board
            .run(&["--device-type", device, "tool", "skill_list", more])
            .expect(0)
            .stdout
    };
    assert!(!listed("linux", "{}").contains("phone"));
    assert!(listed("ios", "{}").contains("phone"));
    assert!(listed("linux", r#"{"include_incompatible": true}"#).contains("phone"));
}

#[test]
fn what_does_not_load_is_not_listed_and_hides_nothing() {
    let board = Board::synced(&["good"]);
    board.user_file("bad/SKILL.md", "no frontmatter");
    board.user_file("near/skill.md", "---\nname: near\ndescription: x\n---\nx\n");
    board.user_skill("twice", &skill_text("good", "Another good.", "x"));
    assert_eq!(list(&board, json!({})), ["good"]);
}

#[test]
fn a_list_writes_nothing_but_the_daily_look() {
    let board = Board::synced(&["foo"]);
    answer(&board, "skill_list", json!({}));
    let before = board.snapshot();
    answer(&board, "skill_list", json!({"query": "foo"}));
    before.assert_same(&board.snapshot());
}
