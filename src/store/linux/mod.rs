//! The real file system, reached through one directory descriptor.

mod file;
mod medium;

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat, openat2, renameat};
use nix::sys::stat::{FileStat, Mode, fstat, fstatat, mkdirat};
use nix::unistd::{LinkatFlags, UnlinkatFlags, fsync, linkat, syncfs, unlinkat};
use rustix::fs::{FlockOperation, RenameFlags, flock, renameat_with};

use super::filesystem::{
    Attributes, DirEntry, Filesystem, HeldLock, Kind, Metadata, NewFile, OpenFile,
};
use super::path::RelPath;
use super::read::{Bounded, read_open};
pub use file::all_flushes;
use file::{Flushes, LinuxFile, LinuxLock, LinuxNewFile, metadata_of, set_attributes};
pub use medium::{Space, UnsafeFilesystem, UnsafeFilesystems};

/// `syncfs` answers 0 after a lost write before this kernel (syncfs(2), "BUGS"; commit 735e4ae5ba28).
const SYNCFS_REPORTS_ERRORS_FROM: (u32, u32) = (5, 8);
/// `openat2` answers `EAGAIN` when a rename raced with it; the kernel asks to try again.
const RESOLVE_ATTEMPTS: u32 = 16;

/// How paths with several components are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolve {
    /// `openat2` with `RESOLVE_NO_SYMLINKS` where the kernel has it (5.6), else by component.
    Kernel,
    /// Directory by directory with `O_NOFOLLOW`.
    ByComponent,
}

/// A tree of the running system.
pub struct LinuxFilesystem {
    root: OwnedFd,
    location: PathBuf,
    resolve: Cell<Resolve>,
    trusts_syncfs: bool,
    /// The directory that holds the root, where this value made the root.
    made_in: Option<OwnedFd>,
    flushes: Flushes,
}

impl LinuxFilesystem {
    /// Opens the directory at `location`; links on the way to it are followed, for it comes from the
    /// configuration.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(location: &Path) -> io::Result<Self> {
        // Not O_PATH: syncfs and fsync refuse such a descriptor, and an error of an earlier write is only
        // reported on a descriptor that was open by then.
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let root = open(location, flags, Mode::empty())?;
        Ok(Self {
            root,
            location: location.to_owned(),
            resolve: Cell::new(Resolve::Kernel),
            trusts_syncfs: kernel_version() >= SYNCFS_REPORTS_ERRORS_FROM,
            made_in: None,
            flushes: Flushes::default(),
        })
    }

    /// Opens the directory at `location` to write in it, made where it is missing; not those above it, for a wrong
    /// path or a partition that is not mounted should be noticed.
    ///
    /// # Errors
    /// The kernel's; [`UnsafeFilesystem`] where it is refused, and nothing is made then.
    #[allow(clippy::disallowed_methods)] // This is the store.
    pub fn open_to_write(location: &Path, on: UnsafeFilesystems) -> io::Result<Self> {
        let checked = |directory: &Path| -> io::Result<Self> {
            let opened = Self::open(directory)?;
            if on == UnsafeFilesystems::Refuse {
                UnsafeFilesystem::refuse(&opened.root, location)?;
            }
            Ok(opened)
        };
        match checked(location) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let parent = location.parent().filter(|parent| *parent != Path::new(""));
                let parent = checked(parent.unwrap_or(Path::new(".")))?;
                match std::fs::create_dir(location) {
                    // Another process was faster, and may not have flushed the name yet.
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                    made => made?,
                }
                Ok(Self {
                    made_in: Some(parent.root),
                    ..Self::open(location)?
                })
            }
            result => result,
        }
    }

    /// How much room there is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn space(&self) -> io::Result<Space> {
        medium::space(&self.root)
    }

    /// What it is, where a rename is not atomic on it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unsafe_kind(&self) -> io::Result<Option<&'static str>> {
        medium::unsafe_kind(&self.root)
    }

    /// The same, resolving paths as told.
    #[must_use]
    pub fn with_resolve(mut self, resolve: Resolve) -> Self {
        self.resolve = Cell::new(resolve);
        self
    }

    /// The same, without relying on `syncfs`: files are flushed one by one.
    #[must_use]
    pub fn without_syncfs(mut self) -> Self {
        self.trusts_syncfs = false;
        self
    }

    fn open_beneath(&self, path: &RelPath, flags: OFlag, mode: Mode) -> nix::Result<OwnedFd> {
        let flags = flags | OFlag::O_CLOEXEC;
        if path.is_root() {
            return openat(&self.root, ".", flags, mode);
        }
        if self.resolve.get() == Resolve::Kernel {
            let resolve = ResolveFlag::RESOLVE_BENEATH
                | ResolveFlag::RESOLVE_NO_SYMLINKS
                | ResolveFlag::RESOLVE_NO_MAGICLINKS;
            let how = OpenHow::new().flags(flags).mode(mode).resolve(resolve);
            for _ in 0..RESOLVE_ATTEMPTS {
                match openat2(&self.root, path.as_str(), how) {
                    Err(Errno::EAGAIN | Errno::EINTR) => {}
                    Err(Errno::ENOSYS) => {
                        self.resolve.set(Resolve::ByComponent);
                        break;
                    }
                    result => return result,
                }
            }
        }
        self.open_by_component(path, flags | OFlag::O_NOFOLLOW, mode)
    }

    fn open_by_component(&self, path: &RelPath, flags: OFlag, mode: Mode) -> nix::Result<OwnedFd> {
        let mut components = path.components().peekable();
        let mut above: Option<OwnedFd> = None;
        while let Some(component) = components.next() {
            let here = above.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
            if components.peek().is_none() {
                return openat(here, component, flags, mode)
                    .map_err(|errno| link_or(errno, here, component));
            }
            let step = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            let next = openat(here, component, step, Mode::empty())
                .map_err(|errno| link_or(errno, here, component))?;
            above = Some(next);
        }
        Err(Errno::EINVAL)
    }

    /// The directory that holds `path`, and its name in it.
    fn parent_of<'p>(&self, path: &'p RelPath) -> io::Result<(OwnedFd, &'p str)> {
        let (parent, name) = path
            .split_last()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY;
        Ok((self.open_beneath(&parent, flags, Mode::empty())?, name))
    }

    fn flush_names(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        self.count_flush();
        match fsync(directory) {
            // A file system that has no fsync for directories keeps its names by other means, or not at all.
            Err(Errno::EINVAL | Errno::EOPNOTSUPP) => Ok(()),
            result => Ok(result?),
        }
    }

    fn count_flush(&self) {
        self.flushes.count();
    }
}

