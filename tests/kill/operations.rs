//! Everything that writes, each with a board to do it on.

use std::fs;

use serde_json::json;

use crate::board::{Board, Workshop, copy_tree};
use crate::calls::tear;
use crate::common;
use crate::firmware::{Firmware, small};
use crate::rules;
use crate::trace::Event;

pub const RESET_ALL: &[&str] = &["reset", "--all", "--restore"];

/// Something that writes.
pub struct Operation {
    /// Brings a board to where it starts.
    pub start: for<'w> fn(&'w Workshop) -> Board<'w>,
    pub firmware: usize,
    pub arguments: &'static [&'static str],
    /// What the user did before, of which nothing is on flash, and on which the record will rely.
    pub user: fn() -> Vec<Event>,
    /// Where `syncfs` is trusted.
    pub flushes: usize,
    /// 0, or 3 where something is to be said.
    pub code: i32,
    /// An agent's change is a user's, of which no intent says what it will be.
    pub has_intents: bool,
}

impl Operation {
    const fn sync(start: for<'w> fn(&'w Workshop) -> Board<'w>, firmware: usize) -> Self {
        Self {
            start,
            firmware,
            arguments: &["sync"],
            user: Vec::new,
            flushes: 4,
            code: 0,
            has_intents: true,
        }
    }
}

/// From 1 to 2 everything happens; from 1 to 3 two files go, one of them with its directory.
pub fn workshop() -> Workshop {
    let more = |firmware: Firmware| firmware.file("alpha", "references/b.md", "b\n");
    let mut less = more(small(1));
    for (skill, path) in [("alpha", "references/b.md"), ("beta", "scripts/run.sh")] {
        less.skills.get_mut(skill).unwrap().remove(path);
    }
    Workshop::new(vec![more(small(1)), more(small(2)), less])
}

/// The config dir itself is the image's business.
pub fn new(workshop: &Workshop) -> Board<'_> {
    let board = workshop.board("start");
    fs::create_dir(&board.agent).unwrap();
    board
}

pub fn seeded(workshop: &Workshop) -> Board<'_> {
    let board = new(workshop);
    board.run(1, &["sync"]).expect(0);
    board
}

pub fn first_seed() -> Operation {
    Operation::sync(new, 1)
}

/// New text, new, changed and removed files, a new skill.
pub fn update() -> Operation {
    Operation::sync(seeded, 2)
}

/// Nothing else changes the names of the directories.
pub fn removal() -> Operation {
    Operation::sync(seeded, 3)
}

/// Someone copied the firmware's skills before there was a ledger.
pub fn adoption() -> Operation {
    Operation {
        user: || {
            vec![
                Event::Made("skills".into()),
                Event::Made("skills/alpha".into()),
                Event::Created("skills/alpha/SKILL.md".into()),
                Event::Made("skills/alpha/references".into()),
                Event::Created("skills/alpha/references/a.md".into()),
                Event::Created("skills/alpha/references/b.md".into()),
                Event::Made("skills/beta".into()),
                Event::Created("skills/beta/SKILL.md".into()),
            ]
        },
        ..Operation::sync(
            |workshop| {
                let board = new(workshop);
                let shipped = workshop.bundle(1);
                copy_tree(&shipped.join("alpha"), &board.library().join("alpha"));
                fs::create_dir(board.library().join("beta")).unwrap();
                let text = "beta/SKILL.md";
                fs::copy(shipped.join(text), board.library().join(text)).unwrap();
                board
            },
            1,
        )
    }
}

/// Someone wrote the next firmware's text over the present one's, before that firmware came.
pub fn adoption_of_an_edit() -> Operation {
    Operation {
        user: || vec![Event::Wrote("skills/alpha/SKILL.md".into())],
        ..Operation::sync(
            |workshop| {
                let board = seeded(workshop);
                let text = workshop.firmware(2).text("alpha");
                fs::write(board.library().join("alpha/SKILL.md"), text).unwrap();
                board
            },
            2,
        )
    }
}

pub fn repair() -> Operation {
    Operation::sync(
        |workshop| {
            let board = seeded(workshop);
            fs::write(board.library().join("alpha/SKILL.md"), b"").unwrap();
            fs::write(board.library().join("beta/SKILL.md"), [0; 4096]).unwrap();
            board
        },
        1,
    )
}

