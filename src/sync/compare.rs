//! How a skill of the library differs from its base, or from what the firmware ships.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use super::bundle::Bundle;
use super::ledger::base_path;
use super::observe::{obstacle, skill_directory, text_path};
use super::run::SkillSyncOptions;
use super::unified::unified_diff;
use crate::skill::{MAX_READ_BYTES, NameError, SkillName};
use crate::store::{
    Bounded, FileHasher, Filesystem, Kind, LinuxFilesystem, RelPath, absent_as_none, read_bounded,
};

/// What the library is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// The bundled text of the last sync or merge: what the user changed.
    Base,
    /// What the firmware ships now, all files.
    Bundled,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// No skill can have this name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A side can't be opened.
    #[error("{path} can't be opened: {source}")]
    Open {
        /// The directory.
        path: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// A file can't be read.
    #[error("{0}")]
    Obstacle(String),
    /// Neither side has the skill.
    #[error("there is no skill {name:?} in the library or {other}; 'status' lists all skills")]
    NoSuchSkill {
        /// The name asked for.
        name: String,
        /// The other side.
        other: &'static str,
    },
}

/// A unified diff from the other side to the library; empty if they are the same.
///
/// # Errors
/// When a side can't be read, or there is no such skill.
pub fn compare_skill(
    options: &SkillSyncOptions,
    name: &str,
    against: Against,
) -> Result<String, CompareError> {
    let name = SkillName::try_from(name)?;
    let config = open(&options.config_dir)?;
    let library = skill_directory(&name);
    let mut diff = String::new();
    match against {
        Against::Base => {
            let pair = Pair {
                old: Side::new(&config, &base_path(&name), "base", &name, &text_path())?,
                new: Side::new(
                    &config,
                    &library.join(&text_path()),
                    "library",
                    &name,
                    &text_path(),
                )?,
            };
            if pair.is_nothing() {
                return Err(no_such_skill(&name, "among the bases"));
            }
            pair.write(&mut diff);
        }
        Against::Bundled => {
            let bundle = open(&options.bundled_skills_dir)?;
            let bundled = RelPath::root()
                .child(name.as_str())
                .map_err(|e| CompareError::Obstacle(e.to_string()))?;
            let mut any = false;
            for path in paths(options, &name) {
                let pair = Pair {
                    old: Side::new(&bundle, &bundled.join(&path), "bundled", &name, &path)?,
                    new: Side::new(&config, &library.join(&path), "library", &name, &path)?,
                };
                any |= !pair.is_nothing();
                pair.write(&mut diff);
            }
            if !any {
                return Err(no_such_skill(&name, "the bundle"));
            }
        }
    }
    Ok(diff)
}

/// SKILL.md on each side; `None` where it is not there, or is no text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SkillTexts {
    /// The bundled text of the last sync or merge.
    pub base: Option<String>,
    /// What the firmware ships now.
    pub bundled: Option<String>,
    /// The library's.
    pub library: Option<String>,
}

/// The texts of a skill.
///
/// # Errors
/// When no skill can have this name, or the config dir can't be opened.
pub fn skill_texts(options: &SkillSyncOptions, name: &str) -> Result<SkillTexts, CompareError> {
    let name = SkillName::try_from(name)?;
    let config = open(&options.config_dir)?;
    let text =
        |tree: &dyn Filesystem, path: &RelPath| match read_bounded(tree, path, MAX_READ_BYTES) {
            Ok(Some(Bounded::Whole(bytes))) => String::from_utf8(bytes).ok(),
            _ => None,
        };
    let bundled = RelPath::root().child(name.as_str()).ok();
    let bundle = open(&options.bundled_skills_dir).ok();
    Ok(SkillTexts {
        base: text(&config, &base_path(&name)),
        bundled: bundle
            .zip(bundled)
            .and_then(|(bundle, path)| text(&bundle, &path.join(&text_path()))),
        library: text(&config, &skill_directory(&name).join(&text_path())),
    })
}

fn no_such_skill(name: &SkillName, other: &'static str) -> CompareError {
    CompareError::NoSuchSkill {
        name: name.to_string(),
        other,
    }
}

fn open(path: &Path) -> Result<LinuxFilesystem, CompareError> {
    LinuxFilesystem::open(path).map_err(|source| CompareError::Open {
        path: path.display().to_string(),
        source,
    })
}

/// SKILL.md and every bundled file.
fn paths(options: &SkillSyncOptions, name: &SkillName) -> BTreeSet<RelPath> {
    let bundle = Bundle::open(&options.bundled_skills_dir);
    let mut paths = BTreeSet::from([text_path()]);
    if let Ok(bundled) = bundle.read(name.as_str(), &mut FileHasher::default(), |_| true) {
        paths.extend(bundled.files.into_keys());
    }
    paths
}

struct Pair {
    old: Side,
    new: Side,
}

/// A file of one side.
struct Side {
    label: String,
    content: Option<Vec<u8>>,
    mode: Option<bool>,
}

impl Side {
    fn new(
        tree: &dyn Filesystem,
        path: &RelPath,
        side: &str,
        name: &SkillName,
        inside: &RelPath,
    ) -> Result<Self, CompareError> {
        let obstacle = |e: std::io::Error| CompareError::Obstacle(obstacle(path, &e));
        let metadata = absent_as_none(tree.metadata(path)).map_err(obstacle)?;
        let content = match read_bounded(tree, path, MAX_READ_BYTES).map_err(obstacle)? {
            Some(Bounded::Whole(bytes)) => Some(bytes),
            // Too large to show; its length still tells it from others.
            Some(Bounded::TooLarge { bytes }) => Some(format!("\0{bytes} bytes").into_bytes()),
            None => None,
        };
        let mode = metadata
            .filter(|m| m.kind == Kind::File)
            .map(|m| m.is_executable());
        let label = match &content {
            Some(_) => format!("{side}/{name}/{inside}"),
            None => "/dev/null".into(),
        };
        Ok(Self {
            label,
            content,
            mode,
        })
    }
}

impl Pair {
    fn is_nothing(&self) -> bool {
        self.old.content.is_none() && self.new.content.is_none()
    }

    fn write(&self, diff: &mut String) {
        let (old, new) = (&self.old, &self.new);
        if old.content == new.content {
            if let (Some(before), Some(now)) = (old.mode, new.mode)
                && before != now
            {
                let bit = if now { "is" } else { "is not" };
                diff.push_str(&format!("{} {bit} executable\n", new.label));
            }
            return;
        }
        let text = |side: &Side| {
            let bytes = side.content.clone().unwrap_or_default();
            String::from_utf8(bytes)
                .ok()
                .filter(|text| !text.contains('\0'))
        };
        match (text(old), text(new)) {
            (Some(before), Some(now)) => {
                diff.push_str(&unified_diff((&old.label, &before), (&new.label, &now)));
            }
            _ => diff.push_str(&format!("{} and {} differ\n", old.label, new.label)),
        }
    }
}
