//! What agents have read that name their session in a header, from one connection to the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::tools::Session;

/// More sessions than this are not kept: that which was used least recently goes, and its agent reads again.
const MAX_SESSIONS: usize = 128;

/// By name.
#[derive(Debug, Default)]
pub struct Sessions {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    clock: u64,
    sessions: BTreeMap<String, (u64, Arc<Mutex<Session>>)>,
}

impl Sessions {
    /// The session of this name; a new one has read nothing.
    #[must_use]
    pub fn named(&self, name: &str) -> Arc<Mutex<Session>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clock += 1;
        let now = known.clock;
        if let Some((last, session)) = known.sessions.get_mut(name) {
            *last = now;
            return Arc::clone(session);
        }
        if known.sessions.len() >= MAX_SESSIONS {
            let oldest = known.sessions.iter().min_by_key(|(_, (last, _))| *last);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                known.sessions.remove(&oldest);
            }
        }
        let session = Arc::default();
        let kept = (now, Arc::clone(&session));
        known.sessions.insert(name.to_owned(), kept);
        session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_session_until_too_many_others_came() {
        let sessions = Sessions::default();
        let (a, b) = (sessions.named("a"), sessions.named("b"));
        assert!(Arc::ptr_eq(&a, &sessions.named("a")) && !Arc::ptr_eq(&a, &b));
        for n in 0..MAX_SESSIONS - 1 {
            let _ = sessions.named(&n.to_string());
        }
        assert!(Arc::ptr_eq(&a, &sessions.named("a")), "used after b");
        assert!(!Arc::ptr_eq(&b, &sessions.named("b")));
    }
}
