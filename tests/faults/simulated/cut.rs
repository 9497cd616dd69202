//! What a power cut may leave of a history, by the rules of each kind of file system.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fastrand::Rng;

use super::disk::{Body, Disk, Inode, Slot};
use super::effect::{Effect, History, Names};

/// Whose rules hold. For all of them: what was flushed stays, and of a file that was not flushed nothing, a part, zeros
/// or all may be there, whatever became of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Medium {
    /// Only the process dies: the kernel still writes everything.
    Process,
    /// One journal: names reach the medium in the order of the calls, and every flush takes all of them along
    /// (fs/ext4/fsync.c). As with `noauto_da_alloc`, data does not come with its name.
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
            Self::Process => "kill of the process",
            Self::Ext4 => "ext4",
            Self::F2fs => "f2fs",
            Self::Ubifs => "UBIFS",
            Self::Posix => "POSIX",
        })
    }
}

pub const MEDIA: [Medium; 4] = [Medium::Ext4, Medium::F2fs, Medium::Ubifs, Medium::Posix];

/// What became of a file that was not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Whole,
    /// As it was when it was flushed last; a new one is empty.
    Durable,
    Half,
    Zeros,
}

/// A cut, and what survives it.
#[derive(Debug, Clone)]
pub struct Cut {
    /// The effects before this one had happened.
    pub at: usize,
    /// The changes of names that are on the medium.
    kept: BTreeSet<usize>,
    /// Renames of which the old name is there too.
    doubled: BTreeSet<usize>,
    /// Names that recovery makes anew.
    restored: Vec<(Slot, Inode)>,
    fates: BTreeMap<Inode, Fate>,
}

/// How many cuts are looked at where there are more.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Up to this many pending changes of names, all their subsets.
    pub exhaustive: usize,
    /// Beyond that, this many random ones.
    pub random: usize,
}

/// Which changes of names must survive a cut, and which may.
struct Pending {
    must: BTreeSet<usize>,
    may: Vec<usize>,
    /// Whether those that may can only survive in order.
    in_order: bool,
    restored: Vec<(Slot, Inode)>,
}

impl History {
    /// The states that a cut between effect `at - 1` and effect `at` may leave.
    pub fn cuts(&self, medium: Medium, at: usize, effort: Effort, rng: &mut Rng) -> Vec<Cut> {
        let pending = self.pending(medium, at);
        let files = match medium {
            Medium::Process => Vec::new(),
            _ => self.unflushed_files(at),
        };
        let all: BTreeSet<usize> = pending.must.iter().chain(&pending.may).copied().collect();
        let cut = |kept: BTreeSet<usize>, fates: BTreeMap<Inode, Fate>| Cut {
            at,
            kept,
            doubled: BTreeSet::new(),
            restored: pending.restored.clone(),
            fates,
        };
        let kept = subsets(&pending, effort, rng);
        let fates = fates(&files, effort, rng);
        let mut cuts = Vec::new();
        for one in &fates {
            cuts.push(cut(all.clone(), one.clone()));
        }
        for one in kept {
            cuts.push(cut(one.clone(), BTreeMap::new()));
            cuts.push(cut(
                one.clone(),
                files.iter().map(|file| (*file, Fate::Durable)).collect(),
            ));
            let any = &fates[rng.usize(..fates.len())];
            cuts.push(cut(one, any.clone()));
        }
        if medium == Medium::Posix {
            let doubled: Vec<Cut> = cuts
                .iter()
                .filter_map(|cut| self.doubled(cut, rng))
                .collect();
            cuts.extend(doubled);
        }
        cuts
    }

