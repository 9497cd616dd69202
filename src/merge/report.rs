//! What a run of merges did (contract §3, "JSON of `merge`").

use serde::Serialize;

use crate::sync::{MergeMode, SkillSyncReport};

/// The sync that came before, with its merges where they ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeReport {
    /// `merged` has what was merged, `merge_needed` what was not asked for.
    #[serde(flatten)]
    pub sync: SkillSyncReport,
    /// What was not merged, by name.
    pub merge_failed: Vec<MergeFailed>,
}

/// A merge that failed; the library is as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeFailed {
    /// The skill.
    pub name: String,
    /// Which texts there were.
    pub mode: MergeMode,
    /// The engine setting.
    pub engine: &'static str,
    /// Names the inputs.
    pub merge_key: String,
    /// Why.
    pub error: String,
    /// Whether it is tried again.
    pub transient: bool,
}
