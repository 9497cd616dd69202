//! Each operation of the real program, traced: data is on flash before its name, intents before the library
//! changes, names before the record, the record before the report; and in how many flushes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::chown;

use crate::board::Workshop;
use crate::firmware::Firmware;
use crate::operations::{self, Operation, RESET_ALL, new, seeded, workshop};
use crate::rules;
use crate::trace::{BOTH_WAYS, Event, Flushing, Trace, trace};

/// Where the rules are broken: the program's own order, and what the user did before, as if none of it had
/// reached the flash.
pub fn broken(events: &[Event], user: &[Event]) -> Vec<String> {
    let own = rules::ORDER.iter().flat_map(|rule| rule(events));
    let relied_on = rules::names_are_on_flash_before_the_record(&[user, events].concat());
    let all: BTreeSet<String> = own.chain(relied_on).collect();
    all.into_iter().collect()
}

/// The rules are broken there and nowhere else.
#[track_caller]
fn assert_broken(trace: &Trace, user: &[Event], expected: &[&str], case: &str) {
    let events = &trace.events;
    let mut all = broken(events, user);
    let told = trace.report()["flushes"].as_u64().unwrap();
    all.extend(rules::the_report_counts_the_flushes(events, told));
    assert_eq!(all, expected, "{case}: {events:#?}");
}

#[track_caller]
fn assert_in_order(operation: &Operation) {
    let workshop = workshop();
    let start = (operation.start)(&workshop);
    for flushing in BOTH_WAYS {
        let case = format!("{flushing:?}");
        let board = start.fork("traced");
        let traced = trace(&board, flushing, operation.firmware, operation.arguments);
        let traced = traced.expect(&[operation.code]);
        let wrote = traced
            .events
            .iter()
            .any(|e| matches!(e, Event::Renamed { .. }));
        assert!(wrote, "{case}: it did nothing: {:#?}", traced.report());
        if operation.has_intents {
            assert_broken(&traced, &(operation.user)(), &[], &case);
        } else {
            let mut broken = broken(&traced.events, &(operation.user)());
            broken.retain(|rule| !rule.ends_with(" changes without an intent"));
            assert!(
                broken.is_empty(),
                "{case}: {broken:?}: {:#?}",
                traced.events
            );
        }
        if flushing == Flushing::Whole {
            let events = &traced.events;
            assert_eq!(
                traced.flushes(),
                operation.flushes,
                "{case}: {:?}: {events:#?}",
                operation.arguments
            );
        }
    }
}

#[test]
fn a_first_seed_reaches_flash_in_order() {
    assert_in_order(&operations::first_seed());
}

#[test]
fn an_update_reaches_flash_in_order() {
    assert_in_order(&operations::update());
}

#[test]
fn a_removal_reaches_flash_in_order() {
    assert_in_order(&operations::removal());
}

#[test]
fn an_adoption_reaches_flash_in_order() {
    assert_in_order(&operations::adoption());
    assert_in_order(&operations::adoption_of_an_edit());
}

#[test]
fn a_merge_reaches_flash_in_order() {
    assert_in_order(&operations::merge_of_a_text());
    assert_in_order(&operations::merge());
    assert_in_order(&operations::failed_merge());
}

#[test]
fn what_a_tool_changes_reaches_flash_in_order() {
    for operation in operations::tools() {
        assert_in_order(&operation);
    }
}

#[test]
fn what_is_published_reaches_flash_in_order() {
    assert_in_order(&operations::publication());
}

#[test]
fn a_repair_reaches_flash_in_order() {
    assert_in_order(&operations::repair());
}

#[test]
fn a_lost_library_comes_back_in_order() {
    assert_in_order(&operations::lost_library());
}

#[test]
fn a_deletion_has_intents_in_order() {
    assert_in_order(&operations::deletion_of_a_skill());
    assert_in_order(&operations::deletion_of_a_text());
    assert_in_order(&operations::deletion_of_a_file());
}

#[test]
fn a_reset_reaches_flash_in_order() {
    assert_in_order(&operations::reset_of_one());
    assert_in_order(&operations::reset_of_all());
}

#[test]
fn a_reset_that_wakes_a_skill_reaches_flash_in_order() {
    assert_in_order(&operations::reset_that_wakes());
}

#[test]
fn a_ledger_is_rebuilt_in_order() {
    assert_in_order(&operations::rebuilt_from_the_one_before());
    assert_in_order(&operations::rebuilt_from_the_bases());
}

