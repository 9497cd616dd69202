//! `aiden-skills status`.

use super::args::StatusArgs;
use super::output::{Output, Tone};
use super::{Context, Exit};
use crate::merge::status_with_merges;
use crate::store::{Hash, RelPath};
use crate::sync::ledger::LedgerState;
use crate::sync::{BundleState, MergeOutlook, SkillStatus};
use crate::usage::{Ages, State};

const HEADINGS: [&str; 7] = [
    "SKILL",
    "RECORDED",
    "NEXT SYNC",
    "BUNDLED",
    "LIBRARY",
    "ORIGIN",
    "WRITTEN",
];
/// Digits of a hash that a table shows.
const SHOWN_DIGITS: usize = 12;

pub(super) fn run(context: &Context, args: &StatusArgs) -> Exit {
    let tools = match context.settings.tools() {
        Ok(tools) => tools,
        Err(e) => {
            log::warn!("{e}");
            None
        }
    };
    let report = match status_with_merges(&context.options, &args.names, tools.as_ref()) {
        Ok(report) => report,
        Err(e) => return context.fail_sync(&e),
    };
    for problem in &report.problems {
        log::warn!("{problem}");
    }
    let unknown = args
        .names
        .iter()
        .filter(|name| !report.skills.iter().any(|skill| skill.name == **name));
    let unknown: Vec<&String> = unknown.collect();
    for name in &unknown {
        log::error!("there is no skill {name:?} in bundle, ledger or library");
    }
    if !report.skills.is_empty() || args.names.is_empty() {
        table(&context.output, &report.skills);
    }
    if args.names.is_empty() {
        let Ages {
            stale_days,
            archive_days,
        } = report.lifecycle;
        context.output.print_line(
            Tone::Plain,
            &format!("Skills that the agent made are stale after {stale_days} days without use, archived after {archive_days}."),
        );
    }
    context.output.document(&report);
    if !unknown.is_empty() {
        let all = unknown.len() == args.names.len();
        return if all { Exit::Nothing } else { Exit::Partial };
    }
    let whole = report.bundle == BundleState::Ok
        && report.ledger != LedgerState::Rebuilt
        && report.skills.iter().all(|skill| skill.error.is_none());
    Exit::whole(whole)
}

fn table(output: &Output, skills: &[SkillStatus]) {
    if skills.is_empty() {
        return output.print_line(Tone::Plain, "There are no skills.");
    }
    let rows: Vec<[String; 7]> = skills
        .iter()
        .map(|skill| {
            [
                skill.name.clone(),
                recorded(skill),
                skill.next.clone(),
                short(skill.bundled_hash),
                short(skill.user_hash),
                short(skill.origin_hash),
                short(skill.effective_hash),
            ]
        })
        .collect();
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([HEADINGS[column].len()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths);
        let padded: Vec<String> = padded
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    output.print_line(Tone::Plain, &line(&HEADINGS.map(str::to_owned)));
    for (skill, row) in skills.iter().zip(&rows) {
        output.print_line(tone(skill), &line(row));
        if let Some(merge) = &skill.merge {
            output.print_line(tone(skill), &format!("    merge: {}", outlook(merge)));
        }
        if skill.state != State::Active {
            output.print_line(
                tone(skill),
                &format!("    lifecycle: {}", skill.state.as_str()),
            );
        }
        for (what, files) in [
            ("kept as they are", &skill.kept_files),
            ("deleted, and stay so", &skill.deleted_files),
        ] {
            let files: Vec<&str> = files.iter().map(RelPath::as_str).collect();
            if !files.is_empty() {
                output.print_line(tone(skill), &format!("    {what}: {}", files.join(", ")));
            }
        }
        for (what, reason) in [
            ("", &skill.error),
            ("last merge failed: ", &skill.last_merge_error),
        ] {
            if let Some(reason) = reason {
                output.print_line(tone(skill), &format!("    {what}{reason}"));
            }
        }
    }
}

fn outlook(merge: &MergeOutlook) -> String {
    if merge.settles {
        "can be done without a model; 'diff --preview' shows it".into()
    } else {
        format!(
            "can't be done without a model: {}",
            merge.conflicts.join(", ")
        )
    }
}

/// What the ledger says; the present is in the next column.
fn recorded(skill: &SkillStatus) -> String {
    match (skill.status.as_str(), skill.stale) {
        ("none", _) => "-".into(),
        (status, false) => status.into(),
        (status, true) => format!("{status}, stale"),
    }
}

fn tone(skill: &SkillStatus) -> Tone {
    match skill.next.as_str() {
        _ if skill.error.is_some() => Tone::Bad,
        "merge_needed" | "merge_skipped" => Tone::Attention,
        "copied" | "updated" | "adopted" | "repaired" => Tone::Good,
        _ => Tone::Plain,
    }
}

fn short(hash: Option<Hash>) -> String {
    match hash {
        Some(hash) => hash.hex().chars().take(SHOWN_DIGITS).collect(),
        None => "-".into(),
    }
}
