//! From a name to a skill: by the frontmatter's name, the first path in byte order where several have it; one that does not
//! load by its directory, so that it can be repaired.

use super::ToolError;
use crate::library::{self, Library, LibrarySkill};
use crate::skill::{MAX_READ_BYTES, NameError, SKILL_FILE, SkillName, shown};
use crate::store::{Bounded, Filesystem, Hash, RelPath, layout, read_bounded};

/// A skill of the library.
pub(super) struct Resolved {
    /// What it is called.
    pub name: String,
    /// Its directory, beneath the library root.
    pub directory: RelPath,
    pub skill: LibrarySkill,
}

pub(super) fn scan(filesystem: &dyn Filesystem) -> Result<Library, ToolError> {
    library::scan(filesystem).map_err(|e| ToolError::new(e.to_string()))
}

/// The skill of this name.
pub(super) fn find(library: Library, name: &str) -> Result<Resolved, ToolError> {
    let by_name = |skill: &LibrarySkill| {
        let document = skill.document.as_ref();
        document.is_ok_and(|document| document.name() == name)
    };
    let by_directory =
        |skill: &LibrarySkill| skill.document.is_err() && skill.directory.as_str() == name;
    let Library { skills, .. } = library;
    let at = skills
        .iter()
        .position(by_name)
        .or_else(|| skills.iter().position(by_directory));
    let found = at.and_then(|at| skills.into_iter().nth(at));
    match found {
        Some(skill) => Ok(Resolved {
            name: name.to_owned(),
            directory: skill.directory.clone(),
            skill,
        }),
        None => Err(ToolError::new(format!(
            "there is no skill {:?} in the library: skill_list shows which there are",
            shown(name, 64)
        ))),
    }
}

/// A name that a new skill may have.
pub(super) fn new_name(name: &str) -> Result<SkillName, ToolError> {
    SkillName::try_from(name).map_err(|e: NameError| ToolError::new(e.to_string()))
}

/// A SKILL.md as it is, and its hash.
pub(super) struct Text {
    pub text: String,
    pub hash: Hash,
}

impl Resolved {
    pub fn root(&self) -> RelPath {
        layout::library().join(&self.directory)
    }

    /// The text of SKILL.md.
    pub fn text(&self, filesystem: &dyn Filesystem) -> Result<Text, ToolError> {
        let path = self
            .root()
            .child(SKILL_FILE)
            .map_err(|e| ToolError::new(e.to_string()))?;
        let shown = format!("{SKILL_FILE} of skill {:?}", self.name);
        read_text(filesystem, &path, &shown)?.ok_or_else(|| {
            ToolError::new(format!(
                "{shown} is gone: skill_list shows which skills there are"
            ))
        })
    }
}

/// A file of text, within the limit of what is handed out; `None` if there is none.
pub(super) fn read_text(
    filesystem: &dyn Filesystem,
    path: &RelPath,
    shown: &str,
) -> Result<Option<Text>, ToolError> {
    let bytes = match read_bounded(filesystem, path, MAX_READ_BYTES) {
        Ok(Some(Bounded::Whole(bytes))) => bytes,
        Ok(Some(Bounded::TooLarge { bytes })) => {
            let message = format!(
                "{shown} is too large ({bytes} bytes > {MAX_READ_BYTES} bytes): it can't be handed out as text"
            );
            return Err(ToolError::new(message));
        }
        Ok(None) => return Ok(None),
        Err(e) if crate::store::is_link(&e) => {
            let message =
                format!("{shown} is or lies behind a symbolic link: links are never followed");
            return Err(ToolError::new(message));
        }
        Err(e) => return Err(ToolError::new(format!("{shown} can't be read: {e}"))),
    };
    let hash = Hash::of(&bytes);
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(Text { text, hash })),
        Err(_) => Err(ToolError::new(format!(
            "{shown} is not valid UTF-8 text: it can't be handed out"
        ))),
    }
}
