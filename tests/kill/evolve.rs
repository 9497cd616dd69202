//! Changes of a workspace, killed before every call that changes files: the bank is the one before or the one after, each
//! change has its snapshot and its audit, and the next command works.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::board::{Board, Workshop};
use crate::common::Run;
use crate::evolved::{self, BANK, COMMIT, Files, LOCK, told};
use crate::firmware::small;
use crate::operations::{evolving, in_workspace, seeded};
use crate::tracer::{Blow, Call, mutating_calls, strike};

const GOVERNOR: &str = "the-governor";
const NOT_TRUSTED: &str = "Never mind";
/// An entry that is imported.
const LONG: &str = "skl-000000000001";

fn workspace(board: &Board<'_>) -> PathBuf {
    board.state().join("evolution/alpha")
}

fn files(board: &Board<'_>) -> Files {
    let mut files = Files::new();
    collect(&workspace(board), "", &mut files);
    files
}

fn collect(directory: &Path, below: &str, files: &mut Files) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let path = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if path != LOCK {
            files.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

/// The judgement of a lesson, and what becomes of it.
fn judgement(lesson: &str, confidence: f64, matched: Value) -> String {
    let feedback = json!({
        "status": "positive", "lesson": lesson, "source": "user_input", "confidence": confidence
    });
    json!({"feedback": feedback, "match": matched}).to_string()
}

fn added(lesson: &str) -> String {
    judgement(lesson, 0.8, json!({"relation": "none"}))
}

fn learn(judgement: &str) -> Vec<String> {
    in_workspace(&["learn", "--signature", "habits", "--judgement", judgement])
}

/// A lesson that changes nothing but the records.
pub fn untrusted() -> Vec<String> {
    learn(&judgement(NOT_TRUSTED, 0.1, json!({"relation": "none"})))
}

fn run(board: &Board<'_>, arguments: &[String]) -> Run {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    board.run(1, &arguments)
}

/// What was learned, as the command or the tool says.
#[track_caller]
fn learned(board: &Board<'_>, arguments: &[String]) -> Value {
    let said = run(board, arguments).expect(0).json();
    match said["output"].as_str() {
        Some(output) => serde_json::from_str(output).unwrap(),
        None => said,
    }
}

/// A bank whose first entry is as long as may be, and says something twice.
fn bank() -> Value {
    let line = |number: u32| format!("- Habit number {number} of {}", number * number);
    let lines: Vec<String> = (1..=12).chain(3..=5).map(line).collect();
    let entry = |id: &str, title: &str, content: &str| {
        json!({
            "skill_entry_id": id, "title": title, "content": content, "version": "0.1.3",
            "task_signature": "habits", "keywords": ["habit"], "source_experience_ids": [],
            "updated_at": "2026-01-01T00:00:00Z"
        })
    };
    let second = entry("skl-000000000002", "Lamps", "- Dim lamps after sunset");
    json!({"skills": [entry(LONG, "Habits", &lines.join("\n")), second]})
}

/// A change, and the board that it starts from.
pub struct Change<'w> {
    pub start: Board<'w>,
    pub arguments: Vec<String>,
}

fn file(board: &Board<'_>, name: &str, content: &Value) -> String {
    let path = board.agent.join(name);
    fs::write(&path, content.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A workspace that has learned one thing.
pub fn adds(workshop: &Workshop) -> Change<'_> {
    let start = evolving(workshop);
    let arguments = learn(&added("Print tickets before travelling"));
    Change { start, arguments }
}

pub fn imports(workshop: &Workshop) -> Change<'_> {
    let start = evolving(workshop);
    let bank = file(&start, "bank.json", &bank());
    let arguments = in_workspace(&["import", &bank]);
    Change { start, arguments }
}

pub fn merges_and_shortens(workshop: &Workshop) -> Change<'_> {
    let Change { start, arguments } = imports(workshop);
    run(&start, &arguments).expect(0);
    let matched = json!({"skill_entry_id": LONG, "relation": "compatible"});
    let arguments = learn(&judgement("Charge the vacuum cleaner", 0.8, matched));
    Change { start, arguments }
}

