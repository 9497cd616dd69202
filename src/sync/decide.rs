//! The decision table of contract §4, rows 3 to 12: what becomes of one skill's SKILL.md. Pure.

use super::ledger::{Record, Status};
use crate::store::Hash;

/// The library's SKILL.md of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserText {
    /// There is none.
    Absent,
    /// Only white space and NULs: what a power cut leaves, never an edit. With its hash.
    Blank(Hash),
    /// A text with this hash.
    Text(Hash),
    /// A text that is larger than any skill's, and so none of ours; it is not read.
    TooLarge {
        /// Its length.
        bytes: u64,
    },
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Row 3: the user deleted it before; it stays so.
    StaysDeleted,
    /// Row 4: new; copy it.
    Copy,
    /// Row 5: the user has deleted it.
    Deleted,
    /// Row 6: write the bundled text over what a cut left.
    Repair,
    /// Row 7: the library has the bundled text already.
    Adopt,
    /// Row 8: both have a text and no baseline is known.
    TwoWayMerge,
    /// Row 9: nothing changed.
    Unchanged,
    /// Row 10: the user changed nothing, the firmware did.
    Update,
    /// Row 11: the user changed it, the firmware did not.
    KeepUser,
    /// Row 12: both changed it.
    ThreeWayMerge,
}

/// Decides for a valid bundled text with the hash `bundled`; the first row that fits.
#[must_use]
pub fn decide(bundled: Hash, user: UserText, record: Option<&Record>) -> Decision {
    let deleted = record.is_some_and(Record::is_deleted);
    let user = match (record, user) {
        (Some(_), UserText::Absent | UserText::Blank(_)) if deleted => {
            return Decision::StaysDeleted;
        }
        (None, UserText::Absent) => return Decision::Copy,
        // A cut came before the text: nothing was deleted.
        (Some(record), UserText::Absent) if record.has_no_text() => return Decision::Copy,
        (Some(_), UserText::Absent) => return Decision::Deleted,
        (_, UserText::Blank(_)) => return Decision::Repair,
        (_, UserText::Text(hash)) => Some(hash),
        (_, UserText::TooLarge { .. }) => None,
    };
    let origin = record.and_then(|record| record.origin_hash);
    let effective = record.and_then(Record::effective);
    if user == Some(bundled) {
        let at_rest = record.is_some_and(|record| {
            record.status == Some(Status::Synced)
                && !record.stale
                && origin == Some(bundled)
                && effective == Some(bundled)
        });
        return if at_rest {
            Decision::Unchanged
        } else {
            Decision::Adopt
        };
    }
    let Some(origin) = origin else {
        return Decision::TwoWayMerge;
    };
    let is = |hash: Option<Hash>| user.is_some() && user == hash;
    match (is(effective), is(Some(origin)), bundled == origin) {
        (true, _, true) => Decision::Unchanged,
        (_, true, false) => Decision::Update,
        (false, _, true) => Decision::KeepUser,
        (_, false, false) => Decision::ThreeWayMerge,
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
