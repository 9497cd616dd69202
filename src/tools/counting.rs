//! How the tools count: at once, or gathered by a process that stays.

use std::sync::Arc;

use super::{SkillTools, ToolError};
use crate::clock;
use crate::store::Filesystem;
use crate::sync::{LockedLibrary, open_to_write};
use crate::usage::{Counter, Gathered, Usage};

/// When a count reaches `usage.json`.
#[derive(Debug, Clone, Default)]
pub enum Counting {
    /// With the call.
    #[default]
    AtOnce,
    /// When the one who serves writes what was gathered.
    Gathered(Arc<Gathered>),
}

impl SkillTools {
    /// Usage, with what is not written yet.
    pub(super) fn usage(&self, filesystem: &dyn Filesystem) -> Usage {
        let read = || Usage::load(filesystem).usage;
        match &self.counting {
            Counting::AtOnce => read(),
            Counting::Gathered(gathered) => gathered.added_to(read),
        }
    }

    /// Counts, if that can be written: nobody is refused a text for that.
    pub(super) fn count(&self, name: &str, counter: Counter) {
        if let Counting::Gathered(gathered) = &self.counting {
            return gathered.note(name, counter, &clock::now());
        }
        let counted = || -> Result<(), ToolError> {
            let filesystem = open_to_write(&self.options)?;
            let locked = LockedLibrary::lock(&filesystem, &self.options)?;
            self.count_locked(&locked, name, counter);
            Ok(())
        };
        if let Err(e) = counted() {
            log::warn!("it was not counted: {e}");
        }
    }

    /// As [`Self::count`], for who has the lock.
    pub(super) fn count_locked(&self, locked: &LockedLibrary<'_>, name: &str, counter: Counter) {
        if let Counting::Gathered(gathered) = &self.counting {
            return gathered.note(name, counter, locked.now());
        }
        let counted = Usage::update(locked.write_lock(), |usage| {
            usage.count(name, counter, locked.now());
        });
        if let Err(e) = counted {
            log::warn!("it was not counted: {e}");
        }
    }

    /// Forgets what was counted of a skill that is deleted.
    pub(super) fn forget(&self, locked: &LockedLibrary<'_>, name: &str) {
        if let Counting::Gathered(gathered) = &self.counting {
            gathered.forget(name);
        }
        let forgotten = Usage::update(locked.write_lock(), |usage| usage.forget(name));
        if let Err(e) = forgotten {
            log::warn!("{e}");
        }
    }
}
