//! Files of the state dir: replaced by rename, the one before kept as `.prev`, an unreadable one kept aside.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::error::{Context, StoreError, absent_as_none};
use super::filesystem::{Attributes, DirEntry, Kind};
use super::layout;
use super::lock::WriteLock;
use super::mutant::{Mutant, is_on};
use super::path::RelPath;
use super::read::{Bounded, read_bounded};
use super::stage::flush_data;

/// How many unreadable ledgers are kept for people to look at.
const KEPT_CORRUPT: usize = 3;
const FILE_MODE: u32 = 0o644;
const PREVIOUS: &str = "previous.json";

/// Largest state file that is read: a ledger of 10,000 skills with ten files each is below 20 MiB.
pub const MAX_STATE_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// How a replacement failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplaceError {
    /// The old file is still there.
    #[error(transparent)]
    Unchanged(StoreError),
    /// The new file is there, but may not survive a power cut.
    #[error(transparent)]
    NotFlushed(StoreError),
}

impl From<ReplaceError> for StoreError {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::Unchanged(e) | ReplaceError::NotFlushed(e) => e,
        }
    }
}

/// The name of the file before the last rewrite.
#[must_use]
pub fn previous(name: &str) -> String {
    format!("{name}.prev")
}

/// Reads a state file; `None` if it is missing.
///
/// # Errors
/// The kernel's; a link or a directory of that name is one.
pub fn read(filesystem: &dyn super::Filesystem, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let path = layout::state_file(name);
    match read_bounded(filesystem, &path, MAX_STATE_FILE_BYTES).during(filesystem, "read", &path)? {
        None => Ok(None),
        Some(Bounded::Whole(bytes)) => Ok(Some(bytes)),
        // Cannot be ours; parsing the empty text reports it as unreadable.
        Some(Bounded::TooLarge { .. }) => Ok(Some(Vec::new())),
    }
}

/// Replaces a state file durably: two flushes. Leaves everything else that is staged alone, for intents may
/// need it.
///
/// # Errors
/// The kernel's; the old file is intact, unless its path says that the state dir could not be flushed.
pub fn write(
    lock: &WriteLock<'_>,
    name: &str,
    bytes: &[u8],
    keep_previous: bool,
) -> Result<(), StoreError> {
    let filesystem = lock.filesystem();
    lock.ensure_dirs(&layout::stage())?;
    let staged = layout::stage()
        .child(name)
        .unwrap_or_else(|_| layout::stage());
    absent_as_none(filesystem.remove_file(&staged)).during(filesystem, "remove", &staged)?;
    let written = (|| {
        let mut file = filesystem.create(&staged, attributes(lock, name))?;
        file.write_all(bytes)?;
        flush_data(&mut *file)
    })();
    let result = written
        .during(filesystem, "write", &staged)
        .and_then(|()| Ok(replace_staged(lock, name, name, keep_previous)?));
    // Neither is there if all went well, or they are still needed: then this fails, as it should.
    let _ = filesystem.remove_file(&staged);
    let _ = filesystem.remove_dir(&layout::stage());
    result
}

/// Owner and mode of the file that will replace the one called `name`.
pub(super) fn attributes(lock: &WriteLock<'_>, name: &str) -> Attributes {
    match lock.filesystem().metadata(&layout::state_file(name)) {
        Ok(now) if now.kind == Kind::File => Attributes {
            owner: now.owner,
            mode: now.mode,
        },
        _ => Attributes {
            owner: lock.owner(),
            mode: FILE_MODE,
        },
    }
}

/// Renames a durable staged document over a state file and flushes the state dir; one flush.
pub(super) fn replace_staged(
    lock: &WriteLock<'_>,
    staged: &str,
    name: &str,
    keep_previous: bool,
) -> Result<(), ReplaceError> {
    let filesystem = lock.filesystem();
    let target = layout::state_file(name);
    let from = layout::stage()
        .child(staged)
        .unwrap_or_else(|_| layout::stage());
    if keep_previous && let Err(e) = keep_as(lock, &target, &layout::state_file(&previous(name))) {
        // The one before is a help for accidents; a directory in its place must not cost the new one.
        if e.source.kind() != io::ErrorKind::IsADirectory {
            return Err(ReplaceError::Unchanged(e));
        }
        log::warn!("{e}; move it away");
    }
    filesystem
        .rename(&from, &target)
        .during(filesystem, "replace", &target)
        .map_err(ReplaceError::Unchanged)?;
    if is_on(Mutant::NoLastFlush) {
        return Ok(());
    }
    filesystem
        .sync_dir(&layout::state())
        .during(filesystem, "flush", &layout::state())
        .map_err(ReplaceError::NotFlushed)
}