/// The record on flash has the hash of that text already: wherever a cut comes, the base is the right one or
/// comes again.
#[test]
fn a_missing_base_is_written_without_intents_and_without_a_record() {
    let workshop = workshop();
    let start = seeded(&workshop);
    fs::remove_file(start.state().join("bases/alpha/SKILL.md")).unwrap();
    fs::write(start.state().join("bases/beta/SKILL.md"), "").unwrap();
    let alone = ["alpha", "beta"]
        .map(|name| format!("skill-state/bases/{name}/SKILL.md changes without an intent"));
    let alone = alone.each_ref().map(String::as_str);
    for flushing in BOTH_WAYS {
        let board = start.fork("traced");
        let traced = trace(&board, flushing, 1, &["sync"]).expect(&[0]);
        assert_broken(&traced, &[], &alone, &format!("{flushing:?}"));
        if flushing == Flushing::Whole {
            assert_eq!(traced.flushes(), 2);
        }
    }
}

/// `count` skills with a file each.
fn many(count: usize, version: u32) -> Firmware {
    (0..count).fold(Firmware::default(), |firmware, number| {
        let name = format!("skill-{number:03}");
        let details = format!("Details of {version}\n");
        firmware
            .skill(&name, version)
            .file(&name, "references/details.md", &details)
    })
}

#[test]
fn a_seed_and_an_update_take_four_flushes_however_many_skills() {
    for count in [1, 60] {
        let workshop = Workshop::new(vec![many(count, 1), many(count, 2)]);
        // Not even the config dir is there.
        let board = workshop.board("traced");
        for firmware in [1, 2] {
            let traced = trace(&board, Flushing::Whole, firmware, &["sync"]).expect(&[0]);
            let case = format!("{count} skills, firmware {firmware}");
            assert_eq!(traced.flushes(), 4, "{case}");
            assert_broken(&traced, &[], &[], &case);
        }
    }
}

#[test]
fn what_only_looks_writes_and_flushes_nothing() {
    let workshop = workshop();
    let bundle = workshop.bundle(1);
    let bundle = bundle.to_str().unwrap();
    let looks: [(usize, &[&str], &[i32]); 7] = [
        (1, &["sync"], &[0]),
        (1, &["sync", "--dry-run"], &[0]),
        (2, &["sync", "--dry-run"], &[0]),
        (2, &["status"], &[0]),
        (2, &["diff", "alpha"], &[0]),
        (1, &["lint", bundle], &[0]),
        (1, &["doctor"], &[0, 3]),
    ];
    let board = seeded(&workshop);
    for flushing in BOTH_WAYS {
        for (firmware, arguments, codes) in looks {
            let traced = trace(&board, flushing, firmware, arguments).expect(codes);
            let mut events = traced.events;
            events.retain(|event| *event != Event::Reported);
            assert_eq!(
                events,
                [],
                "{flushing:?}, {arguments:?} of firmware {firmware}"
            );
        }
    }
}

#[test]
fn a_reset_of_what_is_as_shipped_writes_and_flushes_nothing() {
    let workshop = workshop();
    let board = seeded(&workshop);
    for flushing in BOTH_WAYS {
        let mut events = trace(&board, flushing, 1, RESET_ALL).expect(&[0]).events;
        events.retain(|event| *event != Event::Reported);
        assert_eq!(events, [], "{flushing:?}");
    }
}

/// All of it belongs to an agent that is not root.
#[test]
fn the_owner_of_what_is_new_is_on_flash_before_its_name() {
    let workshop = workshop();
    for flushing in BOTH_WAYS {
        let board = new(&workshop);
        chown(&board.agent, Some(1000), Some(1000)).unwrap();
        for firmware in [1, 2] {
            let traced = trace(&board, flushing, firmware, &["sync"]).expect(&[0]);
            let marked = traced.events.iter().any(|e| matches!(e, Event::Marked(_)));
            assert!(marked, "nothing was given to the agent");
            let case = format!("{flushing:?}, firmware {firmware}");
            assert_broken(&traced, &[], &[], &case);
        }
    }
}

#[test]
fn a_new_config_dir_is_on_flash_before_the_report() {
    let workshop = workshop();
    for flushing in BOTH_WAYS {
        let board = workshop.board("traced");
        let traced = trace(&board, flushing, 1, &["sync"]).expect(&[0]);
        assert_eq!(traced.events[0], Event::Made(".".into()));
        assert_broken(&traced, &[], &[], &format!("{flushing:?}"));
    }
}
