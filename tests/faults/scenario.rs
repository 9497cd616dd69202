//! The operations that are interrupted, the state each starts from, and how each goes undisturbed.

use std::sync::Arc;
use std::time::Duration;

use aiden_skills::merge::structural::Conflict;
use aiden_skills::merge::{
    Answer, Asked, MergeError, MergeInput, MergeOptions, Requests, SkillMergeModel, Stop, Wanted,
    merge_tree,
};
use aiden_skills::skill::SkillName;
use aiden_skills::store::{Filesystem, Hash};
use aiden_skills::sync::ledger::LedgerState;
use aiden_skills::sync::{
    Bundle, BundleState, LockedLibrary, Reset, SyncError, reset_tree, sync_tree,
};

use crate::board::{Board, Skills, options, path, text};
use crate::firmwares::{Firmwares, files};
use crate::judge::{Next, Undisturbed};
use crate::simulated::{Disk, Simulated};

/// An operation and the state it starts from.
pub struct Scenario {
    pub name: &'static str,
    /// Brings a fresh board to the state before; all of it is durable then.
    prepare: fn(&Board, &Firmwares),
    /// What the user does just before the operation and nobody flushes. A cut may then leave anything of it, until
    /// the operation has reported that it was done: it relies on what it saw.
    unflushed: Option<fn(&Board, &Firmwares)>,
    /// The operation; says whether it reported that it was done.
    act: fn(&dyn Filesystem, &Firmwares) -> Result<bool, String>,
}

impl Scenario {
    pub fn act(&self, filesystem: &dyn Filesystem, firmwares: &Firmwares) -> Result<bool, String> {
        (self.act)(filesystem, firmwares)
    }

    /// The durable state before.
    pub fn before(&self, firmwares: &Firmwares) -> Disk {
        let board = Board::new();
        (self.prepare)(&board, firmwares);
        board.filesystem.live()
    }

    /// What the user does to it.
    pub fn touch(&self, board: &Board, firmwares: &Firmwares) {
        if let Some(unflushed) = self.unflushed {
            unflushed(board, firmwares);
        }
    }

    /// How it goes when nothing goes wrong.
    pub fn undisturbed(&self, firmwares: &Firmwares) -> Undisturbed {
        let board = Board::on(self.before(firmwares));
        self.touch(&board, firmwares);
        let before = board.filesystem.live();
        let unsure = self
            .before(firmwares)
            .tree()
            .differing_skills(&before.tree());
        let done = self.act(&board.filesystem, firmwares);
        assert_eq!(done, Ok(true), "{}", self.name);
        let after = board.filesystem.live();
        let synced = |disk: &Disk, firmwares: &[&Disk]| {
            let board = Board::on(disk.clone());
            for firmware in firmwares {
                let report = board.sync(firmware).unwrap();
                assert!(report.failed.is_empty(), "{}: {report:?}", self.name);
            }
            board.tree()
        };
        let [newer, older, stripped] = firmwares.all().map(|(_, firmware)| firmware);
        // Each firmware, and those other than the operation's followed by it.
        let next: [&[&Disk]; 5] = [
            &[newer],
            &[older],
            &[stripped],
            &[older, newer],
            &[stripped, newer],
        ];
        let next = next.map(|firmwares| Next {
            of_before: synced(&before, firmwares),
            of_after: synced(&after, firmwares),
        });
        Undisturbed {
            before: before.tree(),
            after: after.tree(),
            next: next.to_vec(),
            unsure,
        }
    }
}

const LEDGER: &str = "skill-state/.bundled_manifest.json";

/// Synced with the older firmware; then the user edited one skill and deleted another.
fn used(board: &Board, firmwares: &Firmwares) {
    assert!(board.sync(&firmwares.older).unwrap().is_whole());
    board.write("skills/edited/SKILL.md", &text("edited", "Mine."));
    board.write("skills/edited/references/own.md", "own");
    board.remove("skills/deleted");
    board.sync(&firmwares.older).unwrap();
}

/// The same, and then the slot changed.
fn current(board: &Board, firmwares: &Firmwares) {
    used(board, firmwares);
    board.sync(&firmwares.newer).unwrap();
}

fn update(filesystem: &dyn Filesystem, firmwares: &Firmwares) -> Result<bool, String> {
    match sync_tree(filesystem, &firmwares.open_newer(), &options()) {
        Ok(report) => {
            let rebuilt = report.ledger == LedgerState::Rebuilt && report.bundle == BundleState::Ok;
            Ok(report.is_whole() || rebuilt && report.failed.is_empty())
        }
        Err(e) => Err(e.to_string()),
    }
}

