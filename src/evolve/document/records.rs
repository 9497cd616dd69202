//! Experiences, audit entries, snapshots, proposals and decisions.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Whether something is to be done again, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackStatus {
    /// Again.
    Positive,
    /// Not again.
    Negative,
}

/// Where feedback comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackSource {
    /// The user said how it went.
    Explicit,
    /// The user said how they want things.
    UserInput,
    /// The result shows it.
    ExecutionResult,
    /// Nothing was said or shown.
    Default,
}

impl FeedbackSource {
    /// As documents have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::UserInput => "user_input",
            Self::ExecutionResult => "execution_result",
            Self::Default => "default",
        }
    }

    /// How far it is trusted (kit 5.1): a failure says more than a success.
    #[must_use]
    pub fn confidence(self, status: FeedbackStatus) -> f64 {
        match (self, status) {
            (Self::Explicit, _) => 0.9,
            (Self::UserInput, _) => 0.8,
            (Self::ExecutionResult, FeedbackStatus::Negative) => 0.7,
            (Self::ExecutionResult, FeedbackStatus::Positive) => 0.6,
            (Self::Default, _) => 0.2,
        }
    }
}

/// What was learned from one task; never changed once it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experience {
    /// `exp-…`
    pub experience_id: String,
    /// The skill.
    pub skill_id: String,
    /// When.
    pub recorded_at: String,
    /// The kind of task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_signature: Option<String>,
    /// In a line.
    pub lesson: String,
    /// Again, or not.
    pub feedback_status: FeedbackStatus,
    /// Where it comes from.
    pub feedback_source: FeedbackSource,
    /// How far it is trusted, from 0 to 1.
    pub feedback_confidence: f64,
    /// Why it was read so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What the last experiences of the same signature say together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_rollout_critique: Option<String>,
    /// Open to everybody; ours is `sequence`, the place among all records of the workspace.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// What orders records whose times are the same, or of a clock that was set back.
pub(in crate::evolve) const SEQUENCE: &str = "sequence";

/// The place among all records, which ours have.
pub(in crate::evolve) fn sequence(open: &Map<String, Value>) -> u64 {
    open.get(SEQUENCE).and_then(Value::as_u64).unwrap_or(0)
}

/// An audit entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// `aud-…`
    pub audit_id: String,
    /// When.
    pub created_at: String,
    /// What kind of change.
    pub event_type: String,
    /// The skill.
    pub skill_id: String,
    /// What was changed, recorded or decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject_id: String,
    /// Who did it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub actor: String,
    /// Action, reasoning and more.
    pub details: Map<String, Value>,
    /// Files that it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<String>,
}

/// What a snapshot is called; its manifest and bank may be large.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SnapshotHead {
    /// `snap-…`
    pub snapshot_id: String,
    /// When it was taken.
    pub created_at: String,
    /// Before what.
    pub reason: String,
}

/// What a proposal would do, and a decision does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A new entry.
    Add,
    /// More in an entry.
    Merge,
    /// Another thing in an entry.
    Supersede,
    /// Less in an entry.
    Synthesize,
}

impl Action {
    const ALL: [Self; 4] = [Self::Add, Self::Merge, Self::Supersede, Self::Synthesize];

    /// As documents have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "ADD",
            Self::Merge => "MERGE",
            Self::Supersede => "SUPERSEDE",
            Self::Synthesize => "SYNTHESIZE",
        }
    }

    /// Its kind of audit entry.
    #[must_use]
    pub fn event(self) -> &'static str {
        match self {
            Self::Add => "skill_added",
            Self::Merge => "skill_merged",
            Self::Supersede => "skill_superseded",
            Self::Synthesize => "skill_synthesized",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change that waits for a governor, as far as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// `prop-…`
    pub proposal_id: String,
    /// The skill.
    pub skill_id: String,
    /// Who made it.
    pub proposer: String,
    /// Of the manifest, if it is promoted.
    pub target_version: String,
    /// In a line.
    pub change_summary: String,
    /// What would be done.
    pub action: Action,
    /// A whole new entry, or the fields that change of one, with the version that it had.
    pub payload: Value,
    /// The file that it rests on.
    pub evidence: String,
}

impl Proposal {
    /// Of a document that is as its schema says.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spelt = &document["proposed_action"];
        let action = Action::ALL
            .into_iter()
            .find(|action| spelt == action.as_str());
        Self {
            proposal_id: text(&document["proposal_id"]),
            skill_id: text(&document["skill_id"]),
            proposer: text(&document["proposer"]["id"]),
            target_version: text(&document["target_version"]),
            change_summary: text(&document["change_summary"]),
            action: action.unwrap_or(Action::Merge),
            payload: document["proposed_payload"].clone(),
            evidence: text(&document["artifacts"][0]["ref"]),
        }
    }
}

/// What a governor says of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromotionDecision {
    /// `dec-…`
    pub decision_id: String,
    /// Of which proposal.
    pub proposal_id: String,
    /// The skill.
    pub skill_id: String,
    /// Which governor.
    pub decider: String,
    /// `promoted`, `rejected` or `deferred`.
    pub outcome: String,
    /// In a line.
    pub reason: String,
    /// Of the manifest from then on.
    pub effective_version: Option<String>,
}

impl PromotionDecision {
    /// Of a document that is as its schema says.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            decision_id: text(&document["decision_id"]),
            proposal_id: text(&document["proposal_id"]),
            skill_id: text(&document["skill_id"]),
            decider: text(&document["decider"]["id"]),
            outcome: text(&document["outcome"]),
            reason: text(&document["reason"]),
            effective_version: document["effective_version"].as_str().map(str::to_owned),
        }
    }
}
