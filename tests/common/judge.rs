//! Judges what an accident left, against the same operation without one. Knows nothing of how the operation came
//! about nor of where it ran: it compares trees of files.

#![allow(dead_code, missing_docs, clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use serde_json::Value;

#[path = "tree.rs"]
mod tree;

pub use tree::Tree;
use tree::{BASES, LEDGER, LIBRARY, USAGE, hash};

const TEMPORARY: &str = "skill-state/tmp/";

/// An operation as it goes when nothing goes wrong.
#[derive(Debug, Clone, Default)]
pub struct Undisturbed {
    /// The config dir before it.
    pub before: Tree,
    /// The config dir after it.
    pub after: Tree,
    /// What a sync makes of both, for each bundle that the next start may find.
    pub next: Vec<Next>,
    /// Skills of which nothing is known before the operation has reported: a user changed them, and did not flush it.
    pub unsure: BTreeSet<String>,
}

/// What a sync of one bundle makes of the config dir.
#[derive(Debug, Clone, Default)]
pub struct Next {
    /// When the operation had not begun.
    pub of_before: Tree,
    /// When it was done.
    pub of_after: Tree,
}

impl Undisturbed {
    /// Judges what an accident left, before anything is settled: every file of the library is whole, and old or
    /// new; if the operation had reported that it was done, all is new. Says what is wrong.
    pub fn judge_left(&self, left: &Tree, reported: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let is_judged = |path: &str| reported || !self.is_unsure(path);
        for (path, node) in left.files(LIBRARY).filter(|(path, _)| is_judged(path)) {
            let is = |tree: &Tree| {
                tree.get(path)
                    .is_some_and(|there| there.bytes == node.bytes)
            };
            if !(is(&self.after) || is(&self.before) && !reported) {
                wrong.push(format!(
                    "{path} is {}: {node:?}",
                    if is(&self.before) {
                        "undone"
                    } else {
                        "torn or foreign"
                    }
                ));
            }
        }
        for (path, _) in self
            .after
            .files(LIBRARY)
            .filter(|(path, _)| is_judged(path))
        {
            let expected = reported || self.before.get(path).is_some();
            if expected && left.get(path).is_none() {
                wrong.push(format!("{path} is lost"));
            }
        }
        wrong.extend(self.judge_ledger_left(left));
        if reported && left.ledger() != self.after.ledger() {
            wrong.push("the ledger is not the one that was reported".into());
        }
        wrong.extend(judge_usage(left, &self.before, &self.after, reported));
        wrong
    }

    /// Judges what an accident left of the next start with bundle `next`: the library may be as before the operation, as
    /// after it, or as the start makes either.
    pub fn judge_left_of_start(&self, next: usize, left: &Tree) -> Vec<String> {
        let Next {
            of_before,
            of_after,
        } = &self.next[next];
        let may_be = [&self.before, &self.after, of_before, of_after];
        let mut wrong = Vec::new();
        for (path, node) in left
            .files(LIBRARY)
            .filter(|(path, _)| !self.is_unsure(path))
        {
            let is = |tree: &&Tree| {
                let there = tree.get(path);
                there.is_some_and(|there| there.bytes == node.bytes)
            };
            if !may_be.iter().any(is) {
                wrong.push(format!("{path} is torn or foreign: {node:?}"));
            }
        }
        for (path, _) in self
            .before
            .files(LIBRARY)
            .filter(|(path, _)| !self.is_unsure(path))
        {
            let stays = may_be.iter().all(|tree| tree.get(path).is_some());
            if stays && left.get(path).is_none() {
                wrong.push(format!("{path} is lost"));
            }
        }
        wrong.extend(self.judge_ledger_left(left));
        wrong
    }

    fn judge_ledger_left(&self, left: &Tree) -> Option<String> {
        let had_none_to_read = self.before.get(LEDGER).is_some() && self.before.ledger().is_none();
        match left.get(LEDGER) {
            None if self.before.get(LEDGER).is_some() => Some("the ledger is lost".into()),
            Some(torn) if left.ledger().is_none() && !had_none_to_read => {
                Some(format!("the ledger is torn: {torn:?}"))
            }
            _ => None,
        }
    }

