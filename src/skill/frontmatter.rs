//! The YAML block between the `---` fences at the top of a SKILL.md: found, bounded, parsed.

use std::fmt;
use std::ops::Range;

use serde::de::DeserializeSeed;
pub use serde_yaml::{Mapping, Value};

use super::bounded::{Budget, Node};
use super::{MAX_READ_BYTES, repair, shown};

/// The most values a frontmatter may hold, aliases expanded.
pub const MAX_NODES: usize = 20_000;
/// The most levels of nesting in a frontmatter.
pub const MAX_DEPTH: usize = 32;
/// The most bytes of text a frontmatter may hold, aliases expanded.
pub const MAX_EXPANDED_BYTES: usize = 4 * MAX_READ_BYTES as usize;
/// The most `[` and `{` in a frontmatter. The YAML scanner's work grows with the square of open brackets (64 KiB of
/// them take seconds on a desktop), before a single value can be counted; honest skills have a dozen.
pub const MAX_BRACKETS: usize = 256;

/// The line of a file on which its frontmatter's YAML begins.
pub(super) const FIRST_YAML_LINE: usize = 2;
const BOM: char = '\u{feff}';

/// Where the parts of a SKILL.md are. The ranges are bytes of the given text, a BOM counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The lines between the fences, the last line break included.
    pub yaml: &'a str,
    /// Everything after the closing fence's line.
    pub body: &'a str,
    /// Where `yaml` is.
    pub yaml_range: Range<usize>,
    /// Where `body` is.
    pub body_range: Range<usize>,
    /// Whether the text begins with a byte order mark.
    pub has_bom: bool,
}

/// Something that was read, but that its author should write otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A plain value with a colon in it was read as if it were in quotes.
    UnquotedColon {
        /// The value's key.
        key: String,
        /// The key's line in the file.
        line: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::UnquotedColon { key, line } = self;
        let key = shown(key, 40);
        write!(
            f,
            "has a colon in the unquoted value of `{key}` (line {line}): put the value in quotes, other loaders refuse it"
        )
    }
}

/// A bound on what a frontmatter may cost to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`MAX_DEPTH`]
    Depth,
    /// [`MAX_NODES`]
    Nodes,
    /// [`MAX_EXPANDED_BYTES`]
    Bytes,
    /// [`MAX_BRACKETS`]
    Brackets,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth => write!(f, "more than {MAX_DEPTH} levels of nesting"),
            Self::Nodes => write!(f, "more than {MAX_NODES} values"),
            Self::Bytes => write!(f, "more than {MAX_EXPANDED_BYTES} bytes of text"),
            Self::Brackets => write!(f, "more than {MAX_BRACKETS} opening brackets"),
        }
    }
}

/// Why a text has no usable frontmatter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// The first line is no fence.
    #[error(
        "has no frontmatter: the very first line must be `---`, then `name:` and `description:`, then `---`"
    )]
    Missing,
    /// The second fence is missing.
    #[error("has frontmatter that is never closed: add a line `---` after its last field")]
    Unclosed,
    /// The YAML is wrong.
    #[error("has frontmatter that is not valid YAML ({}{problem})", .line.map(|n| format!("line {n}: ")).unwrap_or_default())]
    Yaml {
        /// The line in the file, where known.
        line: Option<usize>,
        /// What is wrong there, in one short line.
        problem: String,
    },
    /// The YAML is a list or a plain text.
    #[error("has frontmatter that is not a mapping: write lines of the form `key: value`")]
    NotAMapping,
    /// The YAML costs more than a skill's frontmatter ever should.
    #[error("has frontmatter that is too complex ({0}): simplify it")]
    TooComplex(Limit),
}

/// Finds the frontmatter. Accepts one BOM, LF and CRLF, blanks after a fence, and a closing fence that is the last
/// line; only a line of `---` opens or closes.
///
/// # Errors
/// [`FrontmatterError::Missing`] or [`FrontmatterError::Unclosed`].
pub fn split(text: &str) -> Result<Parts<'_>, FrontmatterError> {
    let has_bom = text.starts_with(BOM);
    let mut at = if has_bom { BOM.len_utf8() } else { 0 };
    let mut yaml_start = None;
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
        let fence = line.trim_end_matches([' ', '\t', '\r', '\n']) == "---";
        match yaml_start {
            None if fence => yaml_start = Some(at + line.len()),
            None => break,
            Some(start) if fence => {
                let (yaml_range, body_range) = (start..at, at + line.len()..text.len());
                let yaml = text.get(yaml_range.clone()).unwrap_or_default();
                let body = text.get(body_range.clone()).unwrap_or_default();
                return Ok(Parts {
                    yaml,
                    body,
                    yaml_range,
                    body_range,
                    has_bom,
                });
            }
            Some(_) => {}
        }
        at += line.len();
    }
    Err(if yaml_start.is_some() {
        FrontmatterError::Unclosed
    } else {
        FrontmatterError::Missing
    })
}

