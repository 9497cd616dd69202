//! What a merge is asked to do, and the key that names its inputs (seed §8.2, contract §5).

use serde::{Deserialize, Serialize};

use super::ledger::Record;
use crate::store::Hash;

/// Least length of a stored key that may stand for a longer one: the existing agent kept 16 digits.
const SHORTEST_KEY_DIGITS: usize = 16;
const KEY_PREFIX: &str = "sha256:";

/// Which engine merges (contract §5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EngineSetting {
    /// Structural first, the model for what it can't settle.
    #[default]
    Auto,
    /// Structural only.
    Structural,
    /// Always the model.
    Llm,
    /// Never merge.
    Off,
}

impl EngineSetting {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Structural, Self::Llm, Self::Off];

    /// The word in flags, environment, `agent.toml` and ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Structural => "structural",
            Self::Llm => "llm",
            Self::Off => "off",
        }
    }
}

impl std::str::FromStr for EngineSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|engine| engine.as_str() == text);
        known.ok_or_else(|| {
            format!("unknown merge engine {text:?}; there are auto, structural, llm and off")
        })
    }
}

/// Which texts a merge has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMode {
    /// Base, upstream and local.
    ThreeWay,
    /// No common base is known.
    TwoWayNoBase,
}

impl MergeMode {
    /// The seed's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ThreeWay => "three_way",
            Self::TwoWayNoBase => "two_way_no_base",
        }
    }
}

/// A merge that is needed: both sides changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeJob {
    /// The skill.
    pub name: String,
    /// Which texts there are.
    pub mode: MergeMode,
    /// Names exactly these inputs.
    pub merge_key: String,
    /// Hash of the base; none without one.
    #[serde(serialize_with = "empty_if_none")]
    pub base_hash: Option<Hash>,
    /// Hash of the bundled text.
    pub upstream_hash: Hash,
    /// Hash of the library's text.
    pub local_hash: Hash,
}

impl MergeJob {
    /// The job for these inputs; `base` none means that no common base is known.
    #[must_use]
    pub fn new(name: &str, base: Option<Hash>, upstream: Hash, local: Hash) -> Self {
        let mode = match base {
            Some(_) => MergeMode::ThreeWay,
            None => MergeMode::TwoWayNoBase,
        };
        Self {
            name: name.to_owned(),
            mode,
            merge_key: merge_key(mode, name, base, upstream, local),
            base_hash: base,
            upstream_hash: upstream,
            local_hash: local,
        }
    }

    /// Why this job is not tried again: these inputs failed before under the engine setting `engine`, and a
    /// model had answered.
    #[must_use]
    pub fn failed_before<'r>(&self, record: &'r Record, engine: EngineSetting) -> Option<&'r str> {
        let stored = record.last_failed_merge_key.as_deref()?;
        let other_engine = record
            .last_merge_engine
            .as_deref()
            .is_some_and(|then| then != engine.as_str());
        if !same_key(stored, &self.merge_key) || record.last_merge_transient || other_engine {
            return None;
        }
        let reason = record.last_merge_error.as_deref();
        Some(reason.unwrap_or("this merge failed before"))
    }
}

/// `sha256:` and the SHA-256 of `mode|name|base|upstream|local` in hexadecimal, hashes with their prefix.
#[must_use]
pub fn merge_key(
    mode: MergeMode,
    name: &str,
    base: Option<Hash>,
    upstream: Hash,
    local: Hash,
) -> String {
    let base = base.map(|hash| hash.to_string()).unwrap_or_default();
    let inputs = format!("{}|{name}|{base}|{upstream}|{local}", mode.as_str());
    Hash::of(inputs.as_bytes()).to_string()
}

/// Whether a stored key names the same inputs as the full key; the existing agent stored a prefix.
#[must_use]
pub fn same_key(stored: &str, full: &str) -> bool {
    stored.len() >= KEY_PREFIX.len() + SHORTEST_KEY_DIGITS && full.starts_with(stored)
}

fn empty_if_none<S: serde::Serializer>(
    hash: &Option<Hash>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match hash {
        Some(hash) => hash.serialize(serializer),
        None => serializer.serialize_str(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alpha(description: &str, body: &str) -> Hash {
        let text = format!("---\nname: alpha\ndescription: {description}\n---\n\n{body}\n");
        Hash::of(text.as_bytes())
    }

    #[test]
    fn keys_of_the_existing_agent_are_prefixes_of_ours() {
        let base = alpha("Alpha skill", "Do alpha things.");
        let upstream = alpha("Alpha skill v2", "Do alpha things better.");
        let local = alpha("custom", "Custom.");
        let three = MergeJob::new("alpha", Some(base), upstream, local);
        assert!(same_key("sha256:9df6c6bfb93ffe1a", &three.merge_key));
        let two = MergeJob::new("alpha", None, upstream, local);
        assert!(same_key("sha256:fa63b3607eaed017", &two.merge_key));
        assert_eq!(three.merge_key.len(), 71);
    }

    #[test]
    fn a_short_or_different_key_is_another_key() {
        let job = MergeJob::new("alpha", None, Hash::of(b"u"), Hash::of(b"l"));
        assert!(same_key(&job.merge_key, &job.merge_key));
        assert!(!same_key("", &job.merge_key));
        assert!(!same_key("sha256:", &job.merge_key));
        assert!(!same_key(&job.merge_key[..20], &job.merge_key));
        assert!(!same_key("sha256:0000000000000000", &job.merge_key));
    }

    #[test]
    fn a_failed_merge_is_tried_again_only_for_other_inputs_another_engine_or_want_of_an_answer() {
        let job = MergeJob::new("a", None, Hash::of(b"u"), Hash::of(b"l"));
        let failed = Record {
            last_failed_merge_key: Some(job.merge_key.clone()),
            last_merge_error: Some("conflict".into()),
            last_merge_engine: Some("structural".into()),
            ..Record::default()
        };
        assert_eq!(
            job.failed_before(&failed, EngineSetting::Structural),
            Some("conflict")
        );
        assert_eq!(job.failed_before(&failed, EngineSetting::Auto), None);
        let transient = Record {
            last_merge_transient: true,
            ..failed.clone()
        };
        assert_eq!(
            job.failed_before(&transient, EngineSetting::Structural),
            None
        );
        let other = MergeJob::new("a", None, Hash::of(b"u"), Hash::of(b"l2"));
        assert_eq!(
            other.failed_before(&failed, EngineSetting::Structural),
            None
        );
        assert_eq!(
            job.failed_before(&Record::default(), EngineSetting::Auto),
            None
        );
    }
}
