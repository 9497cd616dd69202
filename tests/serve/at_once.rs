//! Eight clients of the daemon and eight processes beside it, while syncs and merges run: no counter is lost, no file torn, no
//! edit lost without an error, and nobody waits for ever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

const AGENTS: usize = 8;
const LENGTH: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Done {
    reads: AtomicUsize,
    uses: AtomicUsize,
    patches: AtomicUsize,
    merges: AtomicUsize,
}

fn note(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// A call that is not refused; over HTTP, or by a process of its own.
fn done(board: &Board, daemon: Option<&daemon::Client>, tool: &str, input: &Value) -> String {
    let Some(client) = daemon else {
        return board
            .run(&["tool", tool, &input.to_string()])
            .expect(0)
            .stdout;
    };
    let answer = client.post(&format!("/api/tools/{tool}"), &json!({"input": input}));
    let called = answer.json();
    assert_eq!(called["is_error"], false, "{called}");
    called["output"].as_str().unwrap().to_owned()
}

fn work(board: &Board, client: Option<&daemon::Client>, agent: usize, until: Instant, all: &Done) {
    let own = format!("own-{agent}");
    let mut turn = 0;
    while Instant::now() < until {
        turn += 1;
        let read = done(board, client, "skill_read", &json!({"name": "counted"}));
        assert!(read.contains("name: counted"), "{read}");
        note(&all.reads);
        done(
            board,
            client,
            "skill_mark_used",
            &json!({"name": "counted"}),
        );
        note(&all.uses);
        let (old, new) = (
            format!("agent {agent}: {}.", turn - 1),
            format!("agent {agent}: {turn}."),
        );
        let mut patch = json!({
            "action": "patch", "name": "shared", "old_string": old, "new_string": new, "reason": "a test"
        });
        loop {
            // Who is an agent reads before it changes, and reads again if another one was quicker.
            done(board, client, "skill_read", &json!({"name": "shared"}));
            let Some(client) = client else {
                done(board, None, "skill_manage", &patch);
                break;
            };
            let called = client
                .post("/api/tools/skill_manage", &json!({"input": patch}))
                .json();
            if called["is_error"] == false {
                break;
            }
            let error = called["error"].as_str().unwrap();
            assert!(error.contains("has changed since you read it"), "{error}");
        }
        note(&all.patches);
        let text = common::skill_text(&own, "An agent's own.", "Do it.");
        patch = json!({"action": "create", "name": own, "content": text, "reason": "a test"});
        done(board, client, "skill_manage", &patch);
        let delete = json!({"action": "delete", "name": own, "reason": "a test"});
        done(board, client, "skill_manage", &delete);
        let listed = done(board, client, "skill_list", &json!({"query": "agent"}));
        serde_json::from_str::<Value>(&listed).expect("a list is whole");
    }
}

#[test]
fn sixteen_agents_work_while_syncs_and_merges_run() {
    let board = Board::synced(&["counted", "merged"]);
    let lines: Vec<String> = (0..2 * AGENTS)
        .map(|agent| format!("agent {agent}: 0."))
        .collect();
    board.user_skill(
        "shared",
        &common::skill_text("shared", "What all change.", &lines.join("\n")),
    );
    let own = version("merged", 1).replacen("---\n", "---\nsource: me\n", 1);
    board.user_skill("merged", &own);
    let daemon = Daemon::start(&board);
    let all = Done::default();
    let until = Instant::now() + LENGTH;
    thread::scope(|scope| {
        for agent in 0..2 * AGENTS {
            let (board, daemon, all) = (&board, &daemon, &all);
            let name = format!("agent {agent}");
            scope.spawn(move || {
                let client = daemon.socket().with("Aiden-Session", &name);
                let client = (agent < AGENTS).then_some(&client);
                work(board, client, agent, until, all);
            });
        }
        let (board, daemon, all) = (&board, &daemon, &all);
        scope.spawn(move || {
            for firmware in 2.. {
                if Instant::now() >= until {
                    break;
                }
                board.skill("merged", &version("merged", firmware));
                daemon.socket().send("POST", "/api/sync", None);
                let merged = daemon.socket().post("/api/merge", &json!({})).json();
                if merged["merged"]
                    .as_array()
                    .is_some_and(|merged| !merged.is_empty())
                {
                    note(&all.merges);
                }
            }
        });
    });
    let ended = daemon.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let count = |of: &AtomicUsize| of.load(Ordering::Relaxed);
    let usage = std::fs::read_to_string(board.state().join("usage.json")).unwrap();
    let usage: Value = serde_json::from_str(&usage).unwrap();
    assert_eq!(usage["counted"]["view_count"], count(&all.reads));
    assert_eq!(usage["counted"]["use_count"], count(&all.uses));
    assert_eq!(usage["shared"]["modify_count"], count(&all.patches));
    let text = board.text("shared");
    let turns = text.lines().filter_map(|line| {
        line.strip_prefix("agent ")?
            .split(": ")
            .nth(1)?
            .trim_end_matches('.')
            .parse::<usize>()
            .ok()
    });
    assert_eq!(
        turns.sum::<usize>(),
        count(&all.patches),
        "every patch is there: {text}"
    );
    assert!(board.text("merged").contains("source: me"));
    for agent in 0..2 * AGENTS {
        assert!(usage.get(format!("own-{agent}")).is_none());
        assert!(!board.exists(&format!("own-{agent}")));
    }
    println!(
        "{} patches, {} reads, {} merges",
        count(&all.patches),
        count(&all.reads),
        count(&all.merges)
    );
    assert!(count(&all.patches) >= 2 * AGENTS && count(&all.merges) >= 2);
    assert!(common::run(&mut board.command(&["sync"])).code == 0);
    board.assert_at_rest();
}
