//! One lock for all writers (contract §4): `flock` on `<state dir>/.lock`, never unlinked.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::{Context, StoreError};
use super::filesystem::{Attributes, Filesystem, HeldLock, Owner};
use super::{layout, path::RelPath};

/// How long to wait before the lock is tried again.
const RETRY: Duration = Duration::from_millis(20);
const DIRECTORY_MODE: u32 = 0o755;
const LOCK_MODE: u32 = 0o644;
/// Components of a skill's directory beneath the config dir: `skills/<name>`.
const SKILL_DEPTH: usize = 2;

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else held it all the time.
    #[error(
        "another process holds the lock {path} for more than {seconds} s; try again when it is done, or raise --lock-timeout"
    )]
    Busy {
        /// The lock file.
        path: String,
        /// How long it was tried.
        seconds: f64,
    },
    /// The lock file could not be made or opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The right to write beneath a config dir, until dropped. All that writes asks for it.
pub struct WriteLock<'fs> {
    filesystem: &'fs dyn Filesystem,
    owner: Owner,
    made_state: bool,
    _held: Box<dyn HeldLock>,
}

impl<'fs> WriteLock<'fs> {
    /// Takes the lock beneath the config dir `filesystem`, trying for `timeout`; makes the state dir and
    /// the lock file where they are missing.
    ///
    /// # Errors
    /// [`LockError::Busy`] after `timeout`; the kernel's errors with their path.
    pub fn acquire(filesystem: &'fs dyn Filesystem, timeout: Duration) -> Result<Self, LockError> {
        let owner = library_owner(filesystem)?;
        let mut made_state = false;
        let held = take(filesystem, &layout::lock(), owner, timeout, &mut || {
            made_state |= ensure_dir(filesystem, &layout::state(), owner)?;
            Ok(())
        })?;
        Ok(Self {
            filesystem,
            owner,
            made_state,
            _held: held,
        })
    }

    /// The config dir.
    #[must_use]
    pub fn filesystem(&self) -> &'fs dyn Filesystem {
        self.filesystem
    }

    /// Whom new files belong to: the owner of the library root, at first boot of the config dir.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Renames what is staged for `target` into place, replacing what is there.
    ///
    /// # Errors
    /// The kernel's.
    pub fn place_staged(&self, target: &RelPath) -> Result<(), StoreError> {
        self.ensure_dirs(&target.parent())?;
        self.filesystem
            .rename(&layout::staged(target), target)
            .during(self.filesystem, "replace", target)
    }

    /// Removes a file beneath the state dir.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, path: &RelPath) -> Result<(), StoreError> {
        self.filesystem
            .remove_file(path)
            .during(self.filesystem, "remove", path)
    }

    /// Removes a base and its directory, if there is nothing else in it. What stays is tried again.
    pub fn remove_base(&self, path: &RelPath) {
        let _ = self.filesystem.remove_file(path);
        let _ = self.filesystem.remove_dir(&path.parent());
    }

    /// Takes a directory of the library away in one step: into the temporary directory, where the next sweep removes it.
    /// Both names are on flash when this returns.
    ///
    /// # Errors
    /// The kernel's; the directory is there still, or is gone.
    pub fn take_out(&self, directory: &RelPath) -> Result<(), StoreError> {
        let removed = layout::removed();
        let name = directory
            .split_last()
            .map_or(directory.as_str(), |(_, name)| name);
        let staged = removed.child(name).map_err(|e| {
            StoreError::new(self.filesystem, "remove", directory, io::Error::other(e))
        })?;
        let filesystem = self.filesystem;
        self.ensure_dirs(&removed)?;
        filesystem
            .rename(directory, &staged)
            .during(filesystem, "remove", directory)?;
        for parent in [removed, directory.parent()] {
            filesystem
                .sync_dir(&parent)
                .during(filesystem, "flush", &parent)?;
        }
        Ok(())
    }

    /// Removes a directory of the library, and those above it, that a removal left empty; never a skill's
    /// own. Says which directory's names changed last.
    pub fn remove_emptied(&self, mut directory: RelPath) -> RelPath {
        while directory.components().count() > SKILL_DEPTH {
            match self.filesystem.remove_dir(&directory) {
                // An interrupted run may have removed it, and not the ones above.
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => break,
                _ => directory = directory.parent(),
            }
        }
        directory
    }

    /// Whether taking the lock made the state dir.
    pub(super) fn made_state(&self) -> bool {
        self.made_state
    }

    /// Makes a directory in one that is there, where it is missing; says whether it made it.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn ensure_dir(&self, path: &RelPath) -> Result<bool, StoreError> {
        ensure_dir(self.filesystem, path, self.owner)
    }

    /// Makes a directory and those above it, where they are missing; says which it made.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn ensure_dirs(&self, path: &RelPath) -> Result<Vec<RelPath>, StoreError> {
        let mut made = Vec::new();
        for directory in path.ancestors_from_top().chain([path.clone()]) {
            if self.ensure_dir(&directory)? {
                made.push(directory);
            }
        }
        Ok(made)
    }
}

