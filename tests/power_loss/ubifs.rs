//! UBIFS on emulated NAND, with the real 32-bit program: the power is cut at the beginning of a block, in the middle of a
//! write, and between two system calls. `ubifs.sh` does it on the board; here its cuts are planned and judged.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::board::{Board, Machine, Running, Slot};
use crate::chance::soak;
use crate::disk::{Files, read_back};
use crate::judge::{Tree, Undisturbed};
use crate::rehearsal::{OPERATIONS, Operation, Rehearsal, make_userdata, tell};

const USUAL_CUTS: usize = 50;
/// A cut takes about two seconds on an idle core.
const PATIENCE_A_CUT: Duration = Duration::from_secs(20);
const LAB: &str = "/userdata/lab";

/// A cut of the plan.
#[derive(Debug)]
struct Cut {
    number: usize,
    operation: usize,
    kind: &'static str,
    point: usize,
    next: Slot,
}

#[test]
fn a_cut_leaves_each_skill_as_before_or_done() {
    let board = Board::new(Machine::Armv7);
    let rehearsals: Vec<Rehearsal> = OPERATIONS
        .iter()
        .map(|operation| Rehearsal::of(operation, &board))
        .collect();
    let plan = plan(number_of_cuts());
    make_disk(&board, &rehearsals, &plan);
    let mut running = board.boot(Slot::A).start();
    cut_all(&mut running, plan.len());
    running.power_off();
    let lab = read_back(&board.userdata()).below("lab");

    let mut violations = 0;
    for (index, operation) in OPERATIONS.iter().enumerate() {
        let cuts = plan.iter().filter(|cut| cut.operation == index);
        violations += judge(operation, &rehearsals[index], cuts, &lab);
    }
    assert_eq!(violations, 0);
}

/// The guest keeps what it sees on one disk, which has an end.
fn number_of_cuts() -> usize {
    USUAL_CUTS * soak().min(4)
}

/// Spreads the cuts over operations, kinds, moments and the firmware that comes next.
fn plan(cuts: usize) -> Vec<Cut> {
    let of_each = cuts.div_ceil(OPERATIONS.len());
    let is_call = |index: &usize| index % 10 > 4;
    let calls = (0..of_each).filter(is_call).count();
    let mut plan = Vec::new();
    for operation in 0..OPERATIONS.len() {
        for index in 0..of_each {
            let (kind, point) = match index % 10 {
                within @ 0..=2 => ("block", 1 + index / 10 * 3 + within),
                3..=4 => ("write", 0),
                // From before the first call to after the last.
                _ => {
                    let nth = (0..index).filter(is_call).count();
                    ("call", nth * 1000 / calls.saturating_sub(1).max(1))
                }
            };
            let next = if (index + index / 10 + operation) % 2 == 0 {
                Slot::B
            } else {
                Slot::A
            };
            plan.push(Cut {
                number: plan.len(),
                operation,
                kind,
                point,
                next,
            });
        }
    }
    plan
}

/// The disk of `/userdata` with all that the board needs for the cuts, and room for what they leave.
fn make_disk(board: &Board, rehearsals: &[Rehearsal], plan: &[Cut]) {
    let content = tempfile::tempdir().unwrap();
    let lab = content.path().join("lab");
    fs::create_dir(&lab).unwrap();
    fs::write(lab.join("ubifs.sh"), include_str!("ubifs.sh")).unwrap();
    let lines: Vec<String> = plan
        .iter()
        .map(|cut| {
            format!(
                "{} {} {} {} {}\n",
                cut.number,
                cut.kind,
                cut.point,
                cut.next.letter(),
                OPERATIONS[cut.operation].file()
            )
        })
        .collect();
    fs::write(lab.join("plan"), lines.concat()).unwrap();
    for (operation, rehearsal) in OPERATIONS.iter().zip(rehearsals) {
        let command = format!(
            "{} {}\n",
            operation.slot.letter(),
            operation.arguments.join(" ")
        );
        fs::write(lab.join(format!("{}.command", operation.file())), command).unwrap();
        let packed = Command::new("tar")
            .args(["--owner=0", "--group=0", "-cf"])
            .arg(lab.join(format!("{}.tar", operation.file())))
            .arg("-C")
            .args([rehearsal.before.above(), Path::new("agent")])
            .status();
        assert!(packed.expect("tar runs").success());
    }
    make_userdata(board, content.path(), 64 + plan.len() as u64);
}

