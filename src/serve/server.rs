//! What the doors, the background work and the signals share.

use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::background::{self, Inbox};
use super::connections::Connections;
use super::message::Door;
use super::metrics::Metrics;
use super::token::Token;
use crate::live::{LiveLibrary, Sessions};
use crate::merge::{MergeOptions, Stop};
use crate::tools::SkillTools;

/// What the settings make of the tools and of the merges.
#[derive(Clone)]
pub struct Setup {
    /// The tools.
    pub tools: SkillTools,
    /// How merges are done.
    pub merge: MergeOptions,
    /// What is wrong with the settings; the defaults stand for it.
    pub problems: Vec<String>,
    /// Whether `agent.toml` could be used at all.
    pub is_usable: bool,
}

/// Reads the settings again.
pub type Reload = Box<dyn Fn() -> Setup + Send + Sync>;

/// Most connections of each door at once.
const MAX_TCP: usize = 64;
const MAX_SOCKET: usize = 64;
const MAX_CONSOLE: usize = 16;
/// Descriptors that listening, waiting and the answers themselves need.
const OWN_DESCRIPTORS: usize = 32;
/// So long a request waits for the first sync; then it sees what there is.
const FIRST_SYNC_WAIT: Duration = Duration::from_millis(600);

/// The daemon.
pub(super) struct Server {
    pub live: Arc<LiveLibrary>,
    pub merge: RwLock<MergeOptions>,
    pub sessions: Sessions,
    pub metrics: Metrics,
    pub inbox: Inbox,
    pub stop: Stop,
    pub token: Option<Token>,
    pub tcp: Arc<Connections>,
    pub socket: Arc<Connections>,
    pub console: Arc<Connections>,
    /// Merges are done one at a time, whoever wants them.
    pub merging: Mutex<()>,
    reload: Reload,
    first_sync: (Mutex<bool>, Condvar),
}

impl Server {
    pub fn new(setup: Setup, reload: Reload, token: Option<Token>) -> Self {
        // Where there are few descriptors, the doors share them as they would share many.
        let left = descriptors().saturating_sub(OWN_DESCRIPTORS);
        let places = |most: usize| {
            let share = left.saturating_mul(most) / (MAX_TCP + MAX_SOCKET + MAX_CONSOLE);
            Connections::new(most.min(share.max(1)))
        };
        Self {
            live: Arc::new(LiveLibrary::new(setup.tools)),
            merge: RwLock::new(setup.merge),
            sessions: Sessions::default(),
            metrics: Metrics::default(),
            inbox: Inbox::default(),
            stop: Stop::default(),
            token,
            tcp: places(MAX_TCP),
            socket: places(MAX_SOCKET),
            console: places(MAX_CONSOLE),
            merging: Mutex::default(),
            reload,
            first_sync: (Mutex::new(false), Condvar::new()),
        }
    }

    pub fn connections(&self, door: Door) -> &Arc<Connections> {
        match door {
            Door::Tcp => &self.tcp,
            Door::Socket => &self.socket,
            Door::Console => &self.console,
        }
    }

    pub fn merge_options(&self) -> MergeOptions {
        let merge = self.merge.read().unwrap_or_else(PoisonError::into_inner);
        merge.clone()
    }

    /// Reads the settings again, and syncs; merges follow in the background. To be called by one at a time.
    pub fn reload(&self) {
        let setup = (self.reload)();
        for problem in &setup.problems {
            log::warn!("{problem}");
        }
        if setup.is_usable {
            self.live.replace(setup.tools);
            let mut merge = self.merge.write().unwrap_or_else(PoisonError::into_inner);
            let asked = merge.asked.clone();
            *merge = MergeOptions {
                asked,
                ..setup.merge
            };
            drop(merge);
            log::info!("the settings were read again");
        } else {
            log::warn!("going on with the settings of before");
        }
        let needs_merges =
            background::sync(self).is_ok_and(|report| !report.merge_needed.is_empty());
        if needs_merges {
            self.inbox.wish_sync();
        }
    }

    pub fn first_sync_is_done(&self) {
        let (done, changed) = &self.first_sync;
        *done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Waits for the first sync, a little.
    pub fn await_first_sync(&self) {
        let (done, changed) = &self.first_sync;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = changed.wait_timeout_while(done, FIRST_SYNC_WAIT, |done| !*done);
    }
}

/// How many descriptors this process may have; as many as it is allowed to ask for.
fn descriptors() -> usize {
    let limit = Resource::RLIMIT_NOFILE;
    let Ok((soft, hard)) = getrlimit(limit) else {
        return 0;
    };
    let most = match setrlimit(limit, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    };
    usize::try_from(most).unwrap_or(usize::MAX)
}
