//! `manifest.json`: who the skill is, who decides, and what the engine goes by. Keys of others stay.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::PROTOCOL;
use super::json::Object;
use crate::evolve::error::EvolveError;
use crate::evolve::ids::{Version, is_skill_id};

/// Feedback that is trusted less changes nothing.
const MIN_CONFIDENCE: f64 = 0.35;
/// An entry with more bullets is synthesised.
const SYNTHESIS_THRESHOLD: u64 = 15;

/// Who may change the bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The engine, at once.
    Standalone,
    /// A governor, by decisions on proposals.
    Governed,
}

impl Mode {
    /// As the manifest has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::Governed => "governed",
        }
    }
}

/// What the engine goes by; the defaults stand for what the manifest lacks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contract {
    /// Feedback below this changes nothing.
    pub min_feedback_confidence: f64,
    /// More bullets than this are made fewer.
    pub synthesis_threshold: u64,
    /// Whether a standalone workspace changes without a proposal on record.
    pub auto_promote: bool,
}

impl Default for Contract {
    fn default() -> Self {
        Self {
            min_feedback_confidence: MIN_CONFIDENCE,
            synthesis_threshold: SYNTHESIS_THRESHOLD,
            auto_promote: true,
        }
    }
}

/// A manifest with the fields that everything depends on.
#[derive(Debug, Clone)]
pub struct Manifest {
    object: Object,
    /// The skill.
    pub skill_id: String,
    /// Of the skill as a whole; decisions of a governor change it.
    pub version: String,
    /// As it is written; what is not known counts as standalone.
    pub mode: String,
    /// Whose decisions count; none: any governor's.
    pub governor: Option<String>,
    /// What the engine goes by.
    pub contract: Contract,
}

/// What a new manifest says.
#[derive(Debug, Clone, Default)]
pub struct NewManifest<'n> {
    /// The skill.
    pub id: &'n str,
    /// For people.
    pub name: &'n str,
    /// In a sentence.
    pub description: &'n str,
    /// Whose it is.
    pub owner: Option<&'n str>,
    /// What it can do; none: the description.
    pub summary: Option<&'n str>,
    /// Who decides; none: the engine.
    pub governor: Option<&'n str>,
}

impl NewManifest<'_> {
    /// Whether a workspace can be made of it.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub fn check(&self) -> Result<(), EvolveError> {
        if !is_skill_id(self.id) {
            return Err(EvolveError::Input(format!(
                "the id {:?} is not allowed: it must be lower-case letters, digits, '.', '_' and '-', and begin with a letter or digit",
                self.id
            )));
        }
        for (what, text) in [("name", self.name), ("description", self.description)] {
            if text.trim().is_empty() {
                return Err(EvolveError::Input(format!("the {what} is empty")));
            }
        }
        Ok(())
    }
}

/// Fields whose type may be another one than it should: then the default stands.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Governance {
    mode: Option<String>,
    governor_id: Option<String>,
}

