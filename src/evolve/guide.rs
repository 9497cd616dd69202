//! The execution loop (kit 4): what is known of a task, before it is done.

use serde::Serialize;

use super::counts::{Count, Counts};
use super::document::Bank;
use super::error::EvolveError;
use super::retrieval::{MAX_ENTRIES, block, retrieve};
use super::signature::signature_of;
use super::workspace::Workspace;

/// What an agent is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Guidance {
    /// The block for its prompt; empty where nothing is relevant.
    pub guidance: String,
    /// What is in it, best first.
    pub entries: Vec<Guide>,
}

/// An entry that is given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Guide {
    /// Which.
    pub skill_entry_id: String,
    /// Its title.
    pub title: String,
    /// Its version.
    pub version: String,
    /// How well it fits; only the order means something.
    pub score: f64,
}

impl Guidance {
    /// What is to be counted of it.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let given = self.entries.iter();
        given
            .map(|one| (one.skill_entry_id.clone(), Count::RETRIEVED))
            .collect()
    }
}

impl Workspace<'_> {
    /// What is known of a task, at most so many entries; counts nothing.
    ///
    /// # Errors
    /// When the workspace can't be read.
    pub fn guide(
        &self,
        task: &str,
        signature: Option<&str>,
        limit: Option<usize>,
    ) -> Result<Guidance, EvolveError> {
        let ready = self.look()?;
        let entries = &ready.bank.entries;
        let signature = signature_of(signature, Some(task));
        let found = retrieve(
            entries,
            task,
            signature.as_deref(),
            limit.unwrap_or(MAX_ENTRIES),
        );
        let chosen = || {
            found
                .iter()
                .filter_map(|one| Some((entries.get(one.at)?, one.score)))
        };
        Ok(Guidance {
            guidance: block(chosen().map(|(entry, _)| entry)),
            entries: chosen()
                .map(|(entry, score)| Guide {
                    skill_entry_id: entry.skill_entry_id.clone(),
                    title: entry.title.clone(),
                    version: entry.version.clone(),
                    score: (score * 1000.0).round() / 1000.0,
                })
                .collect(),
        })
    }

    /// The bank, newest entries first.
    ///
    /// # Errors
    /// When the workspace can't be read.
    pub fn bank(&self) -> Result<Bank, EvolveError> {
        let mut bank = self.look()?.bank;
        bank.entries.sort_by(super::document::newer_first);
        Ok(bank)
    }
}
