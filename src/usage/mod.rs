//! `usage.json`: counters and lifecycle state, apart from the ledger (seed §18.9).

mod counters;
mod gathered;
mod lifecycle;

use std::collections::BTreeMap;

use serde_json::Value;

pub use self::counters::{Counter, Counts, State};
pub use self::gathered::Gathered;
pub use self::lifecycle::{Ages, Look, due, note_scan};
use crate::store::{Filesystem, StoreError, WriteLock, layout, state_file};

/// A skill read this often and used by fewer than one reader in ten has a misleading description.
const MANY_VIEWS: u64 = 20;
const VIEWS_PER_USE: u64 = 10;
/// A skill changed this often describes a flow that does not hold still.
const MANY_CHANGES: u64 = 20;
const STATE: &str = "state";
const STATE_CHANGED_AT: &str = "state_changed_at";

/// All usage entries, by skill name; fields that are not touched stay as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    entries: BTreeMap<String, Value>,
}

/// Usage as it was found.
#[derive(Debug, Default)]
pub struct LoadedUsage {
    /// The entries.
    pub usage: Usage,
    /// Why the file can't be read; it counts as empty.
    pub unreadable: Option<String>,
}

impl Usage {
    /// Reads `usage.json`; a missing one is empty, an entry of another shape is kept and counts for nothing.
    #[must_use]
    pub fn load(filesystem: &dyn Filesystem) -> LoadedUsage {
        let read = state_file::read(filesystem, layout::USAGE).map_err(|e| e.to_string());
        let parsed = read.and_then(|bytes| match bytes {
            None => Ok(BTreeMap::new()),
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|e| e.to_string()),
        });
        match parsed {
            Ok(entries) => LoadedUsage {
                usage: Self { entries },
                unreadable: None,
            },
            Err(reason) => LoadedUsage {
                usage: Self::default(),
                unreadable: Some(reason),
            },
        }
    }

    #[cfg(test)]
    fn of(entries: Value) -> Self {
        let entries = serde_json::from_value(entries).unwrap();
        Self { entries }
    }

    /// Reads `usage.json`, changes it and writes it, under the lock that keeps others from doing the same; writes nothing
    /// where nothing changed. A file that can't be read is kept aside, and counting begins again.
    ///
    /// # Errors
    /// The kernel's.
    pub fn update(lock: &WriteLock<'_>, change: impl FnOnce(&mut Self)) -> Result<(), StoreError> {
        let loaded = Self::load(lock.filesystem());
        let mut usage = loaded.usage.clone();
        change(&mut usage);
        if usage == loaded.usage {
            return Ok(());
        }
        if loaded.unreadable.is_some() {
            state_file::set_aside(lock, layout::USAGE)?;
        }
        state_file::write(lock, layout::USAGE, &usage.to_json(), false)
    }

    /// The file's content.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(&self.entries).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Whether a skill is active.
    #[must_use]
    pub fn is_active(&self, name: &str) -> bool {
        self.lifecycle(name) == State::Active
    }

    /// Skills that are read often and hardly used (seed §18.10, rule 3), with both counts.
    pub fn misleading(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let counts = self.entries.iter().map(|(name, entry)| {
            (
                name.as_str(),
                count(entry, "view_count"),
                count(entry, "use_count"),
            )
        });
        counts.filter(|(_, views, uses)| {
            *views >= MANY_VIEWS && uses.saturating_mul(VIEWS_PER_USE) < *views
        })
    }

    /// Skills that are changed very often (seed §18.10, rule 4), with the count.
    pub fn unstable(&self) -> impl Iterator<Item = (&str, u64)> {
        let counts = self.entries.iter();
        counts
            .map(|(name, entry)| (name.as_str(), count(entry, "modify_count")))
            .filter(|(_, changes)| *changes >= MANY_CHANGES)
    }
}

fn count(entry: &Value, key: &str) -> u64 {
    entry.get(key).and_then(Value::as_u64).unwrap_or(0)
}
