//! What the firmware ships, read into values.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::skill::{
    MAX_READ_BYTES, SKILL_FILE, SkillDocument, SkillError, SkillName, is_junk, is_near_miss,
};
use crate::store::{
    Bounded, DirEntry, FileHasher, Filesystem, Hash, Kind, LinuxFilesystem, RelPath, read_bounded,
};

/// Directories deeper than this in a skill are an error of the image.
const MAX_DEPTH: usize = 16;
/// More files than this in one skill are an error of the image.
const MAX_FILES: usize = 10_000;

/// Whether there is a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BundleState {
    /// There is at least one skill.
    Ok,
    /// There is no such directory.
    Missing,
    /// No directory in it has a SKILL.md.
    Empty,
    /// The kernel would not list it.
    Unreadable,
}

/// The bundle's directory, and which skills it has.
pub struct Bundle {
    /// Whether it can be used.
    pub state: BundleState,
    /// Why not.
    pub problem: Option<String>,
    tree: Option<Box<dyn Filesystem>>,
    entries: BTreeMap<String, Entry>,
    odd: Vec<SkippedEntry>,
}

/// A thing in the bundle that was left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SkippedEntry {
    /// Its path in the bundle.
    pub path: String,
    /// Why.
    pub error: String,
}

/// What a name in the bundle's root stands for.
enum Entry {
    /// A directory with a SKILL.md, and what else is in it.
    Skill(Vec<DirEntry>),
    /// A directory without SKILL.md; the file that may have been meant for one.
    NoSkill(Option<String>),
    /// A file where a skill's directory would be.
    File,
    /// A link or device where a skill's directory would be.
    NotADirectory,
    Unreadable(String),
}

/// A file of a bundled skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundledFile {
    /// Of its bytes.
    pub hash: Hash,
    /// Length in bytes.
    pub len: u64,
    /// Whether anyone may execute it.
    pub executable: bool,
}

/// A bundled skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledSkill {
    /// Its name, the same as that of its directory.
    pub name: SkillName,
    /// SKILL.md.
    pub text: BundledFile,
    /// All other files.
    pub files: BTreeMap<RelPath, BundledFile>,
    /// What was left out.
    pub skipped: Vec<SkippedEntry>,
    /// The same, by path in the skill.
    pub left_out: BTreeSet<RelPath>,
}

impl Bundle {
    /// One that nothing is asked of.
    pub(super) fn none() -> Self {
        Self::unusable(BundleState::Missing, String::new())
    }

