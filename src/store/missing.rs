//! A directory that does not exist yet, for looking at what a first boot would do.

use std::io;
use std::path::{Path, PathBuf};

use super::filesystem::{Attributes, DirEntry, Filesystem, HeldLock, Metadata, NewFile, OpenFile};
use super::path::RelPath;

/// Has nothing in it, and nothing can be put there.
pub struct MissingDirectory {
    location: PathBuf,
}

impl MissingDirectory {
    /// The directory that would be at `location`.
    #[must_use]
    pub fn new(location: &Path) -> Self {
        Self {
            location: location.to_owned(),
        }
    }
}

fn missing<T>() -> io::Result<T> {
    Err(io::ErrorKind::NotFound.into())
}

impl Filesystem for MissingDirectory {
    fn location(&self) -> &Path {
        &self.location
    }

    fn metadata(&self, _: &RelPath) -> io::Result<Metadata> {
        missing()
    }

    fn read_dir(&self, _: &RelPath) -> io::Result<Vec<DirEntry>> {
        missing()
    }

    fn open(&self, _: &RelPath) -> io::Result<Box<dyn OpenFile>> {
        missing()
    }

    fn create(&self, _: &RelPath, _: Attributes) -> io::Result<Box<dyn NewFile>> {
        missing()
    }

    fn create_dir(&self, _: &RelPath, _: Attributes) -> io::Result<()> {
        missing()
    }

    fn rename(&self, _: &RelPath, _: &RelPath) -> io::Result<()> {
        missing()
    }

    fn rename_new(&self, _: &RelPath, _: &RelPath) -> io::Result<()> {
        missing()
    }

    fn hard_link(&self, _: &RelPath, _: &RelPath) -> io::Result<()> {
        missing()
    }

    fn remove_file(&self, _: &RelPath) -> io::Result<()> {
        missing()
    }

    fn remove_dir(&self, _: &RelPath) -> io::Result<()> {
        missing()
    }

    fn truncate(&self, _: &RelPath) -> io::Result<()> {
        missing()
    }

    fn sync_file(&self, _: &RelPath) -> io::Result<()> {
        missing()
    }

    fn sync_dir(&self, _: &RelPath) -> io::Result<()> {
        missing()
    }

    fn sync_filesystem(&self) -> io::Result<()> {
        missing()
    }

    fn sync_filesystem_is_trusted(&self) -> bool {
        false
    }

    fn flushes(&self) -> u64 {
        0
    }

    fn try_lock(&self, _: &RelPath) -> io::Result<Option<Box<dyn HeldLock>>> {
        missing()
    }
}
