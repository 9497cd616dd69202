//! Walking the library: bounded, never through a link; one bad skill never affects another.

use crate::skill::{
    FILE_DIRECTORIES, MAX_READ_BYTES, SKILL_FILE, SkillDocument, SkillError, is_junk, is_near_miss,
};
use crate::store::{
    Bounded, Context, Filesystem, Kind, RelPath, StoreError, absent_as_none, layout, read_bounded,
};

/// Skills are looked for this many directories down.
const MAX_DEPTH: usize = 8;
/// A library with more entries than this is looked at in part, and says so.
const MAX_ENTRIES: usize = 50_000;

/// A directory of the library with a SKILL.md.
#[derive(Debug)]
pub struct LibrarySkill {
    /// The directory, beneath the library root.
    pub directory: RelPath,
    /// Its SKILL.md, or why it does not load.
    pub document: Result<SkillDocument, String>,
}

/// Something in the library that a person should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, beneath the library root.
    pub path: String,
    /// What, and what to do.
    pub message: String,
}

/// All skills of the library, in byte order of their directories.
#[derive(Debug, Default)]
pub struct Library {
    /// Those that load, and those that do not.
    pub skills: Vec<LibrarySkill>,
    /// Near misses, refused links, names held twice, what was left out.
    pub problems: Vec<Problem>,
}

impl Library {
    /// The skill that has this frontmatter name; the first in byte order where several do.
    #[must_use]
    pub fn find<'a>(&'a self, name: &'a str) -> Option<&'a LibrarySkill> {
        self.named(name).next()
    }

    /// All that have this frontmatter name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a LibrarySkill> {
        let has_name = move |skill: &&LibrarySkill| {
            let document = skill.document.as_ref();
            document.is_ok_and(|document| document.name() == name)
        };
        self.skills.iter().filter(has_name)
    }

    fn problem(&mut self, path: impl ToString, message: impl Into<String>) {
        self.problems.push(Problem {
            path: path.to_string(),
            message: message.into(),
        });
    }

    fn name_duplicates(&mut self) {
        let mut found = Vec::new();
        for skill in &self.skills {
            let Ok(document) = &skill.document else {
                continue;
            };
            let first = self.find(document.name()).map(|first| &first.directory);
            if let Some(first) = first.filter(|first| **first != skill.directory) {
                found.push(Problem {
                    path: skill.directory.to_string(),
                    message: format!(
                        "the name {:?} is held by {first} already, which is the one that loads; rename one of them",
                        document.name()
                    ),
                });
            }
        }
        self.problems.extend(found);
    }
}

/// Scans the library beneath a config dir; an empty one where there is none.
///
/// # Errors
/// When the library root itself can't be listed.
pub fn scan(filesystem: &dyn Filesystem) -> Result<Library, StoreError> {
    let root = layout::library();
    let listed = absent_as_none(filesystem.read_dir(&root)).during(filesystem, "list", &root)?;
    let mut library = Library::default();
    if listed.is_some() {
        let mut left = MAX_ENTRIES;
        walk(
            filesystem,
            &RelPath::root(),
            0,
            false,
            &mut left,
            &mut library,
        );
    }
    library.name_duplicates();
    Ok(library)
}

fn walk(
    filesystem: &dyn Filesystem,
    directory: &RelPath,
    depth: usize,
    inside_skill: bool,
    left: &mut usize,
    library: &mut Library,
) {
    let here = layout::library().join(directory);
    let entries = match filesystem.read_dir(&here) {
        Ok(entries) => entries,
        Err(e) => return library.problem(directory, format!("can't be listed: {e}")),
    };
    if entries.len() > *left {
        let message = format!(
            "the library has more than {MAX_ENTRIES} entries; from here on nothing was looked at"
        );
        *left = 0;
        return library.problem(directory, message);
    }
    *left -= entries.len();
    let has_text = entries.iter().any(|entry| entry.name == SKILL_FILE);
    for entry in entries {
        let shown = match directory.as_str() {
            "" => entry.name.to_string_lossy().into_owned(),
            above => format!("{above}/{}", entry.name.to_string_lossy()),
        };
        let Some(child) = entry
            .name
            .to_str()
            .and_then(|name| directory.child(name).ok())
        else {
            if entry.kind == Kind::Directory {
                library.problem(shown, "the name is not UTF-8; rename it");
            }
            continue;
        };
        let name = child.components().last().unwrap_or_default();
        if is_junk(name) {
            continue;
        }
        match entry.kind {
            _ if name == SKILL_FILE && !directory.is_root() => {
                let document = read(filesystem, &here, entry.kind);
                library.skills.push(LibrarySkill {
                    directory: directory.clone(),
                    document,
                });
            }
            Kind::Directory => {
                let holds_files = (has_text || inside_skill) && FILE_DIRECTORIES.contains(&name);
                if holds_files {
                    continue;
                }
                if depth == MAX_DEPTH {
                    library.problem(
                        shown,
                        format!("lies deeper than {MAX_DEPTH} directories; not looked at"),
                    );
                } else {
                    walk(filesystem, &child, depth + 1, has_text, left, library);
                }
            }
            Kind::Link if !inside_skill && !has_text => library.problem(
                shown,
                "is a symbolic link; links are never followed: put a plain directory there",
            ),
            Kind::File if !has_text && is_near_miss(name) => {
                library.problem(
                    shown,
                    format!("is not read: the file must be called {SKILL_FILE}"),
                );
            }
            Kind::File | Kind::Link | Kind::Special => {}
        }
    }
}

fn read(
    filesystem: &dyn Filesystem,
    directory: &RelPath,
    kind: Kind,
) -> Result<SkillDocument, String> {
    let named = |message: String| format!("{SKILL_FILE} {message}");
    match kind {
        Kind::File => {}
        Kind::Link => return Err(named("is a symbolic link; links are never followed".into())),
        Kind::Directory => return Err(named("is a directory; it must be a file".into())),
        Kind::Special => return Err(named("is not a regular file".into())),
    }
    let path = directory.child(SKILL_FILE).map_err(|e| e.to_string())?;
    match read_bounded(filesystem, &path, MAX_READ_BYTES) {
        Ok(Some(Bounded::Whole(bytes))) => {
            SkillDocument::parse(&bytes).map_err(|e| named(e.to_string()))
        }
        Ok(Some(Bounded::TooLarge { bytes })) => {
            Err(named(SkillError::TooLarge { size: bytes }.to_string()))
        }
        Ok(None) => Err(named("vanished".into())),
        Err(e) => Err(named(format!("can't be read: {e}"))),
    }
}
