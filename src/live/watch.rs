//! Notices what other programs change in the library, without looking at every file (inotify(7)).

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

impl Changes {
    pub const ALL: Self = Self {
        library: true,
        usage: true,
    };
}

/// Which directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    ConfigDir,
    State,
    Library,
}

/// A directory by device and inode: a path may lead to another one, by a rename or a mount, that no event tells of.
type Identity = Option<(u64, u64)>;

/// What is watched.
#[derive(Debug, Default)]
struct Watched {
    places: BTreeMap<WatchDescriptor, Place>,
    /// Of config dir and library.
    roots: [Identity; 2],
    /// Whether there is more than can be watched.
    is_too_much: bool,
}

/// Watches the library beneath a config dir, and the usage file.
#[derive(Debug)]
pub(super) struct Watch {
    config_dir: PathBuf,
    most: usize,
    inotify: Inotify,
    watched: Mutex<Watched>,
}

impl Watch {
    /// Watches what is there.
    ///
    /// # Errors
    /// The kernel's, such as that a user may have no more watches; or that there is too much to watch.
    pub fn new(config_dir: &Path) -> io::Result<Self> {
        Self::with_limit(config_dir, MAX_WATCHES)
    }

    fn with_limit(config_dir: &Path, most: usize) -> io::Result<Self> {
        let watch = Self {
            config_dir: config_dir.to_owned(),
            most,
            inotify: Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?,
            watched: Mutex::default(),
        };
        watch.place(&mut watch.lock())?;
        Ok(watch)
    }

    /// Waits until [`Self::changes`] has something to say.
    ///
    /// # Errors
    /// The kernel's, or that there is too much to watch.
    pub fn wait(&self) -> io::Result<()> {
        if self.lock().is_too_much {
            return Err(io::Error::other("there are too many directories"));
        }
        let mut readable = [PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN)];
        loop {
            match poll(&mut readable, PollTimeout::NONE) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// What was changed since this was last asked; does not wait. Where not all can be watched, everything.
    ///
    /// # Errors
    /// As [`Self::new`], for what is new, once.
    pub fn changes(&self) -> io::Result<Changes> {
        let mut watched = self.lock();
        if watched.is_too_much {
            return Ok(Changes::ALL);
        }
        let mut changes = Changes::default();
        let mut directories = false;
        loop {
            match self.inotify.read_events() {
                Ok(events) => {
                    for event in &events {
                        directories |= note(&watched.places, event, &mut changes);
                    }
                }
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        if watched.roots != self.roots() || watched.roots[0].is_none() {
            changes = Changes::ALL;
            directories = true;
        }
        if directories && let Err(e) = self.place(&mut watched) {
            watched.is_too_much = true;
            return Err(e);
        }
        Ok(changes)
    }

    fn place(&self, watched: &mut Watched) -> io::Result<()> {
        watched.roots = self.roots();
        let mut found = BTreeMap::new();
        self.add(&self.config_dir, Place::ConfigDir, 0, &mut found)?;
        let state = self.config_dir.join(layout::STATE);
        self.add(&state, Place::State, 0, &mut found)?;
        let library = self.config_dir.join(layout::LIBRARY);
        self.add(&library, Place::Library, MAX_DEPTH, &mut found)?;
        let before = watched.places.iter();
        for (descriptor, _) in before.filter(|(one, _)| !found.contains_key(*one)) {
            // The kernel has dropped that of a directory that is gone; of one that was moved away it has not.
            let _ = self.inotify.rm_watch(*descriptor);
        }
        watched.places = found;
        Ok(())
    }

    fn roots(&self) -> [Identity; 2] {
        let identity = |metadata: io::Result<Metadata>| {
            let metadata = metadata.ok().filter(Metadata::is_dir)?;
            Some((metadata.dev(), metadata.ino()))
        };
        let library = self.config_dir.join(layout::LIBRARY);
        [
            identity(fs::metadata(&self.config_dir)),
            identity(fs::symlink_metadata(library)),
        ]
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &self,
        directory: &Path,
        place: Place,
        depth: usize,
        found: &mut BTreeMap<WatchDescriptor, Place>,
    ) -> io::Result<()> {
        let mut what = AddWatchFlags::IN_ONLYDIR
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVE;
        // As everywhere, a link leads to the config dir at most.
        if place != Place::ConfigDir {
            what |= AddWatchFlags::IN_DONT_FOLLOW;
        }
        if place == Place::Library {
            what |=
                AddWatchFlags::IN_ATTRIB | AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_MOVE_SELF;
        }
        match self.inotify.add_watch(directory, what) {
            Ok(descriptor) => found.insert(descriptor, place),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES | Errno::ELOOP) => return Ok(()),
            Err(e) => return Err(e.into()),
        };
        if found.len() > self.most {
            let message = format!("there are more than {} directories", self.most);
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

/// Notes what an event tells; says whether other directories are to be watched now.
fn note(
    places: &BTreeMap<WatchDescriptor, Place>,
    event: &InotifyEvent,
    changes: &mut Changes,
) -> bool {
    let lost = AddWatchFlags::IN_Q_OVERFLOW | AddWatchFlags::IN_UNMOUNT;
    if event.mask.intersects(lost) {
        *changes = Changes::ALL;
        return true;
    }
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

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "as other programs change the library"
)]
mod tests {
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
            true,
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

    #[test]
    fn a_config_dir_that_comes_later_or_is_a_link_or_is_replaced_is_watched() {
        let root = library();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path().join("late"), &link).unwrap();
        let watch = Watch::new(&link).unwrap();
        assert_eq!(
            watch.changes().unwrap(),
            Changes::ALL,
            "nothing is watched yet"
        );
        fs::create_dir_all(root.path().join("late/skills/foo")).unwrap();
        assert_eq!(watch.changes().unwrap(), Changes::ALL);
        assert_eq!(watch.changes().unwrap(), Changes::default());
        fs::write(root.path().join("late/skills/foo/SKILL.md"), "x").unwrap();
        assert!(watch.changes().unwrap().library);
        fs::rename(root.path().join("late"), root.path().join("away")).unwrap();
        fs::create_dir_all(root.path().join("late/skills/foo")).unwrap();
        assert_eq!(watch.changes().unwrap(), Changes::ALL);
        fs::write(root.path().join("late/skills/foo/SKILL.md"), "y").unwrap();
        assert!(watch.changes().unwrap().library);
        assert_eq!(watch.changes().unwrap(), Changes::default());
    }

    #[test]
    fn what_is_too_much_to_watch_counts_as_changed_at_every_look() {
        let root = library();
        let watch = Watch::with_limit(root.path(), 20).unwrap();
        for n in 0..20 {
            fs::create_dir(root.path().join(format!("skills/{n}"))).unwrap();
        }
        assert!(watch.changes().is_err(), "it is told once");
        for _ in 0..3 {
            assert_eq!(watch.changes().unwrap(), Changes::ALL);
        }
        assert!(watch.wait().is_err(), "nobody waits in vain, or in circles");
    }
}
