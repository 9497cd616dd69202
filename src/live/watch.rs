//! Notices what other programs change in the library, without looking at every file (inotify(7)).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};

use crate::store::layout;

/// Skills and their files lie at most so many levels down.
const MAX_DEPTH: usize = 16;
/// A library with more directories than this is not watched.
const MAX_WATCHES: usize = 8192;

/// What has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Something in the library.
    pub library: bool,
    /// `usage.json`.
    pub usage: bool,
}

/// Which directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    ConfigDir,
    State,
    Library,
}

/// Watches the library beneath a config dir, and the usage file.
#[derive(Debug)]
pub(super) struct Watch {
    config_dir: PathBuf,
    inotify: Inotify,
    places: Mutex<BTreeMap<WatchDescriptor, Place>>,
}

impl Watch {
    /// Watches what is there.
    ///
    /// # Errors
    /// The kernel's, such as that a user may have no more watches; or that there is too much to watch.
    pub fn new(config_dir: &Path) -> io::Result<Self> {
        let watch = Self {
            config_dir: config_dir.to_owned(),
            inotify: Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?,
            places: Mutex::default(),
        };
        watch.place()?;
        Ok(watch)
    }

    /// Waits until [`Self::changes`] has something to say.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&self) -> io::Result<()> {
        let mut readable = [PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN)];
        loop {
            match poll(&mut readable, PollTimeout::NONE) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// What was changed since this was last asked; does not wait.
    ///
    /// # Errors
    /// As [`Self::new`], for directories that are new.
    pub fn changes(&self) -> io::Result<Changes> {
        let mut changes = Changes::default();
        let mut directories = false;
        loop {
            match self.inotify.read_events() {
                Ok(events) => {
                    for event in &events {
                        directories |= self.note(event, &mut changes);
                    }
                }
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        if directories {
            self.place()?;
        }
        Ok(changes)
    }

    /// Says whether other directories are to be watched now.
    fn note(&self, event: &InotifyEvent, changes: &mut Changes) -> bool {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            *changes = Changes {
                library: true,
                usage: true,
            };
            return true;
        }
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let name = event.name.as_deref().and_then(|name| name.to_str());
        match places.get(&event.wd) {
            Some(Place::Library) => {
                changes.library = true;
                let of_a_directory = AddWatchFlags::IN_ISDIR | AddWatchFlags::IN_MOVE_SELF;
                event.mask.intersects(of_a_directory)
            }
            Some(Place::State) => {
                changes.usage |= name == Some(layout::USAGE);
                false
            }
            Some(Place::ConfigDir) => {
                let is_library = name == Some(layout::LIBRARY);
                changes.library |= is_library;
                changes.usage |= name == Some(layout::STATE);
                is_library || name == Some(layout::STATE)
            }
            // Of one that is not watched any more.
            None => false,
        }
    }

    fn place(&self) -> io::Result<()> {
        let mut found = BTreeMap::new();
        self.add(&self.config_dir, Place::ConfigDir, 0, &mut found)?;
        let state = self.config_dir.join(layout::STATE);
        self.add(&state, Place::State, 0, &mut found)?;
        let library = self.config_dir.join(layout::LIBRARY);
        self.add(&library, Place::Library, MAX_DEPTH, &mut found)?;
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        for (descriptor, _) in places.iter().filter(|(one, _)| !found.contains_key(*one)) {
            // The kernel has dropped that of a directory that is gone; of one that was moved away it has not.
            let _ = self.inotify.rm_watch(*descriptor);
        }
        *places = found;
        Ok(())
    }

    fn add(
        &self,
        directory: &Path,
        place: Place,
        depth: usize,
        found: &mut BTreeMap<WatchDescriptor, Place>,
    ) -> io::Result<()> {
        let mut what = AddWatchFlags::IN_ONLYDIR
            | AddWatchFlags::IN_DONT_FOLLOW
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVE;
        if place == Place::Library {
            what |= AddWatchFlags::IN_ATTRIB | AddWatchFlags::IN_MOVE_SELF;
        }
        match self.inotify.add_watch(directory, what) {
            Ok(descriptor) => found.insert(descriptor, place),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES | Errno::ELOOP) => return Ok(()),
            Err(e) => return Err(e.into()),
        };
        if found.len() > MAX_WATCHES {
            let message = format!("there are more than {MAX_WATCHES} directories");
            return Err(io::Error::other(message));
        }
        if depth == 0 {
            return Ok(());
        }
        let Ok(entries) = std::fs::read_dir(directory) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.add(&entry.path(), place, depth - 1, found)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "as other programs change the library"
)]
mod tests {
    use std::fs;