/// Takes the lock on a file, trying for `timeout`; the file, and before it what `prepare` makes, is made where it is missing.
pub(super) fn take(
    filesystem: &dyn Filesystem,
    path: &RelPath,
    owner: Owner,
    timeout: Duration,
    prepare: &mut dyn FnMut() -> Result<(), StoreError>,
) -> Result<Box<dyn HeldLock>, LockError> {
    let started = Instant::now();
    loop {
        match filesystem.try_lock(path) {
            Ok(Some(held)) => return Ok(held),
            Ok(None) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                prepare()?;
                let attributes = Attributes {
                    owner,
                    mode: LOCK_MODE,
                };
                match filesystem.create(path, attributes) {
                    Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(StoreError::new(filesystem, "create", path, e).into());
                    }
                    _ => continue,
                }
            }
            Err(e) => return Err(StoreError::new(filesystem, "lock", path, e).into()),
        }
        if started.elapsed() >= timeout {
            return Err(LockError::Busy {
                path: filesystem
                    .location()
                    .join(path.as_str())
                    .display()
                    .to_string(),
                seconds: timeout.as_secs_f64(),
            });
        }
        sleep(RETRY.min(timeout));
    }
}

/// Makes a directory and those above it, where they are missing, for whom the library belongs to; their names are on flash when
/// this returns.
///
/// # Errors
/// The kernel's.
pub fn make_directories(filesystem: &dyn Filesystem, path: &RelPath) -> Result<(), StoreError> {
    let owner = library_owner(filesystem)?;
    for directory in path.ancestors_from_top().chain([path.clone()]) {
        if ensure_dir(filesystem, &directory, owner)? {
            let parent = directory.parent();
            filesystem
                .sync_dir(&parent)
                .during(filesystem, "flush", &parent)?;
        }
    }
    Ok(())
}

fn library_owner(filesystem: &dyn Filesystem) -> Result<Owner, StoreError> {
    let of = |path: &RelPath| filesystem.metadata(path);
    match of(&layout::library()) {
        Ok(metadata) => Ok(metadata.owner),
        Err(_) => Ok(of(&RelPath::root())
            .during(filesystem, "examine", &RelPath::root())?
            .owner),
    }
}

pub(super) fn ensure_dir(
    filesystem: &dyn Filesystem,
    path: &RelPath,
    owner: Owner,
) -> Result<bool, StoreError> {
    if path.is_root() {
        return Ok(false);
    }
    let attributes = Attributes {
        owner,
        mode: DIRECTORY_MODE,
    };
    match filesystem.create_dir(path, attributes) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => {
            // On a read-only file system mkdir may say so even of a directory that is there.
            match filesystem.metadata(path) {
                Ok(there) if there.kind == super::filesystem::Kind::Directory => Ok(false),
                _ => Err(StoreError::new(filesystem, "create", path, e)),
            }
        }
    }
}
