//! Whatever firmware and user do, in whatever order: an edit is never lost, a deletion never comes back, every
//! skill is where the decision table puts it, and a second sync does nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Board, SKILL_ARRAYS, names, skill_text, version};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use serde_json::Value;

const NAMES: [&str; 2] = ["alpha", "beta"];
/// Firmware has versions 1 and 2.
const VERSIONS: u32 = 3;
const CASES: u32 = 64;

/// What firmware or user do to one skill, or a sync.
#[derive(Debug, Clone)]
enum Step {
    /// Firmware ships this version of SKILL.md, or drops the skill.
    Ship(usize, Option<u32>),
    /// Firmware ships this version of the whole skill.
    ShipAll(usize, u32),
    /// Firmware ships this version of the supporting file, or drops it.
    ShipFile(usize, Option<u32>),
    Edit(usize),
    EditFile(usize),
    /// The user writes the text of a version.
    Revert(usize, u32),
    RevertFile(usize, u32),
    /// The user has an intact copy of a whole version, as a sync that was cut leaves it.
    Install(usize, u32),
    /// A power cut left nothing of SKILL.md.
    Blank(usize),
    Delete(usize),
    DeleteFile(usize),
    Sync,
}

fn step() -> impl Strategy<Value = Step> {
    let skill = 0..NAMES.len();
    let shipped = prop_oneof![4 => (1..VERSIONS).prop_map(Some), 1 => Just(None)];
    prop_oneof![
        4 => (skill.clone(), shipped.clone()).prop_map(|(skill, n)| Step::Ship(skill, n)),
        3 => (skill.clone(), shipped).prop_map(|(skill, n)| Step::ShipFile(skill, n)),
        3 => (skill.clone(), 1..VERSIONS).prop_map(|(skill, n)| Step::ShipAll(skill, n)),
        3 => (skill.clone(), 1..VERSIONS).prop_map(|(skill, n)| Step::Install(skill, n)),
        2 => skill.clone().prop_map(Step::Edit),
        2 => skill.clone().prop_map(Step::EditFile),
        2 => (skill.clone(), 1..VERSIONS).prop_map(|(skill, n)| Step::Revert(skill, n)),
        1 => (skill.clone(), 1..VERSIONS).prop_map(|(skill, n)| Step::RevertFile(skill, n)),
        1 => skill.clone().prop_map(Step::Blank),
        2 => skill.clone().prop_map(Step::Delete),
        1 => skill.prop_map(Step::DeleteFile),
        8 => Just(Step::Sync),
    ]
}

/// What the contract says of one skill: texts instead of hashes. There are no merges here, so E is always O.
#[derive(Debug, Clone, Default)]
struct Skill {
    bundled: Option<String>,
    user: Option<String>,
    record: Option<Record>,
    bundled_file: Option<String>,
    user_file: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Record {
    origin: String,
    synced: bool,
    deleted: bool,
    stale: bool,
    file: Option<FileRecord>,
}

#[derive(Debug, Clone, PartialEq)]
enum FileRecord {
    Written(String),
    Deleted,
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\0')
}

impl Skill {
    /// One sync by the decision table; says in which array the skill is.
    fn sync(&mut self) -> Option<&'static str> {
        let before = self.clone();
        let Some(bundled) = self.bundled.clone() else {
            self.record.as_mut()?.stale = true;
            return Some("stale");
        };
        let (outcome, follow) = self.decide(&bundled)?;
        if let Some(record) = &mut self.record {
            record.stale = false;
        }
        if follow && self.sync_file() && ["adopted", "unchanged", "kept_user"].contains(&outcome) {
            return Some("updated");
        }
        if outcome == "failed" {
            *self = before;
        }
        Some(outcome)
    }

