//! What the next command makes of what an accident left of a change: all of it or nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use aiden_skills::store::Documents;

use super::operations::{AGAIN, Desk, NEXT, Operation};
use crate::aftermath::Stage;
use crate::board::Board;
use crate::evolved::{self, COMMIT, Files, LOCK, STAGE};
use crate::simulated::Disk;

/// Judges what accidents left of one change, each state once.
pub struct Verdict<'o> {
    pub operation: &'o Operation,
    pub before: Files,
    pub after: Files,
    /// What the next command makes of the state before and of the one after.
    next: [Files; 2],
    /// What one more makes of all four.
    again: [Files; 4],
    known: RefCell<BTreeMap<(u64, Stage), Vec<String>>>,
}

impl<'o> Verdict<'o> {
    pub fn of(operation: &'o Operation) -> Self {
        let before = operation.before();
        let board = Board::on(before.clone());
        operation.act(&board.filesystem).unwrap();
        let after = board.filesystem.live();
        let then = |disk: &Disk, turn| {
            let board = Board::on(disk.clone());
            operation.next(&board.filesystem, turn).unwrap();
            board.filesystem.live()
        };
        let next = [&before, &after].map(|disk| then(disk, NEXT));
        let again = [&before, &after, &next[0], &next[1]].map(|disk| then(disk, AGAIN));
        let verdict = Self {
            operation,
            before: files(&before),
            after: files(&after),
            next: next.each_ref().map(files),
            again: again.each_ref().map(files),
            known: RefCell::default(),
        };
        verdict.check_itself();
        verdict
    }

    /// What is right is right.
    fn check_itself(&self) {
        let name = self.operation.name;
        assert_ne!(self.before, self.after, "{name}");
        let is_torn = evolved::judge(&self.before)
            .iter()
            .any(|wrong| wrong.contains("torn"));
        let whole = [&self.after, &self.next[0], &self.next[1]];
        let all = whole.into_iter().chain(&self.again);
        let before = (!is_torn).then_some(&self.before);
        for files in all.chain(before) {
            let mut wrong = evolved::judge(files);
            wrong.extend(evolved::leftovers(files));
            assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        }
    }

    /// What is wrong with a state: as it lies there, when the lock was taken, and after the next command.
    pub fn judge(&self, left: &Disk, stage: Stage) -> Vec<String> {
        let key = (left.fingerprint(), stage);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let mut wrong = match stage {
            Stage::Settling => Vec::new(),
            _ => self.judge_left(&files(left), stage == Stage::Reported),
        };
        wrong.extend(self.judge_settled(left, stage));
        self.known.borrow_mut().insert(key, wrong.clone());
        wrong
    }

    /// Every document is whole, and old or new.
    fn judge_left(&self, left: &Files, reported: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let is_ours = |path: &str| path.starts_with(STAGE) || path == COMMIT;
        for (path, bytes) in left.iter().filter(|(path, _)| !is_ours(path)) {
            let is_new = self.after.get(path) == Some(bytes);
            let is_old = self.before.get(path) == Some(bytes);
            if !is_new && (reported || !is_old) {
                let text = String::from_utf8_lossy(bytes);
                wrong.push(format!("{path} is neither old nor new: {text:?}"));
            }
        }
        let there = if reported { &self.after } else { &self.before };
        let lost = there.keys().filter(|path| !left.contains_key(*path));
        wrong.extend(lost.map(|path| format!("{path} is lost")));
        wrong
    }

    /// Who takes the lock finds all of the change or nothing, and goes on from there.
    fn judge_settled(&self, left: &Disk, stage: Stage) -> Vec<String> {
        let whole = [&self.before, &self.after, &self.next[0], &self.next[1]];
        let may_be: &[usize] = match stage {
            Stage::Begun => &[0, 1],
            Stage::Reported => &[1],
            Stage::Settling => &[0, 1, 2, 3],
        };
        let board = Board::on(left.clone());
        if let Err(e) = Documents::lock(&board.filesystem, Duration::ZERO) {
            return vec![format!("the lock can't be taken: {e}")];
        }
        let settled = board.filesystem.live();
        let now = files(&settled);
        let found = may_be.iter().find(|at| *whole[**at] == now);
        let Some(found) = found else {
            return vec![format!(
                "it is neither as before nor done: {}",
                self.difference(&now)
            )];
        };
        let (turn, expected) = match stage {
            Stage::Settling => (AGAIN, &self.again[*found]),
            _ => (NEXT, &self.next[*found]),
        };
        // From what was left, not from what the lock has made of it.
        let board = Board::on(left.clone());
        if let Err(e) = self.operation.next(&board.filesystem, turn) {
            return vec![format!("the next command can't: {e}")];
        }
        let mut wrong = Vec::new();
        let now = files(&board.filesystem.live());
        if now != *expected {
            wrong.push(format!("the next command makes something else: {now:#?}"));
        }
        let validated = Desk::new(&board.filesystem, turn).work(|workspace| workspace.validate());
        match validated {
            Ok(validation) if validation.errors.is_empty() => {}
            validated => wrong.push(format!("it is not valid: {validated:?}")),
        }
        wrong
    }

    fn difference(&self, now: &Files) -> String {
        let differs = |other: &Files| -> Vec<String> {
            let all = now.keys().chain(other.keys());
            let mut paths: Vec<String> = all
                .filter(|path| now.get(*path) != other.get(*path))
                .cloned()
                .collect();
            paths.sort();
            paths.dedup();
            paths
        };
        format!(
            "other than before: {:?}; other than done: {:?}",
            differs(&self.before),
            differs(&self.after)
        )
    }
}

/// The files of a workspace; the lock, which holds nothing, is none of them.
pub fn files(disk: &Disk) -> Files {
    let nodes = disk.tree().0.into_iter();
    let files = nodes.filter(|(path, _)| !path.ends_with('/') && path != LOCK);
    files.map(|(path, node)| (path, node.bytes)).collect()
}