    /// The same cut with old names of renames still there.
    fn doubled(&self, cut: &Cut, rng: &mut Rng) -> Option<Cut> {
        let may_double = |index: &usize| match &self.effects[*index] {
            Effect::Names(Names {
                sets: Some((_, moved)),
                clears: Some((from, _)),
            }) => {
                let later = &self.effects[*index..cut.at];
                let flushed = |effect: &Effect| {
                    matches!(effect, Effect::SyncAll)
                        || matches!(effect, Effect::SyncDirectory(directory) if *directory == from.0)
                };
                !later.iter().any(flushed) && !self.is_directory(*moved)
            }
            _ => false,
        };
        let renames: Vec<usize> = cut.kept.iter().copied().filter(may_double).collect();
        let chosen: BTreeSet<usize> = renames.iter().copied().filter(|_| rng.bool()).collect();
        let doubled = if chosen.is_empty() {
            renames.into_iter().collect()
        } else {
            chosen
        };
        (!doubled.is_empty()).then(|| Cut {
            doubled,
            ..cut.clone()
        })
    }

    fn is_directory(&self, inode: Inode) -> bool {
        let node = self
            .made
            .get(&inode)
            .or_else(|| self.start.nodes.get(&inode));
        node.is_some_and(|node| matches!(node.body, Body::Directory(_)))
    }