pub fn rolls_back(workshop: &Workshop) -> Change<'_> {
    let Change { start, arguments } = imports(workshop);
    run(&start, &arguments).expect(0);
    let arguments = in_workspace(&["rollback", "--reason", "a test"]);
    Change { start, arguments }
}

pub fn promotes(workshop: &Workshop) -> Change<'_> {
    let start = seeded(workshop);
    let init = [
        "init",
        "--id",
        "alpha",
        "--name",
        "Alpha",
        "--description",
        "Learns.",
        "--governor",
        GOVERNOR,
    ];
    run(&start, &in_workspace(&init)).expect(0);
    let learned = run(&start, &learn(&added("Print tickets before travelling")))
        .expect(0)
        .json();
    let proposal = learned["proposal_id"].as_str().unwrap();
    let decision = json!({
        "schema_name": "PromotionDecision", "schema_version": "1.0.0", "protocol_version": "1.0.0",
        "decision_id": proposal.replace("prop-", "dec-"), "proposal_id": proposal, "skill_id": "alpha",
        "decided_at": "2026-04-01T00:00:00Z", "decider": {"authority": "governor", "id": GOVERNOR},
        "outcome": "promoted", "reason": "a test", "effective_version": "0.2.0", "evidence_refs": []
    });
    let decision = file(&start, "decision.json", &decision);
    let arguments = in_workspace(&["decide", "--decision", &decision]);
    Change { start, arguments }
}

/// An agent's first lesson makes the workspace.
fn begins(workshop: &Workshop) -> Change<'_> {
    let start = seeded(workshop);
    fs::write(
        start.agent.join("agent.toml"),
        "[skills.evolution]\nenabled = true\n",
    )
    .unwrap();
    let arguments = tool(&added("Print tickets before travelling"));
    Change { start, arguments }
}

fn tool(judgement: &str) -> Vec<String> {
    let judgement: Value = serde_json::from_str(judgement).unwrap();
    let input = json!({"skill": "alpha", "signature": "habits", "judgement": judgement});
    ["tool", "skill_learn", &input.to_string()]
        .map(str::to_owned)
        .to_vec()
}

fn kill_points(start: &Board<'_>, arguments: &[String]) -> Vec<Call> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut calls = mutating_calls(&start.fork("recorded"), 1, &arguments);
    // A call that does nothing leaves what the one before it left.
    calls.retain(|call| !call.fails);
    println!("{} calls of {arguments:?} to be killed before", calls.len());
    calls
}

fn killed<'w>(board: Board<'w>, arguments: &[String], call: &Call) -> Board<'w> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    strike(&board, 1, &arguments, call, Blow::Kill);
    board
}

/// What a change makes of a bank.
struct Expected {
    before: Option<Vec<u8>>,
    after: Value,
    /// Of a change in two steps, what the first of them makes.
    between: Option<Value>,
    learn: fn(&str) -> Vec<String>,
    /// What becomes of a new lesson.
    action: &'static str,
}

impl Expected {
    fn of(change: &Change<'_>) -> Self {
        let before = files(&change.start).remove(BANK);
        let undisturbed = change.start.fork("undisturbed");
        run(&undisturbed, &change.arguments).expect(0);
        let after = files(&undisturbed);
        assert_eq!(evolved::judge(&after), [""; 0]);
        let old = before.clone().unwrap_or_default();
        Self {
            after: told(&after[BANK], &old),
            before,
            between: None,
            learn,
            action: "ADD",
        }
    }

    fn is_before(&self, files: &Files) -> bool {
        files.get(BANK) == self.before.as_ref()
    }

    fn is_after(&self, files: &Files) -> bool {
        self.told(files).as_ref() == Some(&self.after)
    }

    fn told(&self, files: &Files) -> Option<Value> {
        let old = self.before.clone().unwrap_or_default();
        files.get(BANK).map(|bank| told(bank, &old))
    }

