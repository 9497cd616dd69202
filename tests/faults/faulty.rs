//! A file system of which any single mutating call can fail, or be the last one of the process.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use aiden_skills::store::{
    Attributes, DirEntry, Filesystem, HeldLock, LinuxFilesystem, Metadata, NewFile, OpenFile,
    RelPath,
};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The process dies in this call; a write gets half way.
    Crash(u64),
    /// This call fails with this errno.
    Fail(u64, i32),
    /// This call and all mutating ones after it fail.
    FailFrom(u64, i32),
    /// All mutating calls from this one fail that need space; removing and renaming work.
    FullFrom(u64),
    /// This directory can't be listed.
    Unlistable(&'static str),
}

pub struct Faulty {
    inner: LinuxFilesystem,
    state: Rc<State>,
}

struct State {
    fault: Fault,
    calls: Cell<u64>,
    dead: Cell<bool>,
    log: RefCell<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Space,
    Nothing,
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

impl Faulty {
    pub fn new(inner: LinuxFilesystem, fault: Fault) -> Self {
        Self {
            inner,
            state: Rc::new(State {
                fault,
                calls: Cell::new(0),
                dead: Cell::new(false),
                log: RefCell::default(),
            }),
        }
    }

    /// How many mutating calls were made.
    pub fn calls(&self) -> u64 {
        self.state.calls.get()
    }

    /// The mutating calls, in order.
    pub fn log(&self) -> Vec<String> {
        self.state.log.borrow().clone()
    }
}

impl State {
    fn alive(&self) -> io::Result<()> {
        if self.dead.get() {
            return Err(io::Error::other("the process is dead"));
        }
        Ok(())
    }

    /// Counts a mutating call; an error means that it must not be made.
    fn mutates(&self, needs: Needs, what: String) -> io::Result<()> {
        self.alive()?;
        let call = self.calls.get() + 1;
        self.calls.set(call);
        self.log.borrow_mut().push(what);
        match self.fault {
            Fault::Crash(at) if at == call => {
                self.dead.set(true);
                self.alive()
            }
            Fault::Fail(at, errno) if at == call => Err(io::Error::from_raw_os_error(errno)),
            Fault::FailFrom(at, errno) if call >= at => Err(io::Error::from_raw_os_error(errno)),
            Fault::FullFrom(at) if call >= at && needs == Needs::Space => {
                Err(io::Error::from_raw_os_error(ENOSPC))
            }
            _ => Ok(()),
        }
    }
}

impl Filesystem for Faulty {
    fn location(&self) -> &Path {
        self.inner.location()
    }

    fn metadata(&self, path: &RelPath) -> io::Result<Metadata> {
        self.state.alive()?;
        self.inner.metadata(path)
    }

    fn read_dir(&self, path: &RelPath) -> io::Result<Vec<DirEntry>> {
        self.state.alive()?;
        if matches!(self.state.fault, Fault::Unlistable(directory) if directory == path.as_str()) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.read_dir(path)
    }

    fn open(&self, path: &RelPath) -> io::Result<Box<dyn OpenFile>> {
        self.state.alive()?;
        self.inner.open(path)
    }

    fn create(&self, path: &RelPath, attributes: Attributes) -> io::Result<Box<dyn NewFile>> {
        self.state.mutates(Needs::Space, format!("create {path}"))?;
        Ok(Box::new(FaultyFile {
            inner: self.inner.create(path, attributes)?,
            path: path.clone(),
            state: Rc::clone(&self.state),
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
            .mutates(Needs::Nothing, format!("fsync {path}"))?;
        self.inner.sync_file(path)
    }

    fn sync_dir(&self, path: &RelPath) -> io::Result<()> {
        self.state
            .mutates(Needs::Nothing, format!("fsync {path}"))?;
        self.inner.sync_dir(path)
    }

    fn sync_filesystem(&self) -> io::Result<()> {
        self.state.mutates(Needs::Nothing, "syncfs".into())?;
        self.inner.sync_filesystem()
    }

    fn sync_filesystem_is_trusted(&self) -> bool {
        self.inner.sync_filesystem_is_trusted()
    }

    fn flushes(&self) -> u64 {
        self.inner.flushes()
    }

    fn try_lock(&self, path: &RelPath) -> io::Result<Option<Box<dyn HeldLock>>> {
        self.state.alive()?;
        self.inner.try_lock(path)
    }
}

struct FaultyFile {
    inner: Box<dyn NewFile>,
    path: RelPath,
    state: Rc<State>,
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self
            .state
            .mutates(Needs::Space, format!("write {}", self.path))
        {
            Ok(()) => self.inner.write(bytes),
            Err(e) => {
                // A torn write: the process or the space ended in its middle.
                let _ = self.inner.write(&bytes[..bytes.len() / 2]);
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
        self.state
            .mutates(Needs::Nothing, format!("fsync {}", self.path))?;
        self.inner.sync()
    }
}
