//! Agents at work while syncs and merges run: no counter is lost, no file torn, no edit lost without an error, and nobody
//! waits for ever.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::board::{Board, Workshop};
use crate::common::{self, Run};
use crate::firmware::small;

const AGENTS: usize = 8;
const LENGTH: Duration = Duration::from_secs(20);

fn tool(board: &Board<'_>, name: &str, input: Value) -> Run {
    let mut command = board.command(1, &["tool", name, &input.to_string()]);
    common::run(&mut command)
}

fn manage(board: &Board<'_>, action: &str, name: &str, more: Value) -> Run {
    let mut input = json!({"action": action, "name": name, "reason": "a test"});
    input
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    tool(board, "skill_manage", input)
}

#[derive(Default)]
struct Done {
    reads: AtomicUsize,
    uses: AtomicUsize,
    patches: AtomicUsize,
}

/// One agent's work: a line of its own in a text that all patch, reads and marks that are counted, and a skill of its own
/// that comes and goes.
fn work(board: &Board<'_>, agent: usize, until: Instant, done: &Done) {
    let own = format!("own-{agent}");
    let mut turn = 0;
    while Instant::now() < until {
        turn += 1;
        let read = tool(board, "skill_read", json!({"name": "gamma"})).expect(0);
        assert!(read.stdout.contains("name: gamma"), "{read:?}");
        done.reads.fetch_add(1, Ordering::Relaxed);
        tool(board, "skill_mark_used", json!({"name": "gamma"})).expect(0);
        done.uses.fetch_add(1, Ordering::Relaxed);
        let old = format!("agent {agent}: {}.", turn - 1);
        let new = format!("agent {agent}: {turn}.");
        manage(
            board,
            "patch",
            "shared",
            json!({"old_string": old, "new_string": new}),
        )
        .expect(0);
        done.patches.fetch_add(1, Ordering::Relaxed);
        let content = common::skill_text(&own, "An agent's own.", "Do it.");
        manage(board, "create", &own, json!({"content": content})).expect(0);
        let file = json!({"file_path": "references/a.md", "file_content": "x".repeat(2000)});
        manage(board, "write_file", &own, file).expect(0);
        manage(board, "delete", &own, json!({})).expect(0);
        let listed = tool(board, "skill_list", json!({"query": "agent"})).expect(0);
        serde_json::from_str::<Value>(&listed.stdout).expect("a list is whole");
    }
}

#[test]
fn eight_agents_work_while_syncs_and_merges_run() {
    let workshop = Workshop::new(vec![small(1), small(2)]);
    let board = workshop.board("agents");
    board.run(1, &["sync"]).expect(0);
    let lines: Vec<String> = (0..AGENTS)
        .map(|agent| format!("agent {agent}: 0."))
        .collect();
    let shared = common::skill_text("shared", "What all change.", &lines.join("\n"));
    fs::create_dir(board.library().join("shared")).unwrap();
    fs::write(board.library().join("shared/SKILL.md"), shared).unwrap();
    // Each firmware after the other one is a merge of this.
    let alpha = board.library().join("alpha/SKILL.md");
    let edited = fs::read_to_string(&alpha).unwrap();
    fs::write(&alpha, edited.replacen("---\n", "---\nsource: me\n", 1)).unwrap();
    let until = Instant::now() + LENGTH;
    let done = Done::default();
    let (syncs, merges) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (board, done_ref) = (&board, &done);
    thread::scope(|scope| {
        for agent in 0..AGENTS {
            scope.spawn(move || work(board, agent, until, done_ref));
        }
        let (syncs, merges) = (&syncs, &merges);
        scope.spawn(move || {
            for firmware in [2, 1].into_iter().cycle() {
                if Instant::now() >= until {
                    break;
                }
                board.run(firmware, &["sync"]).expect(0);
                let merge = &["--engine", "structural", "merge"];
                let merged = board.run(firmware, merge).expect(0).json();
                syncs.fetch_add(1, Ordering::Relaxed);
                let merged = merged["merged"].as_array().unwrap().len();
                merges.fetch_add(merged, Ordering::Relaxed);
            }
        });
    });
    let usage = fs::read(board.state().join("usage.json")).unwrap();
    let usage: Value = serde_json::from_slice(&usage).unwrap();
    let count = |of: &AtomicUsize| of.load(Ordering::Relaxed);
    assert_eq!(usage["gamma"]["view_count"], count(&done.reads));
    assert_eq!(usage["gamma"]["use_count"], count(&done.uses));
    assert_eq!(usage["shared"]["modify_count"], count(&done.patches));
    let text = fs::read_to_string(board.library().join("shared/SKILL.md")).unwrap();
    let turns = |line: &str| {
        line.split(": ")
            .nth(1)?
            .trim_end_matches('.')
            .parse::<usize>()
            .ok()
    };
    let sum: usize = text
        .lines()
        .filter(|line| line.starts_with("agent "))
        .filter_map(turns)
        .sum();
    assert_eq!(sum, count(&done.patches), "every patch is there: {text}");
    for agent in 0..AGENTS {
        assert!(usage.get(format!("own-{agent}")).is_none());
        assert!(!board.library().join(format!("own-{agent}")).exists());
    }
    let (syncs, merges) = (count(&syncs), count(&merges));
    println!(
        "{} patches, {} reads, {syncs} syncs, {merges} merges",
        count(&done.patches),
        count(&done.reads)
    );
    assert!(count(&done.patches) >= AGENTS && syncs >= 3 && merges >= 3);
    let alpha = fs::read_to_string(&alpha).unwrap();
    assert!(alpha.contains("source: me"), "the edit is there: {alpha}");
    board.run(1, &["sync"]).expect(0);
    let doctor = common::run(&mut board.command(1, &["doctor"])).json();
    for finding in doctor["findings"].as_array().unwrap() {
        let problem = finding["problem"].as_str().unwrap();
        assert!(problem.starts_with("it was changed "), "{finding}");
    }
    assert!(board.staged().is_empty());
}
