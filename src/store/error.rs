//! What the store could not do, where, and why.

use std::io;
use std::path::PathBuf;

use super::filesystem::Filesystem;
use super::path::RelPath;

/// A failed step on the file system.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {}: {source}{}", .path.display(), self.advice())]
pub struct StoreError {
    /// What was tried, as a verb.
    pub operation: &'static str,
    /// On what.
    pub path: PathBuf,
    /// The kernel's answer.
    #[source]
    pub source: io::Error,
}

impl StoreError {
    /// An error of `operation` on `path` in `filesystem`.
    #[must_use]
    pub fn new(
        filesystem: &dyn Filesystem,
        operation: &'static str,
        path: &RelPath,
        source: io::Error,
    ) -> Self {
        Self {
            operation,
            path: filesystem.location().join(path.as_str()),
            source,
        }
    }

    fn advice(&self) -> &'static str {
        advice(&self.source)
    }
}

/// What a person can do about a kernel error, to be put behind it; empty when there is nothing general to say.
#[must_use]
pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "; free some space on that file system",
        io::ErrorKind::QuotaExceeded => "; raise the quota or remove files",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; the file system is read-only: mount it read-write, or see the kernel's log for the error that made it so"
        }
        io::ErrorKind::PermissionDenied => "; run as root or as the owner of the directory",
        io::ErrorKind::CrossesDevices => {
            "; the library and the state directory must lie on one file system"
        }
        _ if is_link(error) => {
            "; there is a symbolic link on this path, and links are never followed: put a plain file or directory there"
        }
        _ => "",
    }
}

/// Adds operation and path to a kernel error.
pub trait Context<T> {
    /// Names what was tried.
    ///
    /// # Errors
    /// The same error with its context.
    fn during(
        self,
        filesystem: &dyn Filesystem,
        operation: &'static str,
        path: &RelPath,
    ) -> Result<T, StoreError>;
}

impl<T> Context<T> for io::Result<T> {
    fn during(
        self,
        filesystem: &dyn Filesystem,
        operation: &'static str,
        path: &RelPath,
    ) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::new(filesystem, operation, path, source))
    }
}

/// Whether the kernel refused a symbolic link.
#[must_use]
pub fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32)
}

/// `None` for a missing file, so that absence is not an error.
///
/// # Errors
/// Every other error.
pub fn absent_as_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}
