//! An operation as it goes undisturbed: this machine's program on the boards' bundles.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::board::{Board, Slot};
use crate::common;
use crate::judge::{Next, Tree, Undisturbed};
use crate::table;

/// What is done to a config dir while something goes wrong.
#[derive(Clone, Copy)]
pub struct Operation {
    pub name: &'static str,
    /// What comes before it.
    pub prepare: fn(&Place),
    pub slot: Slot,
    pub arguments: &'static [&'static str],
}

pub const FIRST_SEED: Operation = Operation {
    name: "first seed",
    prepare: |_| {},
    slot: Slot::A,
    arguments: &["sync"],
};

pub const UPDATE: Operation = Operation {
    name: "update",
    prepare: seed,
    slot: Slot::B,
    arguments: &["sync"],
};

pub const UPDATE_OF_EDITED: Operation = Operation {
    name: "update beside edits and deletions",
    prepare: seed_and_edit,
    slot: Slot::B,
    arguments: &["sync"],
};

/// All operations whose cuts are looked at.
pub const OPERATIONS: [Operation; 6] = [
    FIRST_SEED,
    UPDATE,
    UPDATE_OF_EDITED,
    Operation {
        name: "merge",
        prepare: |place| {
            seed(place);
            let path = place.agent.join("skills/planner/SKILL.md");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replacen("---\n", "---\nsource: me\n", 1)).unwrap();
            place.run(Slot::A, &["sync"]);
            place.run(Slot::B, &["sync"]);
        },
        slot: Slot::B,
        arguments: &["--engine", "structural", "merge"],
    },
    Operation {
        name: "reset",
        prepare: |place| {
            seed_and_edit(place);
            place.run(Slot::B, &["sync"]);
        },
        slot: Slot::B,
        arguments: &["reset", "--all", "--restore"],
    },
    Operation {
        name: "ledger rebuilt from the bases",
        prepare: |place| {
            seed_and_edit(place);
            place.run(Slot::A, &["sync"]);
            let ledger = place.agent.join("skill-state/.bundled_manifest.json");
            let half = fs::metadata(&ledger).unwrap().len() / 2;
            let file = fs::OpenOptions::new().write(true).open(&ledger).unwrap();
            file.set_len(half).unwrap();
            fs::remove_file(ledger.with_extension("json.prev")).unwrap();
        },
        slot: Slot::B,
        arguments: &["sync"],
    },
];

impl Operation {
    /// Its name as that of a file.
    pub fn file(&self) -> String {
        self.name.replace(' ', "-")
    }
}

fn seed(place: &Place) {
    place.run(Slot::A, &["sync"]);
}

/// What is edited and deleted here the next firmware changes in part, in part not.
fn seed_and_edit(place: &Place) {
    seed(place);
    for path in ["planner/SKILL.md", "device-settings/SKILL.md"] {
        let path = place.agent.join("skills").join(path);
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("\nA line that only the user wrote.\n");
        fs::write(&path, text).unwrap();
    }
    let library = place.agent.join("skills");
    fs::remove_dir_all(library.join("ui-operator")).unwrap();
    fs::remove_file(library.join("payment-confirm/templates/confirmation.md")).unwrap();
}

/// A config dir on this machine, and the bundles of both slots.
pub struct Place {
    pub agent: PathBuf,
    bundles: [PathBuf; 2],
    scratch: TempDir,
}

/// What a command ended with.
pub struct Outcome {
    pub code: i32,
    pub report: Value,
}

impl Place {
    /// An empty config dir.
    pub fn new(board: &Board) -> Self {
        let bundles = [Slot::A, Slot::B].map(|slot| board.bundle_directory(slot));
        Self::with(bundles, &|agent| fs::create_dir(agent).unwrap())
    }

    fn with(bundles: [PathBuf; 2], fill: &dyn Fn(&Path)) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let agent = scratch.path().join("agent");
        fill(&agent);
        Self {
            agent,
            bundles,
            scratch,
        }
    }

    fn copy(&self) -> Self {
        Self::with(self.bundles.clone(), &|agent| {
            let mut copy = Command::new("cp");
            copy.arg("-a").arg(&self.agent).arg(agent);
            assert!(copy.status().expect("cp runs").success());
        })
    }

    pub fn tree(&self) -> Tree {
        Tree::of(&self.agent)
    }

    /// The directory that holds `agent`.
    pub fn above(&self) -> &Path {
        self.scratch.path()
    }

    pub fn run(&self, slot: Slot, arguments: &[&str]) -> Outcome {
        let mut command = common::bare_command();
        command.arg("--config-dir").arg(&self.agent);
        command
            .arg("--bundled-dir")
            .arg(&self.bundles[slot as usize]);
        let run = common::run(command.arg("--json").args(arguments));
        assert!(matches!(run.code, 0 | 3), "{arguments:?}: {run:#?}");
        Outcome {
            code: run.code,
            report: run.json(),
        }
    }
}

/// An operation that went through undisturbed.
pub struct Rehearsal {
    pub before: Place,
    pub outcome: Outcome,
    pub undisturbed: Undisturbed,
    /// The exit codes that the next start may have, for each slot.
    pub next_codes: [BTreeSet<i32>; 2],
}

impl Rehearsal {
    pub fn of(operation: &Operation, board: &Board) -> Self {
        let before = Place::new(board);
        (operation.prepare)(&before);
        let after = before.copy();
        let outcome = after.run(operation.slot, operation.arguments);
        let mut undisturbed = Undisturbed {
            before: before.tree(),
            after: after.tree(),
            ..Undisturbed::default()
        };
        let mut next_codes = [BTreeSet::new(), BTreeSet::new()];
        for slot in [Slot::A, Slot::B] {
            let mut made_of = |place: &Place| {
                let next = place.copy();
                next_codes[slot as usize].insert(next.run(slot, &["sync"]).code);
                next.tree()
            };
            undisturbed.next.push(Next {
                of_before: made_of(&before),
                of_after: made_of(&after),
            });
        }
        Self {
            before,
            outcome,
            undisturbed,
            next_codes,
        }
    }

    /// Makes the disk of `/userdata` hold what comes before the operation.
    pub fn lay_out(&self, board: &Board) {
        make_userdata(board, self.before.above(), 64);
    }

    /// Whether an operation said that all was done, as the undisturbed one did; in how many flushes is its own affair.
    pub fn is_reported(&self, code: i32, report: &str) -> bool {
        let without_flushes = |report: &Value| {
            let mut fields = report.as_object().cloned().unwrap_or_default();
            fields.remove("flushes");
            fields
        };
        let same =
            |report: Value| without_flushes(&report) == without_flushes(&self.outcome.report);
        code == self.outcome.code && serde_json::from_str(report).is_ok_and(same)
    }
}

/// Another disk of `/userdata`, of so many MiB, that holds what this directory does.
pub fn make_userdata(board: &Board, content: &Path, mebibytes: u64) {
    let disk = fs::File::create(board.userdata()).unwrap();
    disk.set_len(mebibytes << 20).unwrap();
    let made = Command::new("mke2fs")
        .args([
            "-q", "-F", "-t", "ext4", "-b", "4096", "-i", "4096", "-m", "0",
        ])
        .args(["-E", "root_owner=0:0", "-d"])
        .args([content, &board.userdata()])
        .status();
    assert!(made.expect("mke2fs runs").success());
}

/// A line for the table of what was looked at.
pub fn tell(operation: &str, medium: &str, states: usize, violations: &[String]) {
    for violation in violations {
        println!("power-loss: {operation}: {violation}");
    }
    table::line(operation, medium, states, violations.len());
}
