//! Operations on recorded disks whose states a board looks at, and that it makes no difference who looks.

use std::collections::HashSet;

use fastrand::Rng;

use crate::chance::{rng, soak};
use crate::guest::{Job, Seen, look};
use crate::judge::Tree;
use crate::log::{Cut, Disk};
use crate::operations::{self, both_from};
use crate::recorded::{Trial, cuts, every_operation, tell};
use crate::recording::{Recorded, Recording, Step};
use crate::state::{Bench, EXT4, F2FS, Way};
use crate::table;
use crate::verdict::{self, Case};

/// States of an operation on f2fs in a normal run.
const STATES: usize = 8;
/// States that are looked at in every way.
const SAMPLE: usize = 6;

struct State {
    cut: Cut,
    disk: Disk,
}

/// Some states of an operation, no two alike: its begin, its end, and others by chance.
fn some_states(recording: &Recording, step: &Recorded, count: usize, rng: &mut Rng) -> Vec<State> {
    let Recording {
        file_system, log, ..
    } = recording;
    let mut all = cuts(log, step, file_system.has_journal(), rng);
    let mut chosen = vec![Cut::after(step.begin + 1), Cut::after(step.end + 1)];
    while chosen.len() < count && !all.is_empty() {
        chosen.push(all.swap_remove(rng.usize(..all.len())));
    }
    chosen.sort_by_key(|cut| cut.sent);
    let mut player = log.player();
    let mut seen = HashSet::new();
    let states = chosen.into_iter().filter_map(|cut| {
        let disk = player.disk(&cut);
        let is_new = seen.insert((disk.digest(), cut.sent > step.end));
        is_new.then_some(State { cut, disk })
    });
    states.collect()
}

/// A state synced with the firmware that was cut (0), or with the other one (1).
fn job(step: &Recorded, state: &State, next: usize) -> Job {
    Job {
        disk: state.disk.clone(),
        directory: step.step.directory(),
        firmware: both_from(step.step.operation.firmware)[next],
    }
}

/// What is wrong with a state as it lies there, and with what the next start makes of it, as a board saw them.
fn judge(
    case: &Case,
    seen: &Result<Seen, String>,
    next: usize,
    reported: bool,
) -> [Vec<String>; 2] {
    let seen = match seen {
        Ok(seen) => seen,
        Err(why) => return [vec![why.clone()], vec![why.clone()]],
    };
    let [left, settled, again] = &seen.trees;
    let [code, second] = seen.codes;
    let rest = (second, seen.flushes);
    [
        case.undisturbed.judge_left(left, reported),
        case.judge_trees(next, code, settled, rest, again, reported),
    ]
}

/// An operation, and states of it as a board saw them; the first is its begin.
struct Looked<'r> {
    step: &'r Recorded,
    states: Vec<State>,
    jobs: Vec<Job>,
    seen: Vec<Result<Seen, String>>,
}

impl Looked<'_> {
    fn violations(&self) -> usize {
        let step = self.step;
        let (name, operation) = (step.step.name(), step.step.operation);
        let begin = self.seen[0].as_ref().expect("its begin can be mounted");
        let before = begin.config(&self.jobs[0]);
        let case = Case::new(
            &step.step.directory(),
            &before,
            operation.firmware,
            |config| verdict::run(config, operation.firmware, operation.command),
        );
        assert_eq!(case.code, step.code, "{name} ends on the board as here");
        let mut violations = 0;
        for (state, seen) in self.states.iter().zip(self.seen.chunks(2)) {
            let reported = state.cut.sent > step.end;
            let [[left, own], [_, other]] =
                [0, 1].map(|next| judge(&case, &seen[next], next, reported));
            let wrong = [left, own, other].concat();
            if !wrong.is_empty() {
                violations += 1;
                tell(step, F2FS.name, &state.cut, &wrong);
            }
        }
        table::line(&name, F2FS.name, self.states.len(), violations);
        violations
    }
}

