//! The documents of a workspace: what they hold, and how they are written.

mod bank;
mod json;
mod manifest;
mod records;

pub use self::bank::{Bank, Entry, newer_first};
pub use self::json::{Object, object_of, to_file, value_of};
pub use self::manifest::{Manifest, ManifestError, Mode, NewManifest};
pub use self::records::{
    Action, AuditEntry, Experience, FeedbackSource, FeedbackStatus, PromotionDecision, Proposal,
    SnapshotHead,
};
pub(in crate::evolve) use self::records::{SEQUENCE, sequence};

/// Of the kit's protocol, whose documented fields the documents carry.
pub const PROTOCOL: &str = "1.0.0";
