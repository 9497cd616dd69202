//! Cuts of a history, all that are legal or a sample of them, and the disks they leave.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fastrand::Rng;

use super::disk::{Body, Disk, Inode, Slot};
use super::effect::{Effect, History, Names};
use super::medium::{Medium, Pending};

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

    /// What the kernel goes on with when the process is killed before effect `at`.
    pub fn after_kill(&self, at: usize) -> Disk {
        let names = |index: &usize| matches!(self.effects[*index], Effect::Names(_));
        self.left_by(&Cut {
            at,
            kept: (0..at).filter(names).collect(),
            doubled: BTreeSet::new(),
            restored: Vec::new(),
            fates: BTreeMap::new(),
        })
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