/// With two faults on purpose among the operations: what would not see them would see nothing.
#[test]
fn cuts_on_f2fs_end_well() {
    let mut rng = rng(F2FS.name);
    let mut steps = every_operation();
    steps.extend(["no-data-flush", "no-last-flush"].map(|mutant| Step {
        mutant: Some(mutant),
        ..update()
    }));
    let recording = Recording::of(F2FS.name, F2FS, &steps);
    let mut all: Vec<Looked<'_>> = Vec::new();
    for step in &recording.steps {
        // One of few states may not show the fault.
        let times = if step.step.mutant.is_some() { 2 } else { 1 };
        let states = some_states(&recording, step, STATES * times * soak(), &mut rng);
        let both = |state| [0, 1].map(|next| job(step, state, next));
        let jobs = states.iter().flat_map(both).collect();
        all.push(Looked {
            step,
            states,
            jobs,
            seen: Vec::new(),
        });
    }
    let mut seen = look(&F2FS, all.iter().flat_map(|looked| &looked.jobs)).into_iter();
    for looked in &mut all {
        looked.seen = seen.by_ref().take(looked.jobs.len()).collect();
    }
    let (mut states, mut violations, mut missed) = (0, 0, Vec::new());
    for looked in &all {
        let found = looked.violations();
        if looked.step.step.mutant.is_none() {
            states += looked.states.len();
            violations += found;
        } else if found == 0 {
            missed.push(looked.step.step.name());
        }
    }
    println!("power-loss: {states} states of f2fs, looked at by a board");
    if violations > 0 {
        recording.keep();
    }
    assert_eq!(violations, 0, "of {states} states; each is told above");
    assert_eq!(missed, [""; 0], "these faults were not found");
    assert!(states >= 50, "only {states} states");
}

fn update() -> Step {
    let mut operations = operations::ALL.iter();
    Step {
        operation: operations.find(|one| one.name == "update").unwrap(),
        mutant: None,
    }
}

/// Mounted here, taken out by debugfs here, or mounted by a board: the same files, and the same verdict. A program with
/// a fault on purpose is among them, so that some verdicts are bad.
#[test]
fn it_makes_no_difference_who_looks_at_a_state() {
    let mut rng = rng("who looks");
    let no_last_flush = Step {
        mutant: Some("no-last-flush"),
        ..update()
    };
    let recording = Recording::of("who looks", EXT4, &[update(), no_last_flush]);
    let trial = Trial::new(&recording);
    let states = recording
        .steps
        .iter()
        .map(|step| some_states(&recording, step, SAMPLE, &mut rng));
    let states: Vec<Vec<State>> = states.collect();
    let jobs = recording
        .steps
        .iter()
        .zip(&states)
        .flat_map(|(step, states)| {
            let both = |state| [0, 1].map(|next| job(step, state, next));
            states.iter().flat_map(both)
        });
    let jobs: Vec<Job> = jobs.collect();
    let seen = look(&EXT4, &jobs);
    let bench = Bench::new();
    let (mut seen, mut count, mut bad) = (seen.chunks(2), 0, 0);
    for (step, states) in recording.steps.iter().zip(&states) {
        let case = trial.case(step);
        for state in states {
            let by_board = seen.next().unwrap();
            let open = |way| {
                let opened = bench.open(&state.disk, &EXT4, way);
                let opened = opened.unwrap_or_else(|why| panic!("{way:?} (as root?): {why}"));
                Tree::of(&opened.directory(&step.step.directory()))
            };
            let [mounted, taken_out] = [Way::Loop, Way::Debugfs].map(open);
            assert!(mounted == taken_out, "{:?}", state.cut);
            assert!(
                mounted == *by_board[0].as_ref().unwrap().left(),
                "{:?}",
                state.cut
            );
            let reported = state.cut.sent > step.end;
            let of_board = |next: usize| judge(&case, &by_board[next], next, reported);
            let [[left, own], [_, other]] = [0, 1].map(of_board);
            let wrong = [left, own, other].concat();
            for way in [Way::Loop, Way::Debugfs] {
                let here = case.judge_afresh(&bench, &state.disk, &EXT4, way, reported);
                assert_eq!(here.wrong, wrong, "{way:?}: {:?}", state.cut);
            }
            count += 1;
            bad += usize::from(!wrong.is_empty());
        }
    }
    println!("power-loss: {count} states looked at in three ways, {bad} of them bad in each");
    assert!(bad > 0, "the fault on purpose shows");
}
