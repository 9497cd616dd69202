//! A whole SKILL.md: frontmatter, its fields, and the instructions below.

use serde_yaml::{Mapping, Value};

use super::device_type::{DeviceType, DeviceTypeError};
use super::fields::{Fields, at_commas, outside_parentheses};
use super::frontmatter::{self, FrontmatterError, Warning};
use super::{MAX_READ_BYTES, is_blank};

/// Fields under which skills of several systems list words to be found by.
const KEYWORDS: [&str; 3] = ["tags", "keywords", "triggers"];

/// A SKILL.md that loaded whole. Its name is any text that is not blank: whether it is a [`super::SkillName`], and
/// that of its directory, is for the caller to check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkillDocument {
    name: String,
    description: String,
    body: String,
    device_types: Vec<DeviceType>,
    allowed_tools: Vec<String>,
    preferred_model: Option<String>,
    allowed_children: Vec<String>,
    source: Option<String>,
    created_by: Option<String>,
    frontmatter: Mapping,
    warnings: Vec<Warning>,
}

/// Why a SKILL.md is no valid skill. The message reads after the file's name, and says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// Over [`MAX_READ_BYTES`].
    #[error(
        "is too large ({size} bytes > {MAX_READ_BYTES} bytes): move details into files under references/"
    )]
    TooLarge {
        /// The size in bytes.
        size: u64,
    },
    /// Zero bytes, or only white space and NULs.
    #[error("is empty: write frontmatter with name and description, then the instructions")]
    Blank,
    /// Another encoding, or binary.
    #[error("is not valid UTF-8 text (line {line}): save it as UTF-8")]
    NotUtf8 {
        /// The line of the first wrong byte.
        line: usize,
    },
    /// A NUL byte in the text.
    #[error("has a NUL byte (line {line}): remove it")]
    Nul {
        /// The line of the first NUL.
        line: usize,
    },
    /// No frontmatter that can be read.
    #[error(transparent)]
    Frontmatter(#[from] FrontmatterError),
    /// A required field is not there.
    #[error("has no `{field}` in its frontmatter: add a line `{field}: …`")]
    MissingField {
        /// The field.
        field: &'static str,
    },
    /// A required field has no text.
    #[error("has an empty `{field}` in its frontmatter: give it a text")]
    EmptyField {
        /// The field.
        field: &'static str,
    },
    /// A recognised field of the wrong shape.
    #[error("has {found} as `{field}`: it must be {wanted}")]
    WrongType {
        /// The field's path.
        field: String,
        /// What stands there.
        found: &'static str,
        /// What should.
        wanted: &'static str,
    },
    /// A device type that does not exist.
    #[error("has a wrong entry in `{field}`: {error}")]
    DeviceType {
        /// The field's path.
        field: String,
        /// Which entry, and the supported ones.
        error: DeviceTypeError,
    },
    /// Nothing below the frontmatter.
    #[error("has no text below its frontmatter: write the skill's instructions there")]
    EmptyBody,
}

impl SkillDocument {
    /// Reads a SKILL.md: the whole of it, or an error.
    ///
    /// # Errors
    /// The first thing that is wrong; [`super::lint_document`] names them all.
    pub fn parse(bytes: &[u8]) -> Result<Self, SkillError> {
        let (document, errors) = Self::examine(bytes)?;
        match errors.into_iter().next() {
            None => Ok(document),
            Some(error) => Err(error),
        }
    }

    /// Reads what can be read and names everything that is wrong; an `Err` means that no field could be read. A
    /// document with errors is for looking at, not for loading.
    pub(super) fn examine(bytes: &[u8]) -> Result<(Self, Vec<SkillError>), SkillError> {
        let text = check_text(bytes)?;
        let parts = frontmatter::split(text)?;
        let (frontmatter, warnings) = frontmatter::parse_yaml(parts.yaml)?;
        let mut errors = Vec::new();
        let fields = Fields::new(&frontmatter, &mut errors);
        let mut document = Self {
            body: parts.body.to_owned(),
            warnings,
            ..Self::default()
        };
        document.read(&fields, &mut errors);
        if document.body.trim().is_empty() {
            errors.push(SkillError::EmptyBody);
        }
        document.frontmatter = frontmatter;
        Ok((document, errors))
    }

