//! Each rule can be broken: short lists of events, of which each breaks exactly one.

use crate::rules::{self, LEDGER, LOCK, USAGE, Verdict};
use crate::trace::Event;

const NEW_TEXT: &str = "skill-state/tmp/v1/skills/a/SKILL.md";
const NEW_SKILL: &str = "skill-state/tmp/v1/skills/b";
const NEW_BASE: &str = "skill-state/tmp/v1/skill-state/bases/a/SKILL.md";
const INTENTS: &str = "skill-state/tmp/v1/ledger-intent.json";
const SETTLED: &str = "skill-state/tmp/v1/ledger-settled.json";
const BESIDE: &str = "skill-state/tmp/v1/previous.json";
const TEXT: &str = "skills/a/SKILL.md";
const BASE: &str = "skill-state/bases/a/SKILL.md";
const STATE: &str = "skill-state";

fn made(path: &str) -> Event {
    Event::Made(path.into())
}

fn wrote(path: &str) -> [Event; 2] {
    [Event::Created(path.into()), Event::Wrote(path.into())]
}

fn renamed(from: &str, to: &str) -> Event {
    let (from, to) = (from.into(), to.into());
    Event::Renamed { from, to }
}

fn flushed(path: &str) -> Event {
    Event::Flushed(path.into())
}

fn unlinked(path: &str) -> Event {
    Event::Unlinked(path.into())
}

/// An update of one text and a new skill, as it should be.
fn update() -> Vec<Event> {
    let mut events = vec![
        made("skill-state/tmp/v1"),
        made("skill-state/tmp/v1/skills"),
        made("skill-state/tmp/v1/skills/a"),
    ];
    events.extend(wrote(NEW_TEXT));
    events.push(made(NEW_SKILL));
    events.extend(wrote("skill-state/tmp/v1/skills/b/SKILL.md"));
    events.push(made("skill-state/tmp/v1/skill-state"));
    events.push(made("skill-state/tmp/v1/skill-state/bases"));
    events.push(made("skill-state/tmp/v1/skill-state/bases/a"));
    events.extend(wrote(NEW_BASE));
    events.extend(wrote(INTENTS));
    events.extend(wrote(SETTLED));
    events.extend([
        Event::FlushedAll,
        renamed(INTENTS, LEDGER),
        flushed(STATE),
        renamed(NEW_TEXT, TEXT),
        renamed(NEW_SKILL, "skills/b"),
        unlinked("skills/c/references/old.md"),
        Event::RemovedDir("skills/c/references".into()),
        renamed(NEW_BASE, BASE),
        Event::FlushedAll,
        Event::Linked {
            from: LEDGER.into(),
            to: BESIDE.into(),
        },
        renamed(BESIDE, "skill-state/.bundled_manifest.json.prev"),
        renamed(SETTLED, LEDGER),
        flushed(STATE),
        Event::RemovedDir("skill-state/tmp/v1/skills/a".into()),
        Event::RemovedDir("skill-state/tmp/v1/skills".into()),
        Event::RemovedDir("skill-state/tmp/v1".into()),
        Event::Reported,
        Event::Reported,
    ]);
    events
}

fn broken(events: &[Event]) -> Vec<(usize, Vec<String>)> {
    let verdicts = rules::ORDER.iter().map(|rule| rule(events));
    let numbered = verdicts.enumerate();
    numbered
        .filter(|(_, verdict)| !verdict.is_empty())
        .collect()
}

/// Of all rules only `rule` is broken, and it says this.
#[track_caller]
fn assert_breaks(rule: fn(&[Event]) -> Verdict, events: &[Event], said: &str) {
    assert_eq!(rule(events), [said]);
    let broken = broken(events);
    assert_eq!(broken.len(), 1, "{broken:#?}");
}

/// The update with this event in place of the first one like `old`.
fn with(old: &Event, new: &[Event]) -> Vec<Event> {
    let mut events = update();
    let at = events.iter().position(|event| event == old).unwrap();
    events.splice(at..=at, new.iter().cloned());
    events
}

