//! `skill_manage`: nine actions.

use super::arguments::{Manage, required};
use super::read::file_path;
use super::resolve::{Resolved, Text, find, new_name, scan};
use super::session::Caller;
use super::text::{check, measure};
use super::{SkillTools, ToolError, patch};
use crate::library::Library;
use crate::skill::frontmatter::split;
use crate::skill::{MAX_SUPPORTING_TEXT_BYTES, SKILL_FILE, SkillDocument, shown};
use crate::store::{FileHasher, Filesystem, Hash};
use crate::sync::{LockedLibrary, open_to_write};
use crate::usage::{Counter, State, Usage};

pub(super) const ACTIONS: [&str; 9] = [
    "create",
    "edit",
    "patch",
    "delete",
    "write_file",
    "remove_file",
    "mark_stale",
    "archive",
    "restore_archive",
];

/// The library while it is changed.
struct Change<'t, 'fs> {
    tools: &'t SkillTools,
    filesystem: &'fs dyn Filesystem,
    locked: LockedLibrary<'fs>,
    input: &'t Manage,
    name: &'t str,
}

impl SkillTools {
    pub(super) fn manage(
        &self,
        input: &Manage,
        caller: &mut Caller<'_>,
    ) -> Result<String, ToolError> {
        let one_of = || format!("one of {}", ACTIONS.join(", "));
        let action = required(input.action.as_ref(), "action", &one_of())?;
        if !ACTIONS.contains(&action) {
            let message = format!(
                "there is no action {:?}: use {}",
                shown(action, 40),
                one_of()
            );
            return Err(ToolError::new(message));
        }
        let name = required(input.name.as_ref(), "name", "say which skill")?;
        refuse_a_path(action, input)?;
        let filesystem = open_to_write(&self.options)?;
        let locked = LockedLibrary::lock(&filesystem, &self.options)?;
        let mut change = Change {
            tools: self,
            filesystem: &filesystem,
            locked,
            input,
            name,
        };
        match action {
            "create" => change.create(caller),
            "edit" => change.edit(caller),
            "patch" => change.patch(caller),
            "delete" => change.delete(),
            "write_file" => change.write_file(),
            "remove_file" => change.remove_file(),
            "mark_stale" => change.set_state(State::Stale, "as stale", "stale"),
            "archive" => change.set_state(State::Archived, "as archived", "archived"),
            _ => change.set_state(State::Active, "as active", "active"),
        }
    }
}

impl Change<'_, '_> {
    fn library(&self) -> Result<Library, ToolError> {
        scan(self.filesystem)
    }

    fn find(&self) -> Result<Resolved, ToolError> {
        find(self.library()?, self.name)
    }

    fn create(&mut self, caller: &mut Caller<'_>) -> Result<String, ToolError> {
        let content = required(
            self.input.content.as_ref(),
            "content",
            "create needs the whole SKILL.md",
        )?;
        let name = new_name(self.name)?;
        let library = self.library()?;
        let taken = library.skills.iter().any(|skill| {
            let same = skill
                .document
                .as_ref()
                .is_ok_and(|document| document.name() == name.as_str());
            same || skill.directory.as_str() == name.as_str()
        });
        if taken && self.is_archived() {
            return Err(ToolError::new(format!(
                "skill {:?} already exists and is archived: bring it back with action=restore_archive, then read and patch it",
                self.name
            )));
        }
        if taken {
            return Err(ToolError::new(format!(
                "skill {:?} already exists: read it with skill_read, then use action=patch for a small change or action=edit to rewrite it",
                self.name
            )));
        }
        let document = check(content, self.name, None, self.tools.catalog.as_ref())?;
        let text = with_origin(content, &document);
        check(&text, self.name, None, self.tools.catalog.as_ref())?;
        self.locked.create(&name, &text)?;
        self.counted();
        caller.note(self.name, Hash::of(text.as_bytes()));
        Ok(format!(
            "Created skill {:?} ({})",
            self.name,
            measure(&text)
        ))
    }

    fn edit(&mut self, caller: &mut Caller<'_>) -> Result<String, ToolError> {
        let content = required(
            self.input.content.as_ref(),
            "content",
            "edit needs the whole new SKILL.md",
        )?;
        let resolved = self.find()?;
        let before = self.known_text(&resolved, caller)?;
        check(
            content,
            self.name,
            Some(&before.text),
            self.tools.catalog.as_ref(),
        )?;
        if content == before.text {
            return Err(ToolError::new(format!(
                "skill {:?} has this text already: nothing was changed",
                self.name
            )));
        }
        self.locked
            .replace(&resolved.directory, content, before.hash)?;
        self.counted();
        caller.note(self.name, Hash::of(content.as_bytes()));
        let previous = before.text.len();
        Ok(format!(
            "Edited skill {:?} ({}, previous_bytes={previous})",
            self.name,
            measure(content)
        ))
    }

