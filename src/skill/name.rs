//! The name of a skill, an identifier that is safe as one component of a path.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::shown;

/// The longest name of a skill, in characters.
pub const MAX_NAME_CHARS: usize = 64;

/// A skill's name: 1–64 of `[a-z0-9]` and single hyphens, none at either end. Whoever holds one has checked it,
/// so it may be used as a file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

/// Why a text is no skill name; the message states the rule and what breaks it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{name}\" is not a valid skill name: {problem}; a name is 1-64 of a-z, 0-9 and single hyphens, not beginning \
     or ending with a hyphen"
)]
pub struct NameError {
    name: String,
    problem: String,
}

impl SkillName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The first thing that is wrong with a name.
fn problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("it is empty".into());
    }
    let odd = |c: &char| !matches!(c, 'a'..='z' | '0'..='9' | '-');
    if let Some(c) = name.chars().find(odd) {
        return Some(match c {
            'A'..='Z' => "it has upper case letters".into(),
            '_' => "it has an underscore".into(),
            ' ' => "it has a space".into(),
            '/' | '\\' => "it has a path separator".into(),
            _ => format!(
                "it has the character \"{}\"",
                shown(c.encode_utf8(&mut [0; 4]), 1)
            ),
        });
    }
    // Every character is ASCII from here on: bytes are characters.
    if name.len() > MAX_NAME_CHARS {
        return Some(format!("it has {} characters", name.len()));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Some("it begins or ends with a hyphen".into());
    }
    if name.contains("--") {
        return Some("it has two hyphens in a row".into());
    }
    None
}

impl TryFrom<&str> for SkillName {
    type Error = NameError;

    fn try_from(name: &str) -> Result<Self, NameError> {
        match problem(name) {
            None => Ok(Self(name.to_owned())),
            Some(problem) => Err(NameError {
                name: shown(name, MAX_NAME_CHARS),
                problem,
            }),
        }
    }
}

impl FromStr for SkillName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Self::try_from(name)
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for SkillName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

// Sound: a name orders, compares and hashes as its text, so maps by name can be asked with a `&str`.
impl Borrow<str> for SkillName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for SkillName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_names() {
        for name in [
            "a",
            "0",
            "ui-operator",
            "1password",
            "a-b-c",
            &"x".repeat(64),
        ] {
            let parsed: SkillName = name.parse().unwrap();
            assert_eq!(parsed.as_str(), name);
            assert_eq!(parsed.to_string(), name);
        }
    }

    #[test]
    fn the_error_states_the_rule_and_what_breaks_it() {
        let long = "x".repeat(65);
        for (name, why) in [
            ("", "it is empty"),
            ("-a", "begins or ends with a hyphen"),
            ("a-", "begins or ends with a hyphen"),
            ("a--b", "two hyphens in a row"),
            ("my_skill", "an underscore"),
            ("MySkill", "upper case"),
            ("my skill", "a space"),
            ("../etc", "the character \".\""),
            ("a/b", "a path separator"),
            ("a\nb", "the character \"\\n\""),
            ("a\0", "the character \"\\0\""),
            ("é", "the character \"é\""),
            ("技能", "the character \"技\""),
            (long.as_str(), "65 characters"),
        ] {
            let message = SkillName::try_from(name).unwrap_err().to_string();
            assert!(message.contains(why), "{message}");
            assert!(
                message.contains("1-64 of a-z, 0-9 and single hyphens"),
                "{message}"
            );
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }

    #[test]
    fn a_very_long_name_does_not_make_a_very_long_message() {
        let message = SkillName::try_from("X".repeat(60_000).as_str())
            .unwrap_err()
            .to_string();
        assert!(message.len() < 300, "{message}");
    }

    #[test]
    fn a_name_is_a_json_string_and_a_map_key() {
        let name: SkillName = "a-b".parse().unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"a-b\"");
        let map = std::collections::BTreeMap::from([(name, 1)]);
        assert_eq!(map.get("a-b"), Some(&1));
    }
}
