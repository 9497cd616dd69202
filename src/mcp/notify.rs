//! Telling clients what has changed: the list of resources, and those that they have asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer};
use tokio::sync::watch;

use crate::live::LiveLibrary;
use crate::store::Hash;
use crate::tools::SkillResource;

/// Writers do several things one after the other; one notice tells of all.
const SETTLING: Duration = Duration::from_millis(100);

/// What is known to clients, and what they asked to be told of.
pub(super) struct Changes {
    live: Arc<LiveLibrary>,
    /// Grows with each change that was noticed.
    noticed: watch::Sender<u64>,
    /// Of clients of the protocol before 2026-07-28.
    pub subscribed: Mutex<BTreeMap<String, Option<Hash>>>,
    /// What those know who are about to listen: from when they asked, for by the time they listen it may be another.
    promised: Mutex<Known>,
}

/// What a client knows of the resources.
#[derive(Clone, Default)]
pub(super) struct Known {
    list: Vec<SkillResource>,
    hashes: BTreeMap<String, Option<Hash>>,
}

impl Changes {
    pub fn new(live: Arc<LiveLibrary>) -> Arc<Self> {
        Arc::new(Self {
            live,
            noticed: watch::Sender::new(0),
            subscribed: Mutex::default(),
            promised: Mutex::default(),
        })
    }

    /// Remembers how things are when a client asks to be told of changes of them.
    pub fn promise(&self, uris: &[String]) {
        let mut known = self.known();
        known.hashes = self.hashes(uris);
        *self.promised.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// What was remembered last, of these.
    pub fn promised(&self, uris: &[String]) -> Known {
        let promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = promised.clone();
        known.hashes.retain(|uri, _| uris.contains(uri));
        known
    }

    pub fn noticed(&self) -> watch::Receiver<u64> {
        self.noticed.subscribe()
    }

    pub fn known(&self) -> Known {
        Known {
            list: self.list(),
            hashes: BTreeMap::new(),
        }
    }

    pub fn hashes(&self, uris: &[String]) -> BTreeMap<String, Option<Hash>> {
        self.live.tools().resource_hashes(uris)
    }

    /// Whether the list is another one than this client knows, which it then knows.
    fn list_differs(&self, known: &mut Known) -> bool {
        let list = self.list();
        let names = |list: &[SkillResource]| -> Vec<(String, Option<String>)> {
            let named = list.iter();
            named
                .map(|one| (one.uri.clone(), one.description.clone()))
                .collect()
        };
        let differs = names(&list) != names(&known.list);
        known.list = list;
        differs
    }

    /// Which of these have another content now, which is then the known one.
    fn updated(&self, known: &mut BTreeMap<String, Option<Hash>>) -> Vec<String> {
        let uris: Vec<String> = known.keys().cloned().collect();
        if uris.is_empty() {
            return uris;
        }
        let now = self.hashes(&uris);
        let differs = |uri: &String| now.get(uri) != known.get(uri);
        let updated = uris.iter().filter(|uri| differs(uri)).cloned().collect();
        *known = now;
        updated
    }

    /// What is to be told to a client that knows this: whether the list differs, and which have another content. On a thread
    /// of its own, for it reads the library.
    pub async fn news(self: &Arc<Self>, mut known: Known) -> (Known, bool, Vec<String>) {
        let changes = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || {
            let differs = changes.list_differs(&mut known);
            let updated = changes.updated(&mut known.hashes);
            (known, differs, updated)
        });
        read.await.unwrap_or_default()
    }

    fn list(&self) -> Vec<SkillResource> {
        self.live.tools().resources().unwrap_or_else(|e| {
            log::warn!("the resources can't be listed: {e}");
            Vec::new()
        })
    }
}

/// Notices what changes, for as long as that can be watched; on a thread of its own.
pub(super) fn watch(live: &LiveLibrary, changes: &Changes) {
    loop {
        if let Err(e) = live.wait_for_change() {
            return log::warn!("clients are not told of changes: {e}");
        }
        thread::sleep(SETTLING);
        if live.has_changed() {
            changes.noticed.send_modify(|noticed| *noticed += 1);
        }
    }
}

/// Tells a client of the protocol before 2026-07-28.
pub(super) async fn tell(peer: Peer<RoleServer>, changes: Arc<Changes>) {
    let mut noticed = changes.noticed();
    let mut known = changes.known();
    while noticed.changed().await.is_ok() {
        known.hashes = {
            let subscribed = changes
                .subscribed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            subscribed.clone()
        };
        let (now, differs, updated) = changes.news(known).await;
        known = now;
        {
            let mut subscribed = changes
                .subscribed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for (uri, hash) in &known.hashes {
                if let Some(kept) = subscribed.get_mut(uri) {
                    *kept = *hash;
                }
            }
        }
        if differs && peer.notify_resource_list_changed().await.is_err() {
            return;
        }
        for uri in updated {
            let notice = ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(notice).await.is_err() {
                return;
            }
        }
    }
}
