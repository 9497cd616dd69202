//! What calls did to a disk, in order: the effects that a cut may lose, and the flushes after which it may not.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::disk::{Body, Disk, Inode, Node, Slot};

#[derive(Debug, Clone)]
pub enum Effect {
    Names(Names),
    /// The file has these bytes now.
    Data(Inode, Rc<Vec<u8>>),
    SyncFile(Inode),
    /// A flush has failed: what it was to flush can be on the medium or not, and no later flush changes that.
    LostFile(Inode),
    LostAll,
    SyncDirectory(Inode),
    SyncAll,
}

/// A change of directory entries, atomic: a rename takes one away where it sets another.
#[derive(Debug, Clone, Default)]
pub struct Names {
    pub sets: Option<(Slot, Inode)>,
    pub clears: Option<(Slot, Inode)>,
}

impl Names {
    pub fn touches_directory(&self, directory: Inode) -> bool {
        let of = |entry: &Option<(Slot, Inode)>| {
            entry.as_ref().is_some_and(|(slot, _)| slot.0 == directory)
        };
        of(&self.sets) || of(&self.clears)
    }

    pub fn names_inode(&self, inode: Inode) -> bool {
        let of = |entry: &Option<(Slot, Inode)>| {
            entry.as_ref().is_some_and(|(_, named)| *named == inode)
        };
        of(&self.sets) || of(&self.clears)
    }

    pub fn apply(&self, disk: &mut Disk) {
        if let Some((slot, inode)) = &self.clears {
            disk.clear(slot, *inode);
        }
        if let Some((slot, inode)) = &self.sets {
            disk.set(slot, *inode);
        }
    }
}

/// A disk as it was when all of it was durable, and what was done to it since.
#[derive(Debug, Clone)]
pub struct History {
    pub start: Disk,
    pub effects: Vec<Effect>,
    /// What each call was, for people: the effect before which it came, and its words.
    pub calls: Vec<(usize, String)>,
    /// All nodes ever made, empty.
    pub made: BTreeMap<Inode, Node>,
}

impl History {
    pub fn new(start: Disk) -> Self {
        Self {
            start,
            effects: Vec::new(),
            calls: Vec::new(),
            made: BTreeMap::new(),
        }
    }

    pub fn note_made(&mut self, inode: Inode, node: &Node) {
        let body = match &node.body {
            Body::File(_) => Body::File(Rc::default()),
            Body::Directory(_) => Body::Directory(BTreeMap::new()),
        };
        let attributes = node.attributes;
        self.made.insert(inode, Node { body, attributes });
    }

    /// The contents that a file had by effect `cut`, the durable one first.
    pub fn contents(&self, file: Inode, cut: usize) -> Vec<Rc<Vec<u8>>> {
        let at_start = self.start.bytes(file).cloned().unwrap_or_default();
        let mut contents = vec![at_start];
        let mut is_lost = false;
        for effect in &self.effects[..cut] {
            match effect {
                Effect::Data(inode, bytes) if *inode == file => {
                    contents.push(Rc::clone(bytes));
                    is_lost = false;
                }
                Effect::SyncFile(inode) | Effect::LostFile(inode) if *inode != file => {}
                Effect::SyncFile(_) | Effect::SyncAll if !is_lost => {
                    contents.drain(..contents.len() - 1);
                }
                Effect::LostFile(_) | Effect::LostAll => is_lost = contents.len() > 1,
                _ => {}
            }
        }
        contents
    }

    /// The files whose content a cut at `cut` may change.
    pub fn unflushed_files(&self, cut: usize) -> Vec<Inode> {
        let mut files: Vec<(Inode, bool)> = Vec::new();
        for effect in &self.effects[..cut] {
            match effect {
                Effect::Data(inode, _) => {
                    files.retain(|(file, _)| file != inode);
                    files.push((*inode, false));
                }
                Effect::SyncFile(inode) => {
                    files.retain(|(file, is_lost)| file != inode || *is_lost)
                }
                Effect::SyncAll => files.retain(|(_, is_lost)| *is_lost),
                Effect::LostFile(inode) => {
                    let lost = files.iter_mut().filter(|(file, _)| file == inode);
                    lost.for_each(|(_, is_lost)| *is_lost = true);
                }
                Effect::LostAll => files.iter_mut().for_each(|(_, is_lost)| *is_lost = true),
                _ => {}
            }
        }
        files.into_iter().map(|(file, _)| file).collect()
    }

    /// The last call that had begun by `cut`.
    pub fn call_at(&self, cut: usize) -> &str {
        let begun = self.calls.iter().rev().find(|(at, _)| *at < cut);
        begun.map_or("the start", |(_, call)| call)
    }
}
