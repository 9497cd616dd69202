//! Counts of a process that stays: gathered in memory, and written together (contract §6).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use super::{Counter, Usage};
use crate::store::{StoreError, WriteLock};

/// A skill that is not there at so many writes has gone; until then it may only have been moved away or torn.
const MAX_ABSENCES: u8 = 12;

/// What was counted and is not written yet.
#[derive(Debug, Default)]
pub struct Gathered {
    counts: Mutex<BTreeMap<(String, Counter), Count>>,
    /// Held while counts move from memory to disk, so that nobody sees them in both or in neither.
    moving: RwLock<()>,
}

#[derive(Debug, Clone, Default)]
struct Count {
    times: u64,
    last: String,
    absences: u8,
}

impl Gathered {
    /// Counts one more, at the time `now` (RFC 3339). Waits for no disk.
    pub fn note(&self, name: &str, counter: Counter, now: &str) {
        let mut counts = self.lock();
        let count = counts.entry((name.to_owned(), counter)).or_default();
        count.times = count.times.saturating_add(1);
        // All come from one clock in one form, so their order is that of the texts.
        if *count.last < *now {
            now.clone_into(&mut count.last);
        }
    }

    /// Whether all is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Usage as `read` has it from the disk, with what is not written yet.
    pub fn added_to(&self, read: impl FnOnce() -> Usage) -> Usage {
        let _moving = self.moving.read().unwrap_or_else(PoisonError::into_inner);
        let mut usage = read();
        for ((name, counter), count) in self.lock().iter() {
            usage.count_times(name, *counter, count.times, &count.last);
        }
        usage
    }

    /// A skill was deleted.
    pub fn forget(&self, name: &str) {
        self.lock().retain(|(counted, _), _| counted != name);
    }

    /// Writes what was gathered, of skills that are there; what can't be written stays, and for a while that of the others.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write(
        &self,
        lock: &WriteLock<'_>,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let _moving = self.moving.write().unwrap_or_else(PoisonError::into_inner);
        let mut written = self.lock().clone();
        written.retain(|(name, _), _| is_there(name));
        Usage::update(lock, |usage| {
            for ((name, counter), count) in &written {
                usage.count_times(name, *counter, count.times, &count.last);
            }
        })?;
        self.lock().retain(|key, count| match written.get(key) {
            Some(written) => {
                count.times = count.times.saturating_sub(written.times);
                count.absences = 0;
                count.times > 0
            }
            None if is_there(&key.0) => true,
            None => {
                count.absences += 1;
                count.absences < MAX_ABSENCES
            }
        });
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, Counter), Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