    fn decide(&mut self, bundled: &str) -> Option<(&'static str, bool)> {
        let write = |skill: &mut Self| {
            skill.user = Some(bundled.to_owned());
            let file = skill.record.take().and_then(|record| record.file);
            skill.record = Some(Record {
                origin: bundled.to_owned(),
                synced: true,
                file,
                ..Record::default()
            });
        };
        let blank = self.user.as_deref().is_some_and(is_blank);
        let deleted = self.record.as_ref().is_some_and(|record| record.deleted);
        let Some(user) = self.user.clone().filter(|_| !(deleted && blank)) else {
            return Some(match &mut self.record {
                Some(record) => {
                    record.deleted = true;
                    record.synced = false;
                    record.file = None;
                    ("deleted_by_user", false)
                }
                // A directory with something in it, but no SKILL.md, is the user's.
                None if self.user_file.is_some() => ("failed", false),
                None => {
                    write(self);
                    ("copied", true)
                }
            });
        };
        if blank {
            write(self);
            return Some(("repaired", true));
        }
        let Some(record) = &mut self.record else {
            if user == bundled {
                write(self);
                return Some(("adopted", true));
            }
            return Some(("merge_needed", false));
        };
        let at_rest = record.synced && record.origin == bundled && !record.stale;
        Some(if user == bundled && !at_rest {
            write(self);
            ("adopted", true)
        } else if user == record.origin && record.origin == bundled {
            ("unchanged", true)
        } else if user == record.origin {
            write(self);
            ("updated", true)
        } else if record.origin == bundled {
            record.synced = false;
            record.deleted = false;
            ("kept_user", true)
        } else {
            ("merge_needed", true)
        })
    }

    /// The supporting file; says whether it was written or removed.
    fn sync_file(&mut self) -> bool {
        let Some(record) = &mut self.record else {
            return false;
        };
        let (bundled, user) = (self.bundled_file.clone(), self.user_file.clone());
        match (&record.file, bundled, user) {
            (None, Some(bundled), None) => {
                record.file = Some(FileRecord::Written(bundled.clone()));
                self.user_file = Some(bundled);
                true
            }
            (_, Some(bundled), Some(user)) if bundled == user => {
                record.file = Some(FileRecord::Written(bundled));
                false
            }
            (Some(FileRecord::Written(_)), _, None) => {
                record.file = Some(FileRecord::Deleted);
                false
            }
            (Some(FileRecord::Written(origin)), bundled, Some(user)) if *origin == user => {
                record.file = bundled.clone().map(FileRecord::Written);
                self.user_file = bundled;
                true
            }
            _ => false,
        }
    }
}

/// The board and what must be on it.
struct World {
    board: Board,
    skills: BTreeMap<&'static str, Skill>,
    edits: u32,
}

impl World {
    fn new() -> Self {
        let dir = match std::path::Path::new("/dev/shm") {
            memory if memory.is_dir() => tempfile::tempdir_in(memory).unwrap(),
            _ => tempfile::tempdir().unwrap(),
        };
        let board = Board::in_dir(dir);
        // A bundle is never empty here, so that the table is used and not row 0a; nor is the library lost.
        board.skill("ever", &version("ever", 1));
        board.sync().expect(0);
        Self {
            board,
            skills: NAMES.iter().map(|name| (*name, Skill::default())).collect(),
            edits: 0,
        }
    }

    fn take(&mut self, step: &Step) {
        let name = |skill: usize| NAMES[skill];
        self.edits += 1;
        match *step {
            Step::Ship(skill, n) => {
                let text = n.map(|n| version(name(skill), n));
                self.skill(skill).bundled.clone_from(&text);
                self.put(
                    &self.board.bundle().join(name(skill)).join("SKILL.md"),
                    text,
                );
            }
            Step::ShipFile(skill, n) => {
                let text = n.map(|n| format!("file {n}"));
                self.skill(skill).bundled_file.clone_from(&text);
                self.put(
                    &self
                        .board
                        .bundle()
                        .join(name(skill))
                        .join("references/a.md"),
                    text,
                );
            }
            Step::ShipAll(skill, n) => {
                self.take(&Step::Ship(skill, Some(n)));
                self.take(&Step::ShipFile(skill, Some(n)));
            }
            Step::Install(skill, n) => {
                self.take(&Step::Revert(skill, n));
                self.take(&Step::RevertFile(skill, n));
            }
            Step::Edit(skill) => {
                let edit = format!("Edit {}.", self.edits);
                self.user_writes(skill, Some(skill_text(name(skill), "My own", &edit)));
            }
            Step::Revert(skill, n) => self.user_writes(skill, Some(version(name(skill), n))),
            Step::Blank(skill) => self.user_writes(skill, Some("\0 \n".to_owned())),
            Step::Delete(skill) => {
                self.user_writes(skill, None);
                self.user_writes_file(skill, None);
            }
            Step::EditFile(skill) => {
                self.user_writes_file(skill, Some(format!("edit {}", self.edits)))
            }
            Step::RevertFile(skill, n) => self.user_writes_file(skill, Some(format!("file {n}"))),
            Step::DeleteFile(skill) => self.user_writes_file(skill, None),
            Step::Sync => self.sync(),
        }
    }

