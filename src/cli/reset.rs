//! `aiden-skills reset`.

use super::args::ResetArgs;
use super::output::Tone;
use super::{Context, Exit};
use crate::sync::{Reset, ResetError, reset_skills};

pub(super) fn run(context: &Context, args: &ResetArgs) -> Exit {
    if !args.restore {
        log::error!("reset discards the user's changes to these skills; say so with --restore");
        return Exit::Usage;
    }
    let reset = if args.all {
        Reset::All
    } else {
        Reset::Named(args.names.clone())
    };
    let report = match reset_skills(&context.options, &reset) {
        Ok(report) => report,
        Err(ResetError::Sync(e)) => return context.fail_sync(&e),
        Err(e) => return context.fail(&e),
    };
    let output = &context.output;
    for problem in &report.problems {
        log::warn!("{problem}");
    }
    for name in &report.restored {
        output.say(
            Tone::Good,
            &format!("{name} restored to the built-in version."),
        );
    }
    for name in &report.unchanged {
        output.say(
            Tone::Plain,
            &format!("{name} is the built-in version already, nothing was changed."),
        );
    }
    for failed in &report.failed {
        log::error!("{} failed: {}", failed.name, failed.error);
    }
    output.document(&report);
    if report.failed.is_empty() {
        Exit::whole(report.problems.is_empty())
    } else if report.restored.is_empty() && report.unchanged.is_empty() {
        Exit::Nothing
    } else {
        Exit::Partial
    }
}