/// Keeps an unreadable state file under the next `.corrupt-<n>` name and removes the oldest of more than
/// three; the file itself stays until it is replaced.
///
/// # Errors
/// The kernel's.
pub fn set_aside(lock: &WriteLock<'_>, name: &str) -> Result<String, StoreError> {
    let filesystem = lock.filesystem();
    let prefix = format!("{name}.corrupt-");
    let state = layout::state();
    let entries = filesystem
        .read_dir(&state)
        .during(filesystem, "list", &state)?;
    let numbered = |entry: &DirEntry| {
        let number = corrupt_number(entry.name.to_str()?.strip_prefix(&prefix)?)?;
        Some((number, entry.kind))
    };
    let taken: BTreeMap<u64, Kind> = entries.iter().filter_map(numbered).collect();
    let id_of = |name: &str| {
        filesystem
            .metadata(&layout::state_file(name))
            .ok()
            .map(|m| m.id)
    };
    if let Some(last) = taken.keys().last() {
        let newest = format!("{prefix}{last}");
        if id_of(&newest).is_some() && id_of(&newest) == id_of(name) {
            return Ok(newest);
        }
    }
    let next = taken.keys().last().map_or(1, |last| last.saturating_add(1));
    let kept = format!("{prefix}{next}");
    lock.ensure_dirs(&layout::stage())?;
    keep_as(lock, &layout::state_file(name), &layout::state_file(&kept))?;
    let files = taken.iter().filter(|(_, kind)| **kind == Kind::File);
    let numbers: Vec<&u64> = files.map(|(number, _)| number).collect();
    let surplus = (numbers.len() + 1).saturating_sub(KEPT_CORRUPT);
    for number in numbers.into_iter().take(surplus) {
        let path = layout::state_file(&format!("{prefix}{number}"));
        if let Err(e) = filesystem.remove_file(&path) {
            log::warn!("cannot remove {path}: {e}");
        }
    }
    Ok(kept)
}

/// The number of a file that this program kept: spelled as it spells them.
fn corrupt_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Gives the file at `from` the second name `to`, replacing what has it.
fn keep_as(lock: &WriteLock<'_>, from: &RelPath, to: &RelPath) -> Result<(), StoreError> {
    let filesystem = lock.filesystem();
    let step = layout::stage()
        .child(PREVIOUS)
        .unwrap_or_else(|_| layout::stage());
    absent_as_none(filesystem.remove_file(&step)).during(filesystem, "remove", &step)?;
    match filesystem.hard_link(from, &step) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        // vfat and some FUSE file systems have no hard links.
        Err(e) if no_links(&e) => copy(lock, from, &step)?,
        Err(e) => return Err(StoreError::new(filesystem, "link", from, e)),
    }
    // Renaming a name over another name of the same file does nothing and keeps both.
    filesystem
        .rename(&step, to)
        .during(filesystem, "replace", to)?;
    absent_as_none(filesystem.remove_file(&step)).during(filesystem, "remove", &step)?;
    Ok(())
}

fn no_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported
    )
}

fn copy(lock: &WriteLock<'_>, from: &RelPath, to: &RelPath) -> Result<(), StoreError> {
    let filesystem = lock.filesystem();
    let attributes = Attributes {
        owner: lock.owner(),
        mode: FILE_MODE,
    };
    let copied = (|| {
        let mut source = filesystem.open(from)?;
        let mut target = filesystem.create(to, attributes)?;
        io::copy(&mut source, &mut target)?;
        target.sync()
    })();
    copied.during(filesystem, "copy", from)
}
