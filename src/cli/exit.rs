//! How the program ends; decided here and nowhere else (contract §3).

use crate::store::LockError;
use crate::sync::SyncError;

/// An exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Nothing could be done.
    Nothing = 1,
    /// Wrong usage.
    Usage = 2,
    /// Done in part, or something was found; the report says what.
    Partial = 3,
    /// Another process holds the lock.
    Busy = 4,
}

impl Exit {
    /// Done, or done in part.
    pub(super) fn whole(whole: bool) -> Self {
        if whole { Self::Done } else { Self::Partial }
    }

    /// Of an error that stopped a command before it did anything.
    pub(super) fn of_sync(error: &SyncError) -> Self {
        match error {
            SyncError::Lock(LockError::Busy { .. }) => Self::Busy,
            _ => Self::Nothing,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
