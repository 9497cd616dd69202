//! The order in which a batch must reach flash, as rules over what a run did (ARCHITECTURE.md, "A batch").
//!
//! A rule is broken where a power cut, which may take anything that is not flushed and keep anything that is,
//! could leave a state that the next start takes for another one. Events of several runs in a row are judged as
//! one, if only the process died between them: the page cache lives on.

use std::collections::BTreeSet;

use crate::trace::Event;

pub const LEDGER: &str = "skill-state/.bundled_manifest.json";
pub const USAGE: &str = "skill-state/usage.json";
pub const STATE: &str = "skill-state";
pub const LOCK: &str = "skill-state/.lock";
const LIBRARY: &str = "skills";
const BASES: &str = "skill-state/bases";
const TEMPORARY: &str = "skill-state/tmp";
/// Beneath it a staged file lies at the path of its target; beside them are only documents.
const STAGE: &str = "skill-state/tmp/v1";
const STAGED_LIBRARY: &str = "skill-state/tmp/v1/skills";
const STAGED_STATE: &str = "skill-state/tmp/v1/skill-state";
const STAGED_BASES: &str = "skill-state/tmp/v1/skill-state/bases";
/// What is deleted as a whole is moved there first.
const REMOVED: &str = "skill-state/tmp/v1/removed";
const INTENTS: &str = "skill-state/tmp/v1/ledger-intent.json";

/// Each place where a rule is broken.
pub type Verdict = Vec<String>;

/// Every rule that concerns order.
pub const ORDER: [fn(&[Event]) -> Verdict; 6] = [
    files_come_by_rename_alone,
    data_is_on_flash_before_its_name,
    intents_are_on_flash_before_the_library_changes,
    names_are_on_flash_before_the_record,
    the_record_is_on_flash_before_the_report,
    staged_names_stay_until_the_record_is_on_flash,
];

/// What a power cut may still take.
#[derive(Default)]
pub struct Unflushed {
    /// Files whose bytes, and files and directories whose owner or mode, may be lost.
    pub data: BTreeSet<String>,
    /// Names that may not be there yet, or still be there.
    pub names: BTreeSet<String>,
}

impl Unflushed {
    pub fn after(&mut self, event: &Event) {
        match event {
            Event::Made(path) => {
                self.names.insert(path.clone());
            }
            Event::Created(path) => {
                self.names.insert(path.clone());
                self.data.insert(path.clone());
            }
            Event::Wrote(path) | Event::Truncated(path) | Event::Marked(path) => {
                self.data.insert(path.clone());
            }
            Event::Renamed { from, to } => {
                for set in [&mut self.data, &mut self.names] {
                    set.retain(|path| !is_within(path, to));
                    *set = std::mem::take(set)
                        .into_iter()
                        .map(|path| moved(&path, from, to).unwrap_or(path))
                        .collect();
                }
                self.names.extend([from.clone(), to.clone()]);
            }
            Event::Linked { from, to } => {
                self.names.insert(to.clone());
                if self.data.contains(from) {
                    self.data.insert(to.clone());
                }
            }
            Event::Unlinked(path) | Event::RemovedDir(path) => {
                // What was in a directory that is gone is gone with its name.
                self.data.retain(|inner| !is_within(inner, path));
                self.names.retain(|inner| !is_within(inner, path));
                self.names.insert(path.clone());
            }
            Event::Flushed(path) => {
                self.data.remove(path);
                self.names.retain(|name| parent(name) != path);
            }
            Event::FlushedAll => {
                self.data.clear();
                self.names.clear();
            }
            Event::Reported => {}
        }
    }

    /// What is not on flash of `top`: of its name, of what is beneath it, and of its bytes.
    pub fn within<'a>(&'a self, top: &'a str) -> impl Iterator<Item = &'a String> {
        let all: BTreeSet<&String> = self.data.iter().chain(&self.names).collect();
        all.into_iter().filter(move |path| is_within(path, top))
    }
}

fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((parent, _)) => parent,
        None if path == "." => "..",
        None => ".",
    }
}

/// Whether it is `top` or lies beneath it.
pub fn is_within(path: &str, top: &str) -> bool {
    let rest = path.strip_prefix(top);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn moved(path: &str, from: &str, to: &str) -> Option<String> {
    is_within(path, from).then(|| format!("{to}{}", &path[from.len()..]))
}

fn is_durable_place(path: &str) -> bool {
    is_within(path, LIBRARY) || is_within(path, BASES)
}

/// The names that an event changes.
fn names_changed(event: &Event) -> Vec<&str> {
    match event {
        Event::Made(path)
        | Event::Created(path)
        | Event::Unlinked(path)
        | Event::RemovedDir(path) => vec![path],
        Event::Renamed { from, to } => vec![from, to],
        Event::Linked { to, .. } => vec![to],
        _ => Vec::new(),
    }
}

fn replaces_the_ledger(event: &Event) -> bool {
    matches!(event, Event::Renamed { to, .. } if to == LEDGER)
}

fn brings_intents(event: &Event) -> bool {
    matches!(event, Event::Renamed { from, to } if to == LEDGER && from == INTENTS)
}

/// Bytes are written in the temporary directory only: elsewhere a cut would leave a part of them. The lock file
/// has none.
pub fn files_come_by_rename_alone(events: &[Event]) -> Verdict {
    let mut broken = Verdict::new();
    let mut made = BTreeSet::new();
    for event in events {
        let path = match event {
            Event::Made(path) => {
                made.insert(path);
                continue;
            }
            // Whether its owner is on flash in time is for the other rules.
            Event::Marked(path) if made.contains(path) => continue,
            Event::Created(path)
            | Event::Wrote(path)
            | Event::Truncated(path)
            | Event::Marked(path) => path,
            Event::Linked { to, .. } => to,
            Event::Renamed { from, to } if !is_within(from, STAGE) && !is_within(to, REMOVED) => {
                broken.push(format!("{from} becomes {to}, but was not staged"));
                continue;
            }
            _ => continue,
        };
        if !is_within(path, STAGE) && path != LOCK {
            broken.push(format!("{path} is written where it lies"));
        }
    }
    broken
}

/// Rule 1: What is renamed into place has its bytes on flash, and a directory all names in it.
pub fn data_is_on_flash_before_its_name(events: &[Event]) -> Verdict {
    let mut broken = Verdict::new();
    let mut unflushed = Unflushed::default();
    for event in events {
        if let Event::Renamed { from, to } = event
            && is_within(from, TEMPORARY)
            && !is_within(to, TEMPORARY)
        {
            let data = unflushed.data.iter().filter(|path| is_within(path, from));
            broken.extend(data.map(|path| format!("{to} comes before the data of {path}")));
            let beneath = |path: &&String| is_within(path, from) && *path != from;
            let names = unflushed.names.iter().filter(beneath);
            broken.extend(names.map(|path| format!("{to} comes before the name of {path}")));
        }
        unflushed.after(event);
    }
    broken
}

/// Rule 2: The library and the bases change only while the intents are on flash, and before those everything is that
/// a settling start reads from the staged names: a name that is gone tells it that the file was placed.
pub fn intents_are_on_flash_before_the_library_changes(events: &[Event]) -> Verdict {
    let mut broken = Verdict::new();
    let mut unflushed = Unflushed::default();
    let mut intents = false;
    for event in events {
        let changed = names_changed(event).into_iter();
        for path in changed.filter(|path| is_durable_place(path)) {
            if !intents {
                broken.push(format!("{path} changes without an intent"));
            } else if [LEDGER, STATE]
                .iter()
                .any(|name| unflushed.names.contains(*name))
            {
                broken.push(format!("{path} changes before the intents are on flash"));
            }
        }
        if brings_intents(event) {
            let above = [TEMPORARY, STAGE, STAGED_STATE].map(str::to_owned);
            let above = above.iter().filter(|name| unflushed.names.contains(*name));
            let staged = unflushed
                .within(STAGED_LIBRARY)
                .chain(unflushed.within(STAGED_BASES));
            let lost = above.chain(staged);
            broken.extend(lost.map(|path| format!("the intents come before the staged {path}")));
        }
        if replaces_the_ledger(event) {
            intents = brings_intents(event);
        }
        unflushed.after(event);
    }
    broken
}

/// Rule 3: A ledger that says what is in the library comes when that is on flash: bytes, names, and the names of the
/// directories above.
pub fn names_are_on_flash_before_the_record(events: &[Event]) -> Verdict {
    let mut broken = Verdict::new();
    let mut unflushed = Unflushed::default();
    for event in events {
        if replaces_the_ledger(event) && !brings_intents(event) {
            let lost = unflushed.within(LIBRARY).chain(unflushed.within(BASES));
            broken.extend(lost.map(|path| format!("the record comes before {path} is on flash")));
        }
        unflushed.after(event);
    }
    broken
}

/// Rule 4: When something is said, and when the run ends, all of it is on flash.
pub fn the_record_is_on_flash_before_the_report(events: &[Event]) -> Verdict {
    let mut broken = Verdict::new();
    let mut unflushed = Unflushed::default();
    // The temporary directory is empty by then; and who may read the lock file may lock it.
    let lost = |unflushed: &Unflushed| {
        let all: BTreeSet<&String> = unflushed.names.iter().chain(&unflushed.data).collect();
        let matter = all
            .into_iter()
            .filter(|path| !is_within(path, TEMPORARY) && *path != LOCK);
        let messages = matter.map(|path| format!("it ends before {path} is on flash"));
        messages.collect::<Vec<_>>()
    };
    let end = events.iter().position(|event| *event == Event::Reported);
    let (before, after) = events.split_at(end.unwrap_or(events.len()));
    for event in before {
        unflushed.after(event);
    }
    broken.extend(lost(&unflushed));
    let after = after.iter().filter(|event| **event != Event::Reported);
    broken.extend(after.map(|event| format!("after the report: {event:?}")));
    broken
}

/// Rule 5: While the ledger on flash may be the one with the intents, no staged name goes but into its place. The
/// documents beside them are no targets: settling never looks for them, so each may be replaced.
pub fn staged_names_stay_until_the_record_is_on_flash(events: &[Event]) -> Verdict {
    let mut broken = Verdict::new();
    let mut unflushed = Unflushed::default();
    let mut intents = false;
    for event in events {
        let gone = match event {
            Event::Unlinked(path) | Event::RemovedDir(path) => Some(path),
            Event::Renamed { from, to } if !is_place_of(to, from) => Some(from),
            _ => None,
        };
        let is_target = |path: &&String| {
            let staged = [STAGED_LIBRARY, STAGED_STATE];
            *path == STAGE || staged.iter().any(|top| is_within(path, top))
        };
        if let Some(path) = gone.filter(is_target) {
            if intents {
                broken.push(format!("{path} goes while the intents stand"));
            } else if unflushed.names.contains(LEDGER) {
                broken.push(format!("{path} goes before the record is on flash"));
            }
        }
        if replaces_the_ledger(event) {
            intents = brings_intents(event);
        }
        unflushed.after(event);
    }
    broken
}

/// Whether `staged` is where what belongs to `target` is staged.
fn is_place_of(target: &str, staged: &str) -> bool {
    staged.strip_prefix(STAGE).and_then(|s| s.strip_prefix('/')) == Some(target)
}

/// Rule 6: The report counts each flush.
pub fn the_report_counts_the_flushes(events: &[Event], told: u64) -> Verdict {
    let flushes = |event: &&Event| matches!(event, Event::Flushed(_) | Event::FlushedAll);
    let flushes = events.iter().filter(flushes).count();
    if u64::try_from(flushes) == Ok(told) {
        return Verdict::new();
    }
    vec![format!("{flushes} flushes, of which {told} are told")]
}
