//! `aiden-skills sync`.

use super::args::SyncArgs;
use super::output::{Output, Tone};
use super::{Context, Exit};
use crate::sync::{EngineSetting, SkillSyncOptions, SkillSyncReport, sync_bundled_skills};

pub(super) fn run(context: &Context, args: &SyncArgs) -> Exit {
    let options = SkillSyncOptions {
        dry_run: args.dry_run,
        ..context.options.clone()
    };
    match sync_bundled_skills(&options) {
        Ok(report) => {
            tell(
                &context.output,
                &report,
                options.engine,
                report.merged.is_empty(),
            );
            context.output.document(&report);
            let settings = &context.settings;
            let configured = settings.warnings.is_empty() && settings.broken.is_empty();
            Exit::whole(configured && report.is_whole())
        }
        Err(e) => context.fail_sync(&e),
    }
}

/// The seed's §17 sentences where it gives one; `has_nothing_else` if no other fact follows.
pub(super) fn tell(
    output: &Output,
    report: &SkillSyncReport,
    engine: EngineSetting,
    has_nothing_else: bool,
) {
    for problem in &report.problems {
        log::warn!("{problem}");
    }
    let lists = [
        ("copied", &report.copied),
        ("updated", &report.updated),
        ("already as shipped, now recorded", &report.adopted),
        ("found blank and written again", &report.repaired),
    ];
    let synced: usize = lists.iter().map(|(_, names)| names.len()).sum();
    if report.dry_run {
        output.say(
            Tone::Plain,
            "Dry run, nothing is written; a sync would do this:",
        );
    }
    if synced > 0 {
        let plural = if synced == 1 { "" } else { "s" };
        output.say(
            Tone::Good,
            &format!("Synced {synced} built-in skill{plural}."),
        );
    } else if has_nothing_else
        && report.is_whole()
        && report.merge_needed.is_empty()
        && report.merge_skipped.is_empty()
    {
        output.say(Tone::Good, "All built-in skills are up to date.");
    }
    if output.is_verbose() {
        for (what, names) in lists {
            for name in names {
                output.say(Tone::Plain, &format!("{name} {what}."));
            }
        }
    }
    for name in &report.kept_user {
        let line = format!("{name} has been modified by user, continuing with user version.");
        output.say(Tone::Plain, &line);
    }
    for path in &report.files.kept_user {
        let line = format!("{path} has been modified by user, continuing with user version.");
        output.say(Tone::Plain, &line);
    }
    for name in &report.deleted_by_user {
        output.say(
            Tone::Plain,
            &format!("{name} was deleted by user, it stays deleted."),
        );
    }
    for name in &report.stale {
        let line = format!("{name} is not built in any more, its copy in the library stays.");
        output.say(Tone::Plain, &line);
    }
    for merged in &report.merged {
        let line = format!(
            "{} background merge completed, built-in updates applied.",
            merged.name
        );
        output.say(Tone::Good, &line);
    }
    for job in &report.merge_needed {
        if engine == EngineSetting::Off {
            let line = format!(
                "{} has both built-in updates and user modifications, merging is off, continuing with user version.",
                job.name
            );
            output.say(Tone::Attention, &line);
            continue;
        }
        let line = format!(
            "{} has both built-in updates and user modifications, added to background merge tasks.",
            job.name
        );
        output.say(Tone::Attention, &line);
    }
    for skipped in &report.merge_skipped {
        let line = format!(
            "{} merge failed, continuing with user old version. ({}; not tried again: 'merge --retry-failed' does)",
            skipped.name, skipped.error
        );
        output.say(Tone::Attention, &line);
    }
    for entry in &report.skipped_entries {
        let line = format!("{} was not copied: {}.", entry.path, entry.error);
        output.say(Tone::Attention, &line);
    }
    for failed in &report.failed {
        output.say(
            Tone::Bad,
            &format!("{} failed: {}.", failed.name, failed.error),
        );
    }
}
