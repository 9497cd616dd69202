//! Why a command of the kit did not do what was asked.

use crate::store::{LockError, StoreError};
use crate::tools::ToolError;

/// What went wrong, and what to do next.
#[derive(Debug, thiserror::Error)]
pub enum EvolveError {
    /// The workspace has no manifest, or one that can't be read.
    #[error(
        "the workspace {workspace} is corrupt ({reason}): restore it with 'evolve rollback', or move manifest.json away and re-initialise it with 'evolve init'"
    )]
    Workspace {
        /// Where it is.
        workspace: String,
        /// What is wrong with manifest.json.
        reason: String,
    },
    /// There is no workspace.
    #[error("there is no workspace {0}: make it with 'evolve init'")]
    NoWorkspace(String),
    /// The manifest lacks what everything depends on.
    #[error("the manifest of {workspace} is invalid: {reason}; correct manifest.json")]
    Manifest {
        /// Where it is.
        workspace: String,
        /// Which fields.
        reason: String,
    },
    /// The bank can't be read; it is never overwritten.
    #[error(
        "the skill bank of {workspace} is corrupt ({reason}): restore it from the latest snapshot with 'evolve rollback'"
    )]
    Bank {
        /// Where it is.
        workspace: String,
        /// What is wrong with skill_bank.json.
        reason: String,
    },
    /// Something was asked for that the rules forbid.
    #[error("{0}")]
    Refused(String),
    /// What was given is not as it must be.
    #[error("{0}")]
    Input(String),
    /// A snapshot is missing or can't be used.
    #[error("cannot restore: {0}")]
    Restore(String),
    /// Files of the workspace can't be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process writes.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The skill could not be changed.
    #[error(transparent)]
    Skill(#[from] ToolError),
    /// The kernel gives no random numbers, or the workspace can't be opened.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
}