    /// Judges what a kill left, and what the next commands make of it.
    #[track_caller]
    fn check(&self, cut: &Board<'_>, case: &str) {
        let left = files(cut);
        let is_between = |files: &Files| self.between.is_some() && self.told(files) == self.between;
        let (is_before, is_after) = (self.is_before(&left), self.is_after(&left));
        assert!(
            is_before || is_after || is_between(&left),
            "{case}: {:?}",
            self.told(&left)
        );
        let is_done = is_after || left.contains_key(COMMIT);
        let untrusted = judgement(NOT_TRUSTED, 0.1, json!({"relation": "none"}));
        let next = learned(cut, &(self.learn)(&untrusted));
        assert_eq!(next["action"], "GATE_BLOCKED", "{case}");
        let now = files(cut);
        if self.between.is_none() {
            assert_eq!(
                self.is_after(&now),
                is_done,
                "{case}: {:?}",
                self.told(&now)
            );
            assert_eq!(
                self.is_before(&now),
                !is_done,
                "{case}: {:?}",
                self.told(&now)
            );
        } else {
            assert!(
                self.is_after(&now) || is_between(&now),
                "{case}: {:?}",
                self.told(&now)
            );
        }
        assert_whole(cut, case);
        let next = learned(cut, &(self.learn)(&added("Water plants on Monday")));
        assert_eq!(next["action"], self.action, "{case}");
        assert_whole(cut, case);
    }
}

/// All of it is valid, told of, and nothing is left over.
#[track_caller]
fn assert_whole(board: &Board<'_>, case: &str) {
    let now = files(board);
    let mut wrong = evolved::judge(&now);
    wrong.extend(evolved::leftovers(&now));
    assert_eq!(wrong, [""; 0], "{case}");
    let validated = run(board, &in_workspace(&["validate"])).expect(0).json();
    assert_eq!(validated["errors"], json!([]), "{case}");
}

#[track_caller]
fn assert_all_or_nothing(change: &Change<'_>, expected: &Expected) {
    for call in kill_points(&change.start, &change.arguments) {
        let cut = killed(change.start.fork("cut"), &change.arguments, &call);
        expected.check(&cut, &format!("killed before {call:?}"));
    }
}

fn workshop() -> Workshop {
    Workshop::new(vec![small(1)])
}

#[test]
fn a_lesson_that_is_added_killed_before_any_call_is_added_or_not() {
    let workshop = workshop();
    let change = adds(&workshop);
    assert_all_or_nothing(&change, &Expected::of(&change));
}

#[test]
fn a_lesson_that_is_merged_and_shortened_killed_before_any_call_is_so_or_not() {
    let workshop = workshop();
    let change = merges_and_shortens(&workshop);
    let said = run(&change.start.fork("said"), &change.arguments)
        .expect(0)
        .json();
    assert_eq!(
        [&said["action"], &said["synthesized"]],
        [&json!("MERGE"), &json!(true)]
    );
    assert_all_or_nothing(&change, &Expected::of(&change));
}

#[test]
fn a_promotion_killed_before_any_call_is_made_or_not() {
    let workshop = workshop();
    let change = promotes(&workshop);
    let expected = Expected {
        action: "PROPOSE",
        ..Expected::of(&change)
    };
    let proposals = in_workspace(&["proposals"]);
    let official = |board: &Board<'_>| {
        let manifest: Value = serde_json::from_slice(&files(board)["manifest.json"]).unwrap();
        manifest["official_ref"]["promotion_decision_id"].is_string()
    };
    for call in kill_points(&change.start, &change.arguments) {
        let case = format!("killed before {call:?}");
        let cut = killed(change.start.fork("cut"), &change.arguments, &call);
        expected.check(&cut.fork("next"), &case);
        // The governor decides again, and it counts once.
        let again = run(&cut, &change.arguments);
        assert!(matches!(again.code, 0 | 1), "{case}: {again:?}");
        assert!(expected.is_after(&files(&cut)) && official(&cut), "{case}");
        assert_eq!(run(&cut, &proposals).expect(0).json(), json!([]), "{case}");
        assert_whole(&cut, &case);
    }
}

