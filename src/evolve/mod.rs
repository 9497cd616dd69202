//! The self-evolution kit as an engine (seed 003): what an agent learns from its tasks, kept as a bank of guidance.
//!
//! The kit is a text that an agent follows by hand. Here the same protocol is carried out by rules: each command reads the
//! workspace, decides, and writes all that its change consists of in one step, or nothing.

mod advice;
mod advisor;
mod content;
mod counts;
mod critique;
mod decide;
mod document;
mod error;
mod feedback;
mod governance;
mod guide;
mod ids;
mod import;
mod index;
mod judgement;
mod language;
mod learn;
mod matching;
mod model;
mod mutate;
mod publish;
mod record;
mod retrieval;
mod rollback;
mod schema;
mod signature;
mod skills;
mod synthesis;
mod validate;
mod workspace;

pub use self::advisor::ModelAdvisor;
pub use self::counts::{Count, Counts, Suggestion};
pub use self::document::{AuditEntry, Bank, Entry, NewManifest};
pub use self::error::EvolveError;
pub use self::feedback::{Feedback, Markers, RunResult};
pub use self::governance::Decided;
pub use self::guide::{Guidance, Guide};
pub use self::ids::{Sources, SystemSources};
pub use self::judgement::Judgement;
pub use self::learn::{Learned, Task};
pub use self::model::{Advisor, EngineChoice, Question};
pub use self::publish::Published;
pub use self::retrieval::{MAX_ENTRIES, Retrieved, rank, retrieve};
pub use self::schema::{DocumentKind, Fault, check};
pub use self::skills::{
    ACTOR, SkillEvolution, faulty_workspaces, guidance, open_workspace, open_workspace_of,
    workspace_of,
};
pub use self::validate::{Finding, Validation};
pub use self::workspace::{Engine, Workspace};