    fn read(&mut self, fields: &Fields<'_>, errors: &mut Vec<SkillError>) {
        let mut note = |error| errors.push(error);
        match fields.required("name") {
            Ok(name) => self.name = name.to_owned(),
            Err(error) => note(error),
        }
        match fields.required("description").map(fold) {
            // Nothing but control characters is left empty by folding.
            Ok(text) if text.is_empty() => note(SkillError::EmptyField {
                field: "description",
            }),
            Ok(text) => self.description = text,
            Err(error) => note(error),
        }
        match fields.list(&["device_types"], at_commas) {
            Ok(entries) => {
                for (field, entry) in entries {
                    match entry.parse() {
                        Ok(device) if self.device_types.contains(&device) => {}
                        Ok(device) => self.device_types.push(device),
                        Err(error) => note(SkillError::DeviceType { field, error }),
                    }
                }
            }
            Err(error) => note(error),
        }
        match fields.list(&["allowed_tools", "allowed-tools"], outside_parentheses) {
            Ok(entries) => self.allowed_tools = distinct(&entries),
            Err(error) => note(error),
        }
        match fields.list(&["allowed_children"], outside_parentheses) {
            Ok(entries) => self.allowed_children = distinct(&entries),
            Err(error) => note(error),
        }
        for (key, slot) in [
            ("preferred_model", &mut self.preferred_model),
            ("source", &mut self.source),
            ("created_by", &mut self.created_by),
        ] {
            match fields.text(key) {
                Ok(text) => *slot = text,
                Err(error) => note(error),
            }
        }
    }

    /// The frontmatter's `name`, as written; never blank.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description as one line: white space folded, trimmed, no control characters nor such as turn the
    /// writing direction; never empty.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// All text below the closing fence, as it is; never blank.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The devices the skill is made for, without repetition; empty means all.
    #[must_use]
    pub fn device_types(&self) -> &[DeviceType] {
        &self.device_types
    }

    /// Whether the skill suits a device; an unset device suits every skill.
    #[must_use]
    pub fn suits(&self, device: Option<DeviceType>) -> bool {
        device.is_none_or(|device| {
            self.device_types.is_empty() || self.device_types.contains(&device)
        })
    }

    /// The tools the skill names under `allowed_tools` or `allowed-tools`, without repetition, `metadata`'s first
    /// within each spelling.
    #[must_use]
    pub fn allowed_tools(&self) -> &[String] {
        &self.allowed_tools
    }

    /// The model the skill asks for; kept and shown, not enforced.
    #[must_use]
    pub fn preferred_model(&self) -> Option<&str> {
        self.preferred_model.as_deref()
    }

    /// The child agents the skill names; kept and shown, not enforced.
    #[must_use]
    pub fn allowed_children(&self) -> &[String] {
        &self.allowed_children
    }

    /// Where the skill says it comes from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Who the skill says made it.
    #[must_use]
    pub fn created_by(&self) -> Option<&str> {
        self.created_by.as_deref()
    }

    /// What the skill gives to be found by: the texts under `tags`, `keywords` and `triggers`, in other systems' places
    /// too. Nothing else depends on them, so a wrong shape is passed over.
    #[must_use]
    pub fn keywords(&self) -> Vec<&str> {
        let metadata = self.frontmatter.get("metadata").and_then(Value::as_mapping);
        let places = metadata.into_iter().chain([&self.frontmatter]);
        let values = places.flat_map(|place| KEYWORDS.iter().filter_map(|key| place.get(*key)));
        let texts = values.flat_map(|value| match value {
            Value::Sequence(items) => items.iter().filter_map(Value::as_str).collect(),
            one => Vec::from_iter(one.as_str()),
        });
        texts.collect()
    }

    /// Whether an agent made the skill: only such skills age by themselves.
    #[must_use]
    pub fn is_agent_created(&self) -> bool {
        self.source() == Some("agent") || self.created_by() == Some("agent")
    }

    /// The whole frontmatter, fields we do not know included, in the author's order.
    #[must_use]
    pub fn frontmatter(&self) -> &Mapping {
        &self.frontmatter
    }

    /// What was read although it is not proper YAML.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

fn check_text(bytes: &[u8]) -> Result<&str, SkillError> {
    let size = bytes.len() as u64;
    if size > MAX_READ_BYTES {
        return Err(SkillError::TooLarge { size });
    }
    if is_blank(bytes) {
        return Err(SkillError::Blank);
    }
    let line = |at: usize| 1 + bytes.iter().take(at).filter(|b| **b == b'\n').count();
    let text = std::str::from_utf8(bytes).map_err(|error| SkillError::NotUtf8 {
        line: line(error.valid_up_to()),
    })?;
    match text.find('\0') {
        Some(at) => Err(SkillError::Nul { line: line(at) }),
        None => Ok(text),
    }
}

/// A text of several lines as one, as the catalogue needs it. YAML's `|` and escapes let line breaks, control characters
/// and marks that turn the writing direction through, which would forge lines of a prompt.
fn fold(text: &str) -> String {
    let breaks = |c: char| {
        c == ' ' || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || turns_direction(c)
    };
    let pieces = text
        .split(breaks)
        .map(str::trim)
        .filter(|piece| !piece.is_empty());
    pieces.collect::<Vec<_>>().join(" ")
}

fn distinct(entries: &[(String, &str)]) -> Vec<String> {
    // A set beside the list: an author cannot make this quadratic.
    let mut seen = std::collections::HashSet::new();
    let trimmed = entries.iter().map(|(_, entry)| entry.trim());
    trimmed
        .filter(|entry| seen.insert(*entry))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;

/// Whether this character changes the direction of what follows: what is shown is then not what is there.
#[must_use]
pub fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