#[test]
fn a_rollback_killed_before_any_call_is_made_or_not() {
    let workshop = workshop();
    let change = rolls_back(&workshop);
    assert_all_or_nothing(&change, &Expected::of(&change));
}

#[test]
fn an_import_killed_before_any_call_is_made_or_not() {
    let workshop = workshop();
    let change = imports(&workshop);
    assert_all_or_nothing(&change, &Expected::of(&change));
}

#[test]
fn the_first_lesson_of_an_agent_killed_before_any_call_leaves_a_workspace_that_learns() {
    let workshop = workshop();
    let change = begins(&workshop);
    let expected = Expected {
        between: Some(json!({"skills": []})),
        learn: tool,
        ..Expected::of(&change)
    };
    assert_all_or_nothing(&change, &expected);
}

/// The command that finishes what was cut off is killed as well.
#[test]
fn finishing_killed_before_any_call_is_finished_by_the_next() {
    let workshop = workshop();
    let change = adds(&workshop);
    let expected = Expected::of(&change);
    let calls = kill_points(&change.start, &change.arguments);
    let placing: Vec<&Call> = calls
        .iter()
        .filter(|call| call.name.starts_with("rename"))
        .collect();
    let settle = untrusted();
    // When the list is in place, and in the middle.
    for first in [placing[1], placing[placing.len() / 2]] {
        let cut = killed(change.start.fork("first-cut"), &change.arguments, first);
        for second in kill_points(&cut, &settle) {
            let case = format!("killed before {first:?}, then before {second:?}");
            let again = killed(cut.fork("second-cut"), &settle, &second);
            expected.check(&again, &case);
        }
    }
}

#[test]
fn publishing_killed_before_any_call_leaves_the_skill_old_or_new() {
    let workshop = workshop();
    let start = evolving(&workshop);
    let publish = in_workspace(&["publish"]);
    let text = |board: &Board<'_>| fs::read(board.library().join("alpha/SKILL.md")).unwrap();
    let (old, bank) = (text(&start), files(&start));
    let undisturbed = start.fork("undisturbed");
    run(&undisturbed, &publish).expect(0);
    let new = text(&undisturbed);
    assert_ne!(old, new);
    for call in kill_points(&start, &publish) {
        let case = format!("killed before {call:?}");
        let cut = killed(start.fork("cut"), &publish, &call);
        assert!([&old, &new].contains(&&text(&cut)), "{case}");
        let synced = cut.fork("synced");
        synced.run(1, &["sync"]).expect(0);
        for board in [&cut, &synced] {
            run(board, &publish).expect(0);
            assert!(text(board) == new, "{case}");
            assert_eq!(files(board), bank, "{case}");
            assert_whole(board, &case);
            board.run(1, &["sync"]).expect(0);
            assert!(text(board) == new, "{case}");
            assert_eq!(board.staged(), [""; 0], "{case}");
        }
    }
}

/// What was said to be done is done; otherwise it is done or not, as the next command finds it.
#[test]
fn a_lesson_survives_an_error_of_any_call() {
    let workshop = workshop();
    let change = adds(&workshop);
    let expected = Expected::of(&change);
    let arguments: Vec<&str> = change.arguments.iter().map(String::as_str).collect();
    for errno in ["EIO", "ENOSPC"] {
        for call in kill_points(&change.start, &change.arguments) {
            let board = change.start.fork("failed");
            let output = strike(&board, 1, &arguments, &call, Blow::Fail(errno));
            let said = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            let case = format!("{errno} of {call:?}, which ended with {code:?}: {said}");
            match code {
                Some(0) => assert!(expected.is_after(&files(&board)), "{case}"),
                Some(1) => assert!(said.contains(workspace(&board).to_str().unwrap()), "{case}"),
                _ => panic!("a wrong exit code after {case}"),
            }
            expected.check(&board, &case);
        }
    }
}
