//! Documents of one directory that are changed together: all of them or none, whatever instant the power fails at.
//!
//! What is to be written is staged and flushed, then a list of it is renamed into place: from here on it counts as done. Only
//! then does each document come into its place. Who takes the lock next finishes what a cut left.

use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::{Context, StoreError, absent_as_none};
use super::filesystem::{Attributes, Filesystem, HeldLock, Kind, Owner};
use super::hash::Hash;
use super::lock::{LockError, ensure_dir, take};
use super::mutant::{Mutant, is_on};
use super::path::RelPath;
use super::read::{Bounded, read_bounded};
use super::stage::{flush_data, remove_tree};

/// Names that begin so are ours, and no documents.
pub const OWN_PREFIX: &str = ".aiden-";
const LOCK: &str = ".aiden-lock";
const STAGE: &str = ".aiden-tmp";
const COMMIT: &str = ".aiden-commit.json";
const FILE_MODE: u32 = 0o644;
/// More than the list of all documents that the largest import brings.
const MAX_LIST_BYTES: u64 = 32 * 1024 * 1024;
/// Digits of a hash that tell one commit from all others.
const STAGE_DIGITS: usize = 16;
/// So much of each document goes into that hash, if others come with it: some of them have new names.
const TOLD_BYTES: usize = 4096;

/// A document to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Beneath the directory.
    pub path: RelPath,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// The right to change the documents of a directory, until dropped.
pub struct Documents<'fs> {
    filesystem: &'fs dyn Filesystem,
    owner: Owner,
    _held: Box<dyn HeldLock>,
}

/// What counts as done once its name is in place.
#[derive(Serialize, Deserialize)]
struct CommitList {
    /// The directory in the stage.
    stage: RelPath,
    /// The files there are called by their place in this list.
    targets: Vec<RelPath>,
}

impl<'fs> Documents<'fs> {
    /// Takes the lock of a directory, trying for `timeout`, and finishes what a cut left.
    ///
    /// # Errors
    /// [`LockError::Busy`] after `timeout`; the kernel's errors with their path.
    pub fn lock(filesystem: &'fs dyn Filesystem, timeout: Duration) -> Result<Self, LockError> {
        let root = RelPath::root();
        let owner = filesystem
            .metadata(&root)
            .during(filesystem, "examine", &root)?
            .owner;
        let held = take(filesystem, &own(LOCK), owner, timeout, &mut || Ok(()))?;
        let documents = Self {
            filesystem,
            owner,
            _held: held,
        };
        documents.recover()?;
        Ok(documents)
    }

