//! The simulated file system as the store sees it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;

use aiden_skills::store::{
    Attributes, DirEntry, Filesystem, HeldLock, Kind, Metadata, NewFile, OpenFile, RelPath,
};

use super::disk::{
    Body, Disk, EEXIST, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY, EPERM, Inode, Slot, errno,
};
use super::effect::{Effect, History, Names};

/// A file system in memory that remembers what a cut may lose. Clones share it.
#[derive(Clone)]
pub struct Simulated {
    inner: Rc<RefCell<Inner>>,
    trusts_syncfs: bool,
}

struct Inner {
    live: Disk,
    history: History,
    flushes: u64,
}

impl Simulated {
    /// All that is on `disk` is durable.
    pub fn new(disk: Disk) -> Self {
        let history = History::new(disk.clone());
        Self {
            inner: Rc::new(RefCell::new(Inner {
                live: disk,
                history,
                flushes: 0,
            })),
            trusts_syncfs: true,
        }
    }

    /// A process was killed before effect `at`; the kernel, and what it has not flushed, lives on.
    pub fn after_kill(history: &History, at: usize) -> Self {
        let live = history.after_kill(at);
        let mut history = history.clone();
        history.effects.truncate(at);
        history.calls.retain(|(begun, _)| *begun < at);
        Self {
            inner: Rc::new(RefCell::new(Inner {
                live,
                history,
                flushes: 0,
            })),
            trusts_syncfs: true,
        }
    }

    pub fn without_syncfs(mut self) -> Self {
        self.trusts_syncfs = false;
        self
    }

    /// What is there now, as a running system sees it.
    pub fn live(&self) -> Disk {
        self.inner.borrow().live.clone()
    }

    pub fn history(&self) -> History {
        self.inner.borrow().history.clone()
    }

    /// Writes a file anew in place, as no part of the product does.
    pub fn overwrite(&self, path: &RelPath, bytes: &[u8]) -> io::Result<()> {
        self.call(|| format!("overwrite {path}"));
        let inode = self.inner.borrow().live.find(path)?;
        self.set_bytes(inode, bytes.to_vec())
    }

    /// A flush of a file, or of all, fails: see [`Effect::LostFile`].
    pub fn lose_unflushed(&self, file: Option<&RelPath>) {
        let mut inner = self.inner.borrow_mut();
        let effect = match file {
            None => Effect::LostAll,
            Some(path) => match inner.live.find(path) {
                Ok(inode) => Effect::LostFile(inode),
                Err(_) => return,
            },
        };
        inner.history.effects.push(effect);
    }

    fn call(&self, what: impl FnOnce() -> String) {
        let mut inner = self.inner.borrow_mut();
        let at = inner.history.effects.len();
        inner.history.calls.push((at, what()));
    }
}

impl Inner {
    fn names(&mut self, names: Names) {
        names.apply(&mut self.live);
        self.history.effects.push(Effect::Names(names));
    }

    fn flush(&mut self, effect: Effect) {
        self.flushes += 1;
        self.history.effects.push(effect);
    }

    fn make(&mut self, slot: Slot, body: Body, attributes: Attributes) -> io::Result<Inode> {
        if self.live.names(slot.0)?.contains_key(&slot.1) {
            return Err(errno(EEXIST));
        }
        let inode = self.live.make(body, attributes.mode);
        if let Some(node) = self.live.nodes.get_mut(&inode) {
            node.attributes.owner = attributes.owner;
        }
        let node = self.live.nodes[&inode].clone();
        self.history.note_made(inode, &node);
        self.names(Names {
            sets: Some((slot, inode)),
            clears: None,
        });
        Ok(inode)
    }

    fn is_directory(&self, inode: Inode) -> bool {
        self.live.metadata(inode).kind == Kind::Directory
    }