impl Manifest {
    /// A text for a new workspace, its keys in the kit's order.
    #[must_use]
    pub fn new_text(new: &NewManifest<'_>) -> Vec<u8> {
        let text = |value: &str| serde_json::to_string(value).unwrap_or_default();
        let (id, name, description) = (text(new.id), text(new.name), text(new.description));
        let governance = match new.governor {
            None => r#""mode": "standalone",
    "official_status": "local""#
                .to_owned(),
            Some(governor) => format!(
                r#""mode": "governed",
    "official_status": "local",
    "governor_id": {},
    "handshake_required": true"#,
                text(governor)
            ),
        };
        let summary = text(new.summary.unwrap_or(new.description));
        let owner = text(new.owner.unwrap_or("local"));
        let Contract {
            min_feedback_confidence,
            synthesis_threshold,
            auto_promote: _,
        } = Contract::default();
        let auto_promote = new.governor.is_none();
        format!(
            r#"{{
  "schema_name": "SkillManifest",
  "schema_version": "1.0.0",
  "protocol_version": "{PROTOCOL}",
  "skill_id": {id},
  "name": {name},
  "version": "{}",
  "description": {description},
  "governance": {{
    {governance}
  }},
  "capability": {{
    "level": "native",
    "summary": {summary}
  }},
  "compatibility": {{
    "min_protocol_version": "{PROTOCOL}",
    "max_protocol_version": "{PROTOCOL}"
  }},
  "metadata": {{
    "owner": {owner},
    "contract": {{
      "min_feedback_confidence": {min_feedback_confidence},
      "synthesis_threshold": {synthesis_threshold},
      "auto_promote": {auto_promote},
      "managed_files": [
        {{
          "path": "SKILL.md",
          "kind": "markdown"
        }}
      ]
    }}
  }}
}}
"#,
            Version::FIRST
        )
        .into_bytes()
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Where it can't be read, or lacks what resuming needs.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let object: Object =
            serde_json::from_slice(bytes).map_err(|e| ManifestError::Unreadable(e.to_string()))?;
        let governance: Governance = object.get("governance").unwrap_or_default();
        let text = |key: &str| object.get::<String>(key).filter(|text| !text.is_empty());
        let (schema, id, version) = (text("schema_name"), text("skill_id"), text("version"));
        let mode = governance.mode.filter(|mode| !mode.is_empty());
        match (schema, id, version, mode) {
            (Some(_), Some(skill_id), Some(version), Some(mode)) => Ok(Self {
                contract: contract(&object),
                governor: governance.governor_id,
                skill_id,
                version,
                mode,
                object,
            }),
            (schema, id, version, mode) => {
                let fields = [
                    ("schema_name", schema.is_none()),
                    ("skill_id", id.is_none()),
                    ("version", version.is_none()),
                    ("governance.mode", mode.is_none()),
                ];
                let missing = fields.iter().filter(|(_, missing)| *missing);
                let missing: Vec<&str> = missing.map(|(field, _)| *field).collect();
                Err(ManifestError::Lacks(missing.join(", ")))
            }
        }
    }

    /// Who may change the bank. What is not known counts as standalone, as the kit says (6.1).
    #[must_use]
    pub fn governance_mode(&self) -> Mode {
        if self.mode == Mode::Governed.as_str() {
            Mode::Governed
        } else {
            Mode::Standalone
        }
    }

    /// After a governor's promotion.
    pub fn promote(&mut self, version: &str, decision: &str) {
        version.clone_into(&mut self.version);
        self.object.set("version", &version);
        if let Some(mut governance) = self.object.get::<Object>("governance") {
            governance.set("official_status", &"official");
            self.object.set("governance", &pretty(&governance));
        }
        let reference = json!({"baseline_version": version, "promotion_decision_id": decision});
        self.object.set("official_ref", &pretty(&reference));
    }

    /// As it is written to a file.
    #[must_use]
    pub fn to_file(&self) -> Vec<u8> {
        super::to_file(&self.object)
    }
}

/// Why a text is no manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestError {
    /// It is no JSON object.
    Unreadable(String),
    /// It lacks these fields.
    Lacks(String),
}

/// A value that will stand one level deep.
fn pretty(value: &impl serde::Serialize) -> Option<Box<RawValue>> {
    let text = serde_json::to_string_pretty(value).ok()?;
    RawValue::from_string(text.replace('\n', "\n  ")).ok()
}

fn contract(object: &Object) -> Contract {
    let default = Contract::default();
    let metadata: Object = object.get("metadata").unwrap_or_default();
    let contract: Object = metadata.get("contract").unwrap_or_default();
    let confidence = contract.get::<f64>("min_feedback_confidence");
    let threshold = contract.get::<u64>("synthesis_threshold");
    Contract {
        min_feedback_confidence: confidence
            .filter(|confidence| (0.0..=1.0).contains(confidence))
            .unwrap_or(default.min_feedback_confidence),
        synthesis_threshold: threshold
            .filter(|threshold| *threshold >= 1)
            .unwrap_or(default.synthesis_threshold),
        auto_promote: contract.get("auto_promote").unwrap_or(default.auto_promote),
    }
}