    /// Looks which skills the directory at `location` has; reads none of them.
    #[must_use]
    pub fn open(location: &Path) -> Self {
        let shown = location.display();
        match LinuxFilesystem::open(location) {
            Ok(tree) => Self::list(Box::new(tree)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Self::unusable(
                BundleState::Missing,
                format!("there is no bundle at {shown}; is the firmware's partition mounted?"),
            ),
            Err(e) => Self::unusable(
                BundleState::Unreadable,
                format!("the bundle {shown} can't be read: {e}"),
            ),
        }
    }

    /// Looks which skills a tree has.
    #[must_use]
    pub fn list(tree: Box<dyn Filesystem>) -> Self {
        let shown = tree.location().display();
        let listed = match tree.read_dir(&RelPath::root()) {
            Ok(listed) => listed,
            Err(e) => {
                let problem = format!("the bundle {shown} can't be listed: {e}");
                return Self::unusable(BundleState::Unreadable, problem);
            }
        };
        let mut entries = BTreeMap::new();
        let mut odd = Vec::new();
        for entry in listed {
            match entry.name.to_str() {
                Some(name) if is_junk(name) => {}
                Some(name) => {
                    entries.insert(name.to_owned(), examine(&*tree, name, entry.kind));
                }
                None if entry.kind == Kind::Directory => odd.push(SkippedEntry {
                    path: entry.name.to_string_lossy().into_owned(),
                    error: "the name is not UTF-8".into(),
                }),
                None => {}
            }
        }
        let has_skill = |entry: &Entry| matches!(entry, Entry::Skill(_) | Entry::Unreadable(_));
        let (state, problem) = if entries.values().any(has_skill) {
            (BundleState::Ok, None)
        } else {
            let problem = format!("the bundle {shown} has no directory with a {SKILL_FILE}");
            (BundleState::Empty, Some(problem))
        };
        Self {
            state,
            problem,
            tree: Some(tree),
            entries,
            odd,
        }
    }

    fn unusable(state: BundleState, problem: String) -> Self {
        Self {
            state,
            problem: Some(problem),
            tree: None,
            entries: BTreeMap::new(),
            odd: Vec::new(),
        }
    }

    /// The tree, if it could be opened.
    #[must_use]
    pub fn tree(&self) -> Option<&dyn Filesystem> {
        self.tree.as_deref()
    }

    /// Whether there is anything of this name that is, or should be, a skill.
    #[must_use]
    pub fn has(&self, name: &str, recorded: bool) -> bool {
        match self.entries.get(name) {
            Some(Entry::Skill(_) | Entry::Unreadable(_) | Entry::NotADirectory) => true,
            Some(Entry::NoSkill(near_miss)) => near_miss.is_some(),
            Some(Entry::File) => recorded,
            None => false,
        }
    }

    /// The names in its root.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }

    /// Entries of the root that can't be skills.
    #[must_use]
    pub fn skipped(&self) -> &[SkippedEntry] {
        &self.odd
    }

    /// The hash of a skill's bundled text, if there is one.
    #[must_use]
    pub fn text_hash(&self, name: &str) -> Option<Hash> {
        let path = RelPath::root().child(name).ok()?.child(SKILL_FILE).ok()?;
        match read_bounded(self.tree()?, &path, MAX_READ_BYTES) {
            Ok(Some(Bounded::Whole(bytes))) => Some(Hash::of(&bytes)),
            _ => None,
        }
    }

    /// Reads a skill and hashes its files. `known_good` tells whether a text of this hash was found valid
    /// before, so that a boot without changes parses nothing.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn read(
        &self,
        name: &str,
        hasher: &mut FileHasher,
        known_good: impl Fn(Hash) -> bool,
    ) -> Result<BundledSkill, String> {
        let tree = self.tree().ok_or("the bundle can't be read")?;
        let entries = match self.entries.get(name) {
            Some(Entry::Skill(entries)) => entries,
            Some(Entry::NoSkill(Some(near))) => {
                return Err(format!(
                    "the bundle has {name}/{near}, but the file must be called {SKILL_FILE}; rename it"
                ));
            }
            Some(Entry::NoSkill(None)) | None => return Err("the bundle has no such skill".into()),
            Some(Entry::File) => {
                return Err(format!(
                    "the bundle has a file {name} where the skill's directory belongs"
                ));
            }
            Some(Entry::NotADirectory) => {
                return Err(format!(
                    "{name} in the bundle is a link or device; a skill must be a directory, links are not followed"
                ));
            }
            Some(Entry::Unreadable(error)) => return Err(error.clone()),
        };
        let skill_name =
            SkillName::try_from(name).map_err(|e| format!("the bundled skill's name: {e}"))?;
        let directory = RelPath::root().child(name).map_err(|e| e.to_string())?;
        let mut walk = Walk {
            tree,
            hasher,
            directory: &directory,
            text: None,
            files: BTreeMap::new(),
            skipped: Vec::new(),
            left_out: BTreeSet::new(),
        };
        walk.entries(&RelPath::root(), entries, 0, &known_good)?;
        let text = walk
            .text
            .ok_or_else(|| format!("the bundle has no {name}/{SKILL_FILE}"))?;
        Ok(BundledSkill {
            name: skill_name,
            text,
            files: walk.files,
            skipped: walk.skipped,
            left_out: walk.left_out,
        })
    }
}

fn examine(tree: &dyn Filesystem, name: &str, kind: Kind) -> Entry {
    match kind {
        Kind::Directory => {}
        Kind::File => return Entry::File,
        Kind::Link | Kind::Special => return Entry::NotADirectory,
    }
    let listed = RelPath::root()
        .child(name)
        .map_err(|e| e.to_string())
        .and_then(|path| tree.read_dir(&path).map_err(|e| e.to_string()));
    let entries = match listed {
        Ok(entries) => entries,
        Err(e) => return Entry::Unreadable(format!("{name} in the bundle can't be listed: {e}")),
    };
    let names = || entries.iter().filter_map(|entry| entry.name.to_str());
    if names().any(|name| name == SKILL_FILE) {
        Entry::Skill(entries)
    } else {
        Entry::NoSkill(names().find(|name| is_near_miss(name)).map(str::to_owned))
    }
}

