//! What the library and the state dir have of one skill now, read into values.

use std::collections::BTreeMap;
use std::io;

use super::bundle::{BundledFile, BundledSkill};
use super::decide::UserText;
use super::files::UserFile;
use super::ledger::{FileRecord, Record, library_path};
use crate::skill::{MAX_READ_BYTES, SKILL_FILE, SkillName, is_blank, is_junk};
use crate::store::{
    Bounded, DirEntry, FileHasher, Filesystem, Hash, Kind, Metadata, RelPath, absent_as_none,
    is_link, layout, read_bounded,
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
    // Opening a device can have effects.
    if metadata.is_some_and(|metadata| metadata.kind == Kind::Special) {
        return Err(format!("{path} is not a regular file; move it away"));
    }
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
        Some(Bounded::TooLarge { bytes }) => Ok(UserSkill {
            text: UserText::TooLarge { bytes },
            metadata,
        }),
    }
}

/// Makes sure that a file is gone: a deletion is only believed if the nearest directory that is there could be
/// read to its end, and does not name it.
///
/// # Errors
/// What stands in the way, for people.
pub fn confirm_absent(filesystem: &dyn Filesystem, path: &RelPath) -> Result<(), String> {
    let mut path = path.clone();
    while let Some((parent, name)) = path.split_last() {
        let listed = absent_as_none(filesystem.read_dir(&parent));
        // Nothing lies beneath a file.
        if listed
            .as_ref()
            .is_err_and(|e| e.kind() == io::ErrorKind::NotADirectory)
        {
            return Ok(());
        }
        if let Some(entries) = listed.map_err(|e| obstacle(&parent, &e))? {
            if entries.iter().any(|entry| entry.name == name) {
                return Err(format!(
                    "{path} is listed in its directory, but can't be found; check the file system"
                ));
            }
            return Ok(());
        }
        path = parent;
    }
    Ok(())
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
    let names: Vec<_> = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.name)
        .collect();
    // A look without the lock may have missed it by a moment.
    if names.iter().any(|name| name == SKILL_FILE) {
        return Ok(None);
    }
    let foreign = names
        .into_iter()
        .find(|name| !name.to_str().is_some_and(is_junk));
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
    let no_files = BTreeMap::new();
    let mut looked = UserFiles {
        filesystem,
        directory: library_path(&bundled.name).parent(),
        bundled: &bundled.files,
        recorded: record
            .and_then(|record| record.files.as_ref())
            .unwrap_or(&no_files),
        found: BTreeMap::new(),
    };
    // Those that the bundle dropped come first: they may give way to others.
    for (path, record) in looked.recorded {
        // Nothing is done where the user deleted what the firmware dropped, whatever is there now.
        if !record.deleted && !bundled.files.contains_key(path) {
            looked.measure(path, hasher)?;
        }
    }
    for path in bundled.files.keys() {
        looked.measure(path, hasher)?;
    }
    Ok(looked.found)
}

struct UserFiles<'a> {
    filesystem: &'a dyn Filesystem,
    directory: RelPath,
    bundled: &'a BTreeMap<RelPath, BundledFile>,
    recorded: &'a BTreeMap<RelPath, FileRecord>,
    found: BTreeMap<RelPath, UserFile>,
}

impl UserFiles<'_> {
    fn measure(&mut self, path: &RelPath, hasher: &mut FileHasher) -> Result<(), String> {
        let full = self.directory.join(path);
        let bundled = self.bundled.get(path).map(|file| file.len);
        let recorded = self.recorded.get(path);
        let size = recorded.and_then(|record| record.size);
        // A record without a length tells nothing by the file's.
        let any = recorded.is_some_and(|record| record.hash.is_some() && size.is_none());
        let wanted = |len| any || bundled == Some(len) || size == Some(len);
        match hasher.hash_if(self.filesystem, &full, wanted) {
            Ok(None) => {}
            Ok(Some(measured)) => {
                let file = UserFile {
                    hash: measured.hash,
                };
                self.found.insert(path.clone(), file);
            }
            // Where the new firmware has a directory in place of a file, or a file in place of a directory, what
            // it dropped is removed first.
            Err(e) if e.kind() == io::ErrorKind::NotADirectory && self.file_gives_way(path) => {}
            Err(e) if e.kind() == io::ErrorKind::IsADirectory && self.directory_gives_way(path) => {
            }
            // What the user put in the place of a file that the firmware dropped is the user's.
            Err(e) if !self.bundled.contains_key(path) && is_of_another_kind(&e) => {
                self.found.insert(path.clone(), UserFile { hash: None });
            }
            Err(e) => return Err(obstacle(&full, &e)),
        }
        Ok(())
    }

    /// Whether a file is ours, as we wrote it, and dropped upstream.
    fn is_dropped(&self, path: &RelPath) -> bool {
        let user = self.found.get(path).and_then(|file| file.hash);
        let ours = self.recorded.get(path).and_then(|record| record.hash);
        user.is_some() && user == ours && !self.bundled.contains_key(path)
    }

    fn file_gives_way(&self, path: &RelPath) -> bool {
        path.ancestors_from_top()
            .any(|above| self.is_dropped(&above))
    }

    fn directory_gives_way(&self, path: &RelPath) -> bool {
        let Ok(entries) = self.filesystem.read_dir(&self.directory.join(path)) else {
            return false;
        };
        let gives_way = |entry: &DirEntry| {
            let child = entry.name.to_str().and_then(|name| path.child(name).ok());
            child.is_some_and(|child| match entry.kind {
                Kind::Directory => self.directory_gives_way(&child),
                _ => self.is_dropped(&child),
            })
        };
        entries.iter().all(gives_way)
    }
}

fn is_of_another_kind(error: &io::Error) -> bool {
    is_link(error)
        || matches!(
            error.kind(),
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory
        )
}

/// Looks at a base; `hash` whether its bytes matter.
///
/// # Errors
/// What stands in the way, for people.
pub fn base(
    filesystem: &dyn Filesystem,
    path: &RelPath,
    hash: bool,
    hasher: &mut FileHasher,
) -> Result<Base, String> {
    let found = if hash {
        let state = hasher.hash(filesystem, path);
        state.map(|state| state.map(|state| Base::Hashed(state.hash)))
    } else {
        absent_as_none(filesystem.metadata(path)).and_then(|metadata| match metadata {
            Some(metadata) if metadata.kind != Kind::File => hasher
                .hash(filesystem, path)
                .map(|state| state.map(|state| Base::Hashed(state.hash))),
            metadata => Ok(metadata.map(|metadata| Base::Sized(metadata.len))),
        })
    };
    let found = found.map_err(|e| obstacle(path, &e))?;
    Ok(found.unwrap_or(Base::Missing))
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
        _ => format!("{path} can't be read: {error}; if it is no regular file, move it away"),
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
