//! The skills of a running agent: a run keeps what it began with, the next one sees what has changed (seed §8.5).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Profile, Wanted, render};
use crate::library;
use crate::skill::{DeviceType, SkillDocument};
use crate::sync::{SkillSyncOptions, SyncError, open_to_look};
use crate::usage::{State, Usage};

/// The library as it was at one moment; it does not change.
#[derive(Debug, Default)]
pub struct Snapshot {
    documents: Arc<[SkillDocument]>,
    usage: Usage,
    device: Option<DeviceType>,
    /// Grows with each change of what an agent sees; the first is that of the runtime.
    pub generation: u64,
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
        let mut documents = Vec::new();
        for skill in library.skills {
            match skill.document {
                Ok(document) => documents.push(document),
                Err(e) => snapshot.problems.push(format!("{}: {e}", skill.directory)),
            }
        }
        snapshot.documents = documents.into();
        Ok(snapshot)
    }

    /// The same skills, with the usage of now.
    fn with_usage(&self, options: &SkillSyncOptions) -> Result<Self, SyncError> {
        let filesystem = open_to_look(&options.config_dir)?;
        Ok(Self {
            documents: Arc::clone(&self.documents),
            usage: Usage::load(&*filesystem).usage,
            device: self.device,
            generation: self.generation,
            problems: self.problems.clone(),
        })
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

    /// Whether an agent sees the same in both: counters, for one, it does not see.
    fn shows_the_same(&self, other: &Self) -> bool {
        let states = |snapshot: &Self| -> Vec<State> {
            let documents = snapshot.documents.iter();
            documents
                .map(|document| snapshot.usage.lifecycle(document.name()))
                .collect()
        };
        self.device == other.device
            && self.documents == other.documents
            && states(self) == states(other)
    }
}

/// Hands out the library to one run after the other. Clones share it.
#[derive(Clone)]
pub struct SkillRuntime {
    shared: Arc<Shared>,
}

struct Shared {
    dirty: AtomicBool,
    usage_dirty: AtomicBool,
    last: Mutex<Last>,
}

struct Last {
    options: SkillSyncOptions,
    device: Option<DeviceType>,
    generation: u64,
    snapshot: Option<Arc<Snapshot>>,
}

impl SkillRuntime {
    /// Nothing is loaded yet; the first snapshot will have the generation 1.
    #[must_use]
    pub fn new(options: SkillSyncOptions, device: Option<DeviceType>) -> Self {
        Self::after(0, options, device)
    }

    /// As [`Self::new`]; the generation of the first snapshot is the one after `generation`, which an earlier process of
    /// the same boot may have reached.
    #[must_use]
    pub fn after(generation: u64, options: SkillSyncOptions, device: Option<DeviceType>) -> Self {
        Self {
            shared: Arc::new(Shared {
                dirty: AtomicBool::new(false),
                usage_dirty: AtomicBool::new(false),
                last: Mutex::new(Last {
                    options,
                    device,
                    generation,
                    snapshot: None,
                }),
            }),
        }
    }

    /// Goes on under other settings; generations go on, too.
    pub fn replace(&self, options: SkillSyncOptions, device: Option<DeviceType>) {
        let mut last = self
            .shared
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        last.options = options;
        last.device = device;
        self.mark_dirty();
    }

    /// Something in the library has changed: a merge was applied, a tool changed a skill. The next run sees it.
    pub fn mark_dirty(&self) {
        self.shared.dirty.store(true, Ordering::SeqCst);
    }

    /// The usage file has changed: states may be others. The next run sees it.
    pub fn mark_usage_dirty(&self) {
        self.shared.usage_dirty.store(true, Ordering::SeqCst);
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
        let usage_dirty = self.shared.usage_dirty.swap(false, Ordering::SeqCst);
        let loaded = match last.snapshot.as_ref().filter(|_| !dirty) {
            Some(snapshot) if !usage_dirty => return Ok(Arc::clone(snapshot)),
            Some(snapshot) => snapshot.with_usage(&last.options),
            None => Snapshot::load(&last.options, last.device),
        };
        let mut snapshot = match loaded {
            Ok(snapshot) => snapshot,
            Err(e) => {
                self.mark_dirty();
                return Err(e);
            }
        };
        let same = last.snapshot.as_ref();
        if same.is_none_or(|last| !last.shows_the_same(&snapshot)) {
            last.generation += 1;
        }
        snapshot.generation = last.generation;
        let snapshot = Arc::new(snapshot);
        last.snapshot = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }
}