    fn patch(&mut self, caller: &mut Caller<'_>) -> Result<String, ToolError> {
        let what_for = "patch needs the passage to replace, exactly as it stands in the text, and what comes instead; \
                        read the skill with skill_read to copy it";
        let old = required(self.input.old_string.as_ref(), "old_string", what_for)?;
        let new = required(self.input.new_string.as_ref(), "new_string", what_for)?;
        let resolved = self.find()?;
        let before = self.known_text(&resolved, caller)?;
        let patched = patch::patch(&before.text, old, new).map_err(ToolError::new)?;
        check(
            &patched.text,
            self.name,
            Some(&before.text),
            self.tools.catalog.as_ref(),
        )?;
        self.locked
            .replace(&resolved.directory, &patched.text, before.hash)?;
        self.counted();
        caller.note(self.name, Hash::of(patched.text.as_bytes()));
        Ok(format!(
            "Patched skill {:?} ({}, previous_bytes={}, changed_lines={}-{})",
            self.name,
            measure(&patched.text),
            before.text.len(),
            patched.first_line,
            patched.last_line
        ))
    }

    /// The text of now, if the caller may change it.
    fn known_text(&self, resolved: &Resolved, caller: &Caller<'_>) -> Result<Text, ToolError> {
        let text = resolved.text(self.filesystem)?;
        match self.expected() {
            None => caller.knows(self.name, text.hash)?,
            Some(_) => self.check_expected(Some(text.hash), || format!("skill {:?}", self.name))?,
        }
        Ok(text)
    }

    /// The hash that what is changed must have, as hexadecimal digits. An agent that leaves a field empty means none.
    fn expected(&self) -> Option<String> {
        let expected = self.input.expect_sha256.as_deref()?.trim();
        let digits = expected.trim_start_matches("sha256:").to_ascii_lowercase();
        (!digits.is_empty()).then_some(digits)
    }

    fn check_expected(
        &self,
        now: Option<Hash>,
        what: impl Fn() -> String,
    ) -> Result<(), ToolError> {
        let now = now.map(|hash| hash.hex());
        match (self.expected(), now) {
            (None, _) => Ok(()),
            (Some(expected), Some(now)) if expected == now => Ok(()),
            (Some(_), Some(now)) => Err(ToolError::new(format!(
                "{} has another text than expect_sha256 says (its sha256 is {now}): read it again with skill_read",
                what()
            ))),
            (Some(_), None) => Err(ToolError::new(format!(
                "{} is not there, so it has no sha256: leave expect_sha256 out to write it",
                what()
            ))),
        }
    }

    fn delete(&mut self) -> Result<String, ToolError> {
        let library = self.library()?;
        let all: Vec<_> = library
            .skills
            .iter()
            .map(|skill| skill.directory.clone())
            .collect();
        let resolved = find(library, self.name)?;
        if let Some(inner) = all
            .iter()
            .find(|other| other.strip(&resolved.directory).is_some())
        {
            return Err(ToolError::new(format!(
                "the directory of skill {:?} holds another skill, {inner}: delete that one first",
                self.name
            )));
        }
        if self.expected().is_some() {
            let text = resolved.text(self.filesystem)?;
            self.check_expected(Some(text.hash), || format!("skill {:?}", self.name))?;
        }
        let deleted = self.locked.delete(&resolved.directory);
        let is_gone = self.filesystem.metadata(&resolved.root()).is_err();
        deleted.map_err(|e| {
            if is_gone {
                ToolError::new(format!(
                    "skill {:?} is deleted, but that is not recorded yet; the next sync does it: {e}",
                    self.name
                ))
            } else {
                e.into()
            }
        })?;
        self.tools.forget(&self.locked, self.name);
        if !is_gone {
            return Err(ToolError::new(format!(
                "skill {:?} is still there: try again",
                self.name
            )));
        }
        Ok(format!("Deleted skill {:?}", self.name))
    }

