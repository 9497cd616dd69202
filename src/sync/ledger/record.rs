//! What the ledger says of one skill (seed §6.1 and contract §5).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::skill::SKILL_FILE;
use crate::store::{Hash, RelPath};
use crate::sync::merge_job::MergeMode;

/// Sync status of a skill (seed §6.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Status {
    /// The library has the bundled text.
    Synced,
    /// The user's text differs from what was last written.
    UserModified,
    /// The library has the result of a merge.
    Merged,
    /// The user deleted the skill; it is not copied again.
    DeletedByUser,
    /// A word of another version of the program; kept as it is.
    Other(String),
}

impl From<String> for Status {
    fn from(text: String) -> Self {
        match text.as_str() {
            "synced" => Self::Synced,
            "user_modified" => Self::UserModified,
            "merged" => Self::Merged,
            "deleted_by_user" => Self::DeletedByUser,
            _ => Self::Other(text),
        }
    }
}

impl From<Status> for String {
    fn from(status: Status) -> Self {
        match status {
            Status::Synced => "synced".into(),
            Status::UserModified => "user_modified".into(),
            Status::Merged => "merged".into(),
            Status::DeletedByUser => "deleted_by_user".into(),
            Status::Other(text) => text,
        }
    }
}

/// One skill's record. Unknown fields are kept: the other slot's version may own them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Hash of the bundled text at the last sync or merge.
    #[serde(
        deserialize_with = "hash_or_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub origin_hash: Option<Hash>,
    /// Hash of the text that was last written to the library.
    #[serde(
        deserialize_with = "hash_or_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub effective_hash: Option<Hash>,
    /// Sync status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Where the base lies, relative to the config dir.
    #[serde(
        deserialize_with = "text_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_path: Option<String>,
    /// RFC 3339.
    #[serde(
        deserialize_with = "text_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_synced_at: Option<String>,
    /// RFC 3339.
    #[serde(
        deserialize_with = "text_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_merged_at: Option<String>,
    /// Key of the last merge that was applied.
    #[serde(
        deserialize_with = "text_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_merged_key: Option<String>,
    /// Key of the last merge that failed.
    #[serde(
        deserialize_with = "text_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_failed_merge_key: Option<String>,
    /// RFC 3339.
    #[serde(
        deserialize_with = "text_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_merge_failed_at: Option<String>,
    /// Why it failed.
    #[serde(
        deserialize_with = "text_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_merge_error: Option<String>,
    /// The engine setting under which it failed, or the engine that merged.
    #[serde(
        deserialize_with = "text_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_merge_engine: Option<String>,
    /// No answer was had: the same merge may be tried again.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "is_default")]
    pub last_merge_transient: bool,
    /// Requests that reached a server for the failed key since the last start.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "is_default")]
    pub merge_attempts: u32,
    /// The bundle has this skill no more.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "is_default")]
    pub stale: bool,
    /// The supporting files as last written, by path in the skill; `None` in the existing agent's records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<RelPath, FileRecord>>,
    /// What is about to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// What was last written of a supporting file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileRecord {
    /// Hash of the text; none for a deleted file.
    #[serde(
        deserialize_with = "hash_or_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub hash: Option<Hash>,
    /// Length in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whether the bundled file was executable then.
    #[serde(skip_serializing_if = "is_default")]
    pub executable: bool,
    /// The user deleted it; it stays deleted.
    #[serde(skip_serializing_if = "is_default")]
    pub deleted: bool,
    /// Fields of other versions.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The intents of one skill: durable before anything of it is written (contract §5).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pending {
    /// Every path that will be written or removed.
    pub paths: BTreeMap<RelPath, Intent>,
    /// For a merge: its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_key: Option<String>,
    /// For a merge: the text that it replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_hash: Option<Hash>,
    /// For a merge: its mode.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub mode: Option<MergeMode>,
    /// For a merge: the engine that made the text.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Read from a ledger that was replaced since: what was staged for it is gone, whatever became of it.
    #[serde(skip)]
    pub is_past: bool,
    /// Fields of other versions.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// What will become of one path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Intent {
    /// The hash it will have; none: it will be removed.
    pub hash: Option<Hash>,
    /// The bundled text that it stands for.
    pub upstream_hash: Option<Hash>,
    /// Length in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whether the bundled file is executable.
    #[serde(skip_serializing_if = "is_default")]
    pub executable: bool,
}

impl Record {
    /// `effective_hash`; a record without one was written before that field existed (seed §6.2).
    #[must_use]
    pub fn effective(&self) -> Option<Hash> {
        self.effective_hash.or(self.origin_hash)
    }

    /// Whether the user deleted the skill.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.status == Some(Status::DeletedByUser)
    }

    /// Whether no text of this skill was ever written or found: only other files of it may have come.
    #[must_use]
    pub fn has_no_text(&self) -> bool {
        self.origin_hash.is_none() && self.effective_hash.is_none() && self.status.is_none()
    }

    /// Whether there is nothing but an intent: such a record is none, if nothing of it came.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        let without_intent = Self {
            pending: None,
            files: self.files.clone().filter(|files| !files.is_empty()),
            ..self.clone()
        };
        without_intent == Self::default()
    }

    /// The record after those of its intents came true for which `written` says so, at the time `now`; the
    /// others are forgotten. `None` if nothing is left.
    #[must_use]
    pub fn settled(
        mut self,
        name: &str,
        written: impl Fn(&RelPath) -> bool,
        now: &str,
    ) -> Option<Self> {
        let Some(pending) = self.pending.take() else {
            return Some(self);
        };
        for (path, intent) in &pending.paths {
            if !written(path) {
                continue;
            }
            if path.as_str() == SKILL_FILE {
                self.take_text(name, intent, &pending, now);
                continue;
            }
            let files = self.files.get_or_insert_default();
            match intent.hash {
                None => {
                    files.remove(path);
                }
                Some(hash) => {
                    let record = FileRecord {
                        hash: Some(hash),
                        size: intent.size,
                        executable: intent.executable,
                        ..FileRecord::default()
                    };
                    files.insert(path.clone(), record);
                }
            }
        }
        (!self.is_bare()).then_some(self)
    }

    fn take_text(&mut self, name: &str, intent: &Intent, pending: &Pending, now: &str) {
        self.origin_hash = intent.upstream_hash;
        self.effective_hash = intent.hash;
        self.base_path = Some(format!("skill-state/bases/{name}/{SKILL_FILE}"));
        self.stale = false;
        self.files.get_or_insert_default();
        self.forget_merge_failure();
        if let Some(key) = &pending.merge_key {
            self.last_merged_key = Some(key.clone());
            self.last_merged_at = Some(now.to_owned());
            self.last_merge_engine.clone_from(&pending.engine);
        } else {
            self.last_synced_at = Some(now.to_owned());
        }
        self.status = Some(if self.origin_hash == self.effective_hash {
            Status::Synced
        } else {
            Status::Merged
        });
    }

    /// Clears what the last failed merge left; its inputs exist no more.
    pub fn forget_merge_failure(&mut self) {
        self.last_failed_merge_key = None;
        self.last_merge_failed_at = None;
        self.last_merge_error = None;
        self.last_merge_engine = None;
        self.last_merge_transient = false;
        self.merge_attempts = 0;
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn hash_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Hash>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(text) if !text.is_empty() => text.parse().map(Some).map_err(serde::de::Error::custom),
        _ => Ok(None),
    }
}

/// A value of another type or range counts as absent: the field is looked at again anyway, or only shown.
fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + serde::de::DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Nothing is decided by these fields, so a value of another type (another program wrote it) costs only
/// itself.
fn text_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    })
}
