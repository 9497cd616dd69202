//! One batch of changes, in the order of contract §5, so that a power cut at any instant leaves every file
//! old or new and a ledger that can be settled:
//!
//! 1. everything is staged (files, bases, the ledger with the intents, the final ledger); one flush;
//! 2. the intent ledger is renamed into place; the state dir is flushed;
//! 3. each target is hashed once more, then renamed or removed; then the bases; one flush;
//! 4. the final ledger is renamed into place; the state dir is flushed.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use super::error::{Context, StoreError, absent_as_none};
use super::filesystem::{Attributes, Filesystem, Metadata, Owner};
use super::hash::{Hash, Hasher};
use super::lock::WriteLock;
use super::path::RelPath;
use super::read::FileHasher;
use super::stage::{remove_tree, sweep, truncate_staged};
use super::{layout, state_file};

/// Mode of a directory, and of an executable file.
const EXECUTABLE_MODE: u32 = 0o755;
/// Mode of any other file.
const FILE_MODE: u32 = 0o644;
const INTENT: &str = "ledger-intent.json";
const SETTLED: &str = "ledger-settled.json";

/// What a batch expects to find where it is about to act; anything else is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Absent,
    /// A regular file with this hash.
    Content(Hash),
}

/// Where the bytes of a new file come from.
pub enum Content<'a> {
    /// From memory.
    Bytes(&'a [u8]),
    /// From another tree; they must have this hash.
    Copy {
        /// The tree.
        filesystem: &'a dyn Filesystem,
        /// The file in it.
        path: &'a RelPath,
        /// What planning saw.
        hash: Hash,
    },
}

/// How a batch is forced to flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// The whole file system at once, where its errors can be relied on: the count does not grow.
    Filesystem,
    /// Each file and directory by itself.
    Files,
}

/// The documents that surround a batch.
pub struct Journal<'a> {
    /// The ledger with the intents; needed as soon as the library changes.
    pub intent: Option<Vec<u8>>,
    /// The ledger after the paths were placed for which the given function says so.
    pub settled: &'a dyn Fn(&dyn Fn(&RelPath) -> bool) -> Vec<u8>,
    /// Whether the present ledger is worth keeping as `.prev`.
    pub keep_previous: bool,
}

/// What a batch did.
#[derive(Debug, Default)]
pub struct Committed {
    /// The paths that are now as the batch wanted them.
    pub placed: BTreeSet<RelPath>,
    /// Paths that somebody changed since the plan; left alone.
    pub changed: BTreeSet<RelPath>,
    /// What stopped the batch in its middle.
    pub error: Option<StoreError>,
}

/// A batch in its step 3.
#[derive(Default)]
struct Progress {
    done: Committed,
    /// Directories whose names changed.
    touched: BTreeSet<RelPath>,
}

#[derive(Clone, Copy)]
enum Action {
    Write(Expected),
    Remove(Hash),
    Confirm(Hash),
}

struct Step {
    target: RelPath,
    action: Action,
}

/// A base, or another file that follows the library's.
struct Follower {
    target: RelPath,
    after: Option<RelPath>,
}

/// A set of changes beneath the config dir, staged one by one and then committed together.
pub struct Batch<'l, 'fs> {
    lock: &'l WriteLock<'fs>,
    flush: Flush,
    hasher: FileHasher,
    steps: Vec<Step>,
    followers: Vec<Follower>,
    directories: BTreeSet<RelPath>,
    names_to_flush: BTreeSet<RelPath>,
}

impl<'l, 'fs> Batch<'l, 'fs> {
    /// Starts an empty batch; writes nothing yet. Leftovers must have been swept.
    #[must_use]
    pub fn new(lock: &'l WriteLock<'fs>, flush: Flush) -> Self {
        let trusted = lock.filesystem().sync_filesystem_is_trusted();
        Self {
            lock,
            flush: if trusted { flush } else { Flush::Files },
            hasher: FileHasher::default(),
            steps: Vec::new(),
            followers: Vec::new(),
            directories: BTreeSet::new(),
            // A state dir that was just made must not vanish with a ledger that was reported durable.
            names_to_flush: lock.made_state().then(RelPath::root).into_iter().collect(),
        }
    }

