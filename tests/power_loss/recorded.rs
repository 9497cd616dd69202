//! Operations on recorded disks: every moment, and what a cache may lose at it, must end well.

use std::collections::HashSet;

use fastrand::Rng;

use crate::chance::{rng, soak};
use crate::log::{BLOCK, Cut, Disk, Entry, Log, Losses, SECTOR};
use crate::operations;
use crate::recording::{Recorded, Recording, Step};
use crate::state::{Bench, EXT2, EXT4, EXT4_NO_AUTO_ALLOC, EXT4_WRITEBACK, FileSystem, Way};
use crate::table;
use crate::verdict::{self, Case, Verdict};

/// So many entries after its end still belong to an operation: others may still be on their way to the medium.
const A_LITTLE_AFTER: usize = 8;
/// Losses tried at each moment of a normal run.
const LOSSES: usize = 2;

/// The cuts of an operation: each moment, whole and torn, and with losses where the file system can bear them.
pub fn cuts(log: &Log, step: &Recorded, with_losses: bool, rng: &mut Rng) -> Vec<Cut> {
    let first = step.begin + 1;
    let last = step.over.min(step.end + A_LITTLE_AFTER);
    let mut cuts = vec![Cut::after(first)];
    for sent in first + 1..=last {
        cuts.push(Cut::after(sent));
        for _ in 0..soak() {
            cuts.extend(torn(&log.entries[sent - 1], sent, rng));
        }
        let in_flight = log.in_flight(first, sent);
        if !with_losses || in_flight.is_empty() {
            continue;
        }
        for _ in 0..LOSSES * soak() {
            let losses = lose(log, &in_flight, rng);
            cuts.push(Cut { sent, losses });
        }
    }
    cuts
}

/// The last entry, if it is a long one, got through in part.
fn torn(entry: &Entry, sent: usize, rng: &mut Rng) -> Option<Cut> {
    (entry.sectors() > BLOCK / SECTOR).then(|| {
        let losses = Losses::from([(sent - 1, 0..part(entry, rng))]);
        Cut { sent, losses }
    })
}

/// Whole blocks mostly, as most media write them.
fn part(entry: &Entry, rng: &mut Rng) -> usize {
    const IN_BLOCK: usize = BLOCK / SECTOR;
    let blocks = entry.sectors() / IN_BLOCK;
    if blocks < 2 || once_in(4, rng) {
        rng.usize(..entry.sectors())
    } else {
        (1 + rng.usize(..blocks - 1)) * IN_BLOCK
    }
}

/// Some of what was on its way did not arrive: one entry, a few, or most.
fn lose(log: &Log, in_flight: &[usize], rng: &mut Rng) -> Losses {
    let mut losses = Losses::new();
    let one_in = [2, 4, in_flight.len()][rng.usize(..3)].max(1);
    for at in in_flight {
        if once_in(one_in, rng) {
            losses.insert(*at, 0..0);
        } else if once_in(8, rng) {
            let entry = &log.entries[*at];
            let part = part(entry, rng);
            let from_the_end = part..entry.sectors();
            let of_it = if once_in(2, rng) {
                0..part
            } else {
                from_the_end
            };
            losses.insert(*at, of_it);
        }
    }
    losses
}

fn once_in(times: usize, rng: &mut Rng) -> bool {
    rng.usize(..times) == 0
}

/// All states of all operations of a recording.
pub struct Trial<'r> {
    recording: &'r Recording,
    bench: Bench,
    way: Way,
}

/// How it went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub states: usize,
    /// Those in which something that was sent did not arrive, or not all of it.
    pub with_losses: usize,
    pub violations: usize,
    /// States that break the promise as only a file system without a journal may.
    pub borne: usize,
}

impl<'r> Trial<'r> {
    pub fn new(recording: &'r Recording) -> Self {
        Self {
            recording,
            bench: Bench::new(),
            way: Way::of_this_machine(),
        }
    }

    /// The operation as it goes undisturbed, from the state at its begin.
    pub fn case(&self, step: &Recorded) -> Case {
        let Recording {
            file_system, log, ..
        } = self.recording;
        let begin = log.player().disk(&Cut::after(step.begin + 1));
        let opened = self.bench.open(&begin, file_system, self.way).unwrap();
        let (directory, operation) = (step.step.directory(), step.step.operation);
        let before = opened.directory(&directory);
        let case = Case::new(&directory, &before, operation.firmware, |config| {
            verdict::run(config, operation.firmware, operation.command)
        });
        assert_eq!(
            case.code,
            step.code,
            "{} ends on the board as on this machine",
            step.step.name()
        );
        case
    }

