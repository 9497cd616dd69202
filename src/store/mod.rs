//! How bytes reach flash: confined paths, staging, flushing, the lock.
//!
//! The only room that writes, renames or removes (`clippy.toml` forbids it elsewhere). It knows the layout
//! of the config dir, but no skill: it is told which files to write and what the documents around them say.
//! The order of a [`Batch`] is the program's promise about power cuts; see there.

mod batch;
mod documents;
mod error;
mod filesystem;
mod hash;
pub mod layout;
mod linux;
mod lock;
mod missing;
pub mod mutant;
mod path;
mod read;
mod stage;
pub mod state_file;

pub use batch::{Batch, Committed, Content, Expected, Flush, Journal, WasPlaced, replacing};
pub use documents::{Document, Documents, OWN_PREFIX};
pub use error::{Context, StoreError, absent_as_none, advice, is_link};
pub use filesystem::{
    Attributes, DirEntry, Filesystem, HeldLock, Kind, Metadata, NewFile, OpenFile, Owner,
};
pub use hash::{CHUNK_BYTES, Hash, HashError, Hasher};
pub use linux::{
    LinuxFilesystem, Resolve, Space, UnsafeFilesystem, UnsafeFilesystems, all_flushes,
    read_followed,
};
pub use lock::{LockError, WriteLock, make_directories};
pub use missing::MissingDirectory;
pub use path::{PathError, RelPath};
pub use read::{Bounded, FileHasher, FileState, Measured, read_bounded};
pub use stage::{is_staged, leftovers, sweep};
