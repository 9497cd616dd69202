//! What the next starts make of what an accident left of an operation.

use std::cell::RefCell;
use std::collections::BTreeMap;

use aiden_skills::sync::ledger::LedgerState;

use crate::board::Board;
use crate::firmwares::Firmwares;
use crate::judge::Undisturbed;
use crate::scenario::Scenario;
use crate::simulated::Disk;

/// How far all had come before an accident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The operation ran.
    Begun,
    /// It had reported that it was done.
    Reported,
    /// It had been interrupted, and the next start with the same firmware ran.
    Settling,
}

/// Judges what accidents left of one operation, each state once.
pub struct Aftermath<'a> {
    firmwares: &'a Firmwares,
    pub undisturbed: Undisturbed,
    /// The operation itself starts with a ledger that can't be read.
    may_rebuild: bool,
    verdicts: RefCell<BTreeMap<(u64, Stage), Vec<String>>>,
}

impl<'a> Aftermath<'a> {
    pub fn of(scenario: &Scenario, firmwares: &'a Firmwares) -> Self {
        Self {
            firmwares,
            undisturbed: scenario.undisturbed(firmwares),
            may_rebuild: scenario.name.starts_with("ledger rebuilt"),
            verdicts: RefCell::default(),
        }
    }

    /// What is wrong with a state, as it is and after the next starts: with the firmware of the operation, and with one
    /// of the others and then that of the operation again.
    pub fn judge(&self, left: &Disk, stage: Stage) -> Vec<String> {
        let key = (left.fingerprint(), stage);
        if let Some(known) = self.verdicts.borrow().get(&key) {
            return known.clone();
        }
        let reported = stage == Stage::Reported;
        let mut wrong = match stage {
            Stage::Settling => self.undisturbed.judge_left_of_start(0, &left.tree()),
            _ => self.undisturbed.judge_left(&left.tree(), reported),
        };
        let other = if key.0.is_multiple_of(2) {
            "older"
        } else {
            "stripped"
        };
        // What a second start with another firmware would make of what the first has made is not known.
        let next = match stage {
            Stage::Settling => &["newer"][..],
            _ => &["newer", other],
        };
        for firmware in next {
            let board = Board::on(left.clone());
            wrong.extend(self.start(&board, firmware, reported));
        }
        self.verdicts.borrow_mut().insert(key, wrong.clone());
        wrong
    }

    /// What is wrong with the next start, and the ones after it.
    pub fn start(&self, board: &Board, firmware: &str, reported: bool) -> Vec<String> {
        let [newer, older, stripped] = self.firmwares.all().map(|(_, firmware)| firmware);
        let (steps, then): (&[_], _) = match firmware {
            "newer" => (&[(0, newer)], ""),
            "older" => (&[(1, older), (3, newer)], ", newer"),
            _ => (&[(2, stripped), (4, newer)], ", newer"),
        };
        let mut wrong = Vec::new();
        for (next, firmware) in steps {
            wrong.extend(self.step(board, *next, firmware, reported));
        }
        let told = |what| format!("then firmware {firmware}{then}: {what}");
        wrong.into_iter().map(told).collect()
    }

    /// As `judge`, where less is known of the library than was: its files are old or new, whatever the ledger says of them.
    pub fn judge_library(&self, left: &Disk) -> Vec<String> {
        let mut wrong = Vec::new();
        for (next, (name, firmware)) in self.firmwares.all().into_iter().enumerate() {
            let board = Board::on(left.clone());
            match board.sync(firmware) {
                Ok(_) => wrong.extend(self.undisturbed.judge_library_settled(next, &board.tree())),
                Err(e) => wrong.push(format!("then firmware {name}: the sync can't: {e}")),
            }
        }
        wrong
    }

    fn step(&self, board: &Board, next: usize, firmware: &Disk, reported: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let is_sure = |name: &str| reported || !self.undisturbed.unsure.contains(name);
        match board.sync(firmware) {
            Ok(report) => {
                let failed = report.failed.iter().filter(|failed| is_sure(&failed.name));
                wrong.extend(failed.map(|failed| format!("{failed:?}")));
                if report.ledger == LedgerState::Rebuilt && !self.may_rebuild {
                    wrong.push("the ledger had to be rebuilt".into());
                }
            }
            Err(e) => return vec![format!("the sync can't: {e}")],
        }
        let settled = board.tree();
        wrong.extend(self.undisturbed.judge_settled(next, &settled, reported));
        match board.sync(firmware) {
            Ok(again) => {
                let now = board.tree();
                wrong.extend(Undisturbed::judge_rest(&settled, &now, again.flushes));
            }
            Err(e) => wrong.push(format!("the sync after it can't: {e}")),
        }
        wrong
    }
}