/// Those of the update for which the flush of the whole file system is done one by one.
fn with_flushes_of(number: usize, paths: &[&str]) -> Vec<Event> {
    let mut events = update();
    let mut whole = (0..events.len()).filter(|at| events[*at] == Event::FlushedAll);
    let at = whole.nth(number).unwrap();
    let one_by_one: Vec<Event> = paths.iter().map(|path| flushed(path)).collect();
    events.splice(at..=at, one_by_one);
    events
}

const STAGED: [&str; 14] = [
    NEW_TEXT,
    "skill-state/tmp/v1/skills/b/SKILL.md",
    NEW_BASE,
    INTENTS,
    SETTLED,
    NEW_SKILL,
    "skill-state/tmp/v1/skills/a",
    "skill-state/tmp/v1/skills",
    "skill-state/tmp/v1/skill-state/bases/a",
    "skill-state/tmp/v1/skill-state/bases",
    "skill-state/tmp/v1/skill-state",
    "skill-state/tmp/v1",
    "skill-state/tmp",
    STATE,
];
const CHANGED: [&str; 4] = ["skills/a", "skills", "skills/c", "skill-state/bases/a"];

fn without(all: &[&'static str], path: &str) -> Vec<&'static str> {
    let kept = all.iter().copied().filter(|one| *one != path);
    kept.collect()
}

#[test]
fn an_update_in_order_breaks_no_rule() {
    assert_eq!(broken(&update()), []);
    assert_eq!(broken(&with_flushes_of(0, &STAGED)), []);
    assert_eq!(broken(&with_flushes_of(1, &CHANGED)), []);
}

#[test]
fn a_file_written_where_it_lies_is_seen() {
    let rule = rules::files_come_by_rename_alone;
    let mut in_place = vec![Event::Wrote(USAGE.into()), flushed(USAGE)];
    assert_breaks(
        rule,
        &in_place,
        "skill-state/usage.json is written where it lies",
    );
    in_place[0] = Event::Truncated(LEDGER.into());
    in_place[1] = flushed(LEDGER);
    let said = "skill-state/.bundled_manifest.json is written where it lies";
    assert_breaks(rule, &in_place, said);
    let elsewhere = [renamed("skill-state/new", USAGE), flushed(STATE)];
    let said = "skill-state/new becomes skill-state/usage.json, but was not staged";
    assert_breaks(rule, &elsewhere, said);
    // Made, marked, and the lock file has no bytes.
    let lock = [
        made(STATE),
        Event::Marked(STATE.into()),
        flushed("."),
        flushed(STATE),
    ];
    let lock = [&lock[..3], &wrote(LOCK)[..1], &lock[3..]].concat();
    assert_eq!(broken(&lock), []);
}

#[test]
fn a_name_before_its_data_is_seen() {
    let rule = rules::data_is_on_flash_before_its_name;
    let usage = "skill-state/tmp/v1/usage.json";
    let late = [
        &wrote(usage)[..],
        &[renamed(usage, USAGE), flushed(USAGE), flushed(STATE)],
    ]
    .concat();
    let said = "skill-state/usage.json comes before the data of skill-state/tmp/v1/usage.json";
    assert_breaks(rule, &late, said);
    let settled = with_flushes_of(0, &without(&STAGED, SETTLED));
    // Here the second flush of all comes to its help; without it the ledger would come before its text.
    assert_eq!(broken(&settled), []);
    let at = settled
        .iter()
        .position(|event| *event == Event::FlushedAll)
        .unwrap();
    let changed = CHANGED.map(flushed);
    let settled = [&settled[..at], &changed, &settled[at + 1..]].concat();
    let said = format!("{LEDGER} comes before the data of {SETTLED}");
    assert_eq!(rule(&settled), [said]);
    // A write after the flush counts as any other.
    let again = [renamed(INTENTS, LEDGER), flushed(STATE)];
    let written = Event::Wrote(INTENTS.into());
    let events = with(&again[0], &[written, again[0].clone(), flushed(LEDGER)]);
    let said = format!("{LEDGER} comes before the data of {INTENTS}");
    assert_breaks(rule, &events, &said);
}

#[test]
fn a_directory_before_the_data_the_names_or_the_owner_in_it_is_seen() {
    let rule = rules::data_is_on_flash_before_its_name;
    let place = renamed(NEW_SKILL, "skills/b");
    let file = "skill-state/tmp/v1/skills/b/more.md";
    let events = with(
        &place,
        &[&wrote(file)[..], std::slice::from_ref(&place)].concat(),
    );
    let data = format!("skills/b comes before the data of {file}");
    let name = format!("skills/b comes before the name of {file}");
    assert_eq!(rule(&events), [data.clone(), name.clone()]);
    let one = [&wrote(file)[..], &[flushed(file), place.clone()]].concat();
    assert_breaks(rule, &with(&place, &one), &name);
    let other = [&wrote(file)[..], &[flushed(NEW_SKILL), place.clone()]].concat();
    assert_breaks(rule, &with(&place, &other), &data);
    let owned = [Event::Marked(NEW_SKILL.into()), place.clone()];
    let said = format!("skills/b comes before the data of {NEW_SKILL}");
    assert_breaks(rule, &with(&place, &owned), &said);
}

#[test]
fn a_change_before_its_intents_is_seen() {
    let rule = rules::intents_are_on_flash_before_the_library_changes;
    let bare = [unlinked(TEXT), flushed("skills/a")];
    assert_breaks(rule, &bare, "skills/a/SKILL.md changes without an intent");
    let base = [
        Event::RemovedDir("skill-state/bases/a".into()),
        flushed("skill-state/bases"),
    ];
    assert_breaks(rule, &base, "skill-state/bases/a changes without an intent");
    let mut unflushed = update();
    let at = unflushed
        .iter()
        .position(|event| *event == flushed(STATE))
        .unwrap();
    unflushed.remove(at);
    let changed = [
        TEXT,
        "skills/b",
        "skills/c/references/old.md",
        "skills/c/references",
        BASE,
    ];
    let said = changed.map(|path| format!("{path} changes before the intents are on flash"));
    assert_eq!(rule(&unflushed), said);
    assert_eq!(broken(&unflushed).len(), 1);
    // The state dir itself may be new.
    let new = with_flushes_of(0, &STAGED);
    let new = [&[made(STATE)], &new[..]].concat();
    assert_eq!(
        broken(&new)
            .iter()
            .map(|(rule, _)| rule)
            .collect::<Vec<_>>(),
        [&2]
    );
    // A record of the past is no intent.
    let after = [unlinked(TEXT), flushed("skills/a"), Event::Reported];
    let after = with(&Event::Reported, &after);
    assert_breaks(rule, &after, "skills/a/SKILL.md changes without an intent");
}

/// After a cut a staged name that is missing would be taken for one that was placed.
#[test]
fn intents_before_what_is_staged_are_seen() {
    let rule = rules::intents_are_on_flash_before_the_library_changes;
    for directory in [
        "skill-state/tmp/v1/skills/a",
        "skill-state/tmp/v1/skill-state/bases/a",
    ] {
        let events = with_flushes_of(0, &without(&STAGED, directory));
        let said = format!("the intents come before the staged {directory}/SKILL.md");
        assert_breaks(rule, &events, &said);
    }
    let directories = [
        ("skill-state/tmp", "skill-state/tmp/v1"),
        ("skill-state/tmp/v1/skills", "skill-state/tmp/v1/skills/a"),
        (
            "skill-state/tmp/v1/skill-state",
            "skill-state/tmp/v1/skill-state/bases",
        ),
    ];
    for (directory, name) in directories {
        let events = with_flushes_of(0, &without(&STAGED, directory));
        let said = format!("the intents come before the staged {name}");
        assert!(rule(&events).contains(&said), "{:#?}", rule(&events));
        assert_eq!(broken(&events).len(), 1);
    }
}

#[test]
fn a_record_before_the_names_is_seen() {
    let rule = rules::names_are_on_flash_before_the_record;
    let unflushed = [
        ("skills/a", TEXT),
        ("skills", "skills/b"),
        ("skills/c", "skills/c/references"),
        ("skill-state/bases/a", BASE),
    ];
    for (directory, name) in unflushed {
        let events = with_flushes_of(1, &without(&CHANGED, directory));
        let said = format!("the record comes before {name} is on flash");
        assert_eq!(rule(&events), [said]);
        // It is not on flash when it is reported either.
        let rules: Vec<usize> = broken(&events).iter().map(|(rule, _)| *rule).collect();
        assert_eq!(rules, [3, 4]);
        let at_last = with(&Event::Reported, &[flushed(directory), Event::Reported]);
        let events = [&events[..events.len() - 2], &at_last[at_last.len() - 3..]].concat();
        assert_eq!(broken(&events).len(), 1);
    }
    // What the user did counts as well.
    let user = [
        &[unlinked("skills/d/SKILL.md")],
        &with_flushes_of(1, &CHANGED)[..],
    ]
    .concat();
    assert_eq!(rule(&user), Verdict::new(), "the first flush was of all");
    let user = with(
        &renamed(BESIDE, "skill-state/.bundled_manifest.json.prev"),
        &[Event::Wrote(TEXT.into())],
    );
    assert_eq!(
        rule(&user),
        [format!("the record comes before {TEXT} is on flash")]
    );
}

#[test]
fn a_report_before_the_record_is_seen() {
    let rule = rules::the_record_is_on_flash_before_the_report;
    let usage = "skill-state/tmp/v1/usage.json";
    let staged = [&wrote(usage)[..], &[flushed(usage), renamed(usage, USAGE)]].concat();
    let said = "it ends before skill-state/usage.json is on flash";
    assert_breaks(rule, &staged, said);
    let reported = [&staged[..], &[Event::Reported, flushed(STATE)]].concat();
    assert_eq!(rule(&reported)[0], said);
    assert_eq!(
        rule(&reported)[1],
        "after the report: Flushed(\"skill-state\")"
    );
    let in_time = [&staged[..], &[flushed(STATE), Event::Reported]].concat();
    assert_eq!(broken(&in_time), []);
    let config_dir = [made("."), made(STATE), flushed(".")];
    assert_breaks(rule, &config_dir, "it ends before . is on flash");
}

#[test]
fn a_staged_name_that_goes_too_early_is_seen() {
    let rule = rules::staged_names_stay_until_the_record_is_on_flash;
    let settle = renamed(SETTLED, LEDGER);
    let early = with(&settle, &[unlinked(NEW_TEXT), settle.clone()]);
    assert_breaks(
        rule,
        &early,
        &format!("{NEW_TEXT} goes while the intents stand"),
    );
    let early = with(&settle, &[settle.clone(), unlinked(NEW_BASE)]);
    assert_breaks(
        rule,
        &early,
        &format!("{NEW_BASE} goes before the record is on flash"),
    );
    let wrong_place = with(
        &renamed(NEW_TEXT, TEXT),
        &[renamed(NEW_TEXT, "skills/z/SKILL.md")],
    );
    assert_eq!(
        rule(&wrong_place),
        [format!("{NEW_TEXT} goes while the intents stand")]
    );
    // A document is written anew when not all was placed.
    let anew = [
        &[unlinked(SETTLED)],
        &wrote(SETTLED)[..],
        &[flushed(SETTLED), settle.clone()],
    ];
    assert_eq!(broken(&with(&settle, &anew.concat())), []);
}

#[test]
fn a_flush_that_is_not_told_is_seen() {
    let rule = rules::the_report_counts_the_flushes;
    assert_eq!(rule(&update(), 4), Verdict::new());
    assert_eq!(rule(&update(), 3), ["4 flushes, of which 3 are told"]);
    assert_eq!(rule(&update(), 5), ["4 flushes, of which 5 are told"]);
}
