//! Bounded reading.

use std::io::{self, Read};

use super::error::absent_as_none;
use super::filesystem::{Filesystem, Metadata, OpenFile};
use super::hash::{CHUNK_BYTES, Hash};
use super::path::RelPath;

/// What a bounded read found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bounded {
    /// The whole file.
    Whole(Vec<u8>),
    /// More than the limit; not read.
    TooLarge {
        /// Its length in bytes.
        bytes: u64,
    },
}

/// Reads a file of at most `limit` bytes; a larger one costs one `fstat`. `None` if it is missing.
///
/// # Errors
/// The kernel's.
pub fn read_bounded(
    filesystem: &dyn Filesystem,
    path: &RelPath,
    limit: u64,
) -> io::Result<Option<Bounded>> {
    let Some(mut file) = absent_as_none(filesystem.open(path))? else {
        return Ok(None);
    };
    read_open(&mut *file, limit).map(Some)
}

/// The same of a file that is open.
pub(super) fn read_open(file: &mut dyn OpenFile, limit: u64) -> io::Result<Bounded> {
    let bytes = file.metadata().len;
    if bytes > limit {
        return Ok(Bounded::TooLarge { bytes });
    }
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut content)?;
    let read = content.len() as u64;
    Ok(if read > limit {
        Bounded::TooLarge { bytes: read }
    } else {
        Bounded::Whole(content)
    })
}

/// Hashes files through one buffer.
pub struct FileHasher {
    buffer: Vec<u8>,
}

/// A regular file as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// Of its bytes.
    pub hash: Hash,
    /// When it was opened, but for `len`, which counts what was read.
    pub metadata: Metadata,
}

impl Default for FileHasher {
    fn default() -> Self {
        Self {
            buffer: vec![0; CHUNK_BYTES],
        }
    }
}

impl FileHasher {
    /// Hash and metadata of a file; `None` if it is missing.
    ///
    /// # Errors
    /// The kernel's.
    pub fn hash(
        &mut self,
        filesystem: &dyn Filesystem,
        path: &RelPath,
    ) -> io::Result<Option<FileState>> {
        let measured = self.hash_if(filesystem, path, |_| true)?;
        Ok(measured.and_then(|measured| {
            Some(FileState {
                hash: measured.hash?,
                metadata: measured.metadata,
            })
        }))
    }

    /// The same, but only for a file whose length is `wanted`; others cost one `fstat` and have no hash.
    ///
    /// # Errors
    /// The kernel's.
    pub fn hash_if(
        &mut self,
        filesystem: &dyn Filesystem,
        path: &RelPath,
        wanted: impl Fn(u64) -> bool,
    ) -> io::Result<Option<Measured>> {
        let Some(mut file) = absent_as_none(filesystem.open(path))? else {
            return Ok(None);
        };
        let mut measured = Measured {
            hash: None,
            metadata: file.metadata(),
        };
        if wanted(measured.metadata.len) {
            let (hash, len) = Hash::of_reader(&mut *file, &mut self.buffer)?;
            measured.hash = Some(hash);
            measured.metadata.len = len;
        }
        Ok(Some(measured))
    }

    /// The buffer, for copying.
    pub(super) fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }
}

/// A regular file, hashed only if its length could matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Of its bytes, if read.
    pub hash: Option<Hash>,
    /// When it was opened, but for `len`, which counts what was read.
    pub metadata: Metadata,
}
