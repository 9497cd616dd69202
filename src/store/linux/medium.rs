//! What the file system beneath a directory is, and how much room it has.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, fstatfs, fstatvfs};

/// `MSDOS_SUPER_MAGIC` (statfs(2)): vfat.
const FAT: u64 = 0x4d44;
/// `EXFAT_SUPER_MAGIC` (linux/magic.h).
const EXFAT: u64 = 0x2011_bab0;

/// Room on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What an unprivileged process may still write.
    pub free_bytes: u64,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

pub(super) fn space(of: impl AsFd) -> io::Result<Space> {
    let stat = fstatvfs(of)?;
    Ok(Space {
        free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        read_only: stat.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// Whether a file system may be written to on which a power cut can tear a file that is replaced by rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnsafeFilesystems {
    /// No.
    #[default]
    Refuse,
    /// The caller takes the risk.
    Allow,
}

/// The config dir lies on such a file system.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is on {kind}, where a rename is not atomic: a power cut can leave empty files, and an edit can be lost. \
     Put the config dir on ext4, f2fs or UBIFS, or take the risk with --allow-unsafe-filesystem", .directory.display()
)]
pub struct UnsafeFilesystem {
    directory: PathBuf,
    kind: &'static str,
}

impl UnsafeFilesystem {
    pub(super) fn refuse(opened: impl AsFd, directory: &Path) -> io::Result<()> {
        let Some(kind) = unsafe_kind(opened)? else {
            return Ok(());
        };
        let directory = directory.to_owned();
        Err(io::Error::other(Self { directory, kind }))
    }
}

// The width of the field differs between the targets.
#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss)]
pub(super) fn unsafe_kind(opened: impl AsFd) -> io::Result<Option<&'static str>> {
    Ok(unsafe_name(fstatfs(opened)?.f_type as u64))
}

/// After a rename an entry of FAT has no length and no cluster until its file is written again.
fn unsafe_name(magic: u64) -> Option<&'static str> {
    match magic {
        FAT => Some("FAT"),
        EXFAT => Some("exFAT"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fat_in_both_its_kinds_is_unsafe_and_what_boards_use_is_not() {
        let of = [0x4d44, 0x2011_bab0].map(unsafe_name);
        assert_eq!(of, [Some("FAT"), Some("exFAT")]);
        let (ext4, f2fs, ubifs, tmpfs, overlay) =
            (0xef53, 0xf2f5_2010, 0x2405_1905, 0x0102_1994, 0x794c_7630);
        assert_eq!(
            [ext4, f2fs, ubifs, tmpfs, overlay].map(unsafe_name),
            [None; 5]
        );
    }
}