struct Walk<'a> {
    tree: &'a dyn Filesystem,
    hasher: &'a mut FileHasher,
    directory: &'a RelPath,
    text: Option<BundledFile>,
    files: BTreeMap<RelPath, BundledFile>,
    skipped: Vec<SkippedEntry>,
    left_out: BTreeSet<RelPath>,
}

impl Walk<'_> {
    fn directory(
        &mut self,
        inside: &RelPath,
        depth: usize,
        known_good: &dyn Fn(Hash) -> bool,
    ) -> Result<(), String> {
        let here = self.directory.join(inside);
        if depth > MAX_DEPTH {
            return Err(format!("{here} lies deeper than {MAX_DEPTH} directories"));
        }
        let entries = self.tree.read_dir(&here);
        let entries = entries.map_err(|e| format!("{here} in the bundle can't be listed: {e}"))?;
        self.entries(inside, &entries, depth, known_good)
    }

    fn entries(
        &mut self,
        inside: &RelPath,
        entries: &[DirEntry],
        depth: usize,
        known_good: &dyn Fn(Hash) -> bool,
    ) -> Result<(), String> {
        let here = self.directory.join(inside);
        for entry in entries {
            let shown = format!("{here}/{}", entry.name.to_string_lossy());
            let Some(name) = entry.name.to_str() else {
                self.skip(shown, "the name is not UTF-8");
                continue;
            };
            if is_junk(name) {
                continue;
            }
            let path = inside.child(name).map_err(|e| e.to_string())?;
            match entry.kind {
                Kind::Directory if path.as_str() == SKILL_FILE => {
                    return Err(format!("{shown} is a directory; it must be a file"));
                }
                Kind::Directory => self.directory(&path, depth + 1, known_good)?,
                Kind::File if path.as_str() == SKILL_FILE => self.text(&shown, known_good)?,
                Kind::File => self.file(path)?,
                Kind::Link if path.as_str() == SKILL_FILE => {
                    return Err(format!("{shown} is a symbolic link; it must be a file"));
                }
                Kind::Special if path.as_str() == SKILL_FILE => {
                    return Err(format!("{shown} is not a regular file"));
                }
                Kind::Link => {
                    self.skip(shown, "symbolic links are not followed");
                    self.left_out.insert(path);
                }
                Kind::Special => {
                    self.skip(shown, "not a regular file");
                    self.left_out.insert(path);
                }
            }
        }
        Ok(())
    }

    fn skip(&mut self, path: String, error: &str) {
        self.skipped.push(SkippedEntry {
            path,
            error: error.to_owned(),
        });
    }

    fn file(&mut self, path: RelPath) -> Result<(), String> {
        let full = self.directory.join(&path);
        let state = self
            .hasher
            .hash(self.tree, &full)
            .and_then(|state| state.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
            .map_err(|e| format!("{full} in the bundle can't be read: {e}"))?;
        if self.files.len() == MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} files"));
        }
        let file = BundledFile {
            hash: state.hash,
            len: state.metadata.len,
            executable: state.metadata.is_executable(),
        };
        self.files.insert(path, file);
        Ok(())
    }

    fn text(&mut self, shown: &str, known_good: &dyn Fn(Hash) -> bool) -> Result<(), String> {
        let path = self
            .directory
            .child(SKILL_FILE)
            .map_err(|e| e.to_string())?;
        let content = read_bounded(self.tree, &path, MAX_READ_BYTES)
            .map_err(|e| format!("{shown} in the bundle can't be read: {e}"))?;
        let bytes = match content {
            Some(Bounded::Whole(bytes)) => bytes,
            Some(Bounded::TooLarge { bytes }) => {
                let error = SkillError::TooLarge { size: bytes };
                return Err(format!("the bundled {SKILL_FILE} {error}"));
            }
            None => return Err(format!("{shown} vanished")),
        };
        let hash = Hash::of(&bytes);
        if !known_good(hash) {
            let document = SkillDocument::parse(&bytes)
                .map_err(|e| format!("the bundled {SKILL_FILE} is invalid: {e}"))?;
            let directory = self.directory.as_str();
            if document.name() != directory {
                return Err(format!(
                    "the bundled {SKILL_FILE} says name: {:?}, but its directory is {directory:?}; make them the same",
                    document.name()
                ));
            }
        }
        self.text = Some(BundledFile {
            hash,
            len: bytes.len() as u64,
            executable: false,
        });
        Ok(())
    }
}
