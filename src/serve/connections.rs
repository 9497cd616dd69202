//! Connections, bounded in number and time: who does not send a request, or does not take its answer, is given up, and first
//! where others want to come in.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// A request must be there, and an answer taken, within this time.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long one more may have to wait for a place; it stays in the kernel's queue meanwhile.
const ADMISSION: Duration = Duration::from_secs(10);

/// All connections of one door.
pub(super) struct Connections {
    limit: usize,
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
    /// Told when one ends, or waits for its client.
    changed: Arc<Notify>,
}

/// One connection: since when it waits for its client, or that it works.
pub(super) struct Connection {
    waits: watch::Sender<Option<Instant>>,
    given_up: Notify,
    changed: Arc<Notify>,
}

/// A connection's place among the others, until it is dropped.
pub(super) struct Place {
    all: Arc<Connections>,
    number: u64,
    pub connection: Arc<Connection>,
}

impl Connections {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            next: AtomicU64::new(0),
            open: Mutex::default(),
            changed: Arc::default(),
        })
    }

    /// A place for one more; while all others work, it is waited for. `None` if that takes too long.
    pub async fn enter(self: &Arc<Self>) -> Option<Place> {
        let place = async {
            loop {
                let changed = self.changed.notified();
                if let Some(place) = self.try_enter() {
                    return place;
                }
                changed.await;
            }
        };
        tokio::time::timeout(ADMISSION, place).await.ok()
    }

    /// As [`Self::enter`], at once. Where all places are taken, that which waits longest for its client is given up.
    fn try_enter(self: &Arc<Self>) -> Option<Place> {
        let mut open = self.lock();
        if open.len() >= self.limit && !self.give_up_longest(&mut open) {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            waits: watch::Sender::new(Some(Instant::now())),
            given_up: Notify::new(),
            changed: Arc::clone(&self.changed),
        });
        open.insert(number, Arc::clone(&connection));
        Some(Place {
            all: Arc::clone(self),
            number,
            connection,
        })
    }

    /// Gives up that which waits longest for its client, if one does: descriptors are needed.
    pub fn give_one_up(&self) {
        self.give_up_longest(&mut self.lock());
    }

    fn give_up_longest(&self, open: &mut BTreeMap<u64, Arc<Connection>>) -> bool {
        let waiting = open.iter();
        let waiting = waiting.filter_map(|(number, one)| Some(((*one.waits.borrow())?, *number)));
        let longest = waiting.min().and_then(|(_, number)| open.remove(&number));
        if let Some(connection) = &longest {
            connection.given_up.notify_one();
        }
        longest.is_some()
    }

    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Waits until none is left.
    pub async fn all_ended(&self) {
        loop {
            let changed = self.changed.notified();
            if self.count() == 0 {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.all.lock().remove(&self.number);
        self.all.changed.notify_waiters();
    }
}

impl Connection {
    /// A request is there whole.
    pub fn works(&self) {
        self.waits.send_replace(None);
    }

    /// Its answer is there.
    pub fn waits(&self) {
        self.waits.send_replace(Some(Instant::now()));
        self.changed.notify_waiters();
    }

    /// Returns when the connection is to be given up.
    pub async fn is_given_up(&self) {
        let mut waits = self.waits.subscribe();
        loop {
            let since = *waits.borrow_and_update();
            let too_long = async {
                match since {
                    Some(since) => tokio::time::sleep_until(since + PATIENCE).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = too_long => return,
                () = self.given_up.notified() => return,
                changed = waits.changed() => if changed.is_err() { return },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_longest_makes_room_and_who_works_does_not() {
        let connections = Connections::new(2);
        let first = connections.try_enter().unwrap();
        let second = connections.try_enter().unwrap();
        first.connection.works();
        let third = connections.try_enter().unwrap();
        assert_eq!(connections.count(), 2);
        third.connection.works();
        assert!(connections.try_enter().is_none(), "all work");
        drop(second);
        assert_eq!(connections.count(), 2, "it was given up before");
        drop((first, third));
        assert_eq!(connections.count(), 0);
    }
}
