//! Open files and locks, and what `fstat` says of them.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat};
use nix::unistd::{Gid, Uid, fchown};

use crate::store::filesystem::{Attributes, HeldLock, Kind, Metadata, NewFile, OpenFile, Owner};

pub(super) struct LinuxFile {
    file: File,
    metadata: Metadata,
}

impl LinuxFile {
    pub fn new(file: File, metadata: Metadata) -> Self {
        Self { file, metadata }
    }
}

impl Read for LinuxFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl OpenFile for LinuxFile {
    fn metadata(&self) -> Metadata {
        self.metadata
    }
}

pub(super) struct LinuxNewFile {
    file: File,
    flushes: Flushes,
}

/// How often data was forced to flash through one tree, and all trees of this process together.
#[derive(Clone, Default)]
pub(super) struct Flushes(Rc<Cell<u64>>);

static ALL_FLUSHES: AtomicU64 = AtomicU64::new(0);

impl Flushes {
    pub fn count(&self) {
        self.0.set(self.0.get() + 1);
        ALL_FLUSHES.fetch_add(1, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.get()
    }
}

/// How often this process has forced data to flash.
#[must_use]
pub fn all_flushes() -> u64 {
    ALL_FLUSHES.load(Ordering::Relaxed)
}

impl LinuxNewFile {
    pub fn new(file: File, flushes: Flushes) -> Self {
        Self { file, flushes }
    }
}

impl Write for LinuxNewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for LinuxNewFile {
    fn sync(&mut self) -> io::Result<()> {
        self.flushes.count();
        self.file.sync_all()
    }
}

/// A `flock` that ends with its descriptor.
pub(super) struct LinuxLock {
    _file: OwnedFd,
}

impl LinuxLock {
    pub fn new(file: OwnedFd) -> Self {
        Self { _file: file }
    }
}

impl HeldLock for LinuxLock {}

pub(super) fn set_attributes(fd: BorrowedFd<'_>, attributes: Attributes) -> nix::Result<()> {
    let now = metadata_of(&fstat(fd)?);
    if now.owner != attributes.owner {
        let uid = Uid::from_raw(attributes.owner.uid);
        let gid = Gid::from_raw(attributes.owner.gid);
        match fchown(fd, Some(uid), Some(gid)) {
            // Only root gives files away, and vfat has no owners.
            Err(Errno::EPERM | Errno::EACCES | Errno::EOPNOTSUPP) => {}
            result => result?,
        }
    }
    if now.mode != attributes.mode {
        fchmod(fd, Mode::from_bits_truncate(attributes.mode))?;
    }
    Ok(())
}

// The widths of these fields differ between the targets.
#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss)]
pub(super) fn metadata_of(stat: &FileStat) -> Metadata {
    let kind = match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => Kind::File,
        SFlag::S_IFDIR => Kind::Directory,
        SFlag::S_IFLNK => Kind::Link,
        _ => Kind::Special,
    };
    Metadata {
        kind,
        len: stat.st_size as u64,
        mode: stat.st_mode & 0o7777,
        owner: Owner {
            uid: stat.st_uid,
            gid: stat.st_gid,
        },
        id: (stat.st_dev as u64, stat.st_ino as u64),
    }
}
