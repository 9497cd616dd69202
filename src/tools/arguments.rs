//! What an agent passes to the tools. Fields that are not known are left alone: agents add some.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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
    check_object(tool, input)?;
    T::deserialize(input).map_err(|e| {
        let wrong = wrong_field::<T>(tool, input).unwrap_or_else(|| {
            let said = shown(&e.to_string(), 120);
            format!("the input is not as its schema says ({said})")
        });
        ToolError::new(format!("{}: {wrong}", tool.name()))
    })
}

/// Whether an input is an object whose fields are of the types that the tool's schema has.
pub(crate) fn check(tool: Tool, input: &Value) -> Result<(), ToolError> {
    check_object(tool, input)?;
    let schema = tool.parameters();
    for (field, value) in input.as_object().into_iter().flatten() {
        let fits = match schema["properties"][field]["type"].as_str() {
            Some("string") => value.is_string(),
            Some("integer") => value.is_u64(),
            Some("object") => value.is_object(),
            _ => true,
        };
        if !fits
            && !value.is_null()
            && let Some(wrong) = must_be(&schema, field, value)
        {
            return Err(ToolError::new(format!("{}: {wrong}", tool.name())));
        }
    }
    Ok(())
}

fn check_object(tool: Tool, input: &Value) -> Result<(), ToolError> {
    if input.is_object() {
        return Ok(());
    }
    Err(ToolError::new(format!(
        "the input of {} must be a JSON object, such as {{\"name\": \"…\"}}",
        tool.name()
    )))
}

/// Which field is not of its type, and of which it must be. Each field may stand alone.
fn wrong_field<T: DeserializeOwned>(tool: Tool, input: &Value) -> Option<String> {
    let fields = input.as_object()?;
    let (field, value) = fields
        .iter()
        .find(|(field, value)| T::deserialize(json!({ *field: value })).is_err())?;
    must_be(&tool.parameters(), field, value)
}

fn must_be(schema: &Value, field: &str, value: &Value) -> Option<String> {
    let must_be = match schema["properties"][field]["type"].as_str()? {
        "string" => "a text in quotes",
        "integer" => "a whole number without quotes, such as 3",
        "boolean" => "true or false without quotes",
        "object" => "an object in braces",
        other => other,
    };
    let value = shown(&value.to_string(), 40);
    Some(format!(
        "the field `{field}` must be {must_be}, not {value}"
    ))
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