/// Reads the YAML of a frontmatter into a mapping with string keys, order kept, duplicate keys refused. Values with
/// an unquoted colon are read as if quoted, with a warning each. Cost is bounded whatever the text holds.
///
/// # Errors
/// Any [`FrontmatterError`] but those of [`split`]; a line counts from the top of the file.
pub fn parse_yaml(yaml: &str) -> Result<(Mapping, Vec<Warning>), FrontmatterError> {
    match parse_strict(yaml) {
        Ok(mapping) => Ok((mapping, Vec::new())),
        Err(first) => {
            // Only broken YAML is worth a second look; the first error is the one about the author's own text.
            let repaired = match first {
                FrontmatterError::Yaml { .. } => repair::quote_colons(yaml),
                _ => None,
            };
            let Some((quoted, warnings)) = repaired else {
                return Err(first);
            };
            parse_strict(&quoted)
                .map(|mapping| (mapping, warnings))
                .map_err(|_| first)
        }
    }
}

fn parse_strict(yaml: &str) -> Result<Mapping, FrontmatterError> {
    if yaml.bytes().filter(|b| matches!(b, b'[' | b'{')).count() > MAX_BRACKETS {
        return Err(FrontmatterError::TooComplex(Limit::Brackets));
    }
    // The library tells no line for these.
    if let Some((at, c)) = yaml.char_indices().find(|(_, c)| !is_yaml_char(*c)) {
        let problem = format!("the character {} is not allowed", c.escape_unicode());
        return Err(FrontmatterError::Yaml {
            line: Some(line_at(yaml, at)),
            problem,
        });
    }
    let budget = Budget::new();
    match Node::root(&budget).deserialize(serde_yaml::Deserializer::from_str(yaml)) {
        Ok(Value::Mapping(mapping)) => Ok(mapping),
        Ok(Value::Null) => Ok(Mapping::new()),
        Ok(_) => Err(FrontmatterError::NotAMapping),
        Err(error) => Err(match budget.exceeded() {
            Some(limit) => FrontmatterError::TooComplex(limit),
            None => describe(&error, yaml),
        }),
    }
}

fn is_yaml_char(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{85}' => true,
        BOM | '\u{fffe}' | '\u{ffff}' => false,
        _ => !c.is_control(),
    }
}

fn line_at(yaml: &str, at: usize) -> usize {
    let before = yaml.as_bytes().get(..at).unwrap_or(yaml.as_bytes());
    FIRST_YAML_LINE + before.iter().filter(|b| **b == b'\n').count()
}

/// The library's error in one short line, its place counted in the file.
fn describe(error: &serde_yaml::Error, yaml: &str) -> FrontmatterError {
    let text = error.to_string();
    // The library has its own bounds, and reaches them first on some short texts.
    if text.starts_with("repetition limit") {
        return FrontmatterError::TooComplex(Limit::Nodes);
    }
    if text.starts_with("recursion limit") {
        return FrontmatterError::TooComplex(Limit::Depth);
    }
    let at = error.location().map(|location| location.index());
    let what = [" at line ", " at position "]
        .iter()
        .filter_map(|end| text.find(end))
        .min();
    let what = what.and_then(|end| text.get(..end)).unwrap_or(&text);
    let here = at.and_then(|at| yaml.as_bytes().get(at));
    let problem = if what.starts_with("mapping values are not allowed") {
        "an unquoted value has a colon in it; put it in quotes".to_owned()
    } else if what.contains("cannot start any token") && here == Some(&b'\t') {
        "a tab is used for indentation; use spaces".to_owned()
    } else if what.contains("cannot start any token") {
        "a value begins with a character that YAML reserves; put it in quotes".to_owned()
    } else if what.contains("more than one document") {
        "it holds more than one YAML document; remove `...` and `--- ` lines".to_owned()
    } else {
        shown(what, 120)
    };
    FrontmatterError::Yaml {
        line: at.map(|at| line_at(yaml, at)),
        problem,
    }
}

#[cfg(test)]
#[path = "frontmatter_tests.rs"]
mod tests;