    use super::*;

    fn library() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("skills/foo/references")).unwrap();
        fs::create_dir_all(root.path().join("skill-state")).unwrap();
        fs::write(root.path().join("skills/foo/SKILL.md"), "text").unwrap();
        root
    }

    #[track_caller]
    fn assert_noticed(what: &str, change: impl FnOnce(&Path), library: bool, usage: bool) {
        let root = self::library();
        let watch = Watch::new(root.path()).unwrap();
        assert_eq!(watch.changes().unwrap(), Changes::default());
        change(root.path());
        assert_eq!(
            watch.changes().unwrap(),
            Changes { library, usage },
            "{what}"
        );
        assert_eq!(watch.changes().unwrap(), Changes::default(), "{what}");
    }

    #[test]
    fn each_change_of_the_library_is_noticed_once_and_nothing_else_is() {
        let path = |root: &Path, path: &str| root.join(path);
        let text = "skills/foo/SKILL.md";
        assert_noticed(
            "a write",
            |r| fs::write(path(r, text), "x").unwrap(),
            true,
            false,
        );
        assert_noticed(
            "a removal",
            |r| fs::remove_file(path(r, text)).unwrap(),
            true,
            false,
        );
        let deep = "skills/foo/references/a.md";
        assert_noticed(
            "a file of it",
            |r| fs::write(path(r, deep), "x").unwrap(),
            true,
            false,
        );
        assert_noticed(
            "a rename over it",
            |r| {
                fs::write(path(r, "skill-state/new"), "x").unwrap();
                fs::rename(path(r, "skill-state/new"), path(r, text)).unwrap();
            },
            true,
            false,
        );
        let usage = "skill-state/usage.json";
        assert_noticed(
            "usage",
            |r| fs::write(path(r, usage), "{}").unwrap(),
            false,
            true,
        );
        let lock = "skill-state/.lock";
        assert_noticed(
            "the lock",
            |r| fs::write(path(r, lock), "").unwrap(),
            false,
            false,
        );
        assert_noticed(
            "the agent's settings",
            |r| fs::write(path(r, "agent.toml"), "").unwrap(),
            false,
            false,
        );
        assert_noticed(
            "a read",
            |r| drop(fs::read(path(r, text)).unwrap()),
            false,
            false,
        );
        assert_noticed(
            "the whole library",
            |r| fs::rename(path(r, "skills"), path(r, "old")).unwrap(),
            true,
            false,
        );
    }

    #[test]
    fn what_is_new_is_watched_too_and_what_was_moved_away_no_more() {
        let root = library();
        let watch = Watch::new(root.path()).unwrap();
        fs::create_dir_all(root.path().join("skills/new/references")).unwrap();
        assert!(watch.changes().unwrap().library);
        fs::write(root.path().join("skills/new/references/a.md"), "x").unwrap();
        assert!(watch.changes().unwrap().library);
        fs::rename(root.path().join("skills/new"), root.path().join("away")).unwrap();
        assert!(watch.changes().unwrap().library);
        fs::write(root.path().join("away/references/a.md"), "y").unwrap();
        assert!(!watch.changes().unwrap().library);
        fs::remove_dir_all(root.path().join("skills")).unwrap();
        assert!(watch.changes().unwrap().library);
        fs::create_dir_all(root.path().join("skills/foo")).unwrap();
        assert!(watch.changes().unwrap().library);
        fs::write(root.path().join("skills/foo/SKILL.md"), "x").unwrap();
        assert!(watch.changes().unwrap().library);
    }
}
