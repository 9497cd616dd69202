//! Power is cut at every effect of every operation, and any legal part of what was not flushed is lost.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::aftermath::{Aftermath, Stage};
use crate::board::Board;
use crate::chance;
use crate::firmwares::Firmwares;
use crate::scenario::{Scenario, scenarios, small};
use crate::simulated::{Cut, Disk, Effect, Effort, History, MEDIA, Medium, Simulated};
use crate::table;

/// One operation, run once, and what is known of the states that cuts of it leave.
pub struct Examined<'a> {
    scenario: &'a Scenario,
    firmwares: &'a Firmwares,
    pub aftermath: Aftermath<'a>,
    pub history: History,
    /// The effects of the operation itself begin here; before are those of the user.
    pub begin: usize,
    per_file: bool,
}

/// What was tried on one medium.
#[derive(Debug, Default)]
pub struct Tried {
    /// States that differ in what is on the medium, each followed by each firmware.
    pub states: usize,
    /// How many of them were not as they should be.
    pub violations: usize,
    /// The first of those, with as little lost as it takes.
    pub first: Option<String>,
}

impl<'a> Examined<'a> {
    pub fn new(scenario: &'a Scenario, firmwares: &'a Firmwares, per_file: bool) -> Self {
        let mut examined = Self::undisturbed(scenario, firmwares, per_file);
        examined.run();
        examined
    }

    /// What is expected is known; the operation is not run yet.
    pub fn undisturbed(scenario: &'a Scenario, firmwares: &'a Firmwares, per_file: bool) -> Self {
        let before = scenario.before(firmwares);
        Self {
            scenario,
            firmwares,
            aftermath: Aftermath::of(scenario, firmwares),
            history: History::new(before),
            begin: 0,
            per_file,
        }
    }

    /// Runs the operation and remembers its effects.
    pub fn run(&mut self) {
        let mut board = Board::on(self.history.start.clone());
        if self.per_file {
            board = board.without_syncfs();
        }
        self.scenario.touch(&board, self.firmwares);
        self.begin = board.filesystem.history().effects.len();
        let done = self.scenario.act(&board.filesystem, self.firmwares);
        assert_eq!(done, Ok(true), "{}", self.scenario.name);
        self.history = board.filesystem.history();
    }

    pub fn try_all(&self, medium: Medium, effort: Effort) -> Tried {
        let mut tried = Tried::default();
        self.states(medium, effort, |cut, left, reported| {
            tried.states += 1;
            if !self.judge(left, reported).is_empty() {
                tried.violations += 1;
                tried
                    .first
                    .get_or_insert_with(|| self.describe(medium, cut));
            }
            true
        });
        tried
    }

    /// The states that cuts leave and that differ, from the last cut to the first, as long as they are wanted.
    pub fn states(
        &self,
        medium: Medium,
        effort: Effort,
        mut wanted: impl FnMut(Cut, &Disk, bool) -> bool,
    ) {
        let mut rng = chance::rng(self.scenario.name);
        let mut seen = BTreeSet::new();
        let end = self.history.effects.len();
        let effort = Effort {
            random: effort.random * chance::soak(),
            ..effort
        };
        for at in (self.begin..=end).rev() {
            for cut in self.history.cuts(medium, at, effort, &mut rng) {
                let left = self.history.left_by(&cut);
                let is_new = seen.insert((left.fingerprint(), at == end));
                if is_new && !wanted(cut, &left, at == end) {
                    return;
                }
            }
        }
    }

    fn describe(&self, medium: Medium, cut: Cut) -> String {
        let reported = cut.at == self.history.effects.len();
        let fails = |cut: &Cut| !self.judge(&self.history.left_by(cut), reported).is_empty();
        let cut = self.history.shrink(cut, fails);
        let wrong = self.judge(&self.history.left_by(&cut), reported);
        let wrong = wrong.first().map_or("", |wrong| wrong);
        let told = self.history.describe(&cut);
        format!(
            "{} on {medium:?}, reported: {reported}, {told}\n    {wrong}",
            self.scenario.name
        )
    }

    pub fn judge(&self, left: &Disk, reported: bool) -> Vec<String> {
        let stage = if reported {
            Stage::Reported
        } else {
            Stage::Begun
        };
        self.aftermath.judge(left, stage)
    }

    /// Cuts the start after a cut too: says what is wrong then.
    fn cut_twice(&self, medium: Medium, rng: &mut Rng) -> Vec<String> {
        let first = any_cut(&self.history, medium, self.begin, rng);
        let reported = first.at == self.history.effects.len();
        let mut board = Board::on(self.history.left_by(&first));
        if rng.bool() {
            board = board.without_syncfs();
        }
        let firmwares = self.firmwares.all();
        let next = rng.usize(..firmwares.len());
        let (name, firmware) = firmwares[next];
        if let Err(e) = board.sync(firmware) {
            return vec![e.to_string()];
        }
        let history = board.filesystem.history();
        let second = any_cut(&history, medium, 0, rng);
        let left = history.left_by(&second);
        let mut wrong = Vec::new();
        if second.at == history.effects.len() && left.tree().lasting() != board.tree().lasting() {
            wrong.push("what the second start reported is undone".into());
        }
        let undisturbed = &self.aftermath.undisturbed;
        wrong.extend(undisturbed.judge_left_of_start(next, &left.tree()));
        // The firmware may change again, and then all but the last is hard to tell: only the same is judged.
        wrong.extend(self.aftermath.start(&Board::on(left), name, reported));
        let told = |wrong: String| {
            let (first, second) = (self.history.describe(&first), history.describe(&second));
            format!(
                "{} on {medium:?}: {first}; firmware {name}: {second}\n    {wrong}",
                self.scenario.name
            )
        };
        wrong.into_iter().map(told).collect()
    }

