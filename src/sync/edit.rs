//! The one way in which tools and people's commands change a skill of the library: settled first, durable, and told to the
//! ledger (seed §18.5, contract §5).

use super::bundle::Bundle;
use super::ledger::{self, Ledger, Status};
use super::observe::skill_directory;
use super::run::{SkillSyncOptions, SyncError, check_library_root, settle};
use crate::clock;
use crate::skill::{SKILL_FILE, SkillName};
use crate::store::{
    Batch, Content, Context, Expected, Filesystem, Flush, Hash, RelPath, StoreError, WriteLock,
    layout, replacing, state_file,
};

/// The library, locked for changes, with all that a cut left settled.
pub struct LockedLibrary<'fs> {
    lock: WriteLock<'fs>,
    ledger: Ledger,
    unreadable: bool,
    now: String,
}

impl<'fs> LockedLibrary<'fs> {
    /// Takes the lock and settles.
    ///
    /// # Errors
    /// As a sync.
    pub fn lock(
        filesystem: &'fs dyn Filesystem,
        options: &SkillSyncOptions,
    ) -> Result<Self, SyncError> {
        check_library_root(filesystem)?;
        let lock = WriteLock::acquire(filesystem, options.lock_timeout)?;
        let now = clock::now();
        let loaded = ledger::load(filesystem)?;
        // The bundle is asked for interrupted merges only.
        let bundle = if loaded.ledger.has_pending() {
            Bundle::open(&options.bundled_skills_dir)
        } else {
            Bundle::none()
        };
        let settled = settle(filesystem, Some(&lock), loaded, &bundle, &now)?;
        Ok(Self {
            lock,
            ledger: settled.ledger,
            unreadable: settled.unreadable,
            now,
        })
    }

    /// The lock, for what else is written under it.
    #[must_use]
    pub fn write_lock(&self) -> &WriteLock<'fs> {
        &self.lock
    }

    /// The time of the changes, RFC 3339.
    #[must_use]
    pub fn now(&self) -> &str {
        &self.now
    }

    /// Whether the ledger has a record of a directory of the library.
    #[must_use]
    pub fn is_recorded(&self, directory: &RelPath) -> bool {
        self.ledger.records.contains_key(directory.as_str())
    }

    /// Makes a skill, whose directory there is not yet, or has no text.
    ///
    /// # Errors
    /// The kernel's; nothing is left of it then.
    pub fn create(&mut self, name: &SkillName, text: &str) -> Result<(), SyncError> {
        let directory = skill_directory(name);
        let filesystem = self.lock.filesystem();
        let is_new = filesystem.metadata(&directory).is_err();
        let mut batch = Batch::new(&self.lock, Flush::Files);
        batch.enter(&directory, is_new);
        let target = text_of(&directory);
        let attributes = batch.fresh(false);
        let content = Content::Bytes(text.as_bytes());
        batch.write(&target, &content, Expected::Absent, attributes)?;
        self.commit(batch, &target)?;
        let directory = within_library(&directory);
        self.note_edit(&directory)
    }

    /// Replaces the text of a skill, if it is still the one with this hash.
    ///
    /// # Errors
    /// The kernel's, or that somebody else changed it.
    pub fn replace(
        &mut self,
        directory: &RelPath,
        text: &str,
        expected: Hash,
    ) -> Result<(), SyncError> {
        let root = layout::library().join(directory);
        let target = text_of(&root);
        self.write(&root, &target, text.as_bytes(), Some(expected))?;
        self.note_edit(directory)
    }

    /// Writes a supporting file of a skill; `expected` is the hash of the one that is there.
    ///
    /// # Errors
    /// The kernel's, or that somebody else changed it.
    pub fn write_file(
        &mut self,
        directory: &RelPath,
        path: &RelPath,
        bytes: &[u8],
        expected: Option<Hash>,
    ) -> Result<(), SyncError> {
        let root = layout::library().join(directory);
        self.write(&root, &root.join(path), bytes, expected)
    }

    /// Removes a supporting file of this hash, and directories that get empty by it.
    ///
    /// # Errors
    /// The kernel's, or that somebody else changed it.
    pub fn remove_file(
        &mut self,
        directory: &RelPath,
        path: &RelPath,
        hash: Hash,
    ) -> Result<(), SyncError> {
        let root = layout::library().join(directory);
        let target = root.join(path);
        let mut batch = Batch::new(&self.lock, Flush::Files);
        batch.enter(&root, false);
        batch.remove(&target, hash);
        self.commit(batch, &target)
    }

    /// Deletes a skill: its directory leaves the library in one step, and a record of it says so.
    ///
    /// # Errors
    /// The kernel's.
    pub fn delete(&mut self, directory: &RelPath) -> Result<(), SyncError> {
        self.lock.take_out(&layout::library().join(directory))?;
        if let Some(record) = self.ledger.records.get_mut(directory.as_str()) {
            record.status = Some(Status::DeletedByUser);
            record.files = None;
            record.forget_merge_failure();
            self.write_ledger()?;
        }
        // What stays is swept at the next start.
        if let Err(e) = crate::store::sweep(&self.lock) {
            log::warn!("{e}");
        }
        Ok(())
    }

    fn write(
        &self,
        root: &RelPath,
        target: &RelPath,
        bytes: &[u8],
        expected: Option<Hash>,
    ) -> Result<(), SyncError> {
        let filesystem = self.lock.filesystem();
        let mut batch = Batch::new(&self.lock, Flush::Files);
        batch.enter(root, false);
        let (expected, attributes) = match expected {
            None => (Expected::Absent, batch.fresh(false)),
            Some(hash) => {
                let current = filesystem
                    .metadata(target)
                    .during(filesystem, "examine", target)?;
                (Expected::Content(hash), replacing(&current, None))
            }
        };
        batch.write(target, &Content::Bytes(bytes), expected, attributes)?;
        self.commit(batch, target)
    }

    fn commit(&self, batch: Batch<'_, '_>, target: &RelPath) -> Result<(), SyncError> {
        let mut committed = batch.commit(None)?;
        if committed.placed.contains(target) {
            return Ok(());
        }
        let failed = committed.failed.pop_first().map(|(_, error)| error);
        if let Some(error) = failed.or(committed.error) {
            return Err(error.into());
        }
        let error = std::io::Error::other("another program changed it meanwhile; read it again");
        Err(StoreError::new(self.lock.filesystem(), "change", target, error).into())
    }

    /// The user's text is another one than was last written, and no merge of it has failed yet.
    fn note_edit(&mut self, directory: &RelPath) -> Result<(), SyncError> {
        let Some(record) = self.ledger.records.get_mut(directory.as_str()) else {
            return Ok(());
        };
        let before = record.clone();
        record.status = Some(Status::UserModified);
        record.forget_merge_failure();
        if *record == before {
            return Ok(());
        }
        self.write_ledger()
    }

    fn write_ledger(&mut self) -> Result<(), SyncError> {
        if self.unreadable {
            state_file::set_aside(&self.lock, layout::LEDGER)?;
        }
        let bytes = self.ledger.to_json(&self.now);
        state_file::write(&self.lock, layout::LEDGER, &bytes, !self.unreadable)?;
        self.unreadable = false;
        Ok(())
    }
}

fn text_of(directory: &RelPath) -> RelPath {
    directory
        .child(SKILL_FILE)
        .unwrap_or_else(|_| directory.clone())
}

fn within_library(directory: &RelPath) -> RelPath {
    let inside = directory.strip(&layout::library());
    inside.unwrap_or_else(|| directory.clone())
}