fn reset(filesystem: &dyn Filesystem, firmwares: &Firmwares) -> Result<bool, String> {
    let names = ["alpha", "edited", "deleted"].map(str::to_owned).to_vec();
    let reset = Reset::Named(names);
    match reset_tree(filesystem, &firmwares.open_newer(), &options(), &reset) {
        Ok(report) => Ok(report.failed.is_empty() && report.problems.is_empty()),
        Err(e) => Err(e.to_string()),
    }
}

/// What a tool does to the library.
fn change(
    filesystem: &dyn Filesystem,
    make: impl Fn(&mut LockedLibrary<'_>) -> Result<(), SyncError>,
) -> Result<bool, String> {
    let mut library = LockedLibrary::lock(filesystem, &options()).map_err(|e| e.to_string())?;
    make(&mut library).map(|()| true).map_err(|e| e.to_string())
}

/// What a model would answer.
struct Both;

impl SkillMergeModel for Both {
    fn merge(
        &self,
        input: &MergeInput,
        _: &[Conflict],
        _: &Requests,
    ) -> Result<Answer, MergeError> {
        match input.job.name.as_str() {
            "alpha" | "fresh" => Ok(Answer {
                text: text(&input.job.name, "Mine, and new."),
                summary: "Both.".into(),
                engine: "llm",
            }),
            _ => Err(MergeError::Refused),
        }
    }
}

fn merge(filesystem: &dyn Filesystem, firmwares: &Firmwares) -> Result<bool, String> {
    let merge = MergeOptions {
        sync: options(),
        engine: Arc::new(Both),
        tools: None,
        max_attempts: 5,
        asked: Asked::default(),
        minute: Duration::ZERO,
        on_applied: None,
    };
    let (wanted, stop, bundle) = (Wanted::default(), Stop::default(), firmwares.open_newer());
    match merge_tree(filesystem, &bundle, &merge, &wanted, &stop, &mut |_| {}) {
        Ok(report) => {
            // A refusal is reported as done; what could not be written is tried again.
            let is_done = report.merge_failed.iter().all(|failed| !failed.transient);
            Ok(report.sync.is_whole() && is_done)
        }
        Err(e) => Err(e.to_string()),
    }
}

/// The user brings a file of the newer firmware by hand.
fn bring(board: &Board, firmwares: &Firmwares, file: &str) {
    let newer = Simulated::new(firmwares.newer.clone());
    let mut content = String::new();
    let mut opened = newer.open(&path(file)).unwrap();
    std::io::Read::read_to_string(&mut opened, &mut content).unwrap();
    board.write(&format!("skills/{file}"), &content);
}

pub fn scenarios() -> Vec<Scenario> {
    let scenario = |name, prepare, unflushed, act| Scenario {
        name,
        prepare,
        unflushed,
        act,
    };
    vec![
        scenario("first seed", |_, _| {}, None, update),
        scenario(
            "first seed into empty directories",
            |board, _| {
                for name in ["alpha", "beta", "fresh"] {
                    board.write(&format!("skills/{name}/gone"), "");
                    board.remove(&format!("skills/{name}/gone"));
                }
            },
            None,
            update,
        ),
        scenario("update", used, None, update),
        scenario("rollback", current, None, |filesystem, firmwares| {
            let older = Bundle::list(Box::new(Simulated::new(firmwares.older.clone())));
            match sync_tree(filesystem, &older, &options()) {
                Ok(report) => Ok(report.is_whole()),
                Err(e) => Err(e.to_string()),
            }
        }),
        scenario(
            "adoption",
            |board, firmwares| {
                used(board, firmwares);
                bring(board, firmwares, "alpha/SKILL.md");
            },
            None,
            update,
        ),
        scenario(
            "repair",
            |board, firmwares| {
                used(board, firmwares);
                board.write("skills/alpha/SKILL.md", "\0\0");
                board.write("skills/beta/SKILL.md", "");
            },
            None,
            update,
        ),
        scenario(
            "lost library",
            |board, firmwares| {
                used(board, firmwares);
                board.remove("skills");
            },
            None,
            update,
        ),
        scenario(
            "ledger rebuilt from the one before",
            |board, firmwares| {
                used(board, firmwares);
                board.write(LEDGER, "{");
            },
            None,
            update,
        ),
        scenario(
            "ledger rebuilt from the bases",
            |board, firmwares| {
                used(board, firmwares);
                // Whose they are would be unknown, and a file of the user's stays in the way of a directory.
                board.remove("skills/beta/references/shape");
                board.remove("skills/beta/assets/shape");
                board.write(LEDGER, "");
                board.write(&format!("{LEDGER}.prev"), "\0");
            },
            None,
            update,
        ),
        scenario(
            "update beside edits and deletions",
            |board, firmwares| {
                assert!(board.sync(&firmwares.older).unwrap().is_whole());
                board.write("skills/edited/SKILL.md", &text("edited", "Mine."));
                board.remove("skills/deleted");
                board.remove("skills/beta/assets/x");
            },
            None,
            update,
        ),
        scenario(
            "merge",
            |board, firmwares| {
                used(board, firmwares);
                board.write("skills/alpha/SKILL.md", &text("alpha", "Mine."));
                board.sync(&firmwares.newer).unwrap();
            },
            None,
            merge,
        ),
        scenario(
            "merge without a base",
            |board, firmwares| {
                used(board, firmwares);
                board.write("skills/fresh/SKILL.md", &text("fresh", "Mine."));
                board.write("skills/fresh/references/own.md", "own");
                board.sync(&firmwares.newer).unwrap();
            },
            None,
            merge,
        ),
        scenario(
            "merge that fails",
            |board, firmwares| {
                used(board, firmwares);
                board.write("skills/deleted/SKILL.md", &text("deleted", "Mine again."));
                board.sync(&firmwares.newer).unwrap();
            },
            None,
            merge,
        ),
        scenario("skill created by a tool", used, None, |filesystem, _| {
            change(filesystem, |library| {
                let name = SkillName::try_from("made").unwrap();
                library.create(&name, &text("made", "By an agent."))
            })
        }),
        scenario("skill edited by a tool", used, None, |filesystem, _| {
            change(filesystem, |library| {
                let before = Hash::of(text("alpha", "Old.").as_bytes());
                library.replace(&path("alpha"), &text("alpha", "By an agent."), before)
            })
        }),
        scenario("skill deleted by a tool", used, None, |filesystem, _| {
            change(filesystem, |library| library.delete(&path("alpha")))
        }),
        scenario("file written by a tool", used, None, |filesystem, _| {
            change(filesystem, |library| {
                library.write_file(&path("alpha"), &path("references/new/a.md"), b"a", None)
            })
        }),
        scenario("file removed by a tool", used, None, |filesystem, _| {
            change(filesystem, |library| {
                library.remove_file(&path("alpha"), &path("references/a.md"), Hash::of(b"a1"))
            })
        }),
        scenario("reset", used, None, reset),
        scenario(
            "reset of an archived skill",
            |board, firmwares| {
                used(board, firmwares);
                board.write(
                    "skill-state/usage.json",
                    r#"{"alpha":{"state":"archived","view_count":3}}"#,
                );
            },
            None,
            reset,
        ),
        scenario(
            "deletion that nobody flushed",
            used,
            Some(|board, _| {
                board.remove("skills/alpha");
                board.remove("skills/beta/assets/x");
            }),
            update,
        ),
        scenario(
            "adoption that nobody flushed",
            used,
            Some(|board, firmwares| {
                bring(board, firmwares, "alpha/SKILL.md");
                bring(board, firmwares, "alpha/references/a.md");
                bring(board, firmwares, "fresh/SKILL.md");
            }),
            update,
        ),
        scenario(
            "deleted skill put back and nobody flushed it",
            used,
            Some(|board, firmwares| bring(board, firmwares, "deleted/SKILL.md")),
            update,
        ),
        // Where the firmware changes nothing, nothing else is flushed either.
        scenario(
            "deletion alone that nobody flushed",
            current,
            Some(|board, _| board.remove("skills/alpha/references/a.md")),
            update,
        ),
        scenario(
            "deleted skill alone put back and nobody flushed it",
            current,
            Some(|board, firmwares| bring(board, firmwares, "deleted/SKILL.md")),
            update,
        ),
    ]
}

/// One skill of two files, small enough for every subset of what a cut may lose.
pub fn small() -> (Firmwares, Vec<Scenario>) {
    let skills = |version: &str| {
        let body = text("one", version);
        Skills::from([("one", files(&[("SKILL.md", &body), ("a.md", version)]))])
    };
    let firmwares = Firmwares::of(&skills("Old."), &skills("New."));
    let scenario = |name, prepare, act| Scenario {
        name,
        prepare,
        unflushed: None,
        act,
    };
    let synced: fn(&Board, &Firmwares) = |board, firmwares| {
        assert!(board.sync(&firmwares.older).unwrap().is_whole());
    };
    let scenarios = vec![
        scenario("first seed of one skill", |_, _| {}, update),
        scenario("update of one skill", synced, update),
        scenario(
            "deletion of one file",
            |board, firmwares| {
                assert!(board.sync(&firmwares.newer).unwrap().is_whole());
                board.remove("skills/one/a.md");
            },
            update,
        ),
    ];
    (firmwares, scenarios)
}
