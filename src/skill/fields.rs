//! The fields of a frontmatter, by type. Fields other than `name` and `description` are recognised both under
//! `metadata` (this system's place) and at the top level (other systems' place).

use serde_yaml::{Mapping, Value};

use super::SkillError;

const STRING: &str = "a string; put it in quotes";
const STRINGS: &str = "a list of strings, or one string";

/// Every key that means something to this program.
pub(super) const RECOGNISED: [&str; 10] = [
    "name",
    "description",
    "metadata",
    "device_types",
    "allowed_tools",
    "allowed-tools",
    "allowed_children",
    "preferred_model",
    "source",
    "created_by",
];

/// Cuts a text into the entries of a list.
pub type Split = for<'t> fn(&'t str) -> Vec<&'t str>;

/// How a text is cut that stands for the list of this key; `None` for a key that is no list.
pub fn list_field(key: &str) -> Option<Split> {
    match key {
        "device_types" => Some(at_commas),
        "allowed_tools" | "allowed-tools" | "allowed_children" => Some(outside_parentheses),
        _ => None,
    }
}

/// A frontmatter and its `metadata`.
pub(super) struct Fields<'a> {
    top: &'a Mapping,
    metadata: Option<&'a Mapping>,
}

impl<'a> Fields<'a> {
    /// `metadata` may be absent or null. Any other shape could hide a field that restricts the skill, so it is wrong.
    pub(super) fn new(top: &'a Mapping, errors: &mut Vec<SkillError>) -> Self {
        let metadata = match top.get("metadata") {
            None | Some(Value::Null) => None,
            Some(Value::Mapping(metadata)) => Some(metadata),
            Some(other) => {
                errors.push(wrong(
                    "metadata",
                    other,
                    "a mapping, `key: value` lines indented below it",
                ));
                None
            }
        };
        Self { top, metadata }
    }

    /// A field that every skill has, at the top level.
    pub(super) fn required(&self, key: &'static str) -> Result<&'a str, SkillError> {
        match self.top.get(key) {
            None => Err(SkillError::MissingField { field: key }),
            Some(Value::Null) => Err(SkillError::EmptyField { field: key }),
            Some(Value::String(text)) if text.trim().is_empty() => {
                Err(SkillError::EmptyField { field: key })
            }
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(wrong(key, other, STRING)),
        }
    }

    /// An optional text; where both places have one, that under `metadata` counts.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, SkillError> {
        let mut found = None;
        for (path, value) in self.places(key) {
            let Value::String(text) = value else {
                return Err(wrong(&path, value, STRING));
            };
            if !text.trim().is_empty() {
                found = found.or_else(|| Some(text.trim().to_owned()));
            }
        }
        Ok(found)
    }

    /// The entries of every spelling and place of a list, each with its path: `metadata` first, empty ones left
    /// out. One string is a list too, cut by `split`.
    pub(super) fn list(
        &self,
        keys: &[&str],
        split: Split,
    ) -> Result<Vec<(String, &'a str)>, SkillError> {
        let mut entries = Vec::new();
        for (path, value) in keys.iter().flat_map(|key| self.places(key)) {
            match value {
                Value::String(text) => {
                    entries.extend(split(text).into_iter().map(|entry| (path.clone(), entry)))
                }
                Value::Sequence(list) => {
                    for item in list {
                        let Value::String(entry) = item else {
                            return Err(wrong(&format!("{path}[]"), item, STRING));
                        };
                        entries.push((path.clone(), entry.as_str()));
                    }
                }
                _ => return Err(wrong(&path, value, STRINGS)),
            }
        }
        entries.retain(|(_, entry)| !entry.trim().is_empty());
        Ok(entries)
    }

    /// Where a field stands with a value; null is a field left blank.
    fn places(&self, key: &str) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
        let below = self
            .metadata
            .and_then(|m| m.get(key))
            .map(|v| (format!("metadata.{key}"), v));
        let top = self.top.get(key).map(|v| (key.to_owned(), v));
        below
            .into_iter()
            .chain(top)
            .filter(|(_, value)| !value.is_null())
    }
}

fn wrong(field: &str, value: &Value, wanted: &'static str) -> SkillError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Sequence(_) => "a list",
        Value::Mapping(_) => "a mapping",
        Value::Tagged(_) => "a value with a `!` tag",
    };
    SkillError::WrongType {
        field: field.to_owned(),
        found,
        wanted,
    }
}

/// Device types in one string: `iOS, Android`.
pub(super) fn at_commas(text: &str) -> Vec<&str> {
    text.split(',').collect()
}

/// Tools in one string, as Agent Skills write them: `Bash(git add:*), Read Write`.
pub(super) fn outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    })
    .collect()
}
