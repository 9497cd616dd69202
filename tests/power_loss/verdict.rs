//! Judges the state that a cut left of an operation: as it lies there, and as the next start leaves it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::board::Slot;
use crate::common;
use crate::judge::{Next, Tree, Undisturbed};
use crate::log::Disk;
use crate::operations::both_from;
use crate::recording::bundle;
use crate::state::{Bench, FileSystem, Way, scratch};

/// What is wrong with a state.
#[derive(Debug, Default)]
pub struct Verdict {
    pub wrong: Vec<String>,
    /// A file of the library is neither old nor new, or one is gone that the operation had nothing to do with, or the
    /// file system can't be opened at all.
    pub is_torn: bool,
}

/// An operation as it goes undisturbed, which this machine's program shows.
pub struct Case {
    directory: String,
    /// What the next start may find.
    bundles: [PathBuf; 2],
    pub undisturbed: Undisturbed,
    /// The operation's exit code.
    pub code: i32,
    /// Exit codes of the next sync of each bundle: when the operation had not begun, and when it was done.
    next_codes: [[i32; 2]; 2],
    /// What was found of what the next start makes of a tree. The program sees nothing else of a state.
    known: RefCell<HashMap<(u64, bool), Vec<String>>>,
}

impl Case {
    /// `before` is the config dir with which something begins that ends with an exit code; `firmware` is what the
    /// board has then.
    pub fn new(
        directory: &str,
        before: &Path,
        firmware: Slot,
        run: impl FnOnce(&Path) -> i32,
    ) -> Self {
        let place = scratch();
        let after = fork(before, &place.path().join("after"));
        let code = run(&after);
        let synced = |tree: &Path, bundle| {
            let config = fork(tree, &place.path().join("synced"));
            let (code, _) = sync(&config, bundle);
            assert!(
                matches!(code, 0 | 3),
                "an undisturbed sync ends with {code}"
            );
            let tree = Tree::of(&config);
            fs::remove_dir_all(config).unwrap();
            (code, tree)
        };
        let bundles = both_from(firmware).map(bundle);
        let mut undisturbed = Undisturbed {
            before: Tree::of(before),
            after: Tree::of(&after),
            ..Undisturbed::default()
        };
        let next_codes = bundles.each_ref().map(|bundle| {
            let [(code_of_before, of_before), (code_of_after, of_after)] =
                [before, &after].map(|tree| synced(tree, bundle));
            undisturbed.next.push(Next {
                of_before,
                of_after,
            });
            [code_of_before, code_of_after]
        });
        Self {
            directory: directory.into(),
            bundles,
            undisturbed,
            code,
            next_codes,
            known: RefCell::default(),
        }
    }

    /// Says what is wrong with a state; `reported`: the operation had said that it was done.
    pub fn judge(
        &self,
        bench: &Bench,
        disk: &Disk,
        file_system: &FileSystem,
        way: Way,
        reported: bool,
    ) -> Verdict {
        let opened = match bench.open(disk, file_system, way) {
            Ok(opened) => opened,
            Err(why) => {
                return Verdict {
                    wrong: vec![why],
                    is_torn: true,
                };
            }
        };
        let left = Tree::of(&opened.directory(&self.directory));
        let is_torn = self.is_torn(&left);
        let mut wrong = self.undisturbed.judge_left(&left, reported);
        let mut hasher = DefaultHasher::new();
        left.0.hash(&mut hasher);
        let key = (hasher.finish(), reported);
        if let Some(known) = self.known.borrow().get(&key) {
            wrong.extend(known.iter().cloned());
            return Verdict { wrong, is_torn };
        }
        let mut found = self.judge_next(0, &opened.directory(&self.directory), reported);
        drop(opened);
        match bench.open(disk, file_system, way) {
            Ok(again) => {
                found.extend(self.judge_next(1, &again.directory(&self.directory), reported));
            }
            Err(why) => found.push(why),
        }
        wrong.extend(found.iter().cloned());
        self.known.borrow_mut().insert(key, found);
        Verdict { wrong, is_torn }
    }

    /// As `judge`, whatever is known already.
    pub fn judge_afresh(
        &self,
        bench: &Bench,
        disk: &Disk,
        file_system: &FileSystem,
        way: Way,
        reported: bool,
    ) -> Verdict {
        self.known.borrow_mut().clear();
        self.judge(bench, disk, file_system, way, reported)
    }

    fn is_torn(&self, left: &Tree) -> bool {
        let [before, after] = [&self.undisturbed.before, &self.undisturbed.after];
        let foreign = left.files("skills/").any(|(path, node)| {
            let is = |tree: &Tree| {
                let there = tree.get(path);
                there.is_some_and(|there| there.bytes == node.bytes)
            };
            !is(before) && !is(after)
        });
        let gone = before
            .files("skills/")
            .any(|(path, node)| after.get(path) == Some(node) && left.get(path).is_none());
        foreign || gone
    }

    /// Syncs what was left with one of the next bundles, twice.
    fn judge_next(&self, next: usize, config: &Path, reported: bool) -> Vec<String> {
        let (code, _) = sync(config, &self.bundles[next]);
        let settled = Tree::of(config);
        let (second, flushes) = sync(config, &self.bundles[next]);
        let again = Tree::of(config);
        self.judge_trees(next, code, &settled, (second, flushes), &again, reported)
    }

    /// Judges two syncs by their exit codes and what they left.
    pub fn judge_trees(
        &self,
        next: usize,
        code: i32,
        settled: &Tree,
        (second, flushes): (i32, u64),
        again: &Tree,
        reported: bool,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let codes = self.next_codes[next];
        let may_be = if reported { &codes[1..] } else { &codes[..] };
        if !may_be.contains(&code) {
            wrong.push(format!("the sync ended with {code}, not {may_be:?}"));
        }
        if second != 0 {
            wrong.push(format!("the sync after it ended with {second}"));
        }
        wrong.extend(self.undisturbed.judge_settled(next, settled, reported));
        wrong.extend(Undisturbed::judge_rest(settled, again, flushes));
        let bundle = ["its own", "the other"][next];
        let with = |one| format!("synced with {bundle} bundle: {one}");
        wrong.into_iter().map(with).collect()
    }
}

/// The program on a config dir of this machine, with arguments in a shell's words, as a board's shell gets them.
pub fn program(config: &Path, bundle: &Path, arguments: &str) -> Command {
    let mut command = common::bare_command();
    command.arg("--config-dir").arg(config);
    command.arg("--bundled-dir").arg(bundle).arg("--json");
    command.args(shlex::split(arguments).unwrap());
    command
}

/// Its exit code.
pub fn run(config: &Path, firmware: Slot, arguments: &str) -> i32 {
    common::run(&mut program(config, &bundle(firmware), arguments)).code
}

/// Exit code and number of flushes.
pub fn sync(config: &Path, bundle: &Path) -> (i32, u64) {
    let run = common::run(&mut program(config, bundle, "sync"));
    let report = serde_json::from_str::<serde_json::Value>(&run.stdout);
    let flushes = report.ok().and_then(|report| report["flushes"].as_u64());
    (run.code, flushes.unwrap_or(u64::MAX))
}

/// A copy of a config dir; of one that does not exist yet, none.
pub fn fork(from: &Path, to: &Path) -> PathBuf {
    if from.exists() {
        let copied = Command::new("cp").arg("-a").args([from, to]).status();
        assert!(copied.unwrap().success());
    }
    to.to_owned()
}
