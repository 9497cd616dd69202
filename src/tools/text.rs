//! The rules for a text that a tool writes, and how it is told of.

use super::ToolError;
use crate::skill::{MAX_EDIT_BYTES, SKILL_FILE, SkillDocument, ToolCatalog};
use crate::store::Hash;

/// Whether a text may become the SKILL.md of a skill; `before` is the text that it replaces.
pub(super) fn check(
    text: &str,
    name: &str,
    before: Option<&str>,
    catalog: Option<&ToolCatalog>,
) -> Result<SkillDocument, ToolError> {
    let (len, old_len) = (
        text.len() as u64,
        before.map_or(0, |before| before.len() as u64),
    );
    if len > MAX_EDIT_BYTES && len >= old_len.max(1) {
        return Err(ToolError::new(format!(
            "the new {SKILL_FILE} is too large ({len} bytes > {MAX_EDIT_BYTES} bytes): move details into files under references/"
        )));
    }
    let document = SkillDocument::parse(text.as_bytes())
        .map_err(|e| ToolError::new(format!("the new {SKILL_FILE} {e}")))?;
    if document.name() != name {
        return Err(ToolError::new(format!(
            "the new {SKILL_FILE} has the name {:?}: its frontmatter must say name: {name}",
            document.name()
        )));
    }
    let old = before.and_then(|before| SkillDocument::parse(before.as_bytes()).ok());
    let had = |tool: &&str| {
        old.as_ref()
            .is_some_and(|old| old.allowed_tools().iter().any(|known| known == tool))
    };
    if let Some(catalog) = catalog {
        let unknown = catalog.unknown(document.allowed_tools());
        let added: Vec<&str> = unknown.into_iter().filter(|tool| !had(tool)).collect();
        if !added.is_empty() {
            return Err(ToolError::new(format!(
                "the new {SKILL_FILE} allows tools that do not exist: {}; correct allowed_tools, or leave them out",
                added.join(", ")
            )));
        }
    }
    Ok(document)
}

/// Size and hash of a text: `bytes=50, lines=6, sha256=…`.
pub(super) fn measure(text: &str) -> String {
    let hex = Hash::of(text.as_bytes()).hex();
    format!(
        "bytes={}, lines={}, sha256={hex}",
        text.len(),
        text.lines().count()
    )
}
