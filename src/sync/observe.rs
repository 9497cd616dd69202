//! What the library and the state dir have of one skill now, read into values.

use std::collections::BTreeMap;
use std::io;

use super::bundle::BundledSkill;
use super::decide::UserText;
use super::files::UserFile;
use super::ledger::{Record, library_path};
use crate::skill::{MAX_READ_BYTES, SKILL_FILE, SkillError, SkillName, is_blank, is_junk};
use crate::store::{
    Bounded, FileHasher, Filesystem, Hash, Metadata, RelPath, absent_as_none, is_link, layout,
    read_bounded,
};

/// A base, looked at as far as needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// There is none, or nothing that can be read.
    Missing,
    /// It has this many bytes; not read.
    Sized(u64),
    /// It has this hash.
    Hashed(Hash),
}

/// The user's side of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSkill {
    /// SKILL.md.
    pub text: UserText,
    /// Its metadata, if it is there.
    pub metadata: Option<Metadata>,
}

/// Reads the library's SKILL.md of a skill.
///
/// # Errors
/// What stands in the way, for people.
pub fn user_skill(filesystem: &dyn Filesystem, name: &SkillName) -> Result<UserSkill, String> {
    let path = library_path(name);
    let metadata = absent_as_none(filesystem.metadata(&path)).map_err(|e| obstacle(&path, &e))?;
    let content = read_bounded(filesystem, &path, MAX_READ_BYTES);
    match content.map_err(|e| obstacle(&path, &e))? {
        None => Ok(UserSkill {
            text: UserText::Absent,
            metadata: None,
        }),
        Some(Bounded::Whole(bytes)) => {
            let hash = Hash::of(&bytes);
            let text = if is_blank(&bytes) {
                UserText::Blank(hash)
            } else {
                UserText::Text(hash)
            };
            Ok(UserSkill { text, metadata })
        }
        Some(Bounded::TooLarge { bytes }) => Err(format!(
            "{path} {}; shorten it, or restore the shipped one with: aiden-skills reset {name} --restore",
            SkillError::TooLarge { size: bytes }
        )),
    }
}

/// What a directory of the library without SKILL.md has in it; `None` if nothing, or no such directory.
///
/// # Errors
/// What stands in the way, for people.
pub fn foreign_content(
    filesystem: &dyn Filesystem,
    name: &SkillName,
) -> Result<Option<String>, String> {
    let directory = library_path(name).parent();
    let entries =
        absent_as_none(filesystem.read_dir(&directory)).map_err(|e| obstacle(&directory, &e))?;
    let mut names = entries.into_iter().flatten().map(|entry| entry.name);
    let foreign = names.find(|name| !name.to_str().is_some_and(is_junk));
    Ok(foreign.map(|name| name.to_string_lossy().into_owned()))
}

/// Reads the library's supporting files that the bundle or the record names.
///
/// # Errors
/// What stands in the way, for people.
pub fn user_files(
    filesystem: &dyn Filesystem,
    bundled: &BundledSkill,
    record: Option<&Record>,
    hasher: &mut FileHasher,
) -> Result<BTreeMap<RelPath, UserFile>, String> {
    let directory = library_path(&bundled.name).parent();
    let no_files = BTreeMap::new();
    let recorded = record
        .and_then(|record| record.files.as_ref())
        .unwrap_or(&no_files);
    let only_recorded = recorded
        .keys()
        .filter(|path| !bundled.files.contains_key(path));
    let mut found = BTreeMap::new();
    for path in bundled.files.keys().chain(only_recorded) {
        let lens: Vec<u64> = bundled
            .files
            .get(path)
            .map(|file| file.len)
            .into_iter()
            .chain(recorded.get(path).and_then(|record| record.size))
            .collect();
        let full = directory.join(path);
        let measured = hasher
            .hash_if_len(filesystem, &full, &lens)
            .map_err(|e| obstacle(&full, &e))?;
        if let Some(measured) = measured {
            let file = UserFile {
                hash: measured.hash,
            };
            found.insert(path.clone(), file);
        }
    }
    Ok(found)
}

/// Looks at a base; `hash` whether its bytes matter.
pub fn base(
    filesystem: &dyn Filesystem,
    path: &RelPath,
    hash: bool,
    hasher: &mut FileHasher,
) -> Base {
    if hash {
        return match hasher.hash(filesystem, path) {
            Ok(Some(state)) => Base::Hashed(state.hash),
            _ => Base::Missing,
        };
    }
    match filesystem.metadata(path) {
        Ok(metadata) if metadata.kind == crate::store::Kind::File => Base::Sized(metadata.len),
        _ => Base::Missing,
    }
}

/// Says what is at `path` in the library and what to do about it.
pub fn obstacle(path: &RelPath, error: &io::Error) -> String {
    if is_link(error) {
        return format!(
            "{path} is a symbolic link, or lies behind one; links are never followed: put a plain file or directory there, or remove it"
        );
    }
    match error.kind() {
        io::ErrorKind::NotADirectory => {
            format!("a directory above {path} is a file; move it away")
        }
        io::ErrorKind::IsADirectory => {
            format!("{path} is a directory where a file belongs; move it away")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{path} can't be read: {error}; give the program the right to read it")
        }
        _ => format!("{path} can't be read: {error}"),
    }
}

/// The path of SKILL.md in its skill.
pub fn text_path() -> RelPath {
    RelPath::root()
        .child(SKILL_FILE)
        .unwrap_or_else(|_| RelPath::root())
}

/// The library directory of a skill.
pub fn skill_directory(name: &SkillName) -> RelPath {
    layout::library()
        .child(name.as_str())
        .unwrap_or_else(|_| layout::library())
}
