//! The operations that are interrupted, and how their outcome is judged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use aiden_skills::sync::{Bundle, Reset, reset_tree};

use crate::board::{Board, Skills, Tree, text};
use crate::faulty::Faulty;

/// An operation and the state it starts from.
pub struct Scenario {
    pub name: &'static str,
    /// Brings a fresh board to the state before, given the older and the newer bundle.
    pub prepare: fn(&Board, &Path, &Path),
    /// The operation; says whether it went through as far as it could tell.
    pub act: fn(&Board, &Faulty, &Path) -> Result<bool, String>,
    /// Skills that are the user's now, and must keep this text whatever happens.
    pub edited: &'static [&'static str],
    /// Skills that the user deleted.
    pub deleted: &'static [&'static str],
}

fn files(entries: &[(&'static str, &str)]) -> BTreeMap<&'static str, String> {
    entries
        .iter()
        .map(|(path, content)| (*path, (*content).to_owned()))
        .collect()
}

pub fn older() -> Skills {
    let skill = |name: &str, more: &[(&'static str, &str)]| {
        let mut all = files(more);
        all.insert("SKILL.md", text(name, "Old."));
        all
    };
    Skills::from([
        (
            "alpha",
            skill(
                "alpha",
                &[
                    ("references/a.md", "a1"),
                    ("references/gone.md", "g1"),
                    ("LICENSE.txt", "before SKILL.md in byte order"),
                    ("references/deep/er/d.md", "d1"),
                ],
            ),
        ),
        (
            "beta",
            skill(
                "beta",
                &[
                    ("scripts/run.sh", "#!/bin/sh\necho 1\n"),
                    ("assets/x", "x"),
                    ("references/shape", "a file"),
                    ("scripts/bit.sh", "echo\n"),
                    ("assets/shape/in.md", "in a directory"),
                ],
            ),
        ),
        ("edited", skill("edited", &[("references/a.md", "e1")])),
        ("deleted", skill("deleted", &[])),
        ("dropped", skill("dropped", &[("references/d.md", "d")])),
    ])
}

pub fn newer() -> Skills {
    let mut skills = older();
    let set = |skills: &mut Skills, name: &'static str, path: &'static str, content: String| {
        skills.entry(name).or_default().insert(path, content);
    };
    set(&mut skills, "alpha", "SKILL.md", text("alpha", "New."));
    set(&mut skills, "alpha", "references/a.md", "a2, longer".into());
    set(&mut skills, "alpha", "templates/deep/t.md", "t".into());
    skills
        .entry("alpha")
        .or_default()
        .remove("references/gone.md");
    set(
        &mut skills,
        "beta",
        "scripts/run.sh",
        "echo not executable any more\n".into(),
    );
    set(&mut skills, "beta", "assets/x", "#!/bin/sh\n".into());
    // A file turns into a directory, a directory into a file.
    for path in ["references/shape", "assets/shape/in.md"] {
        skills.entry("beta").or_default().remove(path);
    }
    set(
        &mut skills,
        "beta",
        "references/shape/in.md",
        "in a directory".into(),
    );
    set(&mut skills, "beta", "assets/shape", "a file".into());
    set(&mut skills, "deleted", "SKILL.md", text("deleted", "New."));
    skills.remove("dropped");
    set(&mut skills, "fresh", "SKILL.md", text("fresh", "New."));
    set(&mut skills, "fresh", "references/f.md", "f".into());
    skills
}

/// What a slot may also hold at the next start: none of the skills but one, and that with another text.
pub fn stripped() -> Skills {
    Skills::from([("alpha", files(&[("SKILL.md", &text("alpha", "Third."))]))])
}

const EDITED: &str = "edited";
const DELETED: &str = "deleted";

fn used(board: &Board, older: &Path, _newer: &Path) {
    assert!(board.sync(older).is_whole());
    fs::write(board.library("edited/SKILL.md"), text("edited", "Mine.")).unwrap();
    fs::write(board.library("edited/references/own.md"), "own").unwrap();
    fs::remove_dir_all(board.library(DELETED)).unwrap();
    board.sync(older);
}

fn sync(board: &Board, filesystem: &Faulty, newer: &Path) -> Result<bool, String> {
    match board.sync_with(filesystem, newer) {
        Ok(report) => Ok(report.is_whole()
            || report.ledger != aiden_skills::sync::ledger::LedgerState::Ok
                && report.failed.is_empty()),
        Err(e) => Err(e.to_string()),
    }
}

fn reset(board: &Board, filesystem: &Faulty, newer: &Path) -> Result<bool, String> {
    let names = ["alpha", "edited", "deleted"].map(str::to_owned).to_vec();
    let bundle = Bundle::open(newer);
    match reset_tree(
        filesystem,
        &bundle,
        &board.options(newer),
        &Reset::Named(names),
    ) {
        Ok(report) => Ok(report.failed.is_empty()),
        Err(e) => Err(e.to_string()),
    }
}

pub fn scenarios() -> Vec<Scenario> {
    let whole: (&[&str], &[&str]) = (&[EDITED], &[DELETED]);
    let scenario = |name, prepare, act, (edited, deleted)| Scenario {
        name,
        prepare,
        act,
        edited,
        deleted,
    };
    vec![
        scenario("first seed", |_, _, _| {}, sync, (&[], &[])),
        scenario(
            "first seed into empty directories",
            |board, _, _| {
                for name in ["alpha", "beta", "fresh"] {
                    fs::create_dir_all(board.library(name)).unwrap();
                }
            },
            sync,
            (&[], &[]),
        ),
        scenario("update", used, sync, whole),
        scenario(
            "adoption",
            |board, older, newer| {
                used(board, older, newer);
                let from = newer.join("alpha/SKILL.md");
                fs::copy(from, board.library("alpha/SKILL.md")).unwrap();
            },
            sync,
            whole,
        ),
        scenario(
            "repair",
            |board, older, newer| {
                used(board, older, newer);
                fs::write(board.library("alpha/SKILL.md"), "\0\0").unwrap();
                fs::write(board.library("beta/SKILL.md"), "").unwrap();
            },
            sync,
            whole,
        ),
        scenario(
            "lost library",
            |board, older, newer| {
                used(board, older, newer);
                fs::remove_dir_all(board.library("")).unwrap();
            },
            sync,
            (&[], &[DELETED]),
        ),
        scenario(
            "ledger rebuilt from the one before",
            |board, older, newer| {
                used(board, older, newer);
                fs::write(board.state(".bundled_manifest.json"), "{").unwrap();
            },
            sync,
            whole,
        ),
        scenario(
            "ledger rebuilt from the bases",
            |board, older, newer| {
                used(board, older, newer);
                // Whose they are would be unknown, and a file of the user's stays in the way of a directory.
                fs::remove_file(board.library("beta/references/shape")).unwrap();
                fs::remove_dir_all(board.library("beta/assets/shape")).unwrap();
                fs::write(board.state(".bundled_manifest.json"), "").unwrap();
                fs::write(board.state(".bundled_manifest.json.prev"), "\0").unwrap();
            },
            sync,
            whole,
        ),
        scenario(
            "new deletion and edit",
            |board, older, _| {
                assert!(board.sync(older).is_whole());
                fs::write(board.library("edited/SKILL.md"), text("edited", "Mine.")).unwrap();
                fs::remove_dir_all(board.library(DELETED)).unwrap();
            },
            sync,
            whole,
        ),
        scenario("reset", used, reset, (&[], &[])),
    ]
}

pub fn ship_all(board: &Board) -> [PathBuf; 3] {
    [
        board.ship("older", &older()),
        board.ship("newer", &newer()),
        board.ship("stripped", &stripped()),
    ]
}

impl Scenario {
    /// Whether a skill's text may have any outcome when the next bundle is `next`: by hand the user brought
    /// the text of the newer firmware, which to any other bundle is an edit until it is adopted.
    pub fn is_open(&self, name: &str, next: &Path) -> bool {
        self.name == "adoption" && name == "alpha" && !next.ends_with("newer")
    }
}

/// After an accident and one sync of `next`: each skill of `next` is complete, but for what is the user's.
pub fn check_recovered(
    board: &Board,
    scenario: &Scenario,
    next: &Path,
    recovered: bool,
    case: &str,
) {
    let library = Board::tree(&board.library(""));
    let bundled = Board::tree(next);
    let shown = |name: &str, tree: &Tree| -> Tree {
        let inside = format!("{name}/");
        tree.iter()
            .filter(|(path, _)| path.starts_with(&inside) && path.as_str() != inside)
            .map(|(path, file)| (path.clone(), file.clone()))
            .collect()
    };
    for entry in fs::read_dir(next).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if scenario.is_open(&name, next) {
            continue;
        }
        let mut have = shown(&name, &library);
        let mut want = shown(&name, &bundled);
        if scenario.deleted.contains(&name.as_str()) {
            assert!(have.is_empty(), "{case}: {name} came back");
            continue;
        }
        if scenario.edited.contains(&name.as_str()) {
            let (mine, _) = &have[&format!("{name}/SKILL.md")];
            assert_eq!(
                mine,
                text(&name, "Mine.").as_bytes(),
                "{case}: an edit of {name} was lost"
            );
            have.remove(&format!("{name}/SKILL.md"));
            want.remove(&format!("{name}/SKILL.md"));
            have.remove(&format!("{name}/references/own.md"));
        }
        // Without a ledger nobody knows which supporting files are whose: different ones are kept.
        if scenario.name.ends_with("from the bases") {
            let text = format!("{name}/SKILL.md");
            have.retain(|path, _| *path == text);
            want.retain(|path, _| *path == text);
        }
        // A reset discards edits, so what it had not reached yet is still the user's.
        if scenario.name == "reset" && (name == EDITED || name == DELETED) && !recovered {
            continue;
        }
        if scenario.name == "reset" && name == EDITED {
            have.remove(&format!("{name}/references/own.md"));
        }
        assert_eq!(have, want, "{case}: {name}");
    }
}
