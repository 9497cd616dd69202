//! The application of a merge, killed before every call that changes files: it is applied once or not at all, and a model
//! that had answered is not asked again once the intent is on flash.

use std::fs;

use crate::board::{Board, Workshop};
use crate::common::{self, edited, hash, names, version};
use crate::firmware::small;
use crate::stand_in::{Reply, StandIn, merged};
use crate::tracer::{Blow, Call, mutating_calls, strike};

const MERGE: [&str; 3] = ["--engine", "llm", "merge"];

fn both() -> String {
    common::skill_text("alpha", "My own alpha", "Do it my way, as in version 2.")
}

/// Both sides changed `alpha`, and a file of it comes too; the model is the stand-in.
fn diverged<'w>(workshop: &'w Workshop, model: &StandIn) -> Board<'w> {
    let start = workshop.board("start");
    start.run(1, &["sync"]).expect(0);
    fs::write(start.library().join("alpha/SKILL.md"), edited("alpha")).unwrap();
    start.run(1, &["sync"]).expect(0);
    // What merges, and not what a sync does, is looked at.
    start.run(2, &["sync"]).expect(0);
    let toml = format!(
        "[model]\nprovider = \"kimi\"\nmodel = \"m\"\n[skills.merge]\nbase_url = \"{}\"\n",
        model.url()
    );
    fs::write(start.agent.join("agent.toml"), toml).unwrap();
    start
}

fn text(board: &Board<'_>) -> String {
    fs::read_to_string(board.library().join("alpha/SKILL.md")).unwrap()
}

#[track_caller]
fn assert_merged(board: &Board<'_>, case: &str) {
    assert_eq!(text(board), both(), "{case}");
    let record = board.ledger()["skills"]["alpha"].clone();
    assert_eq!(record["status"], "merged", "{case}: {record:#}");
    assert_eq!(record["origin_hash"], hash(version("alpha", 2)), "{case}");
    assert_eq!(record["effective_hash"], hash(both()), "{case}");
    assert!(record.get("pending").is_none(), "{case}: {record:#}");
    let base = fs::read_to_string(board.state().join("bases/alpha/SKILL.md")).unwrap();
    assert_eq!(base, version("alpha", 2), "{case}");
}

/// Whether the ledger says that the merge was begun, or done.
fn is_begun(board: &Board<'_>) -> bool {
    let record = &board.ledger()["skills"]["alpha"];
    record.get("pending").is_some() || record["status"] == "merged"
}

fn cuts(start: &Board<'_>) -> Vec<Call> {
    let mut calls = mutating_calls(&start.fork("recorded"), 2, &MERGE);
    calls.retain(|call| !call.fails);
    calls
}

#[test]
fn a_merge_killed_before_any_call_converges_without_asking_the_model_again() {
    let workshop = Workshop::new(vec![small(1), small(2)]);
    let model = StandIn::new([Reply::Says(200, merged(&both()))]);
    let start = diverged(&workshop, &model);
    let (mut begun, mut lost) = (0, 0);
    for call in cuts(&start) {
        let case = format!("killed before {call:?}");
        let cut = start.fork("cut");
        strike(&cut, 2, &MERGE, &call, Blow::Kill);
        let asked = model.requests().len();
        let is_begun = is_begun(&cut);
        assert!([edited("alpha"), both()].contains(&text(&cut)), "{case}");
        let by_sync = cut.fork("sync");
        let report = by_sync.run(2, &["sync"]).expect(0).json();
        common::check_report(&report);
        if is_begun {
            begun += 1;
            assert_merged(&by_sync, &case);
            assert_eq!(names(&report, "merge_needed"), [""; 0], "{case}");
        } else {
            // Nothing tells of the answer yet.
            lost += 1;
            assert_eq!(names(&report, "merge_needed"), ["alpha"], "{case}");
            assert_eq!(text(&by_sync), edited("alpha"), "{case}");
        }
        assert!(by_sync.staged().is_empty(), "{case}");
        let by_merge = cut.fork("merge");
        by_merge.run(2, &MERGE).expect(0);
        assert_merged(&by_merge, &case);
        let again = model.requests().len() - asked;
        assert_eq!(again, usize::from(!is_begun), "{case}");
    }
    assert!(
        begun >= 8 && lost >= 8,
        "{begun} after the intent, {lost} before"
    );
}

#[test]
fn a_merge_killed_before_any_call_is_forgotten_or_done_under_another_firmware() {
    let workshop = Workshop::new(vec![small(1), small(2), small(3)]);
    let model = StandIn::new([Reply::Says(200, merged(&both()))]);
    let start = diverged(&workshop, &model);
    for call in cuts(&start) {
        for next in [1, 3] {
            let case = format!("killed before {call:?}, then firmware {next}");
            let cut = start.fork("cut");
            strike(&cut, 2, &MERGE, &call, Blow::Kill);
            let report = cut.run(next, &["sync"]).expect(0).json();
            common::check_report(&report);
            let mine = text(&cut);
            assert!([edited("alpha"), both()].contains(&mine), "{case}: {mine}");
            let record = cut.ledger()["skills"]["alpha"].clone();
            let expected = if mine == both() {
                [version("alpha", 2), both()]
            } else {
                [version("alpha", 1), version("alpha", 1)]
            };
            let hashes = [&record["origin_hash"], &record["effective_hash"]];
            assert_eq!(
                hashes,
                [&hash(&expected[0]), &hash(&expected[1])],
                "{case}: {record:#}"
            );
            assert!(record.get("pending").is_none(), "{case}: {record:#}");
            assert!(cut.staged().is_empty(), "{case}");
        }
    }
}
