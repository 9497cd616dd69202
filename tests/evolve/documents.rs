//! What lies in a workspace: what the fixtures hold, and parts of documents to write and to look at.

use serde_json::{Value, json};

/// Entries of the bank of fixture E.
pub const SCRAPING: &str = "skl-a1b2c3d4e5f6";
pub const RETRY: &str = "skl-b2c3d4e5f6a7";
pub const TABLES: &str = "skl-c3d4e5f6a7b8";

/// Entries of the bank of fixture Z.
pub const REPORT: &str = "skl-0000000000a1";
pub const SAFETY: &str = "skl-0000000000a3";

/// What merges into the entry `RETRY`.
pub const JITTER: &str =
    "Add jitter to exponential backoff when many clients retry at the same time";
pub const NO_INSIGHT: &str = "No specific insight extracted. Current approach maintained.";
pub const EMPTY: &str = r#"{"skills": []}"#;

/// How many documents of each kind a workspace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub experiences: usize,
    pub snapshots: usize,
    pub audits: usize,
    pub proposals: usize,
}

impl Counts {
    pub const NONE: Self = Self::of(0, 0, 0, 0);

    pub const fn of(experiences: usize, snapshots: usize, audits: usize, proposals: usize) -> Self {
        Self {
            experiences,
            snapshots,
            audits,
            proposals,
        }
    }
}

/// Feedback of the user's, as a caller reads it.
pub fn said(lesson: &str) -> Value {
    json!({"status": "positive", "lesson": lesson, "source": "user_input", "confidence": 0.8})
}

/// An entry of a bank; the n-th has an id of its own.
pub fn entry(n: u32, title: &str, content: &str, version: &str, signature: &str) -> Value {
    json!({
        "skill_entry_id": format!("skl-{n:012x}"), "title": title, "content": content, "version": version,
        "task_signature": signature, "keywords": [], "source_experience_ids": [],
        "updated_at": "2026-01-01T00:00:00Z",
    })
}

pub fn bullets(entry: &Value) -> Vec<String> {
    let content = entry["content"].as_str().unwrap();
    let lines = content.lines();
    let bullets = lines.filter(|line| line.starts_with("- ") || line.starts_with("  - "));
    bullets.map(str::to_owned).collect()
}

pub fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("not a text: {value}"))
}

/// An id of this kind: the prefix and twelve hexadecimal digits.
#[track_caller]
pub fn assert_id(id: &Value, prefix: &str) {
    let id = text(id);
    let digits = id.strip_prefix(prefix).and_then(|id| id.strip_prefix('-'));
    let digits = digits.unwrap_or_else(|| panic!("{id} is no id of {prefix}"));
    let hexadecimal = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    assert!(
        digits.len() == 12 && digits.bytes().all(hexadecimal),
        "{id}"
    );
}