fn cut_all(running: &mut Running, cuts: usize) {
    let started = Instant::now();
    let mutant = std::env::var("AIDEN_MUTANT").unwrap_or_default();
    running.must(&format!(
        "(AIDEN_MUTANT={mutant} sh {LAB}/ubifs.sh {LAB} >/run/lab.log 2>&1; echo $? >/run/lab.code) &"
    ));
    while running.sh("sleep 2; test -e /run/lab.code").code != 0 {
        let patience = PATIENCE_A_CUT * u32::try_from(cuts + 3).unwrap();
        assert!(
            started.elapsed() < patience,
            "{}",
            running.must("cat /run/lab.log")
        );
    }
    let log = running.must("cat /run/lab.log /run/lab.code");
    assert_eq!(log, "0", "the board could not do its part");
}

/// The number of violations.
fn judge<'c>(
    operation: &Operation,
    rehearsal: &Rehearsal,
    cuts: impl Iterator<Item = &'c Cut>,
    lab: &Files,
) -> usize {
    let mut violations = Vec::new();
    let (mut tried, mut states, mut inside) = (0, 0, 0);
    for cut in cuts {
        let left = Left::of(cut, lab);
        let reported = rehearsal.is_reported(left.code, &left.report);
        tried += 1;
        states += usize::from(left.was_cut);
        inside += usize::from(left.was_cut && !reported);
        let wrong = left.judge(rehearsal, cut.next, reported);
        violations.extend(wrong.into_iter().map(|wrong| format!("{cut:?}: {wrong}")));
    }
    println!(
        "{}: of {tried} cuts {states} came, {inside} of them before it had reported",
        operation.name
    );
    tell(operation.name, "UBIFS", states, &violations);
    // A short operation fits in the blocks that UBIFS has begun: only cuts at its calls come in its midst.
    assert!(
        inside * 3 >= tried,
        "too few cuts in the midst of {}: {inside} of {tried}",
        operation.name
    );
    violations.len()
}

/// What the board says of a cut.
struct Left {
    code: i32,
    report: String,
    was_cut: bool,
    unreadable: String,
    settled_code: i32,
    again_code: i32,
    again_report: Value,
    left: Tree,
    settled: Tree,
    again: Tree,
}

impl Left {
    fn of(cut: &Cut, lab: &Files) -> Self {
        let number = cut.number;
        let said = lab.text(&format!("{number}.said"));
        let said: Vec<&str> = said.split_whitespace().collect();
        let &[code, was_cut, settled_code, again_code] = said.as_slice() else {
            panic!("{cut:?} says {said:?}");
        };
        let code_of = |text: &str| text.parse().expect("an exit code");
        let tree = |what: &str| tree_of(&lab.0[&format!("{number}.{what}.tar")].1);
        let again_report = lab.text(&format!("{number}.again.json"));
        Self {
            code: code_of(code),
            report: lab.text(&format!("{number}.operation.json")),
            was_cut: was_cut == "yes",
            unreadable: lab.text(&format!("{number}.unreadable")),
            settled_code: code_of(settled_code),
            again_code: code_of(again_code),
            again_report: serde_json::from_str(&again_report).unwrap_or_default(),
            left: tree("left"),
            settled: tree("settled"),
            again: tree("again"),
        }
    }

    fn judge(&self, rehearsal: &Rehearsal, next: Slot, reported: bool) -> Vec<String> {
        let undisturbed = &rehearsal.undisturbed;
        let next = next as usize;
        let mut wrong = undisturbed.judge_left(&self.left, reported);
        wrong.extend(undisturbed.judge_settled(next, &self.settled, reported));
        let flushes = self.again_report["flushes"].as_u64().unwrap_or(u64::MAX);
        wrong.extend(Undisturbed::judge_rest(&self.settled, &self.again, flushes));
        if !self.unreadable.is_empty() {
            wrong.push(format!("not all can be read: {}", self.unreadable));
        }
        if self.code == 0 && !reported {
            wrong.push(format!("it exits with 0 and reports {}", self.report));
        }
        if !rehearsal.next_codes[next].contains(&self.settled_code) {
            wrong.push(format!("the next sync exits with {}", self.settled_code));
        }
        if self.again_code != 0 {
            wrong.push(format!("the sync after it exits with {}", self.again_code));
        }
        wrong
    }
}

fn tree_of(packed: &[u8]) -> Tree {
    let to = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar")
        .args(["-x", "--no-same-owner", "-C"])
        .arg(to.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("tar runs");
    tar.stdin.take().unwrap().write_all(packed).unwrap();
    assert!(tar.wait().unwrap().success(), "a tree is torn");
    Tree::of(&to.path().join("agent"))
}
