//! Everything that is wrong with one skill, or could be better, for its author.

use std::fmt;

use serde::Serialize;

use super::{MAX_EDIT_BYTES, SkillDocument, SkillName, ToolCatalog, shown};

/// The longest description that the Agent Skills format allows, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The skill does not load, or must not ship.
    Error,
    /// The skill works here; something else may not.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// One thing about one SKILL.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// One line that reads after the file's name: what it is, and what to do.
    pub message: String,
}

/// Judges the SKILL.md of the directory named `directory`: errors first, then warnings; nothing when all is well.
/// Without `tools` the names in `allowed_tools` are not checked.
#[must_use]
pub fn lint_document(directory: &str, bytes: &[u8], tools: Option<&ToolCatalog>) -> Vec<Finding> {
    let mut findings = Vec::new();
    match SkillDocument::examine(bytes) {
        Err(error) => findings.push(error_of(error.to_string())),
        Ok((document, errors)) => {
            findings.extend(errors.iter().map(|error| error_of(error.to_string())));
            lint_names(directory, &document, tools, &mut findings);
            lint_text(&document, &mut findings);
        }
    }
    lint_bytes(bytes, &mut findings);
    findings.sort_by_key(|finding| finding.severity);
    findings
}

fn lint_names(
    directory: &str,
    document: &SkillDocument,
    tools: Option<&ToolCatalog>,
    findings: &mut Vec<Finding>,
) {
    let name = document.name();
    if !name.is_empty() {
        if let Err(error) = SkillName::try_from(name) {
            findings.push(error_of(format!(
                "has a `name` that does not load: {error}"
            )));
        }
        if name != directory {
            let (name, directory) = (shown(name, 64), shown(directory, 64));
            let message = format!(
                "has name \"{name}\" in a directory named \"{directory}\": make them the same"
            );
            findings.push(error_of(message));
        }
    }
    for tool in tools
        .map(|tools| tools.unknown(document.allowed_tools()))
        .unwrap_or_default()
    {
        let tool = shown(tool, 64);
        let message =
            format!("allows the tool \"{tool}\", which does not exist: correct it or remove it");
        findings.push(error_of(message));
    }
}

fn lint_text(document: &SkillDocument, findings: &mut Vec<Finding>) {
    let length = document.description().chars().count();
    if length > MAX_DESCRIPTION_CHARS {
        findings.push(warning(format!(
            "has a description of {length} characters: keep it to {MAX_DESCRIPTION_CHARS}, the limit of the Agent \
             Skills format"
        )));
    }
    findings.extend(
        document
            .warnings()
            .iter()
            .map(|found| warning(found.to_string())),
    );
}

fn lint_bytes(bytes: &[u8], findings: &mut Vec<Finding>) {
    let size = bytes.len() as u64;
    if size > MAX_EDIT_BYTES {
        findings.push(warning(format!(
            "has {size} bytes: over {MAX_EDIT_BYTES} bytes it cannot be edited or merged; move details into files \
             under references/"
        )));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        findings.push(warning(
            "begins with a byte order mark: save it without, other loaders miss such skills".into(),
        ));
    }
    if bytes.windows(2).any(|pair| pair == b"\r\n") {
        findings.push(warning(
            "has CRLF line ends: save it with LF, other loaders miss such skills".into(),
        ));
    }
}

fn error_of(message: String) -> Finding {
    Finding {
        severity: Severity::Error,
        message,
    }
}

fn warning(message: String) -> Finding {
    Finding {
        severity: Severity::Warning,
        message,
    }
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
