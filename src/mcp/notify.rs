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
}

/// What a client knows of the resources.
pub(super) struct Known {
    list: Vec<SkillResource>,
}

impl Changes {
    pub fn new(live: Arc<LiveLibrary>) -> Arc<Self> {
        Arc::new(Self {
            live,
            noticed: watch::Sender::new(0),
            subscribed: Mutex::default(),
        })
    }

    pub fn noticed(&self) -> watch::Receiver<u64> {
        self.noticed.subscribe()
    }

    pub fn known(&self) -> Known {
        Known { list: self.list() }
    }

    pub fn hash(&self, uri: &str) -> Option<Hash> {
        self.live.tools().resource_hash(uri)
    }

    /// Whether the list is another one than this client knows, which it then knows.
    pub fn list_differs(&self, known: &mut Known) -> bool {
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
    pub fn updated(&self, known: &mut BTreeMap<String, Option<Hash>>) -> Vec<String> {
        let mut updated = Vec::new();
        for (uri, hash) in known {
            let now = self.hash(uri);
            if now != *hash {
                *hash = now;
                updated.push(uri.clone());
            }
        }
        updated
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
        if changes.list_differs(&mut known) && peer.notify_resource_list_changed().await.is_err() {
            return;
        }
        let updated = {
            let mut subscribed = changes
                .subscribed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            changes.updated(&mut subscribed)
        };
        for uri in updated {
            let notice = ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(notice).await.is_err() {
                return;
            }
        }
    }
}
