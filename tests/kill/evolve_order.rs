//! In which order a change of a workspace reaches flash: what is staged before the list of it, the list before any document
//! comes into place, all of those before the list goes and before anything is said; in at most three flushes.

use crate::board::{Board, Workshop};
use crate::evolve::{Change, adds, imports, merges_and_shortens, promotes, rolls_back, untrusted};
use crate::evolved::{COMMIT, LOCK, STAGE};
use crate::firmware::small;
use crate::rules::{Unflushed, is_within};
use crate::trace::{BOTH_WAYS, Event, Flushing, trace, trace_until_killed};

const WORKSPACE: &str = "skill-state/evolution/alpha";

/// Where the order is broken.
fn broken(events: &[Event]) -> Vec<String> {
    let [stage, list, lock] = [STAGE, COMMIT, LOCK].map(|name| format!("{WORKSPACE}/{name}"));
    let is_document = |path: &str| {
        is_within(path, WORKSPACE) && !is_within(path, &stage) && path != list && path != lock
    };
    let mut broken = Vec::new();
    let mut unflushed = Unflushed::default();
    let mut is_listed = false;
    let mut made = Vec::new();
    for event in events {
        let lost = |unflushed: &Unflushed| -> Vec<String> {
            let all = unflushed.names.iter().chain(&unflushed.data);
            all.filter(|path| is_document(path)).cloned().collect()
        };
        match event {
            Event::Made(path) => made.push(path),
            Event::Marked(path) if made.contains(&path) => {}
            Event::Created(path)
            | Event::Wrote(path)
            | Event::Truncated(path)
            | Event::Marked(path)
                if is_document(path) || *path == list =>
            {
                broken.push(format!("{path} is written where it lies"));
            }
            Event::Renamed { from, to } if *to == list => {
                let staged = unflushed.within(&stage).filter(|path| **path != stage);
                broken.extend(staged.map(|path| format!("the list comes before {path}")));
                is_listed = is_within(from, &stage);
            }
            Event::Renamed { from, to } if is_document(to) => {
                if !is_listed || !is_within(from, &stage) {
                    broken.push(format!("{to} comes without a list"));
                }
                if [&list, &stage]
                    .iter()
                    .any(|name| unflushed.names.contains(*name))
                {
                    broken.push(format!("{to} comes before the list is on flash"));
                }
            }
            Event::Unlinked(path) if *path == list => {
                let lost = lost(&unflushed).into_iter();
                broken.extend(lost.map(|path| format!("the list goes before {path}")));
                is_listed = false;
            }
            Event::Unlinked(path) | Event::RemovedDir(path)
                if is_listed && is_within(path, &stage) =>
            {
                broken.push(format!("{path} goes while the list stands"));
            }
            Event::Unlinked(path) | Event::RemovedDir(path) if is_document(path) => {
                broken.push(format!("{path} goes"));
            }
            Event::Reported => {
                let lost = lost(&unflushed).into_iter();
                broken.extend(lost.map(|path| format!("it ends before {path} is on flash")));
            }
            _ => {}
        }
        unflushed.after(event);
    }
    broken
}

fn arguments<'c>(change: &'c Change<'_>) -> Vec<&'c str> {
    change.arguments.iter().map(String::as_str).collect()
}

#[track_caller]
fn assert_in_order(change: &Change<'_>) {
    for flushing in BOTH_WAYS {
        let board = change.start.fork("traced");
        let traced = trace(&board, flushing, 1, &arguments(change)).expect(&[0]);
        let events = &traced.events;
        let changes = |event: &Event| matches!(event, Event::Renamed { to, .. } if to.ends_with("skill_bank.json"));
        assert!(events.iter().any(changes), "the bank stays: {events:#?}");
        assert_eq!(broken(events), [""; 0], "{flushing:?}: {events:#?}");
        if flushing == Flushing::Whole {
            assert_eq!(traced.flushes(), 3, "{events:#?}");
        }
    }
}

/// One after the other they are judged as one: only the process died, and the page cache lives on.
#[track_caller]
fn assert_finished_in_order(change: &Change<'_>) {
    let next = untrusted();
    let next: Vec<&str> = next.iter().map(String::as_str).collect();
    for flushing in BOTH_WAYS {
        let whole = trace(&change.start.fork("whole"), flushing, 1, &arguments(change));
        let points = whole.calls.iter().filter(|call| {
            !call.fails && (call.name.starts_with("rename") || call.name.contains("sync"))
        });
        for call in points {
            let board: Board<'_> = change.start.fork("cut");
            let mut events = trace_until_killed(&board, flushing, 1, &arguments(change), call);
            let finished = trace(&board, flushing, 1, &next).expect(&[0]);
            events.extend(finished.events);
            assert_eq!(
                broken(&events),
                [""; 0],
                "{flushing:?}, killed before {call:?}: {events:#?}"
            );
        }
    }
}

fn workshop() -> Workshop {
    Workshop::new(vec![small(1)])
}

#[test]
fn what_is_learned_reaches_flash_in_order() {
    assert_in_order(&adds(&workshop()));
    assert_in_order(&merges_and_shortens(&workshop()));
}

#[test]
fn a_promotion_a_rollback_and_an_import_reach_flash_in_order() {
    for change in [promotes, rolls_back, imports] {
        assert_in_order(&change(&workshop()));
    }
}

#[test]
fn a_change_that_was_killed_is_finished_in_order() {
    assert_finished_in_order(&adds(&workshop()));
}
