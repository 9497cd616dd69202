//! The bank as a section of the skill's SKILL.md, written as an agent's edit is.

use serde::Serialize;
use serde_json::json;

use super::document::Entry;
use super::error::EvolveError;
use super::workspace::Workspace;
use crate::skill::{
    Fence, MAX_EDIT_BYTES, SECTION_BEGIN, SECTION_END, check_section, section_range,
};
use crate::store::Hash;
use crate::tools::{Caller, SkillTools, Tool};

const HEADING: &str = "## Learned guidance";

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Published {
    /// The skill.
    pub skill: String,
    /// Of its SKILL.md now.
    pub sha256: String,
    /// Entries in it.
    pub entries: usize,
    /// Entries for which there was no room, the least recently updated ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl Workspace<'_> {
    /// Writes the bank into the skill of this name, whose text is `text`. The same bank twice changes nothing.
    ///
    /// # Errors
    /// When the workspace can't be read, or the tools refuse the text.
    pub fn publish(
        &self,
        tools: &SkillTools,
        skill: &str,
        text: &str,
    ) -> Result<Published, EvolveError> {
        let ready = self.look()?;
        check_section(text).map_err(|reason| {
            EvolveError::Refused(format!(
                "SKILL.md of skill {skill:?} has no place for what was learned: {reason}"
            ))
        })?;
        let mut entries = ready.bank.newest_first();
        let mut left_out = Vec::new();
        let new = loop {
            let new = with_section(text, &entries);
            if new.len() as u64 <= MAX_EDIT_BYTES.max(text.len() as u64) || entries.is_empty() {
                break new;
            }
            if let Some(last) = entries.pop() {
                left_out.push(format!("{} ({})", last.title, last.skill_entry_id));
            }
        };
        if new != text {
            let input = json!({
                "action": "edit", "name": skill, "content": new, "expect_sha256": Hash::of(text.as_bytes()).hex(),
                "reason": "learned guidance is published"
            });
            tools.call(Tool::Manage, &input, &mut Caller::CommandLine)?;
        }
        Ok(Published {
            skill: skill.to_owned(),
            sha256: Hash::of(new.as_bytes()).hex(),
            entries: entries.len(),
            left_out,
        })
    }
}

/// A text with the section of these entries in the place of its own, or at its end; without entries it has none.
fn with_section(text: &str, entries: &[&Entry]) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let section = section(entries).replace('\n', end);
    match section_range(text) {
        Some(range) => {
            let (before, after) = (&text[..range.start], &text[range.end..]);
            // The mark may have been the last line of the file, with no line break behind it.
            let ends = text[range].ends_with('\n');
            let section = match section.strip_suffix(end) {
                Some(section) if !ends => section,
                _ => &section,
            };
            format!("{before}{section}{after}")
        }
        None if section.is_empty() => text.to_owned(),
        None => {
            let gap = if text.ends_with('\n') { "" } else { end };
            format!("{text}{gap}{section}")
        }
    }
}

/// With the blank line before it, and a line break behind.
fn section(entries: &[&Entry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let rendered = entries.iter().map(|entry| {
        let title = super::language::one_line(&entry.title);
        format!(
            "### {title} (v{})\n\n{}\n",
            entry.version,
            plain(&entry.content)
        )
    });
    let rendered: Vec<String> = rendered.collect();
    format!(
        "\n{SECTION_BEGIN}\n{HEADING}\n\n{}{SECTION_END}\n",
        rendered.join("\n")
    )
}

/// An entry's text that neither ends the section nor leaves a block of code open.
fn plain(content: &str) -> String {
    let marks = [SECTION_BEGIN, SECTION_END];
    let lines = content.lines().map(str::trim_end);
    let lines = lines.filter(|line| !marks.contains(&line.trim()));
    let mut lines: Vec<&str> = lines.collect();
    let mut fence = Fence::default();
    for line in &lines {
        fence.holds(line);
    }
    let end = fence.end();
    lines.extend(end.as_deref());
    lines.join("\n").trim_end().to_owned()
}
