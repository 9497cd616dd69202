//! One batch of changes, in the order of contract §5, so that a power cut at any instant leaves every file
//! old or new and a ledger that can be settled:
//!
//! 1. everything is staged (files, bases, the ledger with the intents, the final ledger); one flush;
//! 2. the intent ledger is renamed into place; the state dir is flushed;
//! 3. each target is hashed once more, then renamed or removed; then the bases; one flush;
//! 4. the final ledger is renamed into place; the state dir is flushed.

mod commit;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

use super::error::{Context, StoreError};
use super::filesystem::{Attributes, Filesystem, Metadata};
use super::hash::{Hash, Hasher};
use super::lock::WriteLock;
use super::path::RelPath;
use super::read::FileHasher;
use super::stage::{flush_data, remove_tree};
use super::{layout, state_file};

/// Mode of a directory, and of an executable file.
const EXECUTABLE_MODE: u32 = 0o755;
/// Mode of any other file.
const FILE_MODE: u32 = 0o644;

/// What a batch expects to find where it is about to act; anything else is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Absent,
    /// A regular file with this hash.
    Content(Hash),
}

/// Where the bytes of a new file come from.
pub enum Content<'a> {
    /// From memory.
    Bytes(&'a [u8]),
    /// From another tree; they must have this hash.
    Copy {
        /// The tree.
        filesystem: &'a dyn Filesystem,
        /// The file in it.
        path: &'a RelPath,
        /// What planning saw.
        hash: Hash,
    },
}

/// How a batch is forced to flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// The whole file system at once, where its errors can be relied on: the count does not grow.
    Filesystem,
    /// Each file and directory by itself.
    Files,
}

/// The documents that surround a batch.
pub struct Journal<'a> {
    /// The ledger with the intents; needed as soon as the library changes.
    pub intent: Option<Vec<u8>>,
    /// The ledger after the paths were placed for which the given function says so.
    pub settled: &'a dyn Fn(&WasPlaced<'_>) -> Vec<u8>,
    /// Whether the present ledger is worth keeping as `.prev`.
    pub keep_previous: bool,
}

/// Tells whether a path is now as the batch wanted it.
pub type WasPlaced<'a> = dyn Fn(&RelPath) -> bool + 'a;

/// What a batch did.
#[derive(Debug, Default)]
pub struct Committed {
    /// The paths that are now as the batch wanted them.
    pub placed: BTreeSet<RelPath>,
    /// Paths that somebody changed since the plan; left alone.
    pub changed: BTreeSet<RelPath>,
    /// Directories of the library, and bases, that could not be written; the rest went on.
    pub failed: BTreeMap<RelPath, StoreError>,
    /// Whether the ledger says what was done; if not, its intents stand, or the one before does.
    pub recorded: bool,
    /// What stopped the batch in its middle.
    pub error: Option<StoreError>,
}

#[derive(Clone, Copy)]
enum Action {
    Write(Expected),
    Remove(Hash),
    Confirm(Hash),
}

struct Step {
    target: RelPath,
    action: Action,
}

/// What is to be done in one directory of the library. An error in it ends there.
struct Group {
    directory: RelPath,
    /// Whether planning saw nothing there: the directory itself is to be made.
    is_new: bool,
    steps: Vec<Step>,
}

/// A base: it follows the text that it stands for.
struct Follower {
    target: RelPath,
    after: Option<RelPath>,
}

/// A set of changes beneath the config dir, staged one by one and then committed together.
pub struct Batch<'l, 'fs> {
    lock: &'l WriteLock<'fs>,
    flush: Flush,
    hasher: FileHasher,
    groups: Vec<Group>,
    followers: Vec<Follower>,
    /// Directories that are known to be there, down from the state dir.
    directories: BTreeSet<RelPath>,
    names_to_flush: BTreeSet<RelPath>,
    files_to_flush: BTreeSet<RelPath>,
}

impl<'l, 'fs> Batch<'l, 'fs> {
    /// Starts an empty batch; writes nothing yet. Leftovers must have been swept.
    #[must_use]
    pub fn new(lock: &'l WriteLock<'fs>, flush: Flush) -> Self {
        let trusted = lock.filesystem().sync_filesystem_is_trusted();
        Self {
            lock,
            flush: if trusted { flush } else { Flush::Files },
            hasher: FileHasher::default(),
            groups: Vec::new(),
            followers: Vec::new(),
            directories: BTreeSet::new(),
            files_to_flush: BTreeSet::new(),
            // A state dir that was just made must not vanish with a ledger that was reported durable.
            names_to_flush: lock.made_state().then(RelPath::root).into_iter().collect(),
        }
    }

    /// What follows is done in this directory of the library; `is_new` if planning saw nothing there.
    pub fn enter(&mut self, directory: &RelPath, is_new: bool) {
        self.groups.push(Group {
            directory: directory.clone(),
            is_new,
            steps: Vec::new(),
        });
    }

    /// Stages a file of the directory entered last.
    ///
    /// # Errors
    /// The source's or the target's, with the path; call [`Batch::abandon`] then.
    pub fn write(
        &mut self,
        target: &RelPath,
        content: &Content<'_>,
        expected: Expected,
        attributes: Attributes,
    ) -> Result<(), StoreError> {
        self.stage(target, content, attributes)?;
        self.push(target, Action::Write(expected));
        Ok(())
    }

    /// Will remove a file that has this hash, and directories that get empty by it.
    pub fn remove(&mut self, target: &RelPath, hash: Hash) {
        self.push(target, Action::Remove(hash));
    }

