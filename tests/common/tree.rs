//! The files of a config dir, as values.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

pub const LIBRARY: &str = "skills/";
pub const LEDGER: &str = "skill-state/.bundled_manifest.json";
pub const USAGE: &str = "skill-state/usage.json";
pub const BASES: &str = "skill-state/bases/";
const TIMES: [&str; 9] = [
    "updated_at",
    "last_merged_at",
    "last_synced_at",
    "last_merge_failed_at",
    "state_changed_at",
    "first_seen_at",
    "last_viewed_at",
    "last_used_at",
    "last_modified_at",
];

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
    pub fn beneath<'t>(
        &'t self,
        prefix: &str,
    ) -> impl Iterator<Item = (&'t str, &'t Node)> + use<'t> {
        let prefix = prefix.to_owned();
        let from = self.0.range(prefix.clone()..);
        from.map(|(path, node)| (path.as_str(), node))
            .take_while(move |(path, _)| path.starts_with(&prefix))
    }

    pub fn files<'t>(
        &'t self,
        prefix: &str,
    ) -> impl Iterator<Item = (&'t str, &'t Node)> + use<'t> {
        let all = self.beneath(prefix);
        all.filter(|(path, _)| !path.ends_with('/'))
    }

    /// What must last once it was reported: library, ledger and the bases of its records, usage.
    pub fn lasting(&self) -> (BTreeMap<&str, &Node>, Option<&Value>, Option<Value>) {
        let mut files: BTreeMap<&str, &Node> = self.beneath(LIBRARY).collect();
        for name in self
            .names()
            .iter()
            .filter(|name| self.record(name).is_some())
        {
            files.extend(self.beneath(&format!("{BASES}{name}/")));
        }
        (files, self.ledger(), self.usage())
    }

    /// The skills of which a file, the base or the record differs.
    pub fn differing_skills(&self, other: &Self) -> BTreeSet<String> {
        let names = self.names().into_iter().chain(other.names());
        names
            .filter(|name| self.skill(name) != other.skill(name))
            .collect()
    }

    pub fn get(&self, path: &str) -> Option<&Node> {
        self.0.get(path)
    }

    /// The ledger without its times; `None` where it is missing or can't be read.
    pub fn ledger(&self) -> Option<&Value> {
        let read = || {
            let mut ledger: Value = serde_json::from_slice(&self.get(LEDGER)?.bytes).ok()?;
            forget_times(&mut ledger);
            Some(ledger)
        };
        self.1.get_or_init(read).as_ref()
    }

    /// Usage without its times.
    pub fn usage(&self) -> Option<Value> {
        let mut usage = serde_json::from_slice(&self.get(USAGE)?.bytes).ok()?;
        forget_times(&mut usage);
        Some(usage)
    }

    pub fn record(&self, name: &str) -> Option<&Value> {
        self.ledger()?["skills"].get(name)
    }

    /// All that is known of a skill: its files, its base and its record.
    pub fn skill(&self, name: &str) -> (BTreeMap<&str, &Node>, Option<&Value>) {
        let library = format!("{LIBRARY}{name}/");
        let base = format!("{BASES}{name}/");
        let files = self.beneath(&library).chain(self.beneath(&base)).collect();
        (files, self.record(name))
    }

    pub fn names(&self) -> BTreeSet<String> {
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

pub fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