    /// Judges what the next start makes of it with bundle `next`: each skill is as if the operation had not begun
    /// or had been done, the ledger is true, nothing is left over; if it had been reported, it is done.
    pub fn judge_settled(&self, next: usize, settled: &Tree, reported: bool) -> Vec<String> {
        let Next {
            of_before,
            of_after,
        } = &self.next[next];
        let mut wrong = Vec::new();
        let Some(ledger) = settled.ledger() else {
            wrong.push("there is no ledger that can be read".into());
            return wrong;
        };
        let names = [&self.before, settled, of_before, of_after].map(Tree::names);
        let is_judged = |name: &str| reported || !self.unsure.contains(name);
        let all: BTreeSet<&String> = names.iter().flatten().collect();
        for name in all.into_iter().filter(|name| is_judged(name)) {
            let now = settled.skill(name);
            let is_whole = now == of_after.skill(name) || now == of_before.skill(name) && !reported;
            if !is_whole && (reported || !is_mixed_of(name, settled, of_before, of_after)) {
                wrong.push(format!(
                    "{name} is neither as before nor done: {now:#?}, done would be {:#?}",
                    of_after.skill(name)
                ));
            }
        }
        for (name, record) in ledger["skills"].as_object().into_iter().flatten() {
            if record.get("pending").is_some() {
                wrong.push(format!("{name} has an intent: {record}"));
            }
            if is_judged(name) {
                wrong.extend(self.judge_record(name, record, settled, next));
            }
        }
        wrong.extend(judge_usage(settled, of_before, of_after, reported));
        let known = |path: &str| {
            [of_before, of_after]
                .iter()
                .any(|tree| tree.get(path).is_some())
        };
        for (path, node) in &settled.0 {
            if path.starts_with(TEMPORARY) && path != TEMPORARY {
                wrong.push(format!("{path} is left over"));
            } else if !known(path)
                && (reported || !self.is_unsure(path))
                && path != TEMPORARY
                && !is_kept_aside(path)
            {
                wrong.push(format!("{path} is foreign: {node:?}"));
            }
        }
        wrong
    }

    /// As `judge_settled`, of the library alone: what was known of it may be lost, and then a file stays as it is.
    pub fn judge_library_settled(&self, next: usize, settled: &Tree) -> Vec<String> {
        let Next {
            of_before,
            of_after,
        } = &self.next[next];
        let paths = [settled, of_before, of_after]
            .into_iter()
            .flat_map(|tree| tree.files(LIBRARY).map(|(path, _)| path));
        let paths: BTreeSet<&str> = paths.collect();
        let is_wrong = |path: &&str| {
            let now = settled.get(path);
            let may_be = [&self.before, &self.after, of_before, of_after];
            !may_be.iter().any(|tree| tree.get(path) == now)
        };
        let told = |path| format!("{path} is neither old nor new: {:?}", settled.get(path));
        paths.into_iter().filter(is_wrong).map(told).collect()
    }

    /// Judges the sync after that one: there was nothing left to do.
    pub fn judge_rest(settled: &Tree, again: &Tree, flushes: u64) -> Vec<String> {
        let mut wrong = Vec::new();
        if flushes != 0 {
            wrong.push(format!("the sync after it flushed {flushes} times"));
        }
        let paths = settled.0.keys().chain(again.0.keys());
        let differing: BTreeSet<&String> = paths
            .filter(|path| settled.get(path) != again.get(path))
            .collect();
        if !differing.is_empty() {
            wrong.push(format!("the sync after it changed {differing:?}"));
        }
        wrong
    }

    fn is_unsure(&self, path: &str) -> bool {
        let of = |root: &str| path.strip_prefix(root)?.split('/').next();
        let name = of(LIBRARY).or_else(|| of(BASES));
        name.is_some_and(|name| self.unsure.contains(name))
    }