    /// Counts a file as placed if it still has this hash.
    pub fn confirm(&mut self, target: &RelPath, hash: Hash) {
        self.push(target, Action::Confirm(hash));
    }

    fn push(&mut self, target: &RelPath, action: Action) {
        debug_assert!(
            self.groups
                .last()
                .is_some_and(|g| target.strip(&g.directory).is_some())
        );
        if let Some(group) = self.groups.last_mut() {
            group.steps.push(Step {
                target: target.clone(),
                action,
            });
        }
    }

    /// Stages a base: it is renamed after all of the library, if `after` was placed.
    ///
    /// # Errors
    /// As [`Batch::write`].
    pub fn follow(
        &mut self,
        target: &RelPath,
        content: &Content<'_>,
        after: Option<&RelPath>,
    ) -> Result<(), StoreError> {
        let attributes = self.fresh(false);
        self.stage(target, content, attributes)?;
        self.followers.push(Follower {
            target: target.clone(),
            after: after.cloned(),
        });
        Ok(())
    }

    /// Names in this directory are flushed before the final ledger relies on them.
    pub fn flush_names_of(&mut self, directory: RelPath) {
        self.names_to_flush.insert(directory);
    }

    /// The data of this file, which somebody else wrote, is flushed before a ledger relies on it.
    pub fn flush_file(&mut self, path: RelPath) {
        self.files_to_flush.insert(path);
    }

    /// Takes back all that was staged beneath `directory`; for a skill whose staging failed.
    pub fn abandon(&mut self, directory: &RelPath) {
        let beneath = |target: &RelPath| target == directory || target.strip(directory).is_some();
        self.groups.retain(|group| !beneath(&group.directory));
        self.followers.retain(|follower| !beneath(&follower.target));
        self.directories
            .retain(|made| made.strip(&layout::staged(directory)).is_none());
        self.directories.remove(&layout::staged(directory));
        let staged = layout::staged(directory);
        if let Err(e) = remove_tree(self.lock.filesystem(), &staged) {
            log::warn!("{e}");
        }
    }

    /// Whether there is nothing to do but perhaps rewrite the ledger.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.has_steps() && self.followers.is_empty()
    }

    fn has_steps(&self) -> bool {
        self.groups.iter().any(|group| !group.steps.is_empty())
    }

    /// Attributes of a file that is new.
    #[must_use]
    pub fn fresh(&self, executable: bool) -> Attributes {
        Attributes {
            owner: self.lock.owner(),
            mode: if executable {
                EXECUTABLE_MODE
            } else {
                FILE_MODE
            },
        }
    }

    fn stage(
        &mut self,
        target: &RelPath,
        content: &Content<'_>,
        attributes: Attributes,
    ) -> Result<(), StoreError> {
        let staged = layout::staged(target);
        self.make_directories(&staged.parent())?;
        self.create(&staged, content, attributes)
    }

    fn stage_document(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.make_directories(&layout::stage())?;
        let path = layout::stage().join(&document(name));
        let attributes = state_file::attributes(self.lock, layout::LEDGER);
        let filesystem = self.lock.filesystem();
        let mut file = filesystem
            .create(&path, attributes)
            .during(filesystem, "create", &path)?;
        file.write_all(bytes).during(filesystem, "write", &path)?;
        if self.is_empty() || self.flush == Flush::Files {
            flush_data(&mut *file).during(filesystem, "flush", &path)?;
        }
        Ok(())
    }

    fn make_directories(&mut self, path: &RelPath) -> Result<(), StoreError> {
        if path.is_root() || self.directories.contains(path) {
            return Ok(());
        }
        self.make_directories(&path.parent())?;
        self.lock.ensure_dir(path)?;
        self.directories.insert(path.clone());
        Ok(())
    }

    fn create(
        &mut self,
        path: &RelPath,
        content: &Content<'_>,
        attributes: Attributes,
    ) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let mut file = filesystem
            .create(path, attributes)
            .during(filesystem, "create", path)?;
        match *content {
            Content::Bytes(bytes) => file.write_all(bytes).during(filesystem, "write", path)?,
            Content::Copy {
                filesystem: from,
                path: source,
                hash,
            } => {
                let mut reader = from.open(source).during(from, "open", source)?;
                let mut hasher = Hasher::default();
                let buffer = self.hasher.buffer();
                loop {
                    let read = match reader.read(buffer) {
                        Ok(0) => break,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                        read => read.during(from, "read", source)?,
                    };
                    hasher.update(&buffer[..read]);
                    file.write_all(&buffer[..read])
                        .during(filesystem, "write", path)?;
                }
                if hasher.finish() != hash {
                    let error = io::Error::other("it changed while it was being copied");
                    return Err(StoreError::new(from, "copy", source, error));
                }
            }
        }
        if self.flush == Flush::Files {
            flush_data(&mut *file).during(filesystem, "flush", path)?;
        }
        Ok(())
    }
}

/// Attributes of a file that replaces another: its owner and mode bits, and if the executable bit is to
/// change, set for those who may read, or cleared.
#[must_use]
pub fn replacing(current: &Metadata, executable: Option<bool>) -> Attributes {
    let mode = match executable {
        None => current.mode,
        Some(true) => current.mode | (current.mode & 0o444) >> 2,
        Some(false) => current.mode & !0o111,
    };
    Attributes {
        owner: current.owner,
        mode,
    }
}

fn document(name: &str) -> RelPath {
    RelPath::root()
        .child(name)
        .unwrap_or_else(|_| RelPath::root())
}
