//! How often entries were given to an agent, and how often they proved good: beside the kit's documents, which are closed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::document::Entry;
use super::error::EvolveError;
use super::record::Change;
use super::workspace::{Workspace, path};
use crate::store::{Document, Documents};

const FILE: &str = ".aiden-counts.json";
/// Given so often and never confirmed, an entry is suggested to be pruned.
const OFTEN: u64 = 40;

/// What was counted of one entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Count {
    /// How often it was given.
    pub retrievals: u64,
    /// How often it proved good.
    pub confirmations: u64,
}

/// Counts by entry, to be added to those of a workspace.
pub type Counts = BTreeMap<String, Count>;

/// An entry that might go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// Which.
    pub skill_entry_id: String,
    /// Its title.
    pub title: String,
    /// Its version.
    pub version: String,
    /// How often it was given.
    pub retrievals: u64,
    /// How often it proved good.
    pub confirmations: u64,
    /// In a sentence.
    pub reasoning: String,
}

impl Workspace<'_> {
    /// Entries that were given often and never confirmed. Changes nothing.
    ///
    /// # Errors
    /// When the workspace can't be read.
    pub fn prune(&self) -> Result<Vec<Suggestion>, EvolveError> {
        let ready = self.look()?;
        let counts = self.counts()?;
        let of = |entry: &&Entry| {
            let count = counts.get(&entry.skill_entry_id);
            count.copied().unwrap_or_default()
        };
        let entries = ready.bank.newest_first().into_iter();
        let unproved = entries.filter(|entry| {
            let count = of(entry);
            count.retrievals >= OFTEN && count.confirmations == 0
        });
        Ok(unproved
            .map(|entry| {
                let count = of(&entry);
                Suggestion {
                    skill_entry_id: entry.skill_entry_id.clone(),
                    title: entry.title.clone(),
                    version: entry.version.clone(),
                    retrievals: count.retrievals,
                    confirmations: count.confirmations,
                    reasoning: format!("given {} times, and never confirmed", count.retrievals),
                }
            })
            .collect())
    }

    fn counts(&self) -> Result<Counts, EvolveError> {
        let bytes = self.read(&path(FILE))?;
        // They are no more than a help: unreadable ones begin again.
        Ok(bytes
            .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default())
    }

    /// Adds to the counts.
    ///
    /// # Errors
    /// When they can't be written.
    pub fn add_counts(&self, more: &Counts) -> Result<(), EvolveError> {
        if more.is_empty() {
            return Ok(());
        }
        let documents = Documents::lock(self.filesystem, self.engine.lock_timeout)?;
        Ok(documents.commit(&[self.counted(more)?])?)
    }

    /// The counts with these added.
    fn counted(&self, more: &Counts) -> Result<Document, EvolveError> {
        let mut counts = self.counts()?;
        add(&mut counts, more);
        Ok(Document {
            path: path(FILE),
            bytes: super::document::to_file(&counts),
        })
    }

    /// Counts what proved good, together with the change; nobody is refused an answer for that.
    pub(super) fn count_confirmations(&self, entries: Vec<String>, change: &mut Change<'_>) {
        if entries.is_empty() {
            return;
        }
        let one = Count {
            retrievals: 0,
            confirmations: 1,
        };
        let counts = entries.into_iter().map(|id| (id, one)).collect();
        match self.counted(&counts) {
            Ok(document) => change.put(FILE, document.bytes),
            Err(e) => log::warn!("it was not counted: {e}"),
        }
    }
}

/// Adds counts to others.
pub(super) fn add(counts: &mut Counts, more: &Counts) {
    for (id, count) in more {
        let sum = counts.entry(id.clone()).or_default();
        *sum = sum.plus(*count);
    }
}

impl Count {
    /// Of being given once.
    pub const RETRIEVED: Self = Self {
        retrievals: 1,
        confirmations: 0,
    };

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            retrievals: self.retrievals.saturating_add(other.retrievals),
            confirmations: self.confirmations.saturating_add(other.confirmations),
        }
    }
}
