//! Counts of a process that stays: gathered in memory, and written together (contract §6).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Counter, Usage};
use crate::store::{StoreError, WriteLock};

/// What was counted and is not written yet.
#[derive(Debug, Default)]
pub struct Gathered {
    counts: Mutex<Counted>,
}

/// By skill and counter: how often, and when last.
type Counted = BTreeMap<(String, Counter), (u64, String)>;

impl Gathered {
    /// Counts one more, at the time `now` (RFC 3339).
    pub fn note(&self, name: &str, counter: Counter, now: &str) {
        add(&mut self.lock(), name, counter, 1, now);
    }

    /// Whether all is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Adds what is not written yet to usage as it was read.
    pub fn add_to(&self, usage: &mut Usage) {
        count_all(&self.lock(), usage, |_| true);
    }

    /// A skill was deleted.
    pub fn forget(&self, name: &str) {
        self.lock().retain(|(counted, _), _| counted != name);
    }

    /// Writes what was gathered, of skills that there still are; what can't be written stays.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write(
        &self,
        lock: &WriteLock<'_>,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let taken = std::mem::take(&mut *self.lock());
        let written = Usage::update(lock, |usage| count_all(&taken, usage, is_there));
        if written.is_err() {
            let mut counts = self.lock();
            for ((name, counter), (times, last)) in taken {
                add(&mut counts, &name, counter, times, &last);
            }
        }
        written
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add(counts: &mut Counted, name: &str, counter: Counter, times: u64, now: &str) {
    let entry = counts.entry((name.to_owned(), counter)).or_default();
    entry.0 = entry.0.saturating_add(times);
    // All come from one clock in one form, so their order is that of the texts.
    if *entry.1 < *now {
        now.clone_into(&mut entry.1);
    }
}

fn count_all(counts: &Counted, usage: &mut Usage, is_wanted: impl Fn(&str) -> bool) {
    for ((name, counter), (times, last)) in counts {
        if is_wanted(name) {
            usage.count_times(name, *counter, *times, last);
        }
    }
}
