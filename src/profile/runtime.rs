//! The skills of a running agent: a run keeps what it began with, the next one sees what has changed (seed §8.5).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Profile, Wanted, render};
use crate::library;
use crate::skill::{DeviceType, SkillDocument};
use crate::sync::{SkillSyncOptions, SyncError, open_to_look};
use crate::usage::Usage;

/// The library as it was at one moment; it does not change.
#[derive(Debug, Default)]
pub struct Snapshot {
    documents: Vec<SkillDocument>,
    usage: Usage,
    device: Option<DeviceType>,
    /// What did not load, and why.
    pub problems: Vec<String>,
}

impl Snapshot {
    /// Loads the library.
    ///
    /// # Errors
    /// When it can't be listed.
    pub fn load(options: &SkillSyncOptions, device: Option<DeviceType>) -> Result<Self, SyncError> {
        let filesystem = open_to_look(&options.config_dir)?;
        let library = library::scan(&*filesystem)?;
        let mut snapshot = Self {
            usage: Usage::load(&*filesystem).usage,
            device,
            ..Self::default()
        };
        let told = library
            .problems
            .into_iter()
            .map(|problem| format!("{} {}", problem.path, problem.message));
        snapshot.problems.extend(told);
        for skill in library.skills {
            match skill.document {
                Ok(document) => snapshot.documents.push(document),
                Err(e) => snapshot.problems.push(format!("{}: {e}", skill.directory)),
            }
        }
        Ok(snapshot)
    }

    /// The skill sections of a system prompt.
    #[must_use]
    pub fn profile(&self, wanted: &Wanted) -> Profile {
        render(&self.documents, &self.usage, self.device, wanted)
    }

    /// The skills that load, in byte order of their directories.
    #[must_use]
    pub fn documents(&self) -> &[SkillDocument] {
        &self.documents
    }
}

/// Hands out the library to one run after the other. Clones share it.
#[derive(Clone)]
pub struct SkillRuntime {
    options: SkillSyncOptions,
    device: Option<DeviceType>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    dirty: AtomicBool,
    last: Mutex<Option<Arc<Snapshot>>>,
}

impl SkillRuntime {
    /// Nothing is loaded yet.
    #[must_use]
    pub fn new(options: SkillSyncOptions, device: Option<DeviceType>) -> Self {
        Self {
            options,
            device,
            shared: Arc::default(),
        }
    }

    /// Something in the library has changed: a merge was applied, a tool changed a skill. The next run sees it.
    pub fn mark_dirty(&self) {
        self.shared.dirty.store(true, Ordering::SeqCst);
    }

    /// The library for one run: as at the last one, unless it was marked dirty since.
    ///
    /// # Errors
    /// When the library can't be listed; the next run tries again.
    pub fn begin_run(&self) -> Result<Arc<Snapshot>, SyncError> {
        let mut last = self
            .shared
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Taken before the library is read: what changes while it is read is for the next run.
        let dirty = self.shared.dirty.swap(false, Ordering::SeqCst);
        if let Some(last) = last.as_ref().filter(|_| !dirty) {
            return Ok(Arc::clone(last));
        }
        match Snapshot::load(&self.options, self.device) {
            Ok(snapshot) => {
                let snapshot = Arc::new(snapshot);
                *last = Some(Arc::clone(&snapshot));
                Ok(snapshot)
            }
            Err(e) => {
                self.mark_dirty();
                Err(e)
            }
        }
    }
}