    /// Stages a file of the library.
    ///
    /// # Errors
    /// The source's or the target's, with the path; call [`Batch::abandon`] then.
    pub fn write(
        &mut self,
        target: &RelPath,
        content: &Content<'_>,
        expected: Expected,
        attributes: Attributes,
    ) -> Result<(), StoreError> {
        self.stage(target, content, attributes)?;
        self.steps.push(Step {
            target: target.clone(),
            action: Action::Write(expected),
        });
        Ok(())
    }

    /// Will remove a file that has this hash, and directories that get empty by it.
    pub fn remove(&mut self, target: &RelPath, hash: Hash) {
        self.steps.push(Step {
            target: target.clone(),
            action: Action::Remove(hash),
        });
    }

    /// Counts a file as placed if it still has this hash.
    pub fn confirm(&mut self, target: &RelPath, hash: Hash) {
        self.steps.push(Step {
            target: target.clone(),
            action: Action::Confirm(hash),
        });
    }

    /// Stages a file that is renamed after all of the library, if `after` was placed.
    ///
    /// # Errors
    /// As [`Batch::write`].
    pub fn follow(
        &mut self,
        target: &RelPath,
        content: &Content<'_>,
        after: Option<&RelPath>,
    ) -> Result<(), StoreError> {
        let attributes = self.fresh(false);
        self.stage(target, content, attributes)?;
        self.followers.push(Follower {
            target: target.clone(),
            after: after.cloned(),
        });
        Ok(())
    }

    /// Names in this directory are flushed before the final ledger relies on them.
    pub fn flush_names_of(&mut self, directory: RelPath) {
        self.names_to_flush.insert(directory);
    }

    /// Takes back all that was staged beneath `directory`; for a skill whose staging failed.
    pub fn abandon(&mut self, directory: &RelPath) {
        let beneath = |target: &RelPath| target == directory || target.strip(directory).is_some();
        self.steps.retain(|step| !beneath(&step.target));
        self.followers.retain(|follower| !beneath(&follower.target));
        self.directories
            .retain(|made| made.strip(&layout::staged(directory)).is_none());
        self.directories.remove(&layout::staged(directory));
        let staged = layout::staged(directory);
        if let Err(e) = remove_tree(self.lock.filesystem(), &staged) {
            log::warn!("{e}");
        }
    }

