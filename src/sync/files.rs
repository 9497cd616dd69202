//! The table of contract §4 for supporting files: each by its own hashes. Pure.

use std::collections::BTreeMap;

use super::bundle::BundledFile;
use super::ledger::FileRecord;
use crate::store::{Hash, RelPath};

/// A supporting file in the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserFile {
    /// Of its bytes; none if its length already tells that it is neither the recorded nor the bundled one.
    pub hash: Option<Hash>,
}

/// What becomes of one supporting file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDecision {
    /// Nothing to write or to record.
    Nothing,
    /// Not there and not recorded: copy.
    Copy,
    /// The user's is the same as the bundled one: record it.
    Record,
    /// The user's: left alone.
    Keep,
    /// The user deleted it: record that.
    Delete,
    /// Ours, and the bundled one is another or changed its executable bit: replace the file of this hash.
    Replace(Hash),
    /// Ours, and dropped upstream: remove the file of this hash.
    Remove(Hash),
}

/// Decides for one path.
#[must_use]
pub fn decide_file(
    bundled: Option<&BundledFile>,
    user: Option<&UserFile>,
    record: Option<&FileRecord>,
) -> FileDecision {
    let written = record.and_then(|record| record.hash.filter(|_| !record.deleted));
    let Some(bundled) = bundled else {
        return match (user.map(|user| user.hash), written) {
            (Some(Some(user)), Some(written)) if user == written => FileDecision::Remove(user),
            (Some(_), _) => FileDecision::Keep,
            (None, Some(_)) => FileDecision::Delete,
            // It stays deleted, should it come back.
            (None, None) => FileDecision::Nothing,
        };
    };
    let same = |hash: Hash| hash == bundled.hash;
    match (user, record, written) {
        (None, None, _) => FileDecision::Copy,
        (None, Some(_), Some(_)) => FileDecision::Delete,
        (None, Some(_), None) => FileDecision::Nothing,
        (Some(user), _, None) => {
            if user.hash.is_some_and(same) {
                FileDecision::Record
            } else {
                FileDecision::Keep
            }
        }
        (Some(user), record, Some(written)) => {
            let bit_changed = record.is_some_and(|record| record.executable != bundled.executable);
            match user.hash {
                Some(hash) if hash == written && (!same(written) || bit_changed) => {
                    FileDecision::Replace(hash)
                }
                Some(hash) if hash == written => FileDecision::Nothing,
                Some(hash) if same(hash) => FileDecision::Record,
                _ => FileDecision::Keep,
            }
        }
    }
}

/// Decisions for all paths that the bundle or the record names, without those that need nothing.
#[must_use]
pub fn decide_files(
    bundled: &BTreeMap<RelPath, BundledFile>,
    user: &BTreeMap<RelPath, UserFile>,
    recorded: &BTreeMap<RelPath, FileRecord>,
) -> BTreeMap<RelPath, FileDecision> {
    let paths = bundled.keys().chain(recorded.keys());
    let decided = paths.map(|path| {
        let decision = decide_file(bundled.get(path), user.get(path), recorded.get(path));
        (path.clone(), decision)
    });
    decided
        .filter(|(_, decision)| *decision != FileDecision::Nothing)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use FileDecision::*;

    fn hash(text: &str) -> Hash {
        Hash::of(text.as_bytes())
    }

    fn bundled(text: &str, executable: bool) -> Option<BundledFile> {
        Some(BundledFile {
            hash: hash(text),
            len: 1,
            executable,
        })
    }

    fn user(text: &str) -> Option<UserFile> {
        Some(UserFile {
            hash: Some(hash(text)),
        })
    }

    fn wrote(text: &str) -> Option<FileRecord> {
        Some(FileRecord {
            hash: Some(hash(text)),
            ..FileRecord::default()
        })
    }

    fn deleted() -> Option<FileRecord> {
        Some(FileRecord {
            deleted: true,
            ..FileRecord::default()
        })
    }

    #[test]
    fn every_row_of_the_table() {
        let other_length = Some(UserFile { hash: None });
        let table = [
            (
                "not recorded, no file",
                bundled("b", false),
                None,
                None,
                Copy,
            ),
            (
                "not recorded, u = b",
                bundled("b", false),
                user("b"),
                None,
                Record,
            ),
            (
                "not recorded, u ≠ b",
                bundled("b", false),
                user("u"),
                None,
                Keep,
            ),
            (
                "not recorded, other length",
                bundled("b", false),
                other_length,
                None,
                Keep,
            ),
            (
                "recorded, no file",
                bundled("b", false),
                None,
                wrote("b"),
                Delete,
            ),
            (
                "deleted, no file",
                bundled("b", false),
                None,
                deleted(),
                Nothing,
            ),
            (
                "deleted, put back as bundled",
                bundled("b", false),
                user("b"),
                deleted(),
                Record,
            ),
            (
                "deleted, another put there",
                bundled("b", false),
                user("u"),
                deleted(),
                Keep,
            ),
            (
                "u = o = b",
                bundled("b", false),
                user("b"),
                wrote("b"),
                Nothing,
            ),
            (
                "u = o, b ≠ o",
                bundled("b", false),
                user("a"),
                wrote("a"),
                Replace(hash("a")),
            ),
            (
                "u = o = b, bit changed",
                bundled("b", true),
                user("b"),
                wrote("b"),
                Replace(hash("b")),
            ),
            (
                "u = o, dropped",
                None,
                user("a"),
                wrote("a"),
                Remove(hash("a")),
            ),
            ("u ≠ o", bundled("b", false), user("u"), wrote("a"), Keep),
            (
                "u ≠ o, other length",
                bundled("b", false),
                other_length,
                wrote("a"),
                Keep,
            ),
            (
                "u ≠ o, b = u",
                bundled("b", false),
                user("b"),
                wrote("a"),
                Record,
            ),
            ("u ≠ o, dropped", None, user("u"), wrote("a"), Keep),
            ("no file, dropped", None, None, wrote("a"), Delete),
            ("deleted, dropped", None, None, deleted(), Nothing),
            (
                "an empty file is a file",
                bundled("", false),
                user(""),
                wrote("a"),
                Record,
            ),
        ];
        for (row, bundled, user, record, expected) in table {
            let found = decide_file(bundled.as_ref(), user.as_ref(), record.as_ref());
            assert_eq!(found, expected, "{row}");
        }
    }

    #[test]
    fn no_combination_loses_an_edit_or_brings_a_deletion_back() {
        let texts = ["a", "b", "u"];
        let users = || {
            texts
                .iter()
                .map(|t| user(t))
                .chain([None, Some(UserFile { hash: None })])
        };
        let records = || texts.iter().map(|t| wrote(t)).chain([None, deleted()]);
        for bundled in [bundled("a", false), bundled("b", true), None] {
            for user in users() {
                for record in records() {
                    let found = decide_file(bundled.as_ref(), user.as_ref(), record.as_ref());
                    let written = record.as_ref().and_then(|record| record.hash);
                    match found {
                        Copy => assert!(user.is_none() && record.is_none()),
                        Replace(hash) | Remove(hash) => {
                            assert_eq!(user.and_then(|user| user.hash), Some(hash));
                            assert_eq!(written, Some(hash));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}