    /// The directory.
    #[must_use]
    pub fn filesystem(&self) -> &'fs dyn Filesystem {
        self.filesystem
    }

    /// Writes documents, all or none; directories are made where they are missing. At most three flushes where `syncfs` is
    /// trusted.
    ///
    /// # Errors
    /// The kernel's. Nothing has changed then; only where the list was in place already, the next to take the lock ends it.
    pub fn commit(&self, documents: &[Document]) -> Result<(), StoreError> {
        let staged = self.stage(documents);
        let list = staged.inspect_err(|_| self.forget_stage())?;
        self.finish(&list)
    }

    /// Whether there are documents that the next to take the lock brings into place.
    #[must_use]
    pub fn are_unfinished(filesystem: &dyn Filesystem) -> bool {
        filesystem.metadata(&own(COMMIT)).is_ok()
    }

    /// Frees the space of what comes to nothing. Where the list may be in place, what is staged is needed: all of it.
    fn forget_stage(&self) {
        let list = absent_as_none(self.filesystem.metadata(&own(COMMIT)));
        if matches!(list, Ok(None)) {
            let _ = remove_tree(self.filesystem, &own(STAGE));
        }
    }

    /// Makes directories where they are missing; their names are on flash when this returns.
    ///
    /// # Errors
    /// The kernel's.
    pub fn make_directories(&self, directories: &[RelPath]) -> Result<(), StoreError> {
        let mut made = false;
        for directory in directories {
            made |= ensure_dir(self.filesystem, directory, self.owner)?;
        }
        if made {
            self.flush_names(&RelPath::root())?;
        }
        Ok(())
    }

    fn stage(&self, documents: &[Document]) -> Result<CommitList, StoreError> {
        let filesystem = self.filesystem;
        remove_tree(filesystem, &own(STAGE))?;
        let told_bytes = if documents.len() > 1 {
            TOLD_BYTES
        } else {
            usize::MAX
        };
        let mut told = Vec::new();
        for document in documents {
            let start = &document.bytes[..document.bytes.len().min(told_bytes)];
            let line = format!("{} {}\n", document.path, document.bytes.len());
            told.extend_from_slice(line.as_bytes());
            told.extend_from_slice(start);
        }
        let digits: String = Hash::of(&told).hex().chars().take(STAGE_DIGITS).collect();
        let list = CommitList {
            stage: own(STAGE).join(&own(&digits)),
            targets: documents.iter().map(|one| one.path.clone()).collect(),
        };
        for directory in [own(STAGE), list.stage.clone()] {
            ensure_dir(filesystem, &directory, self.owner)?;
        }
        let trusted = filesystem.sync_filesystem_is_trusted();
        for (at, document) in documents.iter().enumerate() {
            let attributes = self.attributes(&document.path);
            self.create(&list.staged(at), &document.bytes, attributes, !trusted)?;
        }
        let told = serde_json::to_vec(&list).map_err(io::Error::other).during(
            filesystem,
            "write",
            &own(COMMIT),
        )?;
        if told.len() as u64 > MAX_LIST_BYTES {
            let error = io::Error::other("these are too many documents at once");
            return Err(StoreError::new(filesystem, "write", &own(COMMIT), error));
        }
        let staged = list.stage.join(&own(COMMIT));
        self.create(&staged, &told, self.fresh(), !trusted)?;
        if is_on(Mutant::NoIntent) {
            return Ok(list);
        }
        if !trusted {
            self.flush_names(&list.stage)?;
            self.flush_names(&own(STAGE))?;
        } else if !is_on(Mutant::NoDataFlush) {
            self.flush_all()?;
        }
        filesystem
            .rename(&staged, &own(COMMIT))
            .during(filesystem, "replace", &own(COMMIT))?;
        if !is_on(Mutant::NoLastFlush) {
            self.flush_names(&RelPath::root())?;
        }
        Ok(list)
    }

    /// Brings into place what is staged still.
    fn finish(&self, list: &CommitList) -> Result<(), StoreError> {
        let filesystem = self.filesystem;
        let mut parents = vec![RelPath::root()];
        for (at, target) in list.targets.iter().enumerate() {
            let parent = target.parent();
            for directory in parent.ancestors_from_top().chain([parent.clone()]) {
                ensure_dir(filesystem, &directory, self.owner)?;
            }
            absent_as_none(filesystem.rename(&list.staged(at), target))
                .during(filesystem, "replace", target)?;
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        if !is_on(Mutant::NoNamesFlush) {
            self.flush_placed(&parents)?;
        }
        // All is done: if the list stays, or comes back after a cut, nothing is staged that is not in its place.
        let removed = absent_as_none(filesystem.remove_file(&own(COMMIT)));
        let swept = removed
            .during(filesystem, "remove", &own(COMMIT))
            .and_then(|_| remove_tree(filesystem, &own(STAGE)));
        if let Err(e) = swept {
            log::warn!("{e}");
        }
        Ok(())
    }

    fn flush_placed(&self, parents: &[RelPath]) -> Result<(), StoreError> {
        if self.filesystem.sync_filesystem_is_trusted() {
            return self.flush_all();
        }
        parents
            .iter()
            .try_for_each(|parent| self.flush_names(parent))
    }

    fn recover(&self) -> Result<(), StoreError> {
        let filesystem = self.filesystem;
        let path = own(COMMIT);
        let read =
            read_bounded(filesystem, &path, MAX_LIST_BYTES).during(filesystem, "read", &path)?;
        match read {
            None => {
                let left = absent_as_none(filesystem.metadata(&own(STAGE)));
                if left.during(filesystem, "examine", &own(STAGE))?.is_some() {
                    remove_tree(filesystem, &own(STAGE))?;
                }
                Ok(())
            }
            Some(Bounded::Whole(bytes)) => match serde_json::from_slice::<CommitList>(&bytes) {
                Ok(list) => {
                    log::info!(
                        "finishing what was cut off in {}",
                        filesystem.location().display()
                    );
                    // Only the process may have died, and the list not be on flash yet.
                    self.flush_names(&RelPath::root())?;
                    self.finish(&list)
                }
                Err(e) => Err(StoreError::new(
                    filesystem,
                    "read",
                    &path,
                    io::Error::other(e),
                )),
            },
            Some(Bounded::TooLarge { .. }) => {
                let error = io::Error::other("it is too large to be ours");
                Err(StoreError::new(filesystem, "read", &path, error))
            }
        }
    }

    fn create(
        &self,
        path: &RelPath,
        bytes: &[u8],
        attributes: Attributes,
        flush: bool,
    ) -> Result<(), StoreError> {
        let filesystem = self.filesystem;
        let mut file = filesystem
            .create(path, attributes)
            .during(filesystem, "create", path)?;
        file.write_all(bytes).during(filesystem, "write", path)?;
        if flush {
            flush_data(&mut *file).during(filesystem, "flush", path)?;
        }
        Ok(())
    }

    fn flush_all(&self) -> Result<(), StoreError> {
        let flushed = self.filesystem.sync_filesystem();
        flushed.during(self.filesystem, "flush", &RelPath::root())
    }

    fn flush_names(&self, directory: &RelPath) -> Result<(), StoreError> {
        self.filesystem
            .sync_dir(directory)
            .during(self.filesystem, "flush", directory)
    }

    /// Of the file that is there, else those of a new one.
    fn attributes(&self, target: &RelPath) -> Attributes {
        match self.filesystem.metadata(target) {
            Ok(there) if there.kind == Kind::File => Attributes {
                owner: there.owner,
                mode: there.mode,
            },
            _ => self.fresh(),
        }
    }

    fn fresh(&self) -> Attributes {
        Attributes {
            owner: self.owner,
            mode: FILE_MODE,
        }
    }
}

impl CommitList {
    fn staged(&self, at: usize) -> RelPath {
        self.stage.join(&own(&at.to_string()))
    }
}

/// A plain name, which all of ours are.
fn own(name: &str) -> RelPath {
    RelPath::root()
        .child(name)
        .unwrap_or_else(|_| RelPath::root())
}
