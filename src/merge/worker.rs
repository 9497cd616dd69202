//! One merge after the other, in the order of their names (seed §8.4). A model is waited for without the lock, and given up
//! when a stop is wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::auto::Engine;
use super::model::{Answer, MergeError, MergeInput, Requests};
use super::report::MergeFailed;
use super::stop::Stop;
use super::validate::validate;
use crate::skill::ToolCatalog;
use crate::store::{Filesystem, LockError};
use crate::sync::{
    Bundle, Concluded, Conclusion, EngineSetting, MergeFailure, MergeJob, Merged, SkillSyncOptions,
    SyncError, conclude_merge, pending_merge,
};

/// How often a wish to stop is looked at while a model is waited for.
const STOP_INTERVAL: Duration = Duration::from_millis(50);
/// The same for the lock.
const LOCK_INTERVAL: Duration = Duration::from_secs(1);
/// While serving, what failed for want of an answer is tried again after these many minutes (contract §5).
pub const RETRY_MINUTES: [u32; 5] = [1, 2, 4, 8, 16];
const STOPPED: &str = "stopped before an answer was there";

/// How merges are done.
#[derive(Clone)]
pub struct MergeOptions {
    /// Where things are, and the engine setting.
    pub sync: SkillSyncOptions,
    /// What merges.
    pub engine: Engine,
    /// The known tools, if they are known.
    pub tools: Option<ToolCatalog>,
    /// The most requests that may reach a server for one key between two starts.
    pub max_attempts: u32,
    /// What was asked of servers since the start; options with the same one share `max_attempts`.
    pub asked: Asked,
    /// How long a minute of waiting is: for tests.
    pub minute: Duration,
    /// Is told of each merge as soon as it is applied, so that the runtime reloads before its next run.
    pub on_applied: Option<OnApplied>,
}

/// Requests that have reached a server, by the key of their merge.
#[derive(Debug, Clone, Default)]
pub struct Asked(Arc<Mutex<BTreeMap<String, Arc<Requests>>>>);

impl Asked {
    fn of(&self, key: &str, most: u32) -> Arc<Requests> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = all.entry(key.to_owned());
        Arc::clone(requests.or_insert_with(|| Arc::new(Requests::new(0, most))))
    }
}

/// Takes a merge that was applied.
pub type OnApplied = Arc<dyn Fn(&Merged) + Send + Sync>;

/// What happens, for whoever looks on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A merge begins.
    Started {
        /// The skill.
        name: String,
        /// Counted from 1.
        number: usize,
        /// Of so many.
        of: usize,
    },
    /// The library has a merged text: reload before the next run.
    Applied {
        /// How.
        merged: Merged,
        /// What could not be done beside it.
        problem: Option<String>,
    },
    /// The library is as it was.
    Failed(MergeFailed),
    /// The skill needs no merge any more.
    NotNeeded(String),
    /// Neither could be recorded: the message says why.
    Error {
        /// The skill.
        name: String,
        /// The store's words.
        reason: String,
    },
}

/// Merges one skill after the other.
pub struct Merger {
    options: MergeOptions,
    stop: Stop,
}

impl Merger {
    /// Nothing is done yet.
    #[must_use]
    pub fn new(options: MergeOptions, stop: Stop) -> Self {
        Self { options, stop }
    }

    /// Goes on with other options.
    pub fn replace(&mut self, options: MergeOptions) {
        self.options = options;
    }

    /// Merges these skills, where they need it; what comes after a stop is left alone. `retry` takes up what failed before,
    /// too.
    pub fn run(
        &mut self,
        filesystem: &dyn Filesystem,
        bundle: &Bundle,
        names: &BTreeSet<String>,
        retry: bool,
        observe: &mut dyn FnMut(Event),
    ) {
        for (number, name) in names.iter().enumerate() {
            if self.stop.is_wanted() {
                return;
            }
            observe(Event::Started {
                name: name.clone(),
                number: number + 1,
                of: names.len(),
            });
            let event = self.merge_one(filesystem, bundle, name, retry);
            if let (Ok(Event::Applied { merged, .. }), Some(on_applied)) =
                (&event, &self.options.on_applied)
            {
                on_applied(merged);
            }
            observe(event.unwrap_or_else(|e| Event::Error {
                name: name.clone(),
                reason: e.to_string(),
            }));
        }
    }

    /// As `run`; then what failed for want of an answer again and again, after ever longer waits, until all is merged, no
    /// try is left, a stop is wanted, or `wait` says that something else is to be done first.
    pub fn run_with_retries(
        &mut self,
        filesystem: &dyn Filesystem,
        bundle: &Bundle,
        names: &BTreeSet<String>,
        wait: &mut dyn FnMut(Duration) -> bool,
        observe: &mut dyn FnMut(Event),
    ) {
        let mut left = names.clone();
        for minutes in [0].into_iter().chain(RETRY_MINUTES) {
            if left.is_empty() || (minutes > 0 && wait(self.options.minute * minutes)) {
                return;
            }
            let mut again = BTreeSet::new();
            self.run(filesystem, bundle, &left, false, &mut |event| {
                match &event {
                    Event::Failed(failed) if failed.transient => {
                        again.insert(failed.name.clone());
                    }
                    Event::Error { name, .. } => {
                        again.insert(name.clone());
                    }
                    _ => {}
                }
                observe(event);
            });
            left = again;
        }
    }

