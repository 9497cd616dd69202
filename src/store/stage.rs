//! The temporary area `<state dir>/tmp/v1`: never inside the scanned tree, on the same file system.

use std::ffi::OsStr;
use std::io;

use super::error::{Context, StoreError, absent_as_none};
use super::filesystem::{Filesystem, Kind, NewFile};
use super::layout;
use super::lock::WriteLock;
use super::mutant::{Mutant, is_on};
use super::path::RelPath;

/// Whether a staged file or directory of this name is still there.
///
/// # Errors
/// The kernel's.
pub fn is_staged(filesystem: &dyn Filesystem, target: &RelPath) -> Result<bool, StoreError> {
    let path = layout::staged(target);
    let found = absent_as_none(filesystem.metadata(&path));
    Ok(found.during(filesystem, "examine", &path)?.is_some())
}

/// What is left in the temporary directory: whether this format's part is there, and entries of formats
/// that this program does not know.
///
/// # Errors
/// The kernel's.
pub fn leftovers(filesystem: &dyn Filesystem) -> Result<(bool, Vec<String>), StoreError> {
    let path = layout::temporary();
    let entries = absent_as_none(filesystem.read_dir(&path)).during(filesystem, "list", &path)?;
    let mut ours = false;
    let mut foreign = Vec::new();
    for entry in entries.unwrap_or_default() {
        if entry.name == OsStr::new(layout::STAGE) {
            ours = true;
        } else {
            foreign.push(entry.name.to_string_lossy().into_owned());
        }
    }
    Ok((ours, foreign))
}

/// Forces what was staged in one file to flash, before its name comes into place.
pub(super) fn flush_data(file: &mut dyn NewFile) -> io::Result<()> {
    if is_on(Mutant::NoDataFlush) {
        return Ok(());
    }
    file.sync()
}

/// Removes what this program staged. To be called only when no durable intent needs it any more.
///
/// # Errors
/// The kernel's.
pub fn sweep(lock: &WriteLock<'_>) -> Result<(), StoreError> {
    remove_tree(lock.filesystem(), &layout::stage())
}

/// Removes a tree without following links.
pub(super) fn remove_tree(filesystem: &dyn Filesystem, path: &RelPath) -> Result<(), StoreError> {
    let Some(found) =
        absent_as_none(filesystem.metadata(path)).during(filesystem, "examine", path)?
    else {
        return Ok(());
    };
    if found.kind != Kind::Directory {
        return filesystem
            .remove_file(path)
            .during(filesystem, "remove", path);
    }
    for entry in filesystem.read_dir(path).during(filesystem, "list", path)? {
        let name = entry.name.to_str().and_then(|name| path.child(name).ok());
        let Some(child) = name else {
            let error = io::Error::other(format!("the name {:?} is not UTF-8", entry.name));
            return Err(StoreError::new(filesystem, "remove", path, error));
        };
        remove_tree(filesystem, &child)?;
    }
    filesystem
        .remove_dir(path)
        .during(filesystem, "remove", path)
}

/// Removes a directory that holds nothing but empty directories; anything else in it is an error, and nothing
/// is removed then.
pub(super) fn remove_empty_tree(filesystem: &dyn Filesystem, path: &RelPath) -> io::Result<()> {
    let mut directories = vec![path.clone()];
    let mut looked = 0;
    while let Some(directory) = directories.get(looked).cloned() {
        looked += 1;
        for entry in filesystem.read_dir(&directory)? {
            let child = entry
                .name
                .to_str()
                .and_then(|name| directory.child(name).ok());
            let child = child.filter(|_| entry.kind == Kind::Directory);
            directories.push(child.ok_or(io::ErrorKind::DirectoryNotEmpty)?);
        }
    }
    let mut innermost_first = directories.iter().rev();
    innermost_first.try_for_each(|directory| filesystem.remove_dir(directory))
}

/// Empties every staged file beneath `path` and keeps the names: that frees the space, and settling can
/// still tell that they were never placed.
pub(super) fn truncate_staged(filesystem: &dyn Filesystem, path: &RelPath) -> io::Result<()> {
    let Some(entries) = absent_as_none(filesystem.read_dir(path))? else {
        return Ok(());
    };
    for entry in entries {
        let Some(child) = entry.name.to_str().and_then(|name| path.child(name).ok()) else {
            continue;
        };
        match entry.kind {
            Kind::Directory => truncate_staged(filesystem, &child)?,
            Kind::File => filesystem.truncate(&child)?,
            Kind::Link | Kind::Special => {}
        }
    }
    Ok(())
}
