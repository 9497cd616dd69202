//! Bundle → library (contract §4 and §5): settle, decide, apply, report.
//!
//! Looking (`bundle`, `observe`), deciding (`decide`, `files`, `plan`: pure) and doing (`apply`, `settle`)
//! are apart. A sync never calls a model: merges are only named here.

mod apply;
mod bundle;
mod compare;
mod decide;
mod edit;
mod files;
pub mod ledger;
mod merge;
mod merge_job;
mod observe;
mod plan;
mod planner;
mod report;
mod reset;
mod run;
mod settle;
mod status;
mod unified;

pub use bundle::{Bundle, BundleState, BundledFile, BundledSkill, SkippedEntry};
pub use compare::{Against, CompareError, SkillTexts, compare_skill, skill_texts};
pub use decide::{Decision, UserText, decide};
pub use edit::LockedLibrary;
pub use files::{FileDecision, UserFile, decide_file};
pub use merge::{
    Concluded, Conclusion, LOCAL_CHANGED, MergeFailure, MergeTexts, PendingMerge, conclude_merge,
    pending_merge,
};
pub use merge_job::{EngineSetting, MergeJob, MergeMode, merge_key, same_key};
pub use report::{Failed, FileReport, MergeSkipped, Merged, SkillSyncReport};
pub use reset::{Reset, ResetError, ResetReport, reset_skills, reset_tree};
pub use run::{SkillSyncOptions, SyncError, sync_bundled_skills, sync_tree};
pub(crate) use run::{check_library_root, open_to_look, open_to_write};
pub use settle::interrupted;
pub use status::{MergeOutlook, SkillStatus, StatusReport, recorded_statuses, skill_status};
pub use unified::unified_diff;
