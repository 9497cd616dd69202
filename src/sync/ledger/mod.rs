//! The ledger `.bundled_manifest.json`: what was seeded, from which text, and what became of it (seed §6).

mod read;
mod record;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub use read::{LedgerError, LedgerState, Loaded, ParseError, Parsed, load, parse};
pub(crate) use read::{base_path, library_path};
pub use record::{FileRecord, Intent, Pending, Record, Status};

/// The format that is read and written.
pub const VERSION: u64 = 1;

/// All records, by skill name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// The records. A name need not be one that the program would write to: the existing agent knew others.
    pub records: BTreeMap<String, Record>,
    /// Fields of the document that other versions own.
    pub other: BTreeMap<String, Value>,
}

impl Ledger {
    /// The document as it lies on disk: two-space indent, sorted keys, a final line feed.
    #[must_use]
    pub fn to_json(&self, now: &str) -> Vec<u8> {
        let mut document: Map<String, Value> = self.other.clone().into_iter().collect();
        document.insert("version".into(), json!(VERSION));
        document.insert("updated_at".into(), json!(now));
        document.insert("skills".into(), json!(self.records));
        let mut bytes = serde_json::to_vec_pretty(&document).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Whether any record has an intent.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        self.records.values().any(|record| record.pending.is_some())
    }
}
