//! The seam between the program and whatever merges texts.

use std::sync::atomic::{AtomicU32, Ordering};

use super::structural::Conflict;
use super::validate::Invalid;
use crate::sync::{MergeFailure, MergeJob, MergeTexts};

/// What is to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeInput {
    /// Names the texts.
    pub job: MergeJob,
    /// The texts.
    pub texts: MergeTexts,
}

/// A merged text, not yet validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// All of SKILL.md.
    pub text: String,
    /// What was done, in a sentence; for people.
    pub summary: String,
    /// What made it, in the ledger's word: `structural` or `llm`.
    pub engine: &'static str,
}

/// Why there is no merged text. The messages are the program's own: they end up in ledger and log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The structural engine met what it can't settle.
    #[error("conflict: both sides changed {}", told(.0))]
    Conflict(Vec<Conflict>),
    /// The model said that it can't.
    #[error("the model answered that these texts can't be merged reliably")]
    Refused,
    /// The model's answer is none.
    #[error("the model's answer {0}")]
    BadAnswer(String),
    /// The merged text must not be applied.
    #[error("the merged text {0}")]
    Invalid(#[from] Invalid),
    /// Question and answer are longer than the model can hold.
    #[error("these texts are too long for the model's context window or output limit")]
    TooLong,
    /// There was no answer.
    #[error("{0}")]
    NoAnswer(String),
}

impl MergeError {
    /// Whether the same merge may go well another time (contract §5): no answer of a model was had.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::NoAnswer(_))
    }

    /// What the ledger keeps of it.
    #[must_use]
    pub fn failure(&self, attempts: u32) -> MergeFailure {
        MergeFailure {
            reason: self.to_string(),
            is_transient: self.is_transient(),
            attempts,
        }
    }
}

const SHOWN_CONFLICTS: usize = 3;

fn told(conflicts: &[Conflict]) -> String {
    let shown: Vec<String> = conflicts
        .iter()
        .take(SHOWN_CONFLICTS)
        .map(ToString::to_string)
        .collect();
    let more = conflicts.len() - shown.len();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more places", shown.join(", ")),
    }
}

/// Counts the requests that have reached a server, and says whether another one may.
#[derive(Debug)]
pub struct Requests {
    made: AtomicU32,
    most: u32,
}

impl Requests {
    /// So many were made, so many may be.
    #[must_use]
    pub fn new(made: u32, most: u32) -> Self {
        Self {
            made: AtomicU32::new(made),
            most,
        }
    }

    /// Whether another one may reach a server.
    #[must_use]
    pub fn are_left(&self) -> bool {
        self.made() < self.most
    }

    /// One has reached a server.
    pub fn count(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// How many have.
    #[must_use]
    pub fn made(&self) -> u32 {
        self.made.load(Ordering::Relaxed)
    }
}

/// An engine that merges. It may take minutes: the caller never holds the lock meanwhile, and gives up waiting when it is
/// told to stop.
pub trait SkillMergeModel: Send + Sync {
    /// Merges the texts of `input`; `conflicts` is what structural merging could not settle, where that was tried.
    ///
    /// # Errors
    /// Why there is no merged text.
    fn merge(
        &self,
        input: &MergeInput,
        conflicts: &[Conflict],
        requests: &Requests,
    ) -> Result<Answer, MergeError>;
}
