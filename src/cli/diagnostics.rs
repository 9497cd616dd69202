//! Where diagnostics go: standard error, or the system log for the boot.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use log::{Level, LevelFilter, Log, Metadata, Record};
use syslog::{Facility, Formatter3164, Logger, LoggerBackend};

use super::args::LogTarget;
use super::output::one_line;

/// What the flags say about diagnostics.
pub(super) struct Diagnostics {
    pub target: LogTarget,
    pub quiet: bool,
    pub verbose: u8,
}

/// Starts logging. Without a system log the diagnostics go to standard error: a boot must not fail for that.
pub(super) fn start(wanted: &Diagnostics) {
    let least = match wanted.target {
        LogTarget::Stderr => LevelFilter::Warn,
        LogTarget::Syslog => LevelFilter::Info,
    };
    let level = match (wanted.quiet, wanted.verbose) {
        (true, _) => LevelFilter::Error,
        (false, 0) => least,
        (false, 1) => LevelFilter::Info,
        (false, _) => LevelFilter::Debug,
    };
    log::set_max_level(level);
    if wanted.target == LogTarget::Syslog {
        let formatter = Formatter3164 {
            facility: Facility::LOG_DAEMON,
            hostname: None,
            process: "aiden-skills".into(),
            pid: std::process::id(),
        };
        match SystemLog::open(formatter) {
            Ok(logger) => {
                let _ = log::set_boxed_logger(Box::new(logger));
                return;
            }
            Err(e) => {
                let _ = log::set_logger(&StandardError);
                log::warn!("the system log can't be reached ({e}); going on with standard error");
                return;
            }
        }
    }
    let _ = log::set_logger(&StandardError);
}

/// How long one message waits for a system log that does not read, and after how many such waits it is given
/// up: a boot must not hang on it.
const SEND_TIMEOUT: Duration = Duration::from_millis(250);
const MAX_FAILURES: u32 = 4;

struct SystemLog {
    logger: Mutex<Logger<LoggerBackend, Formatter3164>>,
    failures: AtomicU32,
}

impl SystemLog {
    fn open(formatter: Formatter3164) -> Result<Self, syslog::Error> {
        let logger = syslog::unix(formatter)?;
        if let LoggerBackend::Unix(socket) = &logger.backend {
            socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        }
        Ok(Self {
            logger: Mutex::new(logger),
            failures: AtomicU32::new(0),
        })
    }
}

impl Log for SystemLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level() && self.failures.load(Ordering::Relaxed) < MAX_FAILURES
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let Ok(mut logger) = self.logger.lock() else {
            return;
        };
        let message = one_line(&record.args().to_string());
        let sent = match record.level() {
            Level::Error => logger.err(message),
            Level::Warn => logger.warning(message),
            Level::Info => logger.info(message),
            Level::Debug | Level::Trace => logger.debug(message),
        };
        if sent.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush(&self) {}
}

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_ascii_lowercase();
            let message = one_line(&record.args().to_string());
            let _ = writeln!(std::io::stderr(), "aiden-skills: {level}: {message}");
        }
    }

    fn flush(&self) {}
}
