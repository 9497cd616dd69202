//! `skill_read`.

use super::resolve::{Resolved, find, read_text, scan};
use super::session::Caller;
use super::{SkillTools, ToolError, arguments};
use crate::skill::{FILE_DIRECTORIES, SKILL_FILE, SkillDocument, is_junk, shown, turns_direction};
use crate::store::{Filesystem, Kind, RelPath};
use crate::sync::open_to_look;
use crate::usage::Counter;

/// Files beneath a skill that are named, and the parts of a path of theirs: what can be written is listed, and can be read.
const MAX_FILES: usize = 500;
const MAX_PARTS: usize = 10;

impl SkillTools {
    pub(super) fn read(
        &self,
        input: &arguments::Read,
        caller: &mut Caller<'_>,
    ) -> Result<String, ToolError> {
        let name = arguments::required(input.name.as_ref(), "name", "say which skill to read")?;
        let filesystem = open_to_look(&self.options.config_dir)?;
        let filesystem = &*filesystem;
        let resolved = find(scan(filesystem)?, name)?;
        if input.include_incompatible != Some(true) {
            self.check_device(&resolved)?;
        }
        let text = match input.file_path.as_deref() {
            None | Some("" | SKILL_FILE) => {
                let text = resolved.text(filesystem)?;
                caller.note(name, text.hash);
                text.text + &linked(filesystem, &resolved)
            }
            Some(path) => {
                let path = file_path(path)?;
                let told = format!("{path} of skill {name:?}");
                let text = read_text(filesystem, &resolved.root().join(&path), &told)?;
                text.ok_or_else(|| {
                    ToolError::new(format!(
                        "there is no file {told}: skill_read without file_path lists its files"
                    ))
                })?
                .text
            }
        };
        self.count(name, Counter::View);
        Ok(text)
    }

    fn check_device(&self, resolved: &Resolved) -> Result<(), ToolError> {
        let suits = |document: &SkillDocument| document.suits(self.device);
        match (&resolved.skill.document, self.device) {
            (Ok(document), Some(device)) if !suits(document) => {
                let devices: Vec<&str> = document
                    .device_types()
                    .iter()
                    .map(|device| device.as_str())
                    .collect();
                Err(ToolError::new(format!(
                    "skill {:?} is for {}, and this device is {device}: choose another one, or pass include_incompatible: true",
                    resolved.name,
                    devices.join(", ")
                )))
            }
            _ => Ok(()),
        }
    }
}

/// A path of a supporting file of a skill.
pub(super) fn file_path(path: &str) -> Result<RelPath, ToolError> {
    let rule = || {
        let directories = FILE_DIRECTORIES
            .map(|directory| format!("{directory}/"))
            .join(", ");
        ToolError::new(format!(
            "the file_path {:?} is not allowed: it must be a relative path under {directories} of the skill",
            shown(path, 80)
        ))
    };
    let parsed = RelPath::parse(path).map_err(|_| rule())?;
    let first = parsed.components().next().unwrap_or_default();
    if !FILE_DIRECTORIES.contains(&first) || parsed.components().count() < 2 {
        return Err(rule());
    }
    if path.contains(is_misleading) {
        return Err(ToolError::new(format!(
            "the file_path {:?} is not allowed: it has a control character, or one that turns the writing direction",
            shown(path, 80)
        )));
    }
    if parsed.components().count() > MAX_PARTS {
        return Err(ToolError::new(format!(
            "the file_path {:?} is not allowed: it has more than {MAX_PARTS} parts",
            shown(path, 80)
        )));
    }
    if parsed.components().any(is_junk) {
        return Err(ToolError::new(format!(
            "the file_path {:?} is not allowed: such names are leftovers of other programs, and no part of a skill",
            shown(path, 80)
        )));
    }
    Ok(parsed)
}

/// Whether a path with this character is not what it looks like.
fn is_misleading(c: char) -> bool {
    c.is_control() || turns_direction(c)
}

/// What follows a SKILL.md: its files.
fn linked(filesystem: &dyn Filesystem, resolved: &Resolved) -> String {
    let files = files(filesystem, resolved);
    if files.is_empty() {
        return String::new();
    }
    let mut trailer = format!(
        "\n---\n\nLinked files available via skill_read {{\"name\":{},\"file_path\":...}}:\n\n",
        serde_json::Value::from(resolved.name.as_str())
    );
    for file in files.iter().take(MAX_FILES) {
        trailer.push_str(&format!("- {file}\n"));
    }
    if files.len() > MAX_FILES {
        trailer.push_str(&format!("- ... {} more\n", files.len() - MAX_FILES));
    }
    trailer
}

/// The paths of a skill's files other than SKILL.md, in their order; a few more than are named, where there are more.
pub(super) fn files(filesystem: &dyn Filesystem, resolved: &Resolved) -> Vec<String> {
    let mut files = Vec::new();
    for directory in FILE_DIRECTORIES {
        if let Ok(path) = RelPath::root().child(directory) {
            walk(filesystem, &resolved.root(), &path, &mut files);
        }
    }
    files.sort();
    files
}

fn walk(filesystem: &dyn Filesystem, root: &RelPath, directory: &RelPath, files: &mut Vec<String>) {
    let Ok(entries) = filesystem.read_dir(&root.join(directory)) else {
        return;
    };
    for entry in entries {
        let child = entry
            .name
            .to_str()
            .and_then(|name| directory.child(name).ok());
        // A name with a line break would forge a line of the answer.
        let is_shown = |child: &RelPath| {
            !child.components().any(is_junk) && !child.to_string().contains(is_misleading)
        };
        let Some(child) = child.filter(is_shown) else {
            continue;
        };
        match entry.kind {
            Kind::File => files.push(child.to_string()),
            Kind::Directory
                if child.components().count() < MAX_PARTS && files.len() <= MAX_FILES =>
            {
                walk(filesystem, root, &child, files);
            }
            Kind::Directory | Kind::Link | Kind::Special => {}
        }
    }
}
