//! Where diagnostics go: standard error, or the system log for the boot.

use std::io::Write;

use log::{LevelFilter, Log, Metadata, Record};
use syslog::{BasicLogger, Facility, Formatter3164};

use super::args::LogTarget;

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
        match syslog::unix(formatter) {
            Ok(logger) => {
                let _ = log::set_boxed_logger(Box::new(BasicLogger::new(logger)));
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

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_ascii_lowercase();
            let _ = writeln!(
                std::io::stderr(),
                "aiden-skills: {level}: {}",
                record.args()
            );
        }
    }

    fn flush(&self) {}
}