    fn write_file(&mut self) -> Result<String, ToolError> {
        let path = self.file_path()?;
        let content = required(
            self.input.file_content.as_ref(),
            "file_content",
            "write_file needs the whole file",
        )?;
        let len = content.len() as u64;
        if len > MAX_SUPPORTING_TEXT_BYTES {
            return Err(ToolError::new(format!(
                "the file is too large ({len} bytes > {MAX_SUPPORTING_TEXT_BYTES} bytes): split it"
            )));
        }
        let resolved = self.find()?;
        let there = self.hash_of(&resolved, &path)?;
        self.check_expected(there, || format!("{path} of skill {:?}", self.name))?;
        self.locked
            .write_file(&resolved.directory, &path, content.as_bytes(), there)?;
        self.counted();
        let verb = if there.is_some() { "Replaced" } else { "Wrote" };
        Ok(format!(
            "{verb} {path} of skill {:?} ({})",
            self.name,
            measure(content)
        ))
    }

    fn remove_file(&mut self) -> Result<String, ToolError> {
        let path = self.file_path()?;
        let resolved = self.find()?;
        let Some(hash) = self.hash_of(&resolved, &path)? else {
            return Err(ToolError::new(format!(
                "there is no file {path} of skill {:?}: skill_read without file_path lists its files",
                self.name
            )));
        };
        self.check_expected(Some(hash), || format!("{path} of skill {:?}", self.name))?;
        self.locked.remove_file(&resolved.directory, &path, hash)?;
        self.counted();
        Ok(format!("Removed {path} of skill {:?}", self.name))
    }

    fn file_path(&self) -> Result<crate::store::RelPath, ToolError> {
        let what_for = "a path under references/, templates/, scripts/ or assets/ of the skill";
        let path = required(self.input.file_path.as_ref(), "file_path", what_for)?;
        if path == SKILL_FILE {
            return Err(ToolError::new(
                "SKILL.md is changed by action=edit or action=patch, and goes with action=delete",
            ));
        }
        file_path(path)
    }

    fn hash_of(
        &self,
        resolved: &Resolved,
        path: &crate::store::RelPath,
    ) -> Result<Option<Hash>, ToolError> {
        let target = resolved.root().join(path);
        match FileHasher::default().hash(self.filesystem, &target) {
            Ok(state) => Ok(state.map(|state| state.hash)),
            Err(e) if crate::store::is_link(&e) => Err(ToolError::new(format!(
                "{path} of skill {:?} is or lies behind a symbolic link: links are never followed",
                self.name
            ))),
            Err(e) => Err(ToolError::new(format!(
                "{path} of skill {:?} can't be read: {e}",
                self.name
            ))),
        }
    }

    fn set_state(&mut self, state: State, how: &str, word: &str) -> Result<String, ToolError> {
        self.find()?;
        let mut changed = false;
        Usage::update(self.locked.write_lock(), |usage| {
            changed = usage.set_lifecycle(self.name, state, self.locked.now());
        })
        .map_err(|e| ToolError::new(e.to_string()))?;
        Ok(if changed {
            format!("Marked skill {:?} {how}", self.name)
        } else {
            format!(
                "Skill {:?} is {word} already, nothing was changed",
                self.name
            )
        })
    }

    fn is_archived(&self) -> bool {
        let loaded = Usage::load(self.filesystem);
        loaded.usage.lifecycle(self.name) == State::Archived
    }

    /// A change that is made stays made, whether or not it can be counted.
    fn counted(&self) {
        self.tools
            .count_locked(&self.locked, self.name, Counter::Modify);
    }
}

/// What is meant for one file must not change or remove another one.
fn refuse_a_path(action: &str, input: &Manage) -> Result<(), ToolError> {
    if input.file_path.as_deref().unwrap_or("").is_empty() {
        return Ok(());
    }
    let message = match action {
        "write_file" | "remove_file" => return Ok(()),
        "delete" => {
            "delete removes the whole skill and takes no file_path: use action=remove_file to remove one file"
                .to_owned()
        }
        _ => format!(
            "{action} takes no file_path: create, edit and patch are for SKILL.md, write_file writes any other file whole"
        ),
    };
    Err(ToolError::new(message))
}

/// The text of a new skill, with where it comes from (seed §18.10).
fn with_origin(text: &str, document: &SkillDocument) -> String {
    let fields = [
        ("source", document.source().is_none()),
        ("created_by", document.created_by().is_none()),
    ];
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = fields.iter().filter(|(_, absent)| *absent);
    let lines: String = lines
        .map(|(field, _)| format!("{field}: agent{end}"))
        .collect();
    match split(text) {
        Ok(parts) => {
            let (before, after) = text.split_at(parts.yaml_range.end);
            format!("{before}{lines}{after}")
        }
        Err(_) => text.to_owned(),
    }
}
