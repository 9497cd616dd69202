//! The command: flags → settings → one file a command → exit code.

mod args;
mod diagnostics;
mod diff;
mod doctor;
mod evolve;
mod exit;
mod lint;
mod mcp;
mod merge;
mod output;
mod profile;
mod reset;
mod serve;
mod status;
mod sync;
mod tool;

use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;

pub use args::command;
use args::{Args, Command};
use diagnostics::Diagnostics;
pub use exit::Exit;
use output::Output;

use crate::config::{Overrides, Settings};
use crate::store::UnsafeFilesystems;
use crate::sync::{SkillSyncOptions, SyncError};

/// What every command has at hand.
struct Context {
    flags: Flags,
    settings: Settings,
    options: SkillSyncOptions,
    output: Output,
}

/// The global flags that settings and options come from.
#[derive(Clone)]
struct Flags {
    overrides: Overrides,
    lock_timeout: Duration,
    unsafe_filesystems: UnsafeFilesystems,
}

impl Flags {
    /// The settings of now.
    fn settings(&self) -> Settings {
        Settings::resolve(self.overrides.clone(), &|name| std::env::var_os(name))
    }

    fn options(&self, settings: &Settings) -> SkillSyncOptions {
        SkillSyncOptions {
            lock_timeout: self.lock_timeout,
            unsafe_filesystems: self.unsafe_filesystems,
            engine: settings.engine,
            ages: settings.ages,
            ..SkillSyncOptions::new(&settings.config_dir, &settings.bundled_dir)
        }
    }
}

impl Context {
    /// Tells why nothing was done.
    fn fail(&self, error: &dyn std::fmt::Display) -> Exit {
        log::error!("{error}");
        self.output.failure(error);
        Exit::Nothing
    }

    fn fail_sync(&self, error: &SyncError) -> Exit {
        self.fail(error);
        Exit::of_sync(error)
    }
}

/// Runs the program with these arguments (the first is its name) and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(e) => {
            // Help and version are asked for; all else is wrong usage.
            let exit = if e.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            let _ = e.print();
            return exit;
        }
    };
    let global = args.global;
    diagnostics::start(&Diagnostics {
        target: global.log,
        quiet: global.quiet,
        verbose: global.verbose,
    });
    let output = Output::new(&global);
    let flags = Flags {
        overrides: Overrides {
            config_dir: global.config_dir,
            bundled_dir: global.bundled_dir,
            device_type: global.device_type,
            tools_file: global.tools_file,
            engine: global.engine,
        },
        lock_timeout: global.lock_timeout,
        unsafe_filesystems: match global.allow_unsafe_filesystem {
            true => UnsafeFilesystems::Allow,
            false => UnsafeFilesystems::Refuse,
        },
    };
    let settings = flags.settings();
    for problem in settings.warnings.iter().chain(&settings.broken) {
        log::warn!("{problem}");
    }
    let goes_on = matches!(args.command, Command::Sync(_) | Command::Serve(_));
    if goes_on && !settings.broken.is_empty() {
        log::warn!("going on with the defaults for what can't be used");
    }
    let options = flags.options(&settings);
    let context = Context {
        flags,
        settings,
        options,
        output,
    };
    if !goes_on && !context.settings.broken.is_empty() {
        let advice = "correct agent.toml, or move it away; only sync and serve go on without it";
        return context.fail(&advice);
    }
    match args.command {
        Command::Sync(args) => sync::run(&context, &args),
        Command::Merge(args) => merge::run(&context, &args),
        Command::Status(args) => status::run(&context, &args),
        Command::Diff(args) => diff::run(&context, &args),
        Command::Reset(args) => reset::run(&context, &args),
        Command::Tools(args) => tool::schemas_of(&context, &args),
        Command::Tool(args) => tool::call(&context, &args),
        Command::Profile(args) => profile::run(&context, &args),
        Command::Serve(args) => serve::run(&context, &args),
        Command::Mcp => mcp::run(&context),
        Command::Evolve(args) => evolve::run(&context, &args),
        Command::Lint(args) => lint::run(&context, &args),
        Command::Doctor => doctor::run(&context),
    }
}
