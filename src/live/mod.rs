//! The library of a process that stays, `serve` or `mcp`: watched, counted, and handed out run by run.

mod sessions;
mod watch;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::sleep;

pub use self::sessions::Sessions;
use self::watch::{Changes, Watch};
use crate::library;
use crate::profile::{SkillRuntime, Snapshot};
use crate::sync::{LockedLibrary, SyncError, open_to_write};
use crate::tools::{Caller, Counting, ResourceContent, Session, SkillTools, Tool, ToolError};
use crate::usage::Gathered;

/// Counts are written at most this often (contract §6).
const COUNT_INTERVAL: Duration = Duration::from_secs(5);

/// The skills, for as long as the process runs.
pub struct LiveLibrary {
    tools: RwLock<Arc<SkillTools>>,
    runtime: SkillRuntime,
    gathered: Arc<Gathered>,
    watch: Option<Watch>,
    /// Whether something was noticed that nobody was told of yet.
    noticed: AtomicBool,
    looking: Mutex<()>,
    /// One writes counts at a time.
    writing: Mutex<()>,
    /// Told when there may be counts to write.
    counted: Notify,
}

impl LiveLibrary {
    /// The library of these tools. What can't be watched is read whenever it is asked for.
    #[must_use]
    pub fn new(tools: SkillTools) -> Self {
        let gathered = Arc::new(Gathered::default());
        let watch = Watch::new(&tools.options.config_dir);
        if let Err(e) = &watch {
            log::warn!("the library can't be watched ({e}): it is read at every run");
        }
        let runtime = SkillRuntime::after(first_generation(), tools.options.clone(), tools.device);
        Self {
            tools: RwLock::new(gathering(tools, &gathered)),
            runtime,
            gathered,
            watch: watch.ok(),
            noticed: AtomicBool::new(false),
            looking: Mutex::default(),
            writing: Mutex::default(),
            counted: Notify::new(),
        }
    }

    /// Goes on with other settings.
    pub fn replace(&self, tools: SkillTools) {
        // They are the old one's.
        if let Err(e) = self.write_counts(None) {
            log::warn!("counts are kept for the next time: {e}");
        }
        let mut current = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        self.runtime.replace(tools.options.clone(), tools.device);
        *current = gathering(tools, &self.gathered);
    }

    /// The tools, with the settings of now.
    #[must_use]
    pub fn tools(&self) -> Arc<SkillTools> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&tools)
    }

    /// Calls a tool for an agent.
    ///
    /// # Errors
    /// What the agent is to read.
    pub fn call(
        &self,
        tool: Tool,
        input: &Value,
        session: &Mutex<Session>,
    ) -> Result<String, ToolError> {
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self
            .tools()
            .call(tool, input, &mut Caller::Session(&mut session));
        self.note_counts();
        answer
    }

    /// Reads a resource for an agent.
    ///
    /// # Errors
    /// What the agent is to read.
    pub fn read_resource(
        &self,
        uri: &str,
        session: &Mutex<Session>,
    ) -> Result<ResourceContent, ToolError> {
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        let mut caller = Caller::Session(&mut session);
        let read = self.tools().read_resource(uri, &mut caller);
        self.note_counts();
        read
    }

    fn note_counts(&self) {
        let evolution = self.tools().evolution.clone();
        if !self.gathered.is_empty() || evolution.is_some_and(|evolution| evolution.has_counts()) {
            self.counted.notify_one();
        }
    }

    /// What is to be noticed by the next run, although it may not be seen: settings, for one.
    pub fn mark_dirty(&self) {
        self.runtime.mark_dirty();
        self.noticed.store(true, Ordering::SeqCst);
    }

    /// The library for one run: whatever was changed before this call is in it.
    ///
    /// # Errors
    /// When the library can't be listed.
    pub fn begin_run(&self) -> Result<Arc<Snapshot>, SyncError> {
        self.look();
        self.runtime.begin_run()
    }

    /// Whether anything was changed since this was last asked.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.look();
        self.noticed.swap(false, Ordering::SeqCst)
    }

    /// Waits until something changes.
    ///
    /// # Errors
    /// When that can't be noticed here.
    pub fn wait_for_change(&self) -> io::Result<()> {
        match &self.watch {
            Some(watch) => watch.wait(),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn look(&self) {
        // Who comes second must not go on before what the first one has noticed is marked.
        let _one = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = match self.watch.as_ref().map(Watch::changes) {
            Some(Ok(changes)) => changes,
            Some(Err(e)) => {
                log::warn!(
                    "the library can't be watched ({e}): it is read at every run from now on"
                );
                Changes::ALL
            }
            None => Changes::ALL,
        };
        if changes.library {
            self.mark_dirty();
        } else if changes.usage {
            self.runtime.mark_usage_dirty();
            self.noticed.store(true, Ordering::SeqCst);
        }
    }

    /// Writes counts some time after they were made, all that came meanwhile with them; for ever.
    pub async fn keep_writing_counts(self: Arc<Self>) {
        let mut told = String::new();
        loop {
            self.counted.notified().await;
            sleep(COUNT_INTERVAL).await;
            let live = Arc::clone(&self);
            let written = tokio::task::spawn_blocking(move || {
                let written = live.write_counts(None);
                // What could not be written, or is of a skill that is not there for the moment.
                live.note_counts();
                written.map_err(|e| e.to_string()).err().unwrap_or_default()
            });
            let fault = written.await.unwrap_or_default();
            if fault != told && !fault.is_empty() {
                log::warn!("counts are kept for the next time: {fault}");
            }
            told = fault;
        }
    }

    /// Writes the counts that were gathered; what can't be written stays for the next time. Waits for the lock as long as
    /// the settings say, unless told otherwise.
    ///
    /// # Errors
    /// As of a change.
    pub fn write_counts(&self, lock_timeout: Option<Duration>) -> Result<(), ToolError> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = self.tools();
        let mut options = tools.options.clone();
        options.lock_timeout = lock_timeout.unwrap_or(options.lock_timeout);
        if let Some(evolution) = &tools.evolution {
            let tools = SkillTools {
                options: options.clone(),
                ..SkillTools::clone(&tools)
            };
            evolution.write_counts(&tools)?;
        }
        if self.gathered.is_empty() {
            return Ok(());
        }
        let filesystem = open_to_write(&options)?;
        let locked = LockedLibrary::lock(&filesystem, &options)?;
        let library = library::scan(&filesystem).map_err(|e| ToolError::new(e.to_string()))?;
        let is_there = |name: &str| {
            let mut skills = library.skills.iter();
            skills.any(|skill| match &skill.document {
                Ok(document) => document.name() == name,
                Err(_) => skill.directory.as_str() == name,
            })
        };
        let written = self.gathered.write(locked.write_lock(), is_there);
        written.map_err(|e| ToolError::new(e.to_string()))
    }
}

fn gathering(tools: SkillTools, gathered: &Arc<Gathered>) -> Arc<SkillTools> {
    Arc::new(SkillTools {
        counting: Counting::Gathered(Arc::clone(gathered)),
        ..tools
    })
}

/// Milliseconds since the boot: a process that is started again begins above what the one before has reached, and
/// whoever compares generations sees that.
fn first_generation() -> u64 {
    let since_boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(since_boot.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(since_boot.tv_nsec).unwrap_or_default();
    seconds * 1000 + nanoseconds / 1_000_000
}
