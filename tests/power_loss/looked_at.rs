//! Operations on recorded disks whose states a board looks at, and that it makes no difference who looks.

use std::collections::HashSet;

use crate::guest::{Job, Seen, look};
use crate::judge::Tree;
use crate::log::{Cut, Disk};
use crate::operations::{self, both_from};
use crate::random::{Random, seed, soak};
use crate::recorded::{Trial, cuts, every_operation, tell};
use crate::recording::{Recorded, Recording, Step};
use crate::state::{Bench, EXT4, F2FS, Way};
use crate::table;
use crate::verdict::{self, Case};

/// States of an operation on f2fs in a normal run.
const STATES: usize = 8;
/// States that are looked at in every way.
const SAMPLE: usize = 12;

struct State {
    cut: Cut,
    disk: Disk,
}

/// Some states of an operation, no two alike: its begin, its end, and others by chance.
fn some_states(
    recording: &Recording,
    step: &Recorded,
    count: usize,
    random: &mut Random,
) -> Vec<State> {
    let Recording {
        file_system, log, ..
    } = recording;
    let mut all = cuts(log, step, file_system.has_journal(), random);
    let mut chosen = vec![Cut::after(step.begin + 1), Cut::after(step.end + 1)];
    while chosen.len() < count && !all.is_empty() {
        chosen.push(all.swap_remove(random.below(all.len())));
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

/// For each state one job for each firmware.
fn jobs(step: &Recorded, states: &[State]) -> Vec<Job> {
    let firmwares = both_from(step.step.operation.firmware);
    let jobs = states.iter().flat_map(|state| {
        firmwares.map(|firmware| Job {
            disk: state.disk.clone(),
            directory: step.step.directory(),
            firmware,
        })
    });
    jobs.collect()
}

/// What is wrong with a state, as a board saw it with each of the firmwares.
fn judge(case: &Case, seen: &[Result<Seen, String>], reported: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (next, seen) in seen.iter().enumerate() {
        match seen {
            Ok(seen) => {
                let [left, settled, again] = &seen.trees;
                if next == 0 {
                    wrong.extend(case.undisturbed.judge_left(left, reported));
                }
                let [code, second] = seen.codes;
                let rest = (second, seen.flushes);
                wrong.extend(case.judge_trees(next, code, settled, rest, again, reported));
            }
            Err(why) => wrong.push(why.clone()),
        }
    }
    wrong
}

#[test]
fn cuts_on_f2fs_end_well() {
    let seed = seed(F2FS.name);
    let recording = Recording::of(F2FS, &every_operation());
    let mut random = Random::new(seed, F2FS.name);
    let chosen: Vec<Vec<State>> = recording
        .steps
        .iter()
        .map(|step| some_states(&recording, step, STATES * soak(), &mut random))
        .collect();
    let of_steps = recording.steps.iter().zip(&chosen);
    let jobs: Vec<Job> = of_steps
        .flat_map(|(step, states)| jobs(step, states))
        .collect();
    let seen = look(&F2FS, &jobs);
    let (mut at, mut all, mut wrongs) = (0, 0, 0);
    for (step, states) in recording.steps.iter().zip(&chosen) {
        let of_step = &seen[at..at + 2 * states.len()];
        let before = of_step[0].as_ref().expect("its begin can be mounted");
        let operation = step.step.operation;
        let case = Case::new(
            &step.step.directory(),
            &before.config(&jobs[at]),
            operation.firmware,
            |config| verdict::run(config, operation.firmware, operation.command),
        );
        assert_eq!(
            case.code,
            step.code,
            "{} ends on the board as here",
            step.step.name()
        );
        let mut violations = 0;
        for (state, seen) in states.iter().zip(of_step.chunks(2)) {
            let reported = state.cut.sent > step.end;
            let wrong = judge(&case, seen, reported);
            if !wrong.is_empty() {
                violations += 1;
                tell(step, F2FS.name, seed, &state.cut, &wrong);
            }
        }
        table::line(&step.step.name(), F2FS.name, states.len(), violations);
        at += of_step.len();
        all += states.len();
        wrongs += violations;
    }
    println!("power-loss: {all} states of f2fs, looked at by the board");
    if wrongs > 0 {
        recording.keep();
    }
    assert_eq!(wrongs, 0, "of {all} states; each is told above");
    assert!(all >= 50, "only {all} states");
}

/// Mounted here, taken out by debugfs here, or mounted by a board: the same files, and the same end.
#[test]
fn it_makes_no_difference_who_looks_at_a_state() {
    let seed = seed("who looks");
    let mut operations = operations::ALL.iter();
    let operation = operations.find(|one| one.name == "update").unwrap();
    let step = Step {
        operation,
        mutant: None,
    };
    let recording = Recording::of(EXT4, &[step]);
    let trial = Trial::new(&recording, seed);
    let step = &recording.steps[0];
    let case = trial.case(step);
    let mut random = Random::new(seed, "who looks");
    let states = some_states(&recording, step, SAMPLE, &mut random);
    let seen = look(&EXT4, &jobs(step, &states));
    let bench = Bench::new();
    for (state, seen) in states.iter().zip(seen.chunks(2)) {
        let left = |way| {
            let opened = bench.open(&state.disk, &EXT4, way);
            let opened = opened.unwrap_or_else(|why| panic!("{way:?} (as root?): {why}"));
            Tree::of(&opened.directory(&step.step.directory()))
        };
        let by_the_board = seen[0].as_ref().unwrap().left();
        assert!(left(Way::Loop) == left(Way::Debugfs), "{:?}", state.cut);
        assert!(left(Way::Loop) == *by_the_board, "{:?}", state.cut);
        let reported = state.cut.sent > step.end;
        for way in [Way::Loop, Way::Debugfs] {
            let verdict = case.judge_afresh(&bench, &state.disk, &EXT4, way, reported);
            assert_eq!(verdict.wrong, [""; 0], "{way:?}: {:?}", state.cut);
        }
        assert_eq!(judge(&case, seen, reported), [""; 0], "{:?}", state.cut);
    }
    println!(
        "power-loss: {} states looked at in three ways",
        states.len()
    );
}
