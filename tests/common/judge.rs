//! Judges what an accident left, against the same operation without one. Knows nothing of how the operation came
//! about nor of where it ran: it compares trees of files.

#![allow(dead_code, missing_docs, clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

const LIBRARY: &str = "skills/";
const LEDGER: &str = "skill-state/.bundled_manifest.json";
const BASES: &str = "skill-state/bases/";
const TEMPORARY: &str = "skill-state/tmp/";
const TIMES: [&str; 3] = ["updated_at", "last_synced_at", "last_merge_failed_at"];

/// A config dir: files by their paths, and directories, whose paths end in `/`.
#[derive(Debug, Clone, Default)]
pub struct Tree(pub BTreeMap<String, Node>, OnceCell<Option<Value>>);

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    pub bytes: Vec<u8>,
    pub executable: bool,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes);
        let start: String = text.chars().take(60).collect();
        write!(f, "{} bytes {start:?}", self.bytes.len())
    }
}

impl Tree {
    /// Reads a directory; what is neither a file nor a directory counts as a file without content.
    pub fn of(root: &Path) -> Self {
        let mut tree = Self::default();
        tree.gather(root, "");
        tree
    }

    fn gather(&mut self, directory: &Path, prefix: &str) {
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        for entry in entries {
            let entry = entry.unwrap();
            let found = entry.metadata().unwrap();
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if found.is_dir() {
                self.directory(&path);
                self.gather(&entry.path(), &format!("{path}/"));
            } else {
                let bytes = fs::read(entry.path()).unwrap_or_default();
                self.file(&path, bytes, found.permissions().mode() & 0o111 != 0);
            }
        }
    }

    pub fn file(&mut self, path: &str, bytes: Vec<u8>, executable: bool) {
        self.1.take();
        let node = Node { bytes, executable };
        self.0.insert(path.to_owned(), node);
    }

    pub fn directory(&mut self, path: &str) {
        let node = Node {
            bytes: Vec::new(),
            executable: false,
        };
        self.0.insert(format!("{path}/"), node);
    }

    /// The part below a directory, with whole paths.
    fn beneath<'t>(&'t self, prefix: &str) -> impl Iterator<Item = (&'t str, &'t Node)> + use<'t> {
        let prefix = prefix.to_owned();
        let from = self.0.range(prefix.clone()..);
        from.map(|(path, node)| (path.as_str(), node))
            .take_while(move |(path, _)| path.starts_with(&prefix))
    }

    fn files<'t>(&'t self, prefix: &str) -> impl Iterator<Item = (&'t str, &'t Node)> + use<'t> {
        let all = self.beneath(prefix);
        all.filter(|(path, _)| !path.ends_with('/'))
    }

    fn get(&self, path: &str) -> Option<&Node> {
        self.0.get(path)
    }

    /// The ledger without its times; `None` where it is missing or can't be read.
    fn ledger(&self) -> Option<&Value> {
        let read = || {
            let mut ledger: Value = serde_json::from_slice(&self.get(LEDGER)?.bytes).ok()?;
            forget_times(&mut ledger);
            Some(ledger)
        };
        self.1.get_or_init(read).as_ref()
    }

    fn record(&self, name: &str) -> Option<&Value> {
        self.ledger()?["skills"].get(name)
    }

    /// All that is known of a skill: its files, its base and its record.
    fn skill(&self, name: &str) -> (BTreeMap<&str, &Node>, Option<&Value>) {
        let library = format!("{LIBRARY}{name}/");
        let base = format!("{BASES}{name}/");
        let files = self.beneath(&library).chain(self.beneath(&base)).collect();
        (files, self.record(name))
    }

    fn names(&self) -> BTreeSet<String> {
        let of = |prefix: &'static str| {
            let inside = self.beneath(prefix);
            inside.filter_map(move |(path, _)| path[prefix.len()..].split('/').next())
        };
        let mut names: BTreeSet<String> = of(LIBRARY)
            .chain(of(BASES))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if let Some(ledger) = self.ledger() {
            names.extend(
                ledger["skills"]
                    .as_object()
                    .into_iter()
                    .flat_map(|all| all.keys().cloned()),
            );
        }
        names
    }
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !TIMES.contains(&key.as_str()));
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

/// An operation as it goes when nothing goes wrong.
#[derive(Debug, Clone, Default)]
pub struct Undisturbed {
    /// The config dir before it.
    pub before: Tree,
    /// The config dir after it.
    pub after: Tree,
    /// What a sync makes of both, for each bundle that the next start may find.
    pub next: Vec<Next>,
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
        for (path, node) in left.files(LIBRARY) {
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
        for (path, _) in self.after.files(LIBRARY) {
            let expected = reported || self.before.get(path).is_some();
            if expected && left.get(path).is_none() {
                wrong.push(format!("{path} is lost"));
            }
        }
        if left.get(LEDGER).is_some() && left.ledger().is_none() && self.before.ledger().is_some() {
            wrong.push(format!("the ledger is torn: {:?}", left.get(LEDGER)));
        }
        if reported && left.ledger() != self.after.ledger() {
            wrong.push("the ledger is not the one that was reported".into());
        }
        wrong
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
        for name in names.iter().flatten().collect::<BTreeSet<_>>() {
            let now = settled.skill(name);
            let is_whole = now == of_after.skill(name) || now == of_before.skill(name) && !reported;
            if !is_whole && (reported || !self.is_mixed_of(name, settled, of_before, of_after)) {
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
            wrong.extend(self.judge_record(name, record, settled, next));
        }
        let known = |path: &str| {
            [of_before, of_after]
                .iter()
                .any(|tree| tree.get(path).is_some())
        };
        for (path, node) in &settled.0 {
            if path.starts_with(TEMPORARY) && path != TEMPORARY {
                wrong.push(format!("{path} is left over"));
            } else if !known(path)
                && !path.starts_with(LIBRARY)
                && !path.starts_with(BASES)
                && path != TEMPORARY
                && !is_kept_aside(path)
            {
                wrong.push(format!("{path} is foreign: {node:?}"));
            }
        }
        wrong
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

    /// Whether each file of a skill is as before or done: what an operation on several files may be cut into, if the
    /// record says so (which [`Self::judge_record`] looks at).
    fn is_mixed_of(&self, name: &str, settled: &Tree, of_before: &Tree, of_after: &Tree) -> bool {
        let prefix = format!("{LIBRARY}{name}/");
        let paths = [of_before, of_after, settled]
            .into_iter()
            .flat_map(|tree| tree.files(&prefix));
        let paths: BTreeSet<&str> = paths.map(|(path, _)| path).collect();
        paths.into_iter().all(|path| {
            let now = settled.get(path);
            now == of_before.get(path) || now == of_after.get(path)
        })
    }

    /// A recorded hash is that of the file, unless the user had made the difference before.
    fn judge_record(&self, name: &str, record: &Value, settled: &Tree, next: usize) -> Vec<String> {
        let mut wrong = Vec::new();
        let recorded = |record: &Value, path: &str| -> Option<Value> {
            if path == "SKILL.md" {
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
                        .is_none_or(|record| !is_true(tree, record, path))
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

fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
