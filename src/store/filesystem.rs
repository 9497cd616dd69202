//! The seam between the program and a file system: every byte that reaches flash goes through here, so
//! that tests can fail or stop any single call.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;

use super::path::RelPath;

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; never followed.
    Link,
    /// A device, pipe or socket.
    Special,
}

/// What the file system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: Kind,
    /// Its length in bytes.
    pub len: u64,
    /// Its permission bits (`0o7777`).
    pub mode: u32,
    /// Its owner.
    pub owner: Owner,
    /// Device and inode: the same pair is the same file.
    pub id: (u64, u64),
}

impl Metadata {
    /// Whether anyone may execute it.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.mode & 0o111 != 0
    }
}

/// User and group of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Owner and mode of a file to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Whom it shall belong to; kept as it comes where the process may not give files away.
    pub owner: Owner,
    /// Its permission bits, whatever the umask.
    pub mode: u32,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Its name, as the file system has it.
    pub name: OsString,
    /// What it is.
    pub kind: Kind,
}

/// An open regular file.
pub trait OpenFile: Read {
    /// What `fstat` said when it was opened.
    fn metadata(&self) -> Metadata;
}

/// A file that is being written.
pub trait NewFile: Write {
    /// Forces its data to flash (`fsync`); counts as one flush.
    ///
    /// # Errors
    /// The kernel's; after one the file must be thrown away, not flushed again (the kernel reports a lost
    /// write once).
    fn sync(&mut self) -> io::Result<()>;
}

/// A lock that ends when dropped.
pub trait HeldLock {}

/// A directory tree, reached only from its root and never through a link.
///
/// Every method resolves its path beneath the root and answers `ELOOP` for a link on the way; a missing
/// file is [`io::ErrorKind::NotFound`]. Mutating methods are single steps: a process or a machine may die
/// between any two.
pub trait Filesystem {
    /// Where the root lies, for messages.
    fn location(&self) -> &Path;

    /// `lstat`.
    ///
    /// # Errors
    /// The kernel's.
    fn metadata(&self, path: &RelPath) -> io::Result<Metadata>;

    /// All entries of a directory, read to its end, in byte order of their names.
    ///
    /// # Errors
    /// The kernel's, also from the middle of the listing.
    fn read_dir(&self, path: &RelPath) -> io::Result<Vec<DirEntry>>;

    /// Opens a regular file to read, without touching its access time where the owner allows it.
    ///
    /// # Errors
    /// The kernel's; [`io::ErrorKind::IsADirectory`] or `Other` for what is not a regular file.
    fn open(&self, path: &RelPath) -> io::Result<Box<dyn OpenFile>>;

    /// Creates a file that must not exist.
    ///
    /// # Errors
    /// The kernel's.
    fn create(&self, path: &RelPath, attributes: Attributes) -> io::Result<Box<dyn NewFile>>;

    /// Creates a directory that must not exist.
    ///
    /// # Errors
    /// The kernel's.
    fn create_dir(&self, path: &RelPath, attributes: Attributes) -> io::Result<()>;

    /// Renames, replacing a file at `to`.
    ///
    /// # Errors
    /// The kernel's.
    fn rename(&self, from: &RelPath, to: &RelPath) -> io::Result<()>;

    /// Renames; [`io::ErrorKind::AlreadyExists`] if there is anything at `to`.
    ///
    /// # Errors
    /// The kernel's.
    fn rename_new(&self, from: &RelPath, to: &RelPath) -> io::Result<()>;

    /// Gives a file a second name that must not exist.
    ///
    /// # Errors
    /// The kernel's.
    fn hard_link(&self, from: &RelPath, to: &RelPath) -> io::Result<()>;

    /// Removes a file or a link, never a directory.
    ///
    /// # Errors
    /// The kernel's.
    fn remove_file(&self, path: &RelPath) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The kernel's.
    fn remove_dir(&self, path: &RelPath) -> io::Result<()>;

    /// Empties a file and keeps its name.
    ///
    /// # Errors
    /// The kernel's.
    fn truncate(&self, path: &RelPath) -> io::Result<()>;

    /// Forces the data of a file to flash that somebody else wrote (`fsync`); counts as one flush.
    ///
    /// # Errors
    /// The kernel's.
    fn sync_file(&self, path: &RelPath) -> io::Result<()>;

    /// Forces the names in a directory to flash; counts as one flush.
    ///
    /// # Errors
    /// The kernel's.
    fn sync_dir(&self, path: &RelPath) -> io::Result<()>;

    /// Forces everything on the file system to flash (`syncfs`); counts as one flush.
    ///
    /// # Errors
    /// The kernel's.
    fn sync_filesystem(&self) -> io::Result<()>;

    /// Whether [`Filesystem::sync_filesystem`] reports lost writes.
    fn sync_filesystem_is_trusted(&self) -> bool;

    /// How many flushes were made through this value.
    fn flushes(&self) -> u64;

    /// Takes the exclusive lock on a file if nobody has it; `None` if somebody does.
    ///
    /// # Errors
    /// The kernel's.
    fn try_lock(&self, path: &RelPath) -> io::Result<Option<Box<dyn HeldLock>>>;
}