    fn rename(&mut self, from: &RelPath, to: &RelPath, replaces: bool) -> io::Result<()> {
        let (source, target) = (self.live.slot(from)?, self.live.slot(to)?);
        let moved = self.live.find(from)?;
        let there = self.live.names(target.0)?.get(&target.1).copied();
        if there.is_some() && !replaces {
            return Err(errno(EEXIST));
        }
        // The order of these answers is the kernel's (fs/namei.c, do_renameat2).
        if to.strip(from).is_some() {
            return Err(errno(EINVAL));
        }
        if from.strip(to).is_some() {
            return Err(errno(ENOTEMPTY));
        }
        if let Some(there) = there {
            // rename(2): two names of one file stay as they are.
            if there == moved {
                return Ok(());
            }
            match (self.is_directory(moved), self.is_directory(there)) {
                (true, false) => return Err(errno(ENOTDIR)),
                (false, true) => return Err(errno(EISDIR)),
                (true, true) if !self.live.names(there)?.is_empty() => {
                    return Err(errno(ENOTEMPTY));
                }
                _ => {}
            }
        }
        self.names(Names {
            sets: Some((target, moved)),
            clears: Some((source, moved)),
        });
        Ok(())
    }
}

impl Filesystem for Simulated {
    fn location(&self) -> &Path {
        Path::new("/simulated")
    }

    fn metadata(&self, path: &RelPath) -> io::Result<Metadata> {
        let inner = self.inner.borrow();
        Ok(inner.live.metadata(inner.live.find(path)?))
    }

    fn read_dir(&self, path: &RelPath) -> io::Result<Vec<DirEntry>> {
        let inner = self.inner.borrow();
        let names = inner.live.names(inner.live.find(path)?)?;
        let entry = |(name, inode): (&String, &Inode)| DirEntry {
            name: OsString::from(name),
            kind: inner.live.metadata(*inode).kind,
        };
        Ok(names.iter().map(entry).collect())
    }

    fn open(&self, path: &RelPath) -> io::Result<Box<dyn OpenFile>> {
        let inner = self.inner.borrow();
        let inode = inner.live.find(path)?;
        let bytes = inner.live.bytes(inode).ok_or(io::ErrorKind::IsADirectory)?;
        Ok(Box::new(Open {
            metadata: inner.live.metadata(inode),
            bytes: io::Cursor::new(bytes.to_vec()),
        }))
    }

    fn create(&self, path: &RelPath, attributes: Attributes) -> io::Result<Box<dyn NewFile>> {
        self.call(|| format!("create {path}"));
        let mut inner = self.inner.borrow_mut();
        let slot = inner.live.slot(path)?;
        let inode = inner.make(slot, Body::File(Rc::default()), attributes)?;
        Ok(Box::new(New {
            filesystem: self.clone(),
            path: path.clone(),
            inode,
        }))
    }

    fn create_dir(&self, path: &RelPath, attributes: Attributes) -> io::Result<()> {
        self.call(|| format!("mkdir {path}"));
        let mut inner = self.inner.borrow_mut();
        let slot = inner.live.slot(path)?;
        inner.make(slot, Body::Directory([].into()), attributes)?;
        Ok(())
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        self.call(|| format!("rename {from} {to}"));
        self.inner.borrow_mut().rename(from, to, true)
    }

    fn rename_new(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        self.call(|| format!("rename {from} {to}"));
        self.inner.borrow_mut().rename(from, to, false)
    }

    fn hard_link(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        self.call(|| format!("link {from} {to}"));
        let mut inner = self.inner.borrow_mut();
        inner.live.slot(from)?;
        let slot = inner.live.slot(to)?;
        let inode = inner.live.find(from)?;
        if inner.live.names(slot.0)?.contains_key(&slot.1) {
            return Err(errno(EEXIST));
        }
        if inner.is_directory(inode) {
            return Err(errno(EPERM));
        }
        inner.names(Names {
            sets: Some((slot, inode)),
            clears: None,
        });
        Ok(())
    }

