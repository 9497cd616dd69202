//! Merging a skill that both the firmware and the user changed (contract §5, seeds §8 to §13): gather the texts, merge
//! them, validate the result, apply it. Engines answer, [`validate`] decides, [`Merger`] does one job after the other.

mod auto;
pub mod llm;
mod model;
mod preview;
mod report;
mod run;
mod stop;
pub mod structural;
mod validate;
mod worker;

pub use auto::{Auto, Engine, NoModel};
pub use model::{Answer, MergeError, MergeInput, Requests, SkillMergeModel};
pub use preview::{Preview, preview_merge, status_with_merges};
pub use report::{MergeFailed, MergeReport};
pub use run::{Wanted, merge_bundled_skills, merge_tree};
pub use stop::Stop;
pub use validate::{Invalid, validate};
pub use worker::{Asked, Event, MergeOptions, Merger, OnApplied, RETRY_MINUTES};