    fn pending(&self, medium: Medium, at: usize) -> Pending {
        let done = &self.effects[..at];
        let names = |range: std::ops::Range<usize>| {
            range.filter(|index| matches!(done[*index], Effect::Names(_)))
        };
        let mut restored = Vec::new();
        let floor = match medium {
            Medium::Process => at,
            Medium::Ext4 => done
                .iter()
                .rposition(Effect::is_flush)
                .map_or(0, |flush| flush + 1),
            Medium::F2fs => self.checkpoint(at, &mut restored),
            Medium::Ubifs => self.written_in_order(at),
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
            Effect::SyncDirectory(directory) => change.touches_directory(*directory),
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

    fn written_in_order(&self, at: usize) -> usize {
        let mut floor = 0;
        for (index, effect) in self.effects[..at].iter().enumerate() {
            let concerned = |names: &Names| match effect {
                Effect::SyncFile(file) => names.names_inode(*file),
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

    /// The disk that a cut leaves, all of it durable.
    pub fn left_by(&self, cut: &Cut) -> Disk {
        let mut disk = self.start.clone();
        for (inode, node) in &self.made {
            disk.put(*inode, node.clone());
        }
        for index in &cut.kept {
            let Effect::Names(names) = &self.effects[*index] else {
                continue;
            };
            if cut.doubled.contains(index) {
                let sets = names.sets.clone();
                Names { sets, clears: None }.apply(&mut disk);
            } else {
                names.apply(&mut disk);
            }
        }
        for (slot, inode) in &cut.restored {
            disk.set(slot, *inode);
        }
        let written: BTreeSet<Inode> = self.effects[..cut.at]
            .iter()
            .filter_map(|effect| match effect {
                Effect::Data(inode, _) => Some(*inode),
                _ => None,
            })
            .collect();
        for file in written {
            let contents = self.contents(file, cut.at);
            let (durable, latest) = (&contents[0], &contents[contents.len() - 1]);
            let fate = cut.fates.get(&file).copied().unwrap_or(Fate::Whole);
            let bytes = match fate {
                Fate::Whole => Rc::clone(latest),
                Fate::Durable => Rc::clone(durable),
                Fate::Half => Rc::new(latest[..latest.len() / 2].to_vec()),
                Fate::Zeros => Rc::new(vec![0; latest.len()]),
            };
            disk.set_bytes(file, bytes);
        }
        disk
    }

    /// The same cut with as little lost as `fails` allows.
    pub fn shrink(&self, mut cut: Cut, fails: impl Fn(&Cut) -> bool) -> Cut {
        let lost = (0..cut.at).filter(|index| matches!(self.effects[*index], Effect::Names(_)));
        for index in lost.collect::<Vec<_>>() {
            let mut smaller = cut.clone();
            if smaller.kept.insert(index) && fails(&smaller) {
                cut = smaller;
            }
        }
        for file in cut.fates.clone().into_keys() {
            let mut smaller = cut.clone();
            smaller.fates.remove(&file);
            if fails(&smaller) {
                cut = smaller;
            }
        }
        for index in cut.doubled.clone() {
            let mut smaller = cut.clone();
            smaller.doubled.remove(&index);
            if fails(&smaller) {
                cut = smaller;
            }
        }
        cut
    }

    /// What a cut lost, for people.
    pub fn describe(&self, cut: &Cut) -> String {
        let lost: Vec<&str> = (0..cut.at)
            .filter(|index| {
                matches!(self.effects[*index], Effect::Names(_)) && !cut.kept.contains(index)
            })
            .map(|index| self.call_at(index + 1))
            .collect();
        let doubled: Vec<&str> = cut
            .doubled
            .iter()
            .map(|index| self.call_at(index + 1))
            .collect();
        let disk = self.left_by(cut);
        let named = |inode: &Inode| {
            let paths = disk.nodes.values().filter_map(|node| match &node.body {
                Body::Directory(names) => names
                    .iter()
                    .find(|(_, named)| *named == inode)
                    .map(|(name, _)| name),
                Body::File(_) => None,
            });
            paths.cloned().collect::<Vec<_>>()
        };
        let fates: Vec<_> = cut
            .fates
            .iter()
            .map(|(inode, fate)| (named(inode), fate))
            .collect();
        format!(
            "cut after effect {} ({}); lost: {lost:?}; old name kept: {doubled:?}; contents: {fates:?}",
            cut.at,
            self.call_at(cut.at)
        )
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

/// Which changes of names are kept, for several cuts.
fn subsets(pending: &Pending, effort: Effort, rng: &mut Rng) -> Vec<BTreeSet<usize>> {
    let Pending { must, may, .. } = pending;
    let with = |more: &[usize]| -> BTreeSet<usize> { must.iter().chain(more).copied().collect() };
    let count = may.len();
    if pending.in_order {
        let all = count <= effort.exhaustive;
        let mut lengths: BTreeSet<usize> = if all {
            (0..=count).collect()
        } else {
            [0, count].into()
        };
        lengths.extend((0..effort.random).map(|_| rng.usize(..=count)));
        return lengths
            .into_iter()
            .map(|length| with(&may[..length]))
            .collect();
    }
    if count <= effort.exhaustive {
        let chosen = |bits: usize| -> Vec<usize> {
            let bit = |place: &usize| bits >> place & 1 == 1;
            (0..count).filter(bit).map(|place| may[place]).collect()
        };
        return (0..1 << count).map(|bits| with(&chosen(bits))).collect();
    }
    let mut kept = vec![with(&[]), with(may)];
    for _ in 0..effort.random {
        let one = rng.usize(..count);
        let others: Vec<usize> = may
            .iter()
            .copied()
            .filter(|index| *index != may[one])
            .collect();
        kept.push(with(&others));
        kept.push(with(&[may[one]]));
        let density = rng.f64();
        let some: Vec<usize> = may
            .iter()
            .copied()
            .filter(|_| rng.f64() < density)
            .collect();
        kept.push(with(&some));
    }
    kept
}

/// What becomes of the files that were not flushed, for several cuts.
fn fates(files: &[Inode], effort: Effort, rng: &mut Rng) -> Vec<BTreeMap<Inode, Fate>> {
    const LOSSES: [Fate; 3] = [Fate::Durable, Fate::Half, Fate::Zeros];
    let mut all = vec![BTreeMap::new()];
    for loss in LOSSES {
        all.push(files.iter().map(|file| (*file, loss)).collect());
    }
    let few: Vec<Inode> = if files.len() <= effort.exhaustive {
        files.to_vec()
    } else {
        (0..effort.random)
            .map(|_| files[rng.usize(..files.len())])
            .collect()
    };
    for file in few {
        let loss = LOSSES[rng.usize(..LOSSES.len())];
        all.push([(file, loss)].into());
        let others = files.iter().filter(|other| **other != file);
        all.push(
            others
                .map(|other| (*other, LOSSES[rng.usize(..LOSSES.len())]))
                .collect(),
        );
    }
    all
}
