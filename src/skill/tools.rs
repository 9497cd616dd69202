//! The tools an agent has, to check the `allowed_tools` of skills against.

use std::collections::BTreeSet;

use serde_json::Value;

use super::shown;

/// The prefix of the pseudo-tools that hand work to a child agent; they are never in a catalogue.
const DELEGATE_PREFIX: &str = "delegate_";

/// The names of the tools an agent has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCatalog {
    names: BTreeSet<String>,
}

/// Why a tools file cannot be used; the message says what it should hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolCatalogError {
    /// Not JSON.
    #[error(
        "is not valid JSON ({0}): write an array of tool names, or save what GET /api/tools returns"
    )]
    NotJson(String),
    /// JSON of another shape.
    #[error(
        "has {0}: it must be an array of tool names, or {{\"tools\":[{{\"name\":…}}]}} as GET /api/tools returns"
    )]
    WrongShape(&'static str),
}

impl ToolCatalog {
    /// Reads a JSON array of names, or `{"tools":[{"name":…}]}`; other keys are ignored.
    ///
    /// # Errors
    /// When the bytes are not JSON, or JSON of another shape: half a catalogue would refuse good skills.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ToolCatalogError> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| ToolCatalogError::NotJson(shown(&error.to_string(), 120)))?;
        let (list, in_objects) = match &value {
            Value::Array(list) => (list, false),
            Value::Object(map) => match map.get("tools") {
                Some(Value::Array(list)) => (list, true),
                Some(_) => {
                    return Err(ToolCatalogError::WrongShape(
                        "\"tools\" that is not an array",
                    ));
                }
                None => return Err(ToolCatalogError::WrongShape("no \"tools\"")),
            },
            _ => {
                return Err(ToolCatalogError::WrongShape(
                    "neither an array nor an object",
                ));
            }
        };
        let mut names = BTreeSet::new();
        for item in list {
            let name = if in_objects {
                item.get("name").and_then(Value::as_str)
            } else {
                item.as_str()
            };
            match name.map(str::trim) {
                Some(name) if !name.is_empty() => names.insert(name.to_owned()),
                _ => return Err(ToolCatalogError::WrongShape("an entry without a name")),
            };
        }
        Ok(Self { names })
    }

    /// Whether a skill may name this tool: one of the catalogue, with or without a restriction in parentheses
    /// (`bash(git:*)`), or a pseudo-tool `delegate_<child>`.
    #[must_use]
    pub fn contains(&self, tool: &str) -> bool {
        if tool
            .strip_prefix(DELEGATE_PREFIX)
            .is_some_and(|child| !child.is_empty())
        {
            return true;
        }
        let plain = match tool.split_once('(') {
            Some((name, rest)) if rest.ends_with(')') => name.trim_end(),
            _ => tool,
        };
        self.names.contains(tool) || self.names.contains(plain)
    }

    /// Those of `tools` that the catalogue does not have, in order.
    #[must_use]
    pub fn unknown<'a>(&self, tools: &'a [String]) -> Vec<&'a str> {
        tools
            .iter()
            .map(String::as_str)
            .filter(|tool| !self.contains(tool))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_tools_file_are_read() {
        for json in [
            r#"["screenshot", "touch_gesture"]"#,
            r#"{"tools":[{"name":"screenshot","category":"x"},{"name":"touch_gesture"}],"more":1}"#,
        ] {
            let catalog = ToolCatalog::from_json(json.as_bytes()).unwrap();
            assert!(catalog.contains("screenshot") && catalog.contains("touch_gesture"));
            assert!(!catalog.contains("screen") && !catalog.contains(""));
        }
    }

    #[test]
    fn delegates_always_pass_and_restrictions_are_looked_through() {
        let catalog = ToolCatalog::from_json(br#"["bash"]"#).unwrap();
        assert!(catalog.contains("delegate_coder"));
        assert!(!catalog.contains("delegate_") && !catalog.contains("delegate"));
        assert!(catalog.contains("bash(git add:*)"));
        assert!(!catalog.contains("bash(") && !catalog.contains("zsh(ls)"));
    }

    #[test]
    fn unknown_tools_are_named_in_order() {
        let catalog = ToolCatalog::from_json(br#"["b"]"#).unwrap();
        let tools = ["z", "b", "a"].map(String::from);
        assert_eq!(catalog.unknown(&tools), ["z", "a"]);
    }

    #[test]
    fn a_wrong_tools_file_says_what_it_should_hold() {
        for json in [
            "",
            "[",
            "{}",
            "3",
            r#"{"tools":{}}"#,
            "[1]",
            r#"[{"name":"a"}]"#,
            r#"{"tools":["a"]}"#,
            r#"[""]"#,
        ] {
            let message = ToolCatalog::from_json(json.as_bytes())
                .unwrap_err()
                .to_string();
            assert!(message.contains("/api/tools"), "{message}");
        }
    }
}
