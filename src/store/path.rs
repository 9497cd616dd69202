//! Paths beneath a root, parsed once at the edge.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest accepted path in bytes (`PATH_MAX` of Linux, less its NUL).
const MAX_PATH_BYTES: usize = 4095;
/// Longest accepted component in bytes (`NAME_MAX` of ext4, f2fs and UBIFS).
const MAX_COMPONENT_BYTES: usize = 255;

/// A path beneath a root directory: plain components joined by `/`, never absolute, no `.` or `..`,
/// no NUL. The root itself is [`RelPath::root`]. Links are refused when a path is opened, not here.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

/// Why a text is not a [`RelPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing, an absolute path, or an empty component (`a//b`, `a/`).
    #[error("{0:?} is not a relative path of plain components")]
    Shape(String),
    /// A `.` or `..` component.
    #[error("{0:?} has a \".\" or \"..\" component")]
    Dots(String),
    /// A NUL byte.
    #[error("{0:?} contains a NUL byte")]
    Nul(String),
    /// Longer than the kernel takes.
    #[error("the path is longer than the file system takes: {0:?}")]
    TooLong(String),
}

impl RelPath {
    /// The root directory itself.
    #[must_use]
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Parses `text`.
    ///
    /// # Errors
    /// When it is not a plain relative path.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let cut = || text.chars().take(200).collect::<String>();
        if text.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong(cut()));
        }
        if text.contains('\0') {
            return Err(PathError::Nul(cut()));
        }
        for component in text.split('/') {
            match component {
                "" => return Err(PathError::Shape(cut())),
                "." | ".." => return Err(PathError::Dots(cut())),
                _ if component.len() > MAX_COMPONENT_BYTES => {
                    return Err(PathError::TooLong(cut()));
                }
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// This path with `component` below it.
    ///
    /// # Errors
    /// When `component` is not a plain name.
    pub fn child(&self, component: &str) -> Result<Self, PathError> {
        if component.contains('/') {
            return Err(PathError::Shape(component.chars().take(200).collect()));
        }
        let name = Self::parse(component)?;
        let joined = self.join(&name);
        if joined.0.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong(joined.0.chars().take(200).collect()));
        }
        Ok(joined)
    }

    /// This path with `rest` below it.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        match (self.is_root(), rest.is_root()) {
            (true, _) => rest.clone(),
            (_, true) => self.clone(),
            _ => Self(format!("{}/{}", self.0, rest.0)),
        }
    }

    /// Whether this is the root itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as text; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The components, first to last; none for the root.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// The directory that holds this path, and the name in it; `None` for the root.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &str)> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((parent, name)) => (Self(parent.to_owned()), name),
            None => (Self::root(), &self.0),
        })
    }

    /// The directory that holds this path; the root holds itself.
    #[must_use]
    pub fn parent(&self) -> Self {
        self.split_last()
            .map_or_else(Self::root, |(parent, _)| parent)
    }

    /// What follows `ancestor` in this path, if it lies beneath it.
    #[must_use]
    pub fn strip(&self, ancestor: &Self) -> Option<Self> {
        if ancestor.is_root() {
            return Some(self.clone());
        }
        let rest = self.0.strip_prefix(ancestor.as_str())?.strip_prefix('/')?;
        Some(Self(rest.to_owned()))
    }

    /// The directories above this path, from the top down, without the root and itself.
    pub fn ancestors_from_top(&self) -> impl Iterator<Item = Self> + '_ {
        self.0
            .match_indices('/')
            .map(|(end, _)| Self(self.0[..end].to_owned()))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for RelPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_relative_paths_are_accepted() {
        for text in [
            "a",
            "a/b",
            "a b/ü.md",
            ".hidden",
            "..a/b..",
            "a/...",
            "a\\b",
        ] {
            assert_eq!(RelPath::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn anything_that_could_leave_the_root_is_refused() {
        let long = "x".repeat(256);
        let deep = "x/".repeat(2100) + "x";
        for text in [
            "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\0b", &long, &deep,
        ] {
            assert!(RelPath::parse(text).is_err(), "{text:?}");
        }
        assert!(RelPath::root().child("a/b").is_err());
    }

    #[test]
    fn a_path_knows_its_parents() {
        let path = RelPath::parse("a/b/c").unwrap();
        assert_eq!(path.parent().as_str(), "a/b");
        let above: Vec<String> = path.ancestors_from_top().map(|p| p.to_string()).collect();
        assert_eq!(above, ["a", "a/b"]);
        let stripped = path.strip(&RelPath::parse("a").unwrap()).unwrap();
        assert_eq!(stripped.as_str(), "b/c");
        assert!(
            RelPath::parse("ab/c")
                .unwrap()
                .strip(&RelPath::parse("a").unwrap())
                .is_none()
        );
    }
}