pub fn lost_library() -> Operation {
    Operation::sync(
        |workshop| {
            let board = seeded(workshop);
            fs::remove_dir_all(board.library()).unwrap();
            board
        },
        2,
    )
}

/// As nothing of the library is written, the document is flushed by itself, and so are the directory that lost
/// a name and those above it.
pub fn deletion_of_a_skill() -> Operation {
    Operation {
        flushes: 3,
        user: || {
            vec![
                Event::Unlinked("skills/gamma/SKILL.md".into()),
                Event::RemovedDir("skills/gamma".into()),
            ]
        },
        ..Operation::sync(
            |workshop| {
                let board = seeded(workshop);
                fs::remove_dir_all(board.library().join("gamma")).unwrap();
                board
            },
            1,
        )
    }
}

/// Of a skill of which something stays.
pub fn deletion_of_a_text() -> Operation {
    Operation {
        user: || vec![Event::Unlinked("skills/gamma/SKILL.md".into())],
        flushes: 4,
        ..Operation::sync(|workshop| seeded_without(workshop, "gamma/SKILL.md"), 1)
    }
}

pub fn deletion_of_a_file() -> Operation {
    Operation {
        user: || vec![Event::Unlinked("skills/beta/scripts/run.sh".into())],
        flushes: 5,
        ..Operation::sync(
            |workshop| seeded_without(workshop, "beta/scripts/run.sh"),
            1,
        )
    }
}

fn seeded_without<'w>(workshop: &'w Workshop, path: &str) -> Board<'w> {
    let board = seeded(workshop);
    fs::remove_file(board.library().join(path)).unwrap();
    board
}

/// An edited text, a deleted skill, a deleted file.
fn edited(workshop: &Workshop) -> Board<'_> {
    let board = seeded_without(workshop, "beta/scripts/run.sh");
    fs::remove_dir_all(board.library().join("gamma")).unwrap();
    let edit = common::edited("alpha");
    fs::write(board.library().join("alpha/SKILL.md"), edit).unwrap();
    board.run(1, &["sync"]).expect(0);
    board
}

pub fn reset_of_one() -> Operation {
    Operation {
        arguments: &["reset", "alpha", "--restore"],
        ..Operation::sync(edited, 1)
    }
}

pub fn reset_of_all() -> Operation {
    Operation {
        arguments: RESET_ALL,
        ..Operation::sync(edited, 1)
    }
}

/// One skill is at rest but for its state; `usage.json` takes two flushes of its own.
pub fn reset_that_wakes() -> Operation {
    Operation {
        arguments: RESET_ALL,
        flushes: 6,
        ..Operation::sync(
            |workshop| {
                let board = edited(workshop);
                let asleep = json!({"state": "archived", "use_count": 3});
                let usage = json!({"alpha": asleep, "gamma": asleep});
                fs::write(board.agent.join(rules::USAGE), usage.to_string()).unwrap();
                board
            },
            1,
        )
    }
}

/// Nothing of the library is written, but the ledger before has the intents of the last batch, which are settled.
pub fn rebuilt_from_the_one_before() -> Operation {
    Operation {
        flushes: 4,
        code: 3,
        ..Operation::sync(
            |workshop| {
                let board = seeded(workshop);
                tear(&board, "");
                board
            },
            1,
        )
    }
}

/// Nothing of the library is written, but files are found that are to be relied on from now on.
pub fn rebuilt_from_the_bases() -> Operation {
    Operation {
        flushes: 3,
        code: 3,
        ..Operation::sync(
            |workshop| {
                let board = seeded(workshop);
                tear(&board, "");
                tear(&board, ".prev");
                board
            },
            1,
        )
    }
}

/// The user had a skill of this name before, with more in it than the firmware's; a file of the firmware's comes with it.
pub fn merge() -> Operation {
    Operation {
        arguments: &["--engine", "structural", "merge"],
        ..Operation::sync(
            |workshop| {
                let board = seeded(workshop);
                let text = String::from_utf8(workshop.firmware(2).text("delta").to_vec()).unwrap();
                fs::create_dir(board.library().join("delta")).unwrap();
                fs::write(board.library().join("delta/SKILL.md"), text + "\nMore.\n").unwrap();
                board.run(2, &["sync"]).expect(0);
                board
            },
            2,
        )
    }
}