impl Filesystem for LinuxFilesystem {
    fn location(&self) -> &Path {
        &self.location
    }

    fn metadata(&self, path: &RelPath) -> io::Result<Metadata> {
        if path.is_root() {
            return Ok(metadata_of(&fstat(&self.root)?));
        }
        let (parent, name) = self.parent_of(path)?;
        let stat = fstatat(&parent, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        Ok(metadata_of(&stat))
    }

    fn read_dir(&self, path: &RelPath) -> io::Result<Vec<DirEntry>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let fd = without_atime(|extra| self.open_beneath(path, flags | extra, Mode::empty()))?;
        let mut dir = Dir::from_fd(fd)?;
        let mut entries = Vec::new();
        let mut untyped = Vec::new();
        for entry in dir.iter() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                Some(Type::File) => Kind::File,
                Some(Type::Directory) => Kind::Directory,
                Some(Type::Symlink) => Kind::Link,
                Some(_) => Kind::Special,
                None => {
                    untyped.push(entries.len());
                    Kind::Special
                }
            };
            entries.push(DirEntry {
                name: std::ffi::OsString::from_vec(name.to_vec()),
                kind,
            });
        }
        // Some file systems give no type with the name.
        for index in untyped {
            let entry: &mut DirEntry = &mut entries[index];
            let stat = fstatat(&dir, entry.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?;
            entry.kind = metadata_of(&stat).kind;
        }
        entries.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(entries)
    }

    fn open(&self, path: &RelPath) -> io::Result<Box<dyn OpenFile>> {
        // O_NONBLOCK: opening a pipe must not wait for its writer.
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK;
        let fd = without_atime(|extra| self.open_beneath(path, flags | extra, Mode::empty()))?;
        let metadata = metadata_of(&fstat(&fd)?);
        match metadata.kind {
            Kind::File => Ok(Box::new(LinuxFile::new(File::from(fd), metadata))),
            Kind::Directory => Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a directory, not a file",
            )),
            _ => Err(io::Error::other("it is not a regular file")),
        }
    }

    fn create(&self, path: &RelPath, attributes: Attributes) -> io::Result<Box<dyn NewFile>> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let mode = Mode::from_bits_truncate(attributes.mode);
        let fd = self.open_beneath(path, flags, mode)?;
        set_attributes(fd.as_fd(), attributes)?;
        Ok(Box::new(LinuxNewFile::new(
            File::from(fd),
            self.flushes.clone(),
        )))
    }

    fn create_dir(&self, path: &RelPath, attributes: Attributes) -> io::Result<()> {
        let (parent, name) = self.parent_of(path)?;
        mkdirat(&parent, name, Mode::from_bits_truncate(attributes.mode))?;
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let fd = self.open_beneath(path, flags, Mode::empty())?;
        set_attributes(fd.as_fd(), attributes)?;
        Ok(())
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        let (from_dir, from_name) = self.parent_of(from)?;
        let (to_dir, to_name) = self.parent_of(to)?;
        Ok(renameat(&from_dir, from_name, &to_dir, to_name)?)
    }

    fn rename_new(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        let (from_dir, from_name) = self.parent_of(from)?;
        let (to_dir, to_name) = self.parent_of(to)?;
        match renameat_with(
            &from_dir,
            from_name,
            &to_dir,
            to_name,
            RenameFlags::NOREPLACE,
        ) {
            // The file system or the kernel does not know the flag: look, then rename.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                match fstatat(&to_dir, to_name, AtFlags::AT_SYMLINK_NOFOLLOW) {
                    Err(Errno::ENOENT) => Ok(renameat(&from_dir, from_name, &to_dir, to_name)?),
                    Ok(_) => Err(Errno::EEXIST.into()),
                    Err(errno) => Err(errno.into()),
                }
            }
            result => Ok(result?),
        }
    }

    fn hard_link(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        let (from_dir, from_name) = self.parent_of(from)?;
        let (to_dir, to_name) = self.parent_of(to)?;
        let flags = LinkatFlags::empty();
        Ok(linkat(&from_dir, from_name, &to_dir, to_name, flags)?)
    }

    fn remove_file(&self, path: &RelPath) -> io::Result<()> {
        let (parent, name) = self.parent_of(path)?;
        Ok(unlinkat(&parent, name, UnlinkatFlags::NoRemoveDir)?)
    }

    fn remove_dir(&self, path: &RelPath) -> io::Result<()> {
        let (parent, name) = self.parent_of(path)?;
        Ok(unlinkat(&parent, name, UnlinkatFlags::RemoveDir)?)
    }

    fn truncate(&self, path: &RelPath) -> io::Result<()> {
        let flags = OFlag::O_WRONLY | OFlag::O_TRUNC;
        self.open_beneath(path, flags, Mode::empty())?;
        Ok(())
    }

    fn sync_file(&self, path: &RelPath) -> io::Result<()> {
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK;
        let fd = without_atime(|extra| self.open_beneath(path, flags | extra, Mode::empty()))?;
        self.count_flush();
        Ok(fsync(&fd)?)
    }

    fn sync_dir(&self, path: &RelPath) -> io::Result<()> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let fd = self.open_beneath(path, flags, Mode::empty())?;
        self.flush_names(fd.as_fd())?;
        match &self.made_in {
            Some(parent) if path.is_root() => self.flush_names(parent.as_fd()),
            _ => Ok(()),
        }
    }

    fn sync_filesystem(&self) -> io::Result<()> {
        self.count_flush();
        Ok(syncfs(&self.root)?)
    }

    fn sync_filesystem_is_trusted(&self) -> bool {
        self.trusts_syncfs
    }

    fn flushes(&self) -> u64 {
        self.flushes.get()
    }

    fn try_lock(&self, path: &RelPath) -> io::Result<Option<Box<dyn HeldLock>>> {
        // Reading is enough for flock, and works on a file system that has become read-only.
        let fd = self.open_beneath(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK, Mode::empty())?;
        match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
        // Somebody may have replaced the file since it was opened: then this lock guards nothing.
        let ours = metadata_of(&fstat(&fd)?).id;
        match self.metadata(path) {
            Ok(now) if now.id == ours => Ok(Some(Box::new(LinuxLock::new(fd)))),
            Ok(_) => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Reads a file outside of our trees, following links, of at most `limit` bytes; `None` if it is missing.
///
/// # Errors
/// The kernel's; anything but a regular file is one.
pub fn read_followed(path: &Path, limit: u64) -> io::Result<Option<Bounded>> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let fd = match without_atime(|extra| open(path, flags | extra, Mode::empty())) {
        Err(Errno::ENOENT) => return Ok(None),
        fd => fd?,
    };
    let metadata = metadata_of(&fstat(&fd)?);
    if metadata.kind != Kind::File {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut file = LinuxFile::new(File::from(fd), metadata);
    Ok(Some(read_open(&mut file, limit)?))
}

/// Opens with `O_NOATIME`, without it where the file is somebody else's (open(2): `EPERM`).
fn without_atime(open: impl Fn(OFlag) -> nix::Result<OwnedFd>) -> nix::Result<OwnedFd> {
    match open(OFlag::O_NOATIME) {
        Err(Errno::EPERM) => open(OFlag::empty()),
        result => result,
    }
}

/// `ELOOP` if the component is a link, as `openat2` says it; else the errno itself.
fn link_or(errno: Errno, directory: BorrowedFd<'_>, component: &str) -> Errno {
    let is_link = |stat: FileStat| metadata_of(&stat).kind == Kind::Link;
    match fstatat(directory, component, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(stat) if errno == Errno::ENOTDIR && is_link(stat) => Errno::ELOOP,
        _ => errno,
    }
}

/// Major and minor number of the running kernel; 0.0 when it can't be told.
fn kernel_version() -> (u32, u32) {
    let Ok(name) = nix::sys::utsname::uname() else {
        return (0, 0);
    };
    parse_version(&name.release().to_string_lossy())
}

fn parse_version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_releases_are_understood() {
        assert_eq!(parse_version("5.10.160"), (5, 10));
        assert_eq!(parse_version("6.1.0-50-armmp"), (6, 1));
        assert_eq!(parse_version("5.8-rc1"), (5, 8));
        assert!(parse_version("4.19.1") < SYNCFS_REPORTS_ERRORS_FROM);
        assert_eq!(parse_version("what"), (0, 0));
    }
}
