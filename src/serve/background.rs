//! What the daemon does by itself: a sync at start, then the merges that it names, and both again when somebody wishes it or
//! when they failed for want of space or network.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::metrics::MergeOutcome;
use super::server::Server;
use crate::merge::{Event, Merger, RETRY_MINUTES};
use crate::sync::{
    Bundle, BundleState, EngineSetting, SkillSyncReport, SyncError, open_to_write,
    sync_bundled_skills,
};

/// What is wished of the background work.
#[derive(Default)]
pub(super) struct Inbox {
    wishes: Mutex<Wishes>,
    changed: Condvar,
}

#[derive(Default)]
struct Wishes {
    sync: bool,
    stop: bool,
}

impl Inbox {
    /// A sync, and what it names.
    pub fn wish_sync(&self) {
        self.lock().sync = true;
        self.changed.notify_all();
    }

    pub fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Waits at most so long, or for ever; says whether something is wished.
    fn wait(&self, at_most: Option<Duration>) -> bool {
        let nothing = |wishes: &mut Wishes| !wishes.sync && !wishes.stop;
        let guard = self.lock();
        let guard = match at_most {
            Some(at_most) => {
                let waited = self.changed.wait_timeout_while(guard, at_most, nothing);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait_while(guard, nothing);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        guard.sync || guard.stop
    }

    fn lock(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works until a stop is wished.
pub(super) fn work(server: &Server) {
    let mut merger = Merger::new(server.merge_options(), server.stop.clone());
    let mut retries = RETRY_MINUTES.iter();
    loop {
        server.inbox.lock().sync = false;
        merger.replace(server.merge_options());
        let synced = sync(server);
        server.first_sync_is_done();
        let is_done = match &synced {
            Ok(report) => {
                merge(server, &mut merger, report);
                report.failed.is_empty()
            }
            Err(_) => false,
        };
        let minute = server.merge_options().minute;
        let wait = match is_done {
            true => None,
            false => retries.next().map(|minutes| minute * *minutes),
        };
        if server.inbox.wait(wait) {
            retries = RETRY_MINUTES.iter();
        }
        if server.inbox.lock().stop {
            return;
        }
    }
}

/// A sync with the settings of now, told to the log and counted.
pub(super) fn sync(server: &Server) -> Result<SkillSyncReport, SyncError> {
    let options = server.merge_options().sync;
    let synced = sync_bundled_skills(&options);
    match &synced {
        Ok(report) => {
            server.metrics.sync(report.is_whole());
            for problem in &report.problems {
                log::warn!("{problem}");
            }
            for failed in &report.failed {
                log::warn!("{} failed: {}", failed.name, failed.error);
            }
            for skipped in &report.skipped_entries {
                log::warn!("{} is skipped: {}", skipped.path, skipped.error);
            }
            let [copied, updated] = [&report.copied, &report.updated].map(Vec::len);
            log::info!(
                "synced: {copied} copied, {updated} updated, {} to merge, {} failed",
                report.merge_needed.len(),
                report.failed.len()
            );
        }
        Err(e) => {
            server.metrics.sync(false);
            log::error!("the skills could not be synced: {e}");
        }
    }
    synced
}

fn merge(server: &Server, merger: &mut Merger, report: &SkillSyncReport) {
    let options = server.merge_options().sync;
    let names: BTreeSet<String> = report
        .merge_needed
        .iter()
        .map(|job| job.name.clone())
        .collect();
    if names.is_empty() || options.engine == EngineSetting::Off {
        return;
    }
    let bundle = Bundle::open(&options.bundled_skills_dir);
    if bundle.state != BundleState::Ok {
        return;
    }
    let filesystem = match open_to_write(&options) {
        Ok(filesystem) => filesystem,
        Err(e) => return log::error!("{e}"),
    };
    let lock = || {
        server
            .merging
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    };
    let mut merging = Some(lock());
    let mut wait = |at_most| {
        merging = None;
        let is_wished = server.inbox.wait(Some(at_most));
        merging = Some(lock());
        is_wished
    };
    merger.run_with_retries(&filesystem, &bundle, &names, &mut wait, &mut |event| {
        note(server, &event);
    });
}

/// Counts what became of a merge, and tells the log.
pub(super) fn note(server: &Server, event: &Event) {
    match event {
        Event::Started { name, number, of } => log::info!("merging {name} ({number} of {of})"),
        Event::Applied { merged, problem } => {
            server.metrics.merge(MergeOutcome::Applied);
            log::info!("{} is merged ({})", merged.name, merged.engine);
            if let Some(problem) = problem {
                log::warn!("{problem}");
            }
        }
        Event::Failed(failed) => {
            server.metrics.merge(match failed.transient {
                true => MergeOutcome::Transient,
                false => MergeOutcome::Failed,
            });
            log::warn!(
                "{} merge failed, continuing with user old version. ({})",
                failed.name,
                failed.error
            );
        }
        Event::NotNeeded(_) => {}
        Event::Error { name, reason } => {
            server.metrics.merge(MergeOutcome::Transient);
            log::error!("{name}: {reason}");
        }
    }
}
