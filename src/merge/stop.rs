//! A wish to stop, which whoever waits hears at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    shared: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// Asks to stop.
    pub fn stop(&self) {
        let (wanted, changed) = &*self.shared;
        *wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Whether to stop.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; says whether to stop.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        let (wanted, changed) = &*self.shared;
        let guard = wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(guard, at_most, |wanted| !*wanted);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
