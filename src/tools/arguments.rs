//! What an agent passes to the tools. Fields that are not known are left alone: agents add some.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Tool, ToolError};
use crate::skill::shown;

/// `skill_list`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct List {
    pub query: Option<String>,
    pub limit: Option<usize>,
    pub state: Option<String>,
    pub include_archived: Option<bool>,
    pub include_incompatible: Option<bool>,
}

/// `skill_read`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Read {
    pub name: Option<String>,
    pub file_path: Option<String>,
    pub include_incompatible: Option<bool>,
}

/// `skill_mark_used`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MarkUsed {
    pub name: Option<String>,
}

/// `skill_manage`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Manage {
    pub action: Option<String>,
    pub name: Option<String>,
    pub content: Option<String>,
    pub old_string: Option<String>,
    pub new_string: Option<String>,
    pub file_path: Option<String>,
    pub file_content: Option<String>,
    pub expect_sha256: Option<String>,
}

/// Reads the input of a tool.
pub(super) fn read<T: DeserializeOwned>(tool: Tool, input: &Value) -> Result<T, ToolError> {
    if !input.is_object() {
        let message = format!(
            "the input of {} must be a JSON object, such as {{\"name\": \"…\"}}",
            tool.name()
        );
        return Err(ToolError::new(message));
    }
    T::deserialize(input).map_err(|e| {
        ToolError::new(format!(
            "the input of {} is wrong ({}); its fields are in its schema",
            tool.name(),
            shown(&e.to_string(), 120)
        ))
    })
}

/// A field that must be there.
pub(super) fn required<'a>(
    value: Option<&'a String>,
    field: &str,
    what_for: &str,
) -> Result<&'a str, ToolError> {
    match value {
        Some(text) => Ok(text),
        None => Err(ToolError::new(format!(
            "the field `{field}` is missing: {what_for}"
        ))),
    }
}