    /// Whether there is nothing to do but perhaps rewrite the ledger.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.followers.is_empty()
    }

    /// Attributes of a file that is new.
    #[must_use]
    pub fn fresh(&self, executable: bool) -> Attributes {
        Attributes {
            owner: self.lock.owner(),
            mode: if executable {
                EXECUTABLE_MODE
            } else {
                FILE_MODE
            },
        }
    }

    /// Makes all of it durable, in order. `Ok` with an error inside means that some of it was done; the
    /// ledger then says so, or its intents stand for the next start.
    ///
    /// # Errors
    /// When nothing was changed.
    pub fn commit(mut self, journal: Option<&Journal<'_>>) -> Result<Committed, StoreError> {
        if let Err(e) = self.prepare(journal) {
            self.sweep_quietly();
            return Err(e);
        }
        if let Some(journal) = journal.filter(|_| !self.steps.is_empty()) {
            match state_file::replace_staged(
                self.lock,
                INTENT,
                layout::LEDGER,
                journal.keep_previous,
            ) {
                Ok(()) => {}
                Err(state_file::ReplaceError::Unchanged(e)) => {
                    self.sweep_quietly();
                    return Err(e);
                }
                Err(state_file::ReplaceError::NotFlushed(e)) => {
                    return Ok(self.give_up(journal, Progress::default(), e));
                }
            }
        }
        let mut progress = Progress {
            touched: std::mem::take(&mut self.names_to_flush),
            ..Progress::default()
        };
        let placed = self
            .place(&mut progress)
            .and_then(|()| self.restage_settled(journal, &progress.done));
        if let Err(e) = placed {
            let Some(journal) = journal else {
                self.sweep_quietly();
                return Err(e);
            };
            return Ok(self.give_up(journal, progress, e));
        }
        if !self.is_empty()
            && let Err(e) = self.flush_names(&progress.touched)
        {
            return Ok(intents_stand(e));
        }
        if let Some(journal) = journal {
            let keep = journal.keep_previous || !self.steps.is_empty();
            let replaced = state_file::replace_staged(self.lock, SETTLED, layout::LEDGER, keep);
            if let Err(e) = replaced {
                return Ok(intents_stand(e.into()));
            }
        }
        self.sweep_quietly();
        Ok(progress.done)
    }

    /// Step 1, after the files: the documents, and everything staged made durable.
    fn prepare(&mut self, journal: Option<&Journal<'_>>) -> Result<(), StoreError> {
        if let Some(journal) = journal {
            if let Some(intent) = journal.intent.as_ref().filter(|_| !self.steps.is_empty()) {
                self.stage_document(INTENT, intent)?;
            }
            let settled = (journal.settled)(&|_| true);
            self.stage_document(SETTLED, &settled)?;
        }
        let filesystem = self.lock.filesystem();
        if self.is_empty() {
            for directory in std::mem::take(&mut self.names_to_flush) {
                flush_directory(filesystem, &directory)?;
            }
            return Ok(());
        }
        match self.flush {
            Flush::Filesystem => self.flush_filesystem(),
            Flush::Files => {
                for directory in self.directories.iter().rev() {
                    flush_directory(filesystem, directory)?;
                }
                flush_directory(filesystem, &layout::temporary())?;
                flush_directory(filesystem, &layout::state())?;
                flush_directory(filesystem, &RelPath::root())
            }
        }
    }

    fn flush_filesystem(&self) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let flushed = filesystem.sync_filesystem();
        flushed.during(filesystem, "flush the file system of", &RelPath::root())
    }

    fn flush_names(&self, touched: &BTreeSet<RelPath>) -> Result<(), StoreError> {
        match self.flush {
            Flush::Filesystem => self.flush_filesystem(),
            Flush::Files => touched
                .iter()
                .try_for_each(|directory| flush_directory(self.lock.filesystem(), directory)),
        }
    }

    fn stage(
        &mut self,
        target: &RelPath,
        content: &Content<'_>,
        attributes: Attributes,
    ) -> Result<(), StoreError> {
        let staged = layout::staged(target);
        self.make_directories(&staged.parent())?;
        self.create(&staged, content, attributes)
    }

    fn stage_document(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.make_directories(&layout::stage())?;
        let path = layout::stage().join(&document(name));
        let attributes = state_file::attributes(self.lock, layout::LEDGER);
        let filesystem = self.lock.filesystem();
        let mut file = filesystem
            .create(&path, attributes)
            .during(filesystem, "create", &path)?;
        file.write_all(bytes).during(filesystem, "write", &path)?;
        if self.is_empty() || self.flush == Flush::Files {
            file.sync().during(filesystem, "flush", &path)?;
        }
        Ok(())
    }

    fn make_directories(&mut self, path: &RelPath) -> Result<(), StoreError> {
        if path.is_root() || self.directories.contains(path) {
            return Ok(());
        }
        self.make_directories(&path.parent())?;
        self.lock.ensure_dirs(path)?;
        if *path == layout::stage() || path.strip(&layout::stage()).is_some() {
            self.directories.insert(path.clone());
        }
        Ok(())
    }

    fn create(
        &mut self,
        path: &RelPath,
        content: &Content<'_>,
        attributes: Attributes,
    ) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let mut file = filesystem
            .create(path, attributes)
            .during(filesystem, "create", path)?;
        match *content {
            Content::Bytes(bytes) => file.write_all(bytes).during(filesystem, "write", path)?,
            Content::Copy {
                filesystem: from,
                path: source,
                hash,
            } => {
                let mut reader = from.open(source).during(from, "open", source)?;
                let mut hasher = Hasher::default();
                let buffer = self.hasher.buffer();
                loop {
                    let read = match reader.read(buffer) {
                        Ok(0) => break,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                        read => read.during(from, "read", source)?,
                    };
                    hasher.update(&buffer[..read]);
                    file.write_all(&buffer[..read])
                        .during(filesystem, "write", path)?;
                }
                if hasher.finish() != hash {
                    let error = io::Error::other("it changed while it was being copied");
                    return Err(StoreError::new(from, "copy", source, error));
                }
            }
        }
        if self.flush == Flush::Files {
            file.sync().during(filesystem, "flush", path)?;
        }
        Ok(())
    }

    /// Step 3 without its flush.
    fn place(&mut self, progress: &mut Progress) -> Result<(), StoreError> {
        let mut hasher = std::mem::take(&mut self.hasher);
        for step in &self.steps {
            self.place_step(step, &mut hasher, progress)?;
        }
        for follower in &self.followers {
            let wanted = |after: &RelPath| progress.done.placed.contains(after);
            if follower.after.as_ref().is_none_or(wanted) {
                self.rename_into_place(&follower.target, true, progress)?;
            }
        }
        Ok(())
    }

    fn place_step(
        &self,
        step: &Step,
        hasher: &mut FileHasher,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        let target = &step.target;
        if progress.done.placed.contains(target) || progress.done.changed.contains(target) {
            return Ok(());
        }
        let filesystem = self.lock.filesystem();
        let expected = match step.action {
            Action::Write(Expected::Absent) => {
                return self.rename_into_place(target, false, progress);
            }
            Action::Write(Expected::Content(hash))
            | Action::Remove(hash)
            | Action::Confirm(hash) => hash,
        };
        let now = hasher.hash(filesystem, target);
        if !matches!(now, Ok(Some(state)) if state.hash == expected) {
            progress.done.changed.insert(target.clone());
            return Ok(());
        }
        match step.action {
            Action::Write(_) => {
                filesystem
                    .rename(&layout::staged(target), target)
                    .during(filesystem, "replace", target)?;
                progress.touched.insert(target.parent());
            }
            Action::Remove(_) => {
                filesystem
                    .remove_file(target)
                    .during(filesystem, "remove", target)?;
                let parent = target.parent();
                let left = self.lock.remove_emptied(parent.clone());
                let gone = |d: &RelPath| {
                    d.strip(&left).is_some() && (*d == parent || parent.strip(d).is_some())
                };
                progress.touched.retain(|directory| !gone(directory));
                progress.touched.insert(left);
            }
            Action::Confirm(_) => {}
        }
        progress.done.placed.insert(target.clone());
        Ok(())
    }

    /// Renames a staged file, or with it the topmost staged directory that its target lacks.
    fn rename_into_place(
        &self,
        target: &RelPath,
        replace: bool,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let root = [layout::bases(), layout::library()]
            .into_iter()
            .find(|root| target.strip(root).is_some())
            .unwrap_or_else(|| target.parent());
        for made in self.lock.ensure_dirs(&root)? {
            progress.touched.insert(made.parent());
        }
        let mut unit = target.clone();
        for ancestor in target.ancestors_from_top() {
            if ancestor.strip(&root).is_none() {
                continue;
            }
            let there = absent_as_none(filesystem.metadata(&ancestor));
            if there.during(filesystem, "examine", &ancestor)?.is_none() {
                unit = ancestor;
                break;
            }
        }
        let from = layout::staged(&unit);
        let renamed = if replace && unit == *target {
            filesystem.rename(&from, &unit)
        } else {
            filesystem.rename_new(&from, &unit)
        };
        let list = match renamed {
            Ok(()) => {
                progress.touched.insert(unit.parent());
                &mut progress.done.placed
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => &mut progress.done.changed,
            Err(e) => return Err(StoreError::new(filesystem, "place", &unit, e)),
        };
        let targets = self.steps.iter().map(|step| &step.target);
        list.extend(targets.filter(|t| t.strip(&unit).is_some()).cloned());
        list.insert(target.clone());
        Ok(())
    }

    /// The final ledger was staged for the case that all goes well; when it did not, it is written anew.
    fn restage_settled(
        &mut self,
        journal: Option<&Journal<'_>>,
        done: &Committed,
    ) -> Result<(), StoreError> {
        let Some(journal) = journal.filter(|_| !done.changed.is_empty()) else {
            return Ok(());
        };
        let settled = (journal.settled)(&|path| done.placed.contains(path));
        self.rewrite_settled(&settled)
    }

    fn rewrite_settled(&mut self, settled: &[u8]) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let path = layout::stage().join(&document(SETTLED));
        absent_as_none(filesystem.remove_file(&path)).during(filesystem, "remove", &path)?;
        self.stage_document(SETTLED, settled)
    }

    /// After an error in the middle: what is left of the staged files goes first, for that frees space;
    /// then the ledger tells what was placed. If that can't be written, the intents stand.
    fn give_up(
        mut self,
        journal: &Journal<'_>,
        progress: Progress,
        error: StoreError,
    ) -> Committed {
        match self.record_partial(journal, &progress) {
            Ok(()) => {
                self.sweep_quietly();
                Committed {
                    error: Some(error),
                    ..progress.done
                }
            }
            Err(second) => {
                log::error!("{second}; the next start settles what was written");
                intents_stand(error)
            }
        }
    }

    fn record_partial(
        &mut self,
        journal: &Journal<'_>,
        progress: &Progress,
    ) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        for tree in [layout::library(), layout::state()] {
            let staged = layout::staged(&tree);
            truncate_staged(filesystem, &staged).during(filesystem, "empty", &staged)?;
        }
        let settled = (journal.settled)(&|path| progress.done.placed.contains(path));
        self.flush = Flush::Files;
        self.rewrite_settled(&settled)?;
        self.flush_names(&progress.touched)?;
        Ok(state_file::replace_staged(
            self.lock,
            SETTLED,
            layout::LEDGER,
            true,
        )?)
    }

    fn sweep_quietly(&self) {
        // What stays is swept at the next start.
        if let Err(e) = sweep(self.lock) {
            log::warn!("{e}");
        }
    }
}

/// Nothing may be reported as done: the next start finds the intents and settles them.
fn intents_stand(error: StoreError) -> Committed {
    Committed {
        error: Some(error),
        ..Committed::default()
    }
}

/// Attributes of a file that replaces another: its owner and mode bits, and if the executable bit is to
/// change, set for those who may read, or cleared.
#[must_use]
pub fn replacing(current: &Metadata, executable: Option<bool>) -> Attributes {
    let mode = match executable {
        None => current.mode,
        Some(true) => current.mode | (current.mode & 0o444) >> 2,
        Some(false) => current.mode & !0o111,
    };
    Attributes {
        owner: Owner { ..current.owner },
        mode,
    }
}

fn flush_directory(filesystem: &dyn Filesystem, directory: &RelPath) -> Result<(), StoreError> {
    filesystem
        .sync_dir(directory)
        .during(filesystem, "flush", directory)
}

fn document(name: &str) -> RelPath {
    RelPath::root()
        .child(name)
        .unwrap_or_else(|_| RelPath::root())
}