    /// A recorded hash is that of the file, unless the user had made the difference before.
    fn judge_record(&self, name: &str, record: &Value, settled: &Tree, next: usize) -> Vec<String> {
        let mut wrong = Vec::new();
        let recorded = |record: &Value, path: &str| -> Option<Value> {
            if path == "SKILL.md" {
                // Nothing is known of a text that never was the firmware's.
                record.get("origin_hash")?;
                let gone = record["status"] == "deleted_by_user";
                return Some(if gone {
                    Value::Null
                } else {
                    record["effective_hash"].clone()
                });
            }
            let file = record["files"].get(path)?;
            let gone = file["deleted"] == true;
            Some(if gone {
                Value::Null
            } else {
                file["hash"].clone()
            })
        };
        let is_true = |tree: &Tree, record: &Value, path: &str| {
            let there = tree.get(&format!("{LIBRARY}{name}/{path}"));
            let hash = there.map_or(Value::Null, |node| Value::String(hash(&node.bytes)));
            recorded(record, path).is_none_or(|recorded| recorded == hash)
        };
        let mut paths: Vec<&str> = record["files"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(path, _)| path.as_str())
            .collect();
        paths.push("SKILL.md");
        for path in paths {
            if is_true(settled, record, path) {
                continue;
            }
            let full = format!("{LIBRARY}{name}/{path}");
            let users = [
                &self.before,
                &self.next[next].of_before,
                &self.next[next].of_after,
            ]
            .into_iter()
            .any(|tree| {
                tree.get(&full) == settled.get(&full)
                    && tree
                        .record(name)
                        .is_some_and(|record| !is_true(tree, record, path))
            });
            if !users {
                wrong.push(format!("the ledger is wrong of {full}: {record}"));
            }
        }
        let base = settled.get(&format!("{BASES}{name}/SKILL.md"));
        let base = base.map(|node| Value::String(hash(&node.bytes)));
        if base.is_some_and(|base| base != record["origin_hash"]) {
            wrong.push(format!(
                "the base of {name} is another text than the ledger says"
            ));
        }
        wrong
    }
}

/// An unreadable state file that is kept for people, and the one before the last rewrite.
fn is_kept_aside(path: &str) -> bool {
    path.contains(".corrupt-") || path.ends_with(".prev")
}

/// Usage is old or new.
fn judge_usage(now: &Tree, before: &Tree, after: &Tree, reported: bool) -> Option<String> {
    let is = |tree: &Tree| {
        now.usage() == tree.usage() && now.get(USAGE).is_some() == tree.get(USAGE).is_some()
    };
    let is_right = is(after) || is(before) && !reported;
    (!is_right).then(|| format!("usage is neither as before nor done: {:?}", now.get(USAGE)))
}

/// Whether each file of a skill, its base, and each field of its record is as before or done: what an operation on
/// several files may be cut into, if the record is true all the same. The base of a skill that the firmware does not have,
/// or has with another text, or that the user deleted, may be gone: one that came before its text is removed.
fn is_mixed_of(name: &str, now: &Tree, of_before: &Tree, of_after: &Tree) -> bool {
    let trees = [of_before, of_after, now];
    let ((files, record), [before, after]) = (
        now.skill(name),
        [of_before, of_after].map(|tree| tree.skill(name)),
    );
    let paths: BTreeSet<&str> = trees
        .iter()
        .flat_map(|tree| tree.skill(name).0.into_keys())
        .collect();
    let base = format!("{BASES}{name}/SKILL.md");
    let shipped = of_after
        .get(&base)
        .map(|node| Value::String(hash(&node.bytes)));
    let may_lack_base = record.is_some_and(|record| {
        record["stale"] == true
            || record["status"] == "deleted_by_user"
            || shipped.is_some_and(|shipped| shipped != record["origin_hash"])
    });
    let files_are_mixed = paths
        .into_iter()
        .filter(|path| !path.ends_with('/'))
        .all(|path| {
            let now = files.get(path);
            now == before.0.get(path)
                || now == after.0.get(path)
                || now.is_none() && may_lack_base && path.starts_with(BASES)
        });
    files_are_mixed && is_mixed_record(record, before.1, after.1)
}

fn is_mixed_record(now: Option<&Value>, before: Option<&Value>, after: Option<&Value>) -> bool {
    if now == before || now == after {
        return true;
    }
    let sides = [now, before, after].map(|side| side.and_then(Value::as_object));
    let keys: BTreeSet<&String> = sides
        .iter()
        .flatten()
        .flat_map(|side| side.keys())
        .collect();
    let is_present = now.is_some() || before.is_none() || after.is_none();
    // What a merge leaves that could not be applied for an error, and is tried again.
    let failed = sides[0].is_some_and(|now| now.get("last_merge_transient") == Some(&true.into()));
    let of_failure = |key: &&String| {
        key.starts_with("last_failed_merge")
            || key.starts_with("last_merge_")
            || *key == "status" && sides[0].is_some_and(|now| now["status"] == "user_modified")
    };
    is_present
        && keys
            .into_iter()
            .filter(|key| !(failed && of_failure(key)))
            .all(|key| {
                let [now, before, after] = sides.map(|side| side?.get(key));
                match key.as_str() {
                    "files" => is_mixed_record(now, before, after),
                    _ => now == before || now == after,
                }
            })
}
