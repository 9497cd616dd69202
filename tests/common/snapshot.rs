//! What a directory tree looks like, to tell whether anything at all was changed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Long ago, so that any reading without `O_NOATIME` moves a time of access away from it, `relatime` or not.
const LONG_AGO: Duration = Duration::from_secs(978_307_200);

#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    pub inode: u64,
    pub mode: u32,
    pub owner: (u32, u32),
    pub modified: (i64, i64),
    pub content: Vec<u8>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            inode,
            mode,
            owner,
            modified,
            content,
        } = self;
        let text = String::from_utf8_lossy(content);
        write!(
            f,
            "inode {inode} mode {mode:o} owner {owner:?} modified {modified:?} {text:?}"
        )
    }
}

/// All entries of a tree, by path; times of access left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot(pub BTreeMap<PathBuf, Entry>);

impl Snapshot {
    pub fn of(root: &Path) -> Self {
        let mut entries = BTreeMap::new();
        walk(root, &mut |path, found| {
            let content = if found.is_file() {
                fs::read(path).unwrap()
            } else if found.is_symlink() {
                fs::read_link(path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                Vec::new()
            };
            let entry = Entry {
                inode: found.ino(),
                mode: found.mode(),
                owner: (found.uid(), found.gid()),
                modified: (found.mtime(), found.mtime_nsec()),
                content,
            };
            entries.insert(path.strip_prefix(root).unwrap().to_owned(), entry);
        });
        Self(entries)
    }

    /// The part below one of the tree's directories.
    pub fn below(&self, directory: &str) -> Self {
        let below = self
            .0
            .iter()
            .filter(|(path, _)| path.starts_with(directory));
        Self(
            below
                .map(|(path, entry)| (path.clone(), entry.clone()))
                .collect(),
        )
    }

    /// Without what came or changed only because a lock was taken.
    pub fn without_lock(&self) -> Self {
        let state = Path::new("agent/skill-state");
        let kept = self
            .0
            .iter()
            .filter(|(path, _)| *path != &state.join(".lock") && *path != state);
        Self(
            kept.map(|(path, entry)| (path.clone(), entry.clone()))
                .collect(),
        )
    }

    /// Nothing at all was changed, or the message says what.
    #[track_caller]
    pub fn assert_same(&self, after: &Self) {
        let mut changes = Vec::new();
        for path in self.0.keys().chain(after.0.keys()) {
            if self.0.get(path) != after.0.get(path) {
                changes.push(format!(
                    "{}: {:?} -> {:?}",
                    path.display(),
                    self.0.get(path),
                    after.0.get(path)
                ));
            }
        }
        changes.dedup();
        assert!(
            changes.is_empty(),
            "these were changed:\n{}",
            changes.join("\n")
        );
    }

    /// The same paths, kinds, modes, owners and bytes; other inodes and times may be.
    #[track_caller]
    pub fn assert_same_content(&self, after: &Self) {
        self.timeless().assert_same(&after.timeless());
    }

    fn timeless(&self) -> Self {
        let entry = |entry: &Entry| Entry {
            inode: 0,
            modified: (0, 0),
            ..entry.clone()
        };
        Self(
            self.0
                .iter()
                .map(|(path, found)| (path.clone(), entry(found)))
                .collect(),
        )
    }
}

/// Sets every time of access to long ago.
pub fn forget_access(root: &Path) {
    let long_ago = FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH + LONG_AGO);
    walk(root, &mut |path, found| {
        if found.is_file() || found.is_dir() {
            File::open(path).unwrap().set_times(long_ago).unwrap();
        }
    });
    // The walk itself has read the directories.
    let mut directories = Vec::new();
    walk(root, &mut |path, found| {
        if found.is_dir() {
            directories.push(path.to_owned());
        }
    });
    for directory in directories {
        File::open(directory).unwrap().set_times(long_ago).unwrap();
    }
}

/// What was read since [`forget_access`].
pub fn accessed(root: &Path) -> Vec<PathBuf> {
    let mut accessed = Vec::new();
    let mut look = |path: &Path, found: &fs::Metadata| {
        if (found.is_file() || found.is_dir()) && found.atime() != LONG_AGO.as_secs().cast_signed()
        {
            accessed.push(path.to_owned());
        }
    };
    walk(root, &mut look);
    accessed
}

/// Calls `look` for everything beneath `root`; of a directory before it is read.
fn walk(root: &Path, look: &mut dyn FnMut(&Path, &fs::Metadata)) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        look(&path, &found);
        if found.is_dir() {
            walk(&path, look);
        }
    }
}