    /// Kills the process, lets a sync settle what it left on the same running kernel, and cuts the power while it does so
    /// or after it has reported: says how many states were looked at, and the first that is wrong.
    fn kill_then_cut(&self, medium: Medium, rng: &mut Rng) -> (usize, Option<String>) {
        const LITTLE: Effort = Effort {
            exhaustive: 2,
            random: 1,
        };
        let mut states = 0;
        let effects = &self.history.effects;
        // After a write nothing is to be settled that was not to be before.
        let is_data = |at: &usize| matches!(effects[at - 1], Effect::Data(..));
        for killed in (self.begin.max(1)..effects.len()).filter(|at| !is_data(at)) {
            let mut filesystem = Simulated::after_kill(&self.history, killed);
            if self.per_file {
                filesystem = filesystem.without_syncfs();
            }
            let board = Board { filesystem };
            board.sync(&self.firmwares.newer).unwrap();
            let settled = board.tree();
            let history = board.filesystem.history();
            let end = history.effects.len();
            let wrong = |cut: &Cut| {
                let left = history.left_by(cut);
                let undone = cut.at == end && settled.lasting() != left.tree().lasting();
                let undone = undone.then(|| "what was reported is undone".to_owned());
                undone.or_else(|| {
                    self.aftermath
                        .judge(&left, Stage::Settling)
                        .into_iter()
                        .next()
                })
            };
            let mut cuts = history.cuts(medium, end, LITTLE, rng);
            cuts.extend((0..2).map(|_| any_cut(&history, medium, killed, rng)));
            let mut seen = BTreeSet::new();
            cuts.retain(|cut| seen.insert((history.left_by(cut).fingerprint(), cut.at == end)));
            for cut in cuts {
                states += 1;
                if wrong(&cut).is_some() {
                    let cut = history.shrink(cut, |cut| wrong(cut).is_some());
                    let (kill, lost) = (self.history.call_at(killed), history.describe(&cut));
                    let told = format!(
                        "{} on {medium:?}, killed after {kill}: {lost}\n    {}",
                        self.scenario.name,
                        wrong(&cut).unwrap_or_default()
                    );
                    return (states, Some(told));
                }
            }
        }
        (states, None)
    }
}

/// A cut at a moment by chance.
pub fn any_cut(history: &History, medium: Medium, begin: usize, rng: &mut Rng) -> Cut {
    const ONE: Effort = Effort {
        exhaustive: 0,
        random: 1,
    };
    let at = rng.usize(begin..=history.effects.len());
    let cuts = history.cuts(medium, at, ONE, rng);
    cuts[rng.usize(..cuts.len())].clone()
}

fn no_cut_harms(scenario: &Scenario, firmwares: &Firmwares, per_file: bool, effort: Effort) {
    let examined = Examined::new(scenario, firmwares, per_file);
    for medium in MEDIA.into_iter().chain([Medium::Process]) {
        let tried = examined.try_all(medium, effort);
        let medium = format!("simulated {medium}");
        table::line(scenario.name, &medium, tried.states, tried.violations);
        assert!(
            tried.states > 2,
            "{}: too few states were seen",
            scenario.name
        );
        assert_eq!(tried.first, None);
    }
}

pub const SAMPLE: Effort = Effort {
    exhaustive: 3,
    random: 1,
};
const EXHAUSTIVE: Effort = Effort {
    exhaustive: 10,
    random: 20,
};

#[test]
fn no_cut_of_any_operation_loses_tears_or_undoes_anything() {
    let firmwares = Firmwares::new();
    for scenario in scenarios() {
        no_cut_harms(&scenario, &firmwares, false, SAMPLE);
    }
}

#[test]
fn nor_where_syncfs_is_not_trusted() {
    let firmwares = Firmwares::new();
    for scenario in scenarios() {
        no_cut_harms(&scenario, &firmwares, true, SAMPLE);
    }
}

#[test]
fn nor_does_any_subset_of_what_was_pending_in_a_small_case() {
    let (firmwares, scenarios) = small();
    for scenario in scenarios {
        for per_file in [false, true] {
            no_cut_harms(&scenario, &firmwares, per_file, EXHAUSTIVE);
        }
    }
}

#[test]
fn nor_does_a_second_cut_while_the_first_is_settled() {
    let firmwares = Firmwares::new();
    let mut rng = chance::rng("a second cut");
    let mut tried = 0;
    for scenario in scenarios() {
        let examined = Examined::new(&scenario, &firmwares, rng.bool());
        for _ in 0..100 * chance::soak() {
            for medium in MEDIA {
                let wrong = examined.cut_twice(medium, &mut rng);
                assert!(wrong.is_empty(), "{}", wrong[0]);
                tried += 1;
            }
        }
    }
    table::line("every operation, cut twice", "simulated", tried, 0);
}

#[test]
fn what_a_sync_after_a_kill_reports_survives_a_cut() {
    let firmwares = Firmwares::new();
    let mut rng = chance::rng("a cut after a kill");
    for scenario in scenarios() {
        for per_file in [false, true] {
            let examined = Examined::new(&scenario, &firmwares, per_file);
            for medium in MEDIA {
                let (states, undone) = examined.kill_then_cut(medium, &mut rng);
                let name = "every operation, killed and settled";
                table::line(
                    name,
                    &format!("simulated {medium}"),
                    states,
                    usize::from(undone.is_some()),
                );
                assert_eq!(undone, None);
            }
        }
    }
}