    fn remove_file(&self, path: &RelPath) -> io::Result<()> {
        self.call(|| format!("unlink {path}"));
        let mut inner = self.inner.borrow_mut();
        let (slot, inode) = (inner.live.slot(path)?, inner.live.find(path)?);
        if inner.is_directory(inode) {
            return Err(errno(EISDIR));
        }
        inner.names(Names {
            sets: None,
            clears: Some((slot, inode)),
        });
        Ok(())
    }

    fn remove_dir(&self, path: &RelPath) -> io::Result<()> {
        self.call(|| format!("rmdir {path}"));
        let mut inner = self.inner.borrow_mut();
        let (slot, inode) = (inner.live.slot(path)?, inner.live.find(path)?);
        if !inner.live.names(inode)?.is_empty() {
            return Err(errno(ENOTEMPTY));
        }
        inner.names(Names {
            sets: None,
            clears: Some((slot, inode)),
        });
        Ok(())
    }

    fn truncate(&self, path: &RelPath) -> io::Result<()> {
        self.call(|| format!("truncate {path}"));
        let inode = self.inner.borrow().live.find(path)?;
        self.set_bytes(inode, Vec::new())
    }

    fn sync_file(&self, path: &RelPath) -> io::Result<()> {
        self.call(|| format!("fsync {path}"));
        let mut inner = self.inner.borrow_mut();
        let inode = inner.live.find(path)?;
        inner.flush(Effect::SyncFile(inode));
        Ok(())
    }

    fn sync_dir(&self, path: &RelPath) -> io::Result<()> {
        self.call(|| format!("fsync {path}/"));
        let mut inner = self.inner.borrow_mut();
        let inode = inner.live.find(path)?;
        inner.live.names(inode)?;
        inner.flush(Effect::SyncDirectory(inode));
        Ok(())
    }

    fn sync_filesystem(&self) -> io::Result<()> {
        self.call(|| "syncfs".into());
        self.inner.borrow_mut().flush(Effect::SyncAll);
        Ok(())
    }

    fn sync_filesystem_is_trusted(&self) -> bool {
        self.trusts_syncfs
    }

    fn flushes(&self) -> u64 {
        self.inner.borrow().flushes
    }

    fn try_lock(&self, path: &RelPath) -> io::Result<Option<Box<dyn HeldLock>>> {
        self.metadata(path)?;
        Ok(Some(Box::new(Lock)))
    }
}

impl Simulated {
    fn set_bytes(&self, inode: Inode, bytes: Vec<u8>) -> io::Result<()> {
        let mut inner = self.inner.borrow_mut();
        if inner.live.bytes(inode).is_none() {
            return Err(errno(EISDIR));
        }
        let bytes = Rc::new(bytes);
        inner.live.set_bytes(inode, Rc::clone(&bytes));
        inner.history.effects.push(Effect::Data(inode, bytes));
        Ok(())
    }
}

struct Lock;

impl HeldLock for Lock {}

struct Open {
    metadata: Metadata,
    bytes: io::Cursor<Vec<u8>>,
}

impl Read for Open {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl OpenFile for Open {
    fn metadata(&self) -> Metadata {
        self.metadata
    }
}

struct New {
    filesystem: Simulated,
    path: RelPath,
    inode: Inode,
}

impl Write for New {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.filesystem.call(|| format!("write {}", self.path));
        let before = self
            .filesystem
            .inner
            .borrow()
            .live
            .bytes(self.inode)
            .cloned();
        let mut all = before.ok_or_else(|| errno(ENOENT))?.to_vec();
        all.extend(bytes);
        self.filesystem.set_bytes(self.inode, all)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for New {
    fn sync(&mut self) -> io::Result<()> {
        self.filesystem.call(|| format!("fsync {}", self.path));
        let mut inner = self.filesystem.inner.borrow_mut();
        inner.flush(Effect::SyncFile(self.inode));
        Ok(())
    }
}
