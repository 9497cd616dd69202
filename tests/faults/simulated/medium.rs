//! Which changes of names a power cut may take, by the rules of each kind of file system.

use std::collections::BTreeSet;

use super::disk::{Inode, Slot};
use super::effect::{Effect, History, Names};

/// Whose rules hold. For all of them: what was flushed stays, and of a file that was not flushed nothing, a part, zeros
/// or all may be there, whatever became of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Medium {
    /// Only the process dies: the kernel still writes everything.
    Process,
    /// One journal: names reach the medium in the order of the calls. An fsync of a file with unwritten data takes all of
    /// them along; any other only what came before the last change of that file or directory, for that may have been
    /// committed long ago (fs/ext4/fsync.c, `i_sync_tid`). As with `noauto_da_alloc`, data does not come with its name.
    Ext4,
    /// Checkpoints take all names; an fsync takes a checkpoint, or for a new file in an old directory only a note that
    /// recovery makes its name from (fs/f2fs/file.c, `need_do_checkpoint`; `fsync_mode=posix`).
    F2fs,
    /// Names are written in the order of the calls; an fsync takes along what concerns that file or directory, and what
    /// came before it (fs/ubifs/file.c, `ubifs_sync_wbufs_by_inode`).
    Ubifs,
    /// Only what POSIX promises: each change of a directory comes by itself, in any order, until that directory is
    /// flushed; an fsync of a file says nothing of its name. What is assumed: a rename sets its new name whole, and
    /// does not take the old one away before.
    Posix,
}

impl std::fmt::Display for Medium {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Process => "kill",
            Self::Ext4 => "ext4",
            Self::F2fs => "f2fs",
            Self::Ubifs => "UBIFS",
            Self::Posix => "POSIX",
        })
    }
}

pub const MEDIA: [Medium; 4] = [Medium::Ext4, Medium::F2fs, Medium::Ubifs, Medium::Posix];

/// Which changes of names must survive a cut, and which may.
pub struct Pending {
    pub must: BTreeSet<usize>,
    pub may: Vec<usize>,
    /// Whether those that may can only survive in order.
    pub in_order: bool,
    pub restored: Vec<(Slot, Inode)>,
}

impl History {
    pub fn pending(&self, medium: Medium, at: usize) -> Pending {
        let done = &self.effects[..at];
        let names = |range: std::ops::Range<usize>| {
            range.filter(|index| matches!(done[*index], Effect::Names(_)))
        };
        let mut restored = Vec::new();
        let floor = match medium {
            Medium::Process => at,
            Medium::Ext4 => self.written_in_order(at, true),
            Medium::F2fs => self.checkpoint(at, &mut restored),
            Medium::Ubifs => self.written_in_order(at, false),
            Medium::Posix => {
                let (must, may): (Vec<usize>, _) =
                    names(0..at).partition(|index| self.is_flushed(*index, at));
                return Pending {
                    must: must.into_iter().collect(),
                    may,
                    in_order: false,
                    restored,
                };
            }
        };
        Pending {
            must: names(0..floor).collect(),
            may: names(floor..at).collect(),
            in_order: true,
            restored,
        }
    }

    fn is_flushed(&self, names: usize, at: usize) -> bool {
        let Effect::Names(change) = &self.effects[names] else {
            return true;
        };
        self.effects[names..at].iter().any(|effect| match effect {
            Effect::SyncAll => true,
            // Of a rename the one that gets the name; the other may keep it, see `Cut::doubled`.
            Effect::SyncDirectory(directory) => {
                let entry = change.sets.as_ref().or(change.clears.as_ref());
                entry.is_some_and(|(slot, _)| slot.0 == *directory)
            }
            _ => false,
        })
    }

    /// Where the last checkpoint was; the files that were only noted since.
    fn checkpoint(&self, at: usize, restored: &mut Vec<(Slot, Inode)>) -> usize {
        let mut last = 0;
        for (index, effect) in self.effects[..at].iter().enumerate() {
            let note = match effect {
                Effect::SyncFile(file) => self.note_of(*file, last, index),
                Effect::SyncAll | Effect::SyncDirectory(_) => None,
                _ => continue,
            };
            match note {
                Some(Some(slot)) => restored.push(slot),
                Some(None) => {}
                None => {
                    last = index + 1;
                    restored.clear();
                }
            }
        }
        last
    }

    /// What an fsync notes of a file since the last checkpoint: its name, if it is new. `None`: it is one itself, for
    /// the file was renamed, has a second name, or lies in a new directory.
    fn note_of(&self, file: Inode, since: usize, at: usize) -> Option<Option<(Slot, Inode)>> {
        let mut changes = self.effects[since..at]
            .iter()
            .filter_map(|effect| match effect {
                Effect::Names(names) if names.names_inode(file) => Some(names),
                _ => None,
            });
        let Some(made) = changes.next() else {
            return Some(None);
        };
        let (slot, _) = made.sets.as_ref().filter(|_| made.clears.is_none())?;
        let directory_is_new = self.effects[since..at]
            .iter()
            .any(|effect| matches!(effect, Effect::Names(names) if names.names_inode(slot.0)));
        if changes.next().is_some() || directory_is_new {
            return None;
        }
        Some(Some((slot.clone(), file)))
    }

    /// Where names come in order: up to which effect they are on the medium. `data_takes_all`: so they are by the fsync of
    /// a file whose data was not.
    fn written_in_order(&self, at: usize, data_takes_all: bool) -> usize {
        let mut floor = 0;
        for (index, effect) in self.effects[..at].iter().enumerate() {
            let concerned = |names: &Names| match effect {
                Effect::SyncFile(file) => {
                    names.names_inode(*file)
                        || data_takes_all && self.unflushed_files(index).contains(file)
                }
                Effect::SyncDirectory(directory) => {
                    names.touches_directory(*directory) || names.names_inode(*directory)
                }
                _ => true,
            };
            if effect.is_flush() {
                let last = self.effects[..index]
                    .iter()
                    .rposition(|effect| matches!(effect, Effect::Names(names) if concerned(names)));
                floor = floor.max(last.map_or(0, |last| last + 1));
            }
        }
        floor
    }
}

impl Effect {
    pub fn is_flush(&self) -> bool {
        matches!(
            self,
            Self::SyncFile(_) | Self::SyncDirectory(_) | Self::SyncAll
        )
    }
}
