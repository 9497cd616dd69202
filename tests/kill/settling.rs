//! Each operation killed at any rename and flush, then a sync, traced: both together are in order, as if
//! there were one run, for only the process died.

use std::collections::BTreeSet;

use crate::operations::{self, Operation, workshop};
use crate::order::broken;
use crate::rules;
use crate::trace::{BOTH_WAYS, Event, Flushing, trace, trace_until_killed, trace_with_failure};
use crate::tracer::Call;

/// What is wrong in the program. A test names those that it meets, and fails when it no longer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// File by file, settling does not flush the names of bases that the killed run had placed.
    PlacedBases,
    /// Settling places and removes bases for intents that the killed run had not flushed.
    UnflushedIntents,
}

impl Fault {
    fn of(broken: &str, flushing: Flushing) -> Option<Self> {
        let of_base = |rest: &str| rest.starts_with("skill-state/bases");
        let late = ["the record comes before ", "it ends before "];
        let mut late = late.iter().filter_map(|start| broken.strip_prefix(start));
        if flushing == Flushing::PerFile && late.any(of_base) {
            return Some(Self::PlacedBases);
        }
        let too_early = broken.ends_with(" changes before the intents are on flash");
        (of_base(broken) && too_early).then_some(Self::UnflushedIntents)
    }
}

fn is_rename(call: &Call) -> bool {
    call.name.starts_with("rename")
}

/// All renames and flushes from the first rename on: before that nothing has changed for which a flush could
/// come too late.
fn points(calls: &[Call]) -> Vec<&Call> {
    let at = |call: &&Call| !call.fails && (is_rename(call) || call.name.contains("sync"));
    let calls = calls.iter().filter(at);
    let points: Vec<&Call> = calls.skip_while(|call| !is_rename(call)).collect();
    println!("{} calls", points.len());
    assert!(!points.is_empty());
    points
}

#[track_caller]
fn assert_settled_in_order(operation: &Operation, faults: &[Fault]) {
    let workshop = workshop();
    let start = (operation.start)(&workshop);
    let (firmware, arguments) = (operation.firmware, operation.arguments);
    let mut found = BTreeSet::new();
    let mut failed = Vec::new();
    for flushing in BOTH_WAYS {
        let whole = trace(&start.fork("whole"), flushing, firmware, arguments);
        for call in points(&whole.calls) {
            let board = start.fork("killed");
            let mut events = trace_until_killed(&board, flushing, firmware, arguments, call);
            let settled = trace(&board, flushing, firmware, &["sync"]).expect(&[0, 3]);
            let told = settled.report()["flushes"].as_u64().unwrap();
            let mut wrong = rules::the_report_counts_the_flushes(&settled.events, told);
            events.extend(settled.events);
            wrong.extend(broken(&events, &[]));
            for broken in wrong {
                match Fault::of(&broken, flushing) {
                    Some(fault) => _ = found.insert(fault),
                    None => failed.push(format!("{flushing:?}, {call:?}: {broken}: {events:#?}")),
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let found: Vec<Fault> = found.into_iter().collect();
    assert_eq!(found, faults, "the faults that are known");
}

#[test]
fn a_first_seed_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(&operations::first_seed(), &[Fault::PlacedBases]);
}

#[test]
fn an_update_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(&operations::update(), &[Fault::PlacedBases]);
}

#[test]
fn a_removal_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(&operations::removal(), &[]);
}

#[test]
fn an_adoption_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(
        &operations::adoption(),
        &[Fault::PlacedBases, Fault::UnflushedIntents],
    );
    assert_settled_in_order(
        &operations::adoption_of_an_edit(),
        &[Fault::PlacedBases, Fault::UnflushedIntents],
    );
}

#[test]
fn a_repair_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(&operations::repair(), &[]);
}

#[test]
fn a_lost_library_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(
        &operations::lost_library(),
        &[Fault::PlacedBases, Fault::UnflushedIntents],
    );
}

#[test]
fn a_deletion_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(&operations::deletion_of_a_skill(), &[]);
}

#[test]
fn a_reset_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(&operations::reset_of_all(), &[]);
    assert_settled_in_order(&operations::reset_that_wakes(), &[]);
}

#[test]
fn a_rebuilding_killed_anywhere_is_settled_in_order() {
    assert_settled_in_order(&operations::rebuilt_from_the_one_before(), &[]);
    assert_settled_in_order(&operations::rebuilt_from_the_bases(), &[]);
}

/// A run that fails in its middle keeps to the order as far as it comes; then a sync settles what it left.
#[test]
fn an_update_that_fails_anywhere_keeps_to_the_order_and_so_does_the_next() {
    let workshop = workshop();
    let Operation {
        start, firmware, ..
    } = operations::update();
    let start = start(&workshop);
    let mut found = BTreeSet::new();
    let mut failed = Vec::new();
    for flushing in BOTH_WAYS {
        let whole = trace(&start.fork("whole"), flushing, firmware, &["sync"]);
        for call in points(&whole.calls) {
            // The first concerns one skill, the other stops the batch.
            let errors = ["EIO", "ENOSPC"].into_iter();
            for errno in errors.take(if is_rename(call) { 2 } else { 1 }) {
                let board = start.fork("failed");
                let mut events =
                    trace_with_failure(&board, flushing, firmware, &["sync"], call, errno);
                events.retain(|event| *event != Event::Reported);
                let next = trace(&board, flushing, firmware, &["sync"]).expect(&[0]);
                events.extend(next.events);
                let mut broken = broken(&events, &[]);
                // A base that could not be placed is gone; it comes back as any missing one.
                broken.retain(|broken| !(errno == "EIO" && is_base_alone(broken)));
                for broken in broken {
                    match Fault::of(&broken, flushing) {
                        Some(fault) => _ = found.insert(fault),
                        None => failed.push(format!("{flushing:?}, {errno} of {call:?}: {broken}")),
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let found: Vec<Fault> = found.into_iter().collect();
    assert_eq!(found, [Fault::PlacedBases], "the faults that are known");
}

/// See the order of a missing base.
fn is_base_alone(broken: &str) -> bool {
    broken.starts_with("skill-state/bases/") && broken.ends_with(" changes without an intent")
}
