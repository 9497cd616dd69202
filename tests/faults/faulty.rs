//! A file system of which any single mutating call can fail.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;

use aiden_skills::store::{
    Attributes, DirEntry, Filesystem, HeldLock, Metadata, NewFile, OpenFile, RelPath,
};

use crate::simulated::Simulated;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Every write takes no more than this many bytes.
    Short(usize),
    /// This call fails with this errno.
    Fail(u64, i32),
    /// This call and all mutating ones after it fail.
    FailFrom(u64, i32),
    /// This call fails with this errno; only calls that look are counted.
    FailLook(u64, i32),
    /// All mutating calls from this one fail that need space; removing and renaming work.
    FullFrom(u64),
    /// This directory can't be listed.
    Unlistable(&'static str),
}

#[derive(Clone)]
pub struct Faulty {
    inner: Simulated,
    state: Rc<State>,
}

struct State {
    fault: Fault,
    calls: Cell<u64>,
    looks: Cell<u64>,
    failed: RefCell<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Space,
    Nothing,
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

impl Faulty {
    pub fn new(inner: Simulated, fault: Fault) -> Self {
        Self {
            inner,
            state: Rc::new(State {
                fault,
                calls: Cell::new(0),
                looks: Cell::new(0),
                failed: RefCell::default(),
            }),
        }
    }

    /// How many mutating calls were made.
    pub fn calls(&self) -> u64 {
        self.state.calls.get()
    }

    /// A flush that fails loses what it was to flush; one that was only interrupted does not.
    fn lose(&self, error: &io::Error, file: Option<&RelPath>) {
        if error.kind() != io::ErrorKind::Interrupted {
            self.inner.lose_unflushed(file);
        }
    }

    /// How many calls were made that only look.
    pub fn looks(&self) -> u64 {
        self.state.looks.get()
    }

    /// The call that failed first.
    pub fn failed(&self) -> String {
        self.state.failed.borrow().clone()
    }
}

impl State {
    /// Counts a call that looks; an error means that it must not be made.
    fn looks(&self, what: impl FnOnce() -> String) -> io::Result<()> {
        let call = self.looks.get() + 1;
        self.looks.set(call);
        match self.fault {
            Fault::FailLook(at, errno) if at == call => {
                *self.failed.borrow_mut() = what();
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(()),
        }
    }

    /// Counts a mutating call; an error means that it must not be made.
    fn mutates(&self, needs: Needs, what: String) -> io::Result<()> {
        let call = self.calls.get() + 1;
        self.calls.set(call);
        let errno = match self.fault {
            Fault::Fail(at, errno) if at == call => errno,
            Fault::FailFrom(at, errno) if call >= at => errno,
            Fault::FullFrom(at) if call >= at && needs == Needs::Space => ENOSPC,
            _ => return Ok(()),
        };
        let mut failed = self.failed.borrow_mut();
        if failed.is_empty() {
            *failed = what;
        }
        Err(io::Error::from_raw_os_error(errno))
    }
}

impl Filesystem for Faulty {
    fn location(&self) -> &Path {
        self.inner.location()
    }

    fn metadata(&self, path: &RelPath) -> io::Result<Metadata> {
        self.state.looks(|| format!("stat {path}"))?;
        self.inner.metadata(path)
    }

    fn read_dir(&self, path: &RelPath) -> io::Result<Vec<DirEntry>> {
        self.state.looks(|| format!("list {path}"))?;
        if matches!(self.state.fault, Fault::Unlistable(directory) if directory == path.as_str()) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.read_dir(path)
    }

    fn open(&self, path: &RelPath) -> io::Result<Box<dyn OpenFile>> {
        self.state.looks(|| format!("open {path}"))?;
        Ok(Box::new(FaultyOpen {
            inner: self.inner.open(path)?,
            path: path.clone(),
            state: Rc::clone(&self.state),
        }))
    }

    fn create(&self, path: &RelPath, attributes: Attributes) -> io::Result<Box<dyn NewFile>> {
        self.state.mutates(Needs::Space, format!("create {path}"))?;
        Ok(Box::new(FaultyFile {
            inner: self.inner.create(path, attributes)?,
            path: path.clone(),
            filesystem: self.clone(),
        }))
    }

    fn create_dir(&self, path: &RelPath, attributes: Attributes) -> io::Result<()> {
        self.state.mutates(Needs::Space, format!("mkdir {path}"))?;
        self.inner.create_dir(path, attributes)
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("rename {from} {to}"))?;
        self.inner.rename(from, to)
    }

    fn rename_new(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("rename_new {from} {to}"))?;
        self.inner.rename_new(from, to)
    }

    fn hard_link(&self, from: &RelPath, to: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("link {from} {to}"))?;
        self.inner.hard_link(from, to)
    }

    fn remove_file(&self, path: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("unlink {path}"))?;
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("rmdir {path}"))?;
        self.inner.remove_dir(path)
    }

    fn truncate(&self, path: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("truncate {path}"))?;
        self.inner.truncate(path)
    }

    fn sync_file(&self, path: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("fsync {path}"))
            .inspect_err(|e| self.lose(e, Some(path)))?;
        self.inner.sync_file(path)
    }

    fn sync_dir(&self, path: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("fsync {path}"))?;
        self.inner.sync_dir(path)
    }

    fn sync_filesystem(&self) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, "syncfs".into())
            .inspect_err(|e| self.lose(e, None))?;
        self.inner.sync_filesystem()
    }

    fn sync_filesystem_is_trusted(&self) -> bool {
        self.inner.sync_filesystem_is_trusted()
    }

    fn flushes(&self) -> u64 {
        self.inner.flushes()
    }

    fn try_lock(&self, path: &RelPath) -> io::Result<Option<Box<dyn HeldLock>>> {
        self.inner.try_lock(path)
    }
}

struct FaultyOpen {
    inner: Box<dyn OpenFile>,
    path: RelPath,
    state: Rc<State>,
}

impl Read for FaultyOpen {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.state.looks(|| format!("read {}", self.path))?;
        self.inner.read(buffer)
    }
}

impl OpenFile for FaultyOpen {
    fn metadata(&self) -> Metadata {
        self.inner.metadata()
    }
}

struct FaultyFile {
    inner: Box<dyn NewFile>,
    path: RelPath,
    filesystem: Faulty,
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self
            .filesystem
            .state
            .mutates(Needs::Space, format!("write {}", self.path))
        {
            Ok(()) => match self.filesystem.state.fault {
                Fault::Short(most) => self.inner.write(&bytes[..bytes.len().min(most)]),
                _ => self.inner.write(bytes),
            },
            Err(e) => {
                // A torn write: the space ended in its middle. An interrupted one wrote nothing (write(2)).
                let written = if e.kind() == io::ErrorKind::Interrupted {
                    0
                } else {
                    bytes.len() / 2
                };
                let _ = self.inner.write(&bytes[..written]);
                Err(e)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for FaultyFile {
    fn sync(&mut self) -> io::Result<()> {
        self.filesystem
            .state
            .mutates(Needs::Nothing, format!("fsync {}", self.path))
            .inspect_err(|e| self.filesystem.lose(e, Some(&self.path)))?;
        self.inner.sync()
    }
}