    /// Judges the states of one operation; those that are the same to the last byte only once.
    pub fn run(&self, step: &Recorded, rng: &mut Rng) -> Tally {
        let Recording {
            file_system, log, ..
        } = self.recording;
        let name = step.step.name();
        let case = self.case(step);
        let mut player = log.player();
        let mut seen = HashSet::new();
        let mut tally = Tally::default();
        for cut in cuts(log, step, file_system.has_journal(), rng) {
            let disk = player.disk(&cut);
            let reported = cut.sent > step.end;
            if !seen.insert((disk.digest(), reported)) {
                continue;
            }
            tally.states += 1;
            tally.with_losses += usize::from(!cut.losses.is_empty());
            let verdict = self.judge(&case, &disk, reported);
            if verdict.wrong.is_empty() {
                continue;
            }
            if !file_system.has_journal() && !reported && !verdict.is_torn {
                tally.borne += 1;
                continue;
            }
            tally.violations += 1;
            // One told in full is enough to see what is wrong.
            if tally.violations == 1 {
                self.shrink_and_tell(&case, step, &cut, verdict.wrong);
            }
        }
        table::line_with_borne(
            &name,
            file_system.name,
            tally.states,
            tally.violations,
            tally.borne,
        );
        tally
    }

    fn judge(&self, case: &Case, disk: &Disk, reported: bool) -> Verdict {
        let file_system = &self.recording.file_system;
        case.judge(&self.bench, disk, file_system, self.way, reported)
    }

    /// Says how to come to a state that is wrong, with as few losses as make it so.
    fn shrink_and_tell(&self, case: &Case, step: &Recorded, cut: &Cut, mut wrong: Vec<String>) {
        let log = &self.recording.log;
        let reported = cut.sent > step.end;
        let mut least = cut.clone();
        for at in cut.losses.keys() {
            let mut fewer = least.clone();
            fewer.losses.remove(at);
            let still = self.judge(case, &log.player().disk(&fewer), reported);
            if !still.wrong.is_empty() {
                (least, wrong) = (fewer, still.wrong);
            }
        }
        tell(step, self.recording.file_system.name, &least, &wrong);
    }
}

/// Says what is wrong with a state, and how one comes to it; of a fault on purpose not much.
pub fn tell(step: &Recorded, file_system: &str, cut: &Cut, wrong: &[String]) {
    let (word, length) = match step.step.mutant {
        Some(_) => ("found", 100),
        None => ("VIOLATION", 2000),
    };
    println!(
        "{word}: {} on {file_system}: cut when {} entries had been sent ({} after its begin, its end is {}{}), \
         lost: {:?}",
        step.step.name(),
        cut.sent,
        cut.sent - step.begin,
        step.end - step.begin,
        if cut.sent > step.end {
            ", so it was reported"
        } else {
            ""
        },
        cut.losses,
    );
    for one in wrong {
        println!("  {}", one.chars().take(length).collect::<String>());
    }
}

pub fn every_operation() -> Vec<Step> {
    let step = |operation| Step {
        operation,
        mutant: None,
    };
    operations::ALL.iter().map(step).collect()
}

#[track_caller]
fn assert_every_state_ends_well(file_system: FileSystem, at_least: usize) {
    let has_journal = file_system.has_journal();
    let mut rng = rng(file_system.name);
    let recording = Recording::of(file_system.name, file_system, &every_operation());
    let trial = Trial::new(&recording);
    let tallies: Vec<Tally> = recording
        .steps
        .iter()
        .map(|step| trial.run(step, &mut rng))
        .collect();
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum::<usize>();
    let (states, violations) = (sum(|tally| tally.states), sum(|tally| tally.violations));
    let borne = sum(|tally| tally.borne);
    let with_losses = sum(|tally| tally.with_losses);
    println!(
        "power-loss: {states} states of {}, {with_losses} of them with losses",
        file_system.name
    );
    if borne > 0 {
        println!("power-loss: {borne} of them lost names for want of a journal");
    }
    if violations > 0 {
        recording.keep();
    }
    assert_eq!(
        violations, 0,
        "of {states} states; the first of each operation is told above"
    );
    assert!(states >= at_least, "only {states} states");
    if has_journal {
        assert!(with_losses > states / 4, "only {with_losses} with losses");
    } else {
        assert!(borne <= states / 8, "{borne} of {states} states lost names");
    }
}

#[test]
fn every_cut_on_ext4_ends_well() {
    assert_every_state_ends_well(EXT4, 500);
}

#[test]
fn every_cut_on_ext4_without_help_for_replaced_files_ends_well() {
    assert_every_state_ends_well(EXT4_NO_AUTO_ALLOC, 500);
}

#[test]
fn every_cut_on_ext4_that_does_not_order_data_ends_well() {
    assert_every_state_ends_well(EXT4_WRITEBACK, 500);
}

/// Without a journal no program survives a medium that reorders writes, so here each moment is tried, and no loss. Even
/// so a rename from one directory to another may be cut in two, and its file have no name. What can be asked for: no
/// file of the library is torn, none is lost that is not written, and what was reported lasts.
#[test]
fn no_moment_on_ext2_tears_a_file_or_undoes_what_was_reported() {
    assert_every_state_ends_well(EXT2, 200);
}