    fn skill(&mut self, skill: usize) -> &mut Skill {
        self.skills.get_mut(NAMES[skill]).unwrap()
    }

    fn user_writes(&mut self, skill: usize, text: Option<String>) {
        self.skill(skill).user.clone_from(&text);
        self.put(&self.board.user_path(NAMES[skill]).join("SKILL.md"), text);
    }

    fn user_writes_file(&mut self, skill: usize, text: Option<String>) {
        self.skill(skill).user_file.clone_from(&text);
        self.put(
            &self.board.user_path(NAMES[skill]).join("references/a.md"),
            text,
        );
    }

    /// Writes a file, or removes it with the directories that are empty then.
    fn put(&self, path: &std::path::Path, text: Option<String>) {
        match text {
            Some(text) => common::write(path, text),
            None => {
                let _ = std::fs::remove_file(path);
                for parent in path.ancestors().skip(1).take(2) {
                    if !parent.ends_with("bundle") && !parent.ends_with("skills") {
                        let _ = std::fs::remove_dir(parent);
                    }
                }
            }
        }
    }

    fn sync(&mut self) {
        let before = self.skills.clone();
        let run = self.board.sync();
        let report = run.json();
        for (name, skill) in &mut self.skills {
            let wanted = skill.sync();
            let found = SKILL_ARRAYS
                .into_iter()
                .find(|array| names(&report, array).iter().any(|one| one == name));
            assert_eq!(
                found, wanted,
                "{name} was {:#?}, is {skill:#?}\n{report:#}",
                before[name]
            );
        }
        for (name, skill) in &self.skills {
            let there =
                |path: &str| std::fs::read_to_string(self.board.user_path(name).join(path)).ok();
            assert_eq!(
                there("SKILL.md"),
                skill.user,
                "{name} was {:#?}, is {skill:#?}",
                before[name]
            );
            assert_eq!(
                there("references/a.md"),
                skill.user_file,
                "{name} was {:#?}, is {skill:#?}",
                before[name]
            );
        }
        self.assert_promises(&before, &report);
        self.board.assert_at_rest();
    }

    /// What holds whatever the table says.
    fn assert_promises(&self, before: &BTreeMap<&str, Skill>, report: &Value) {
        for (name, before) in before {
            let after = &self.skills[name];
            for (was, is) in [
                (&before.user, &after.user),
                (&before.user_file, &after.user_file),
            ] {
                let edit = was
                    .as_ref()
                    .filter(|text| text.contains("Edit ") || text.contains("edit "));
                if let Some(edit) = edit {
                    assert_eq!(
                        is.as_ref(),
                        Some(edit),
                        "an edit of {name} is lost: {report:#}"
                    );
                }
            }
            let deleted = before.record.is_some() && before.user.is_none();
            assert!(
                !deleted || after.user.is_none(),
                "{name} came back: {report:#}"
            );
        }
        let all: BTreeSet<String> = SKILL_ARRAYS
            .iter()
            .flat_map(|array| names(report, array))
            .collect();
        let known = self
            .skills
            .iter()
            .filter(|(_, skill)| skill.bundled.is_some() || skill.record.is_some());
        let known: BTreeSet<String> = known
            .map(|(name, _)| (*name).to_owned())
            .chain(["ever".to_owned()])
            .collect();
        assert_eq!(all, known, "every bundled or recorded skill is in an array");
    }
}

proptest! {
    #![proptest_config(Config {
        cases: CASES,
        max_shrink_iters: 256,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..Config::default()
    })]

    #[test]
    fn no_edit_is_lost_and_no_deletion_comes_back(steps in prop::collection::vec(step(), 1..32)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        world.take(&Step::Sync);
    }
}