/// Nothing but the frontmatter was edited, so it can be merged without a model. Nothing else changes: each file and directory of the batch is flushed by itself, rather than that
/// everybody's data is waited for.
pub fn merge_of_a_text() -> Operation {
    Operation {
        arguments: &["--engine", "structural", "merge"],
        flushes: 17,
        ..Operation::sync(
            |workshop| {
                let board = edited_in_its_frontmatter(workshop);
                board.run(2, &["sync"]).expect(0);
                board
            },
            2,
        )
    }
}

/// Only the ledger is written.
pub fn failed_merge() -> Operation {
    Operation {
        arguments: &["--engine", "structural", "merge"],
        flushes: 2,
        ..Operation::sync(
            |workshop| {
                let board = seeded(workshop);
                let edit = common::edited("alpha");
                fs::write(board.library().join("alpha/SKILL.md"), edit).unwrap();
                board.run(1, &["sync"]).expect(0);
                board.run(2, &["sync"]).expect(0);
                board
            },
            2,
        )
    }
}

/// What an agent does. Of its flushes two are those of `usage.json`.
pub fn tools() -> Vec<Operation> {
    const CREATE: &str = r#"{"action": "create", "name": "made", "content": "---\nname: made\ndescription: Made.\n---\nDo.\n"}"#;
    const PATCH: &str = r#"{"action": "patch", "name": "alpha", "old_string": "name: alpha", "new_string": "source: me\nname: alpha"}"#;
    const WRITE: &str = r#"{"action": "write_file", "name": "alpha", "file_path": "references/new/c.md", "file_content": "More."}"#;
    const REMOVE: &str =
        r#"{"action": "remove_file", "name": "alpha", "file_path": "references/a.md"}"#;
    const DELETE: &str = r#"{"action": "delete", "name": "alpha"}"#;
    const ARCHIVE: &str = r#"{"action": "archive", "name": "alpha"}"#;
    vec![
        tool(&["tool", "skill_manage", CREATE], 10),
        tool(&["tool", "skill_manage", PATCH], 12),
        tool(&["tool", "skill_manage", WRITE], 12),
        tool(&["tool", "skill_manage", REMOVE], 4),
        tool(&["tool", "skill_manage", DELETE], 4),
        tool(&["tool", "skill_manage", ARCHIVE], 2),
    ]
}

fn tool(arguments: &'static [&'static str], flushes: usize) -> Operation {
    Operation {
        arguments,
        flushes,
        has_intents: false,
        ..Operation::sync(seeded, 1)
    }
}

/// What was learned comes into the skill as an agent's edit does.
pub fn publication() -> Operation {
    Operation {
        start: evolving,
        ..tool(&["evolve", "publish", "--skill", "alpha"], 12)
    }
}

/// The skill has learned one thing.
pub fn evolving(workshop: &Workshop) -> Board<'_> {
    let board = seeded(workshop);
    let init = [
        "init",
        "--id",
        "alpha",
        "--name",
        "Alpha",
        "--description",
        "Learns.",
    ];
    let learn = ["learn", "--task", "Always take a screenshot before tapping"];
    for arguments in [&init[..], &learn] {
        let arguments = in_workspace(arguments);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        board.run(1, &arguments).expect(0);
    }
    board
}

/// A command of `evolve` in the workspace of the skill `alpha`.
pub fn in_workspace(command: &[&str]) -> Vec<String> {
    let (command, arguments) = command.split_first().unwrap();
    let workspace = ["evolve", *command, "--skill", "alpha"];
    let all = workspace.iter().chain(arguments);
    all.map(|word| (*word).to_owned()).collect()
}

fn edited_in_its_frontmatter(workshop: &Workshop) -> Board<'_> {
    let board = seeded(workshop);
    let text = String::from_utf8(workshop.firmware(1).text("alpha").to_vec()).unwrap();
    let edit = text.replacen("---\n", "---\nsource: me\n", 1);
    fs::write(board.library().join("alpha/SKILL.md"), edit).unwrap();
    board.run(1, &["sync"]).expect(0);
    board
}