    fn merge_one(
        &mut self,
        filesystem: &dyn Filesystem,
        bundle: &Bundle,
        name: &str,
        retry: bool,
    ) -> Result<Event, SyncError> {
        let sync = self.options.sync.clone();
        let not_needed = || Event::NotNeeded(name.to_owned());
        let Some(pending) = pending_merge(filesystem, bundle, name, sync.engine)? else {
            return Ok(not_needed());
        };
        if pending.failed_before.is_some() && !retry {
            return Ok(not_needed());
        }
        let job = pending.job;
        let answer = match pending.texts {
            Ok(texts) => self.ask(MergeInput {
                job: job.clone(),
                texts,
            }),
            Err(failure) => Err(failure),
        };
        let conclusion = match &answer {
            Ok(answer) => Conclusion::Merged {
                text: &answer.text,
                engine: answer.engine,
            },
            Err(failure) => Conclusion::Failed(failure),
        };
        Ok(match self.conclude(filesystem, bundle, &job, conclusion)? {
            Concluded::Applied { problem } => {
                let answer = answer.ok();
                let engine = answer.as_ref().map_or("", |answer| answer.engine);
                let merged = Merged {
                    name: job.name,
                    mode: Some(job.mode),
                    engine: engine.to_owned(),
                    merge_key: job.merge_key,
                    summary: answer.map(|answer| answer.summary).unwrap_or_default(),
                };
                Event::Applied { merged, problem }
            }
            Concluded::Failed(failure) => Event::Failed(failed(&job, sync.engine, failure)),
            Concluded::Superseded => not_needed(),
        })
    }

    /// Waits for the lock as long as is allowed, but not when a stop is wanted.
    fn conclude(
        &self,
        filesystem: &dyn Filesystem,
        bundle: &Bundle,
        job: &MergeJob,
        conclusion: Conclusion<'_>,
    ) -> Result<Concluded, SyncError> {
        let wanted = self.options.sync.lock_timeout;
        let mut waited = Duration::ZERO;
        loop {
            let sync = SkillSyncOptions {
                lock_timeout: LOCK_INTERVAL.min(wanted.saturating_sub(waited)),
                ..self.options.sync.clone()
            };
            waited += LOCK_INTERVAL;
            match conclude_merge(filesystem, bundle, &sync, job, conclusion) {
                Err(SyncError::Lock(LockError::Busy { .. }))
                    if waited < wanted && !self.stop.is_wanted() => {}
                Err(SyncError::Lock(LockError::Busy { path, .. })) => {
                    let seconds = waited.min(wanted).as_secs_f64();
                    return Err(LockError::Busy { path, seconds }.into());
                }
                concluded => return concluded,
            }
        }
    }

    /// The engine's answer, if it is valid; waits for it in another thread, so that a stop need not.
    fn ask(&mut self, input: MergeInput) -> Result<Answer, MergeFailure> {
        let most = self.options.max_attempts;
        let requests = self.options.asked.of(&input.job.merge_key, most);
        let input = Arc::new(input);
        let (answers, answered) = channel();
        let (engine, asked, counted) = (
            Arc::clone(&self.options.engine),
            Arc::clone(&input),
            Arc::clone(&requests),
        );
        let asking = thread::Builder::new().name("merge".into()).spawn(move || {
            // Nobody may wait for it any more.
            let _ = answers.send(engine.merge(&asked, &[], &counted));
        });
        let answer = match asking {
            Err(e) => Err(MergeError::NoAnswer(format!(
                "no thread could be started: {e}"
            ))),
            Ok(_) => loop {
                match answered.recv_timeout(STOP_INTERVAL) {
                    Ok(answer) => break answer,
                    Err(RecvTimeoutError::Timeout) if !self.stop.is_wanted() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        break Err(MergeError::NoAnswer(STOPPED.into()));
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        break Err(MergeError::NoAnswer("the engine gave up".into()));
                    }
                }
            },
        };
        answer
            .and_then(|answer| {
                validate(&answer.text, &input, self.options.tools.as_ref())?;
                Ok(answer)
            })
            .map_err(|e| e.failure(requests.made()))
    }
}

fn failed(job: &MergeJob, engine: EngineSetting, failure: MergeFailure) -> MergeFailed {
    MergeFailed {
        name: job.name.clone(),
        mode: job.mode,
        engine: engine.as_str(),
        merge_key: job.merge_key.clone(),
        error: failure.reason,
        transient: failure.is_transient,
    }
}
