//! The tools `skill_guide` and `skill_learn`, and guidance in the profile.

use serde_json::{Value, json};

use super::common::{self, Board, Run};

const BACK_UP: &str = "Always back up the config first.";

fn board() -> Board {
    let board = Board::synced(&["foo"]);
    switch_on(&board, "");
    board
}

pub fn switch_on(board: &Board, more: &str) {
    let toml = format!("[skills.evolution]\nenabled = true\n{more}");
    common::write(&board.agent().join("agent.toml"), toml);
}

fn tool(board: &Board, tool: &str, input: &Value) -> Run {
    board.run(&["tool", tool, &input.to_string()])
}

#[track_caller]
fn learn(board: &Board, input: &Value) -> Value {
    let answer = tool(board, "skill_learn", input).expect(0).stdout;
    serde_json::from_str(&answer).unwrap()
}

fn guide(board: &Board, task: &str) -> String {
    tool(board, "skill_guide", &json!({"skill": "foo", "task": task}))
        .expect(0)
        .stdout
}

#[test]
fn they_are_there_only_where_they_are_switched_on() {
    let board = Board::synced(&["foo"]);
    let input = json!({"skill": "foo", "task": "x"});
    for name in ["skill_guide", "skill_learn"] {
        let run = tool(&board, name, &input).expect(1);
        assert!(
            run.stderr.contains("[skills.evolution] enabled = true"),
            "{}",
            run.stderr
        );
    }
    assert!(!board.state().join("evolution").exists());
}

#[test]
fn a_skill_learns_from_its_first_task_on_and_guides_the_next_one() {
    let board = board();
    assert_eq!(guide(&board, "Change the config").trim(), "");
    assert!(
        !board.state().join("evolution").exists(),
        "asking makes nothing"
    );
    let learned = learn(
        &board,
        &json!({"skill": "foo", "signature": "change_config", "task": BACK_UP, "result": {"status": "success"}}),
    );
    assert_eq!(learned["action"], "ADD");
    assert_eq!(
        learned["feedback"]["lesson"],
        "Always back up the config first"
    );
    let manifest = board.state().join("evolution/foo/manifest.json");
    let manifest: Value = serde_json::from_slice(&std::fs::read(manifest).unwrap()).unwrap();
    assert_eq!(manifest["skill_id"], "foo");
    assert_eq!(manifest["description"], "What foo does, version 1");
    let block = guide(&board, "Change the config");
    assert!(
        block.starts_with("=== Skill Guidance (from evolution history) ===\n[1] "),
        "{block}"
    );
    assert!(
        block.contains("\n- Always back up the config first\n"),
        "{block}"
    );
    let run = board
        .run(&["evolve", "validate", "--skill", "foo"])
        .expect(0);
    assert!(run.stdout.contains("0 errors"), "{}", run.stdout);
}

#[test]
fn a_judgement_and_a_result_are_taken_as_objects() {
    let board = board();
    let judgement = json!({"feedback": {"status": "negative", "lesson": "Wait for the page", "source": "explicit"}});
    let learned = learn(&board, &json!({"skill": "foo", "judgement": judgement}));
    assert_eq!(learned["feedback"]["confidence"], 0.9);
    let learned = learn(
        &board,
        &json!({"skill": "foo", "result": {"error": "disk full"}}),
    );
    assert_eq!(learned["feedback"]["status"], "negative");
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    let board = board();
    for (name, input, said) in [
        ("skill_learn", json!({}), "the field `skill` is missing"),
        (
            "skill_guide",
            json!({"skill": "foo"}),
            "the field `task` is missing",
        ),
        (
            "skill_guide",
            json!({"skill": "foo", "task": 5}),
            "the field `task` must be a text in quotes",
        ),
        (
            "skill_learn",
            json!({"skill": "none", "task": BACK_UP}),
            "there is no skill \"none\"",
        ),
        (
            "skill_learn",
            json!({"skill": "../foo", "task": BACK_UP}),
            "there is no skill",
        ),
        (
            "skill_learn",
            json!({"skill": "foo", "result": []}),
            "the field `result` must be an object in braces",
        ),
        (
            "skill_learn",
            json!({"skill": "foo", "judgement": {"feedback": {}}}),
            "the judgement is not as it must be",
        ),
        (
            "skill_learn",
            json!({"skill": "foo", "judgement": {"unknown": 1}}),
            "the judgement is not as it must be",
        ),
    ] {
        let run = tool(&board, name, &input).expect(1);
        assert!(run.stderr.contains(said), "{input}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
    assert!(!board.state().join("evolution").exists());
}

#[test]
fn the_profile_has_the_guidance_of_active_skills_for_the_task() {
    let board = board();
    learn(
        &board,
        &json!({"skill": "foo", "signature": "change_config", "task": BACK_UP}),
    );
    let profile = |arguments: &[&str]| {
        board
            .run(&[&["profile"], arguments].concat())
            .expect(0)
            .stdout
    };
    let with = profile(&["--active", "foo", "--task", "Change the config"]);
    let without = profile(&["--active", "foo", "--task", "Play some jazz"]);
    assert!(
        with.contains("\n## Guidance from experience\n\n[foo]\n=== Skill Guidance"),
        "{with}"
    );
    assert!(with.ends_with("=== End Skill Guidance ===\n"), "{with}");
    assert!(!without.contains("Guidance"), "{without}");
    assert!(!profile(&["--task", "Change the config"]).contains("Guidance"));
    assert!(!profile(&["--active", "foo"]).contains("Guidance"));
}

#[test]
fn a_torn_workspace_costs_its_guidance_and_not_the_profile() {
    let board = board();
    learn(&board, &json!({"skill": "foo", "task": BACK_UP}));
    common::write(&board.state().join("evolution/foo/skill_bank.json"), "{");
    let run = board
        .run(&["profile", "--active", "foo", "--task", "Change the config"])
        .expect(0);
    assert!(run.stdout.contains("[foo] "), "{}", run.stdout);
    assert!(run.stderr.contains("left out"), "{}", run.stderr);
    let said = board.run(&["doctor"]).expect(3).stdout;
    assert!(
        said.contains("foo: 1 faults are in the documents"),
        "{said}"
    );
}

#[test]
fn sync_and_doctor_leave_workspaces_alone() {
    let board = board();
    learn(&board, &json!({"skill": "foo", "task": BACK_UP}));
    let evolution = || board.snapshot().below("agent/skill-state/evolution");
    let before = evolution();
    board.skill("foo", &common::version("foo", 2));
    board.sync().expect(0);
    board.run(&["doctor"]).expect(0);
    before.assert_same(&evolution());
}
