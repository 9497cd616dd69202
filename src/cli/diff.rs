//! `aiden-skills diff`.

use serde::Serialize;

use super::args::DiffArgs;
use super::output::Tone;
use super::{Context, Exit};
use crate::sync::{Against, compare_skill};

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    against: &'a str,
    diff: &'a str,
}

pub(super) fn run(context: &Context, args: &DiffArgs) -> Exit {
    let (against, word) = if args.base {
        (Against::Base, "base")
    } else {
        (Against::Bundled, "bundled")
    };
    let diff = match compare_skill(&context.options, &args.name, against) {
        Ok(diff) => diff,
        Err(e) => {
            return context.fail(&e);
        }
    };
    if diff.is_empty() {
        let line = match against {
            Against::Base => format!(
                "SKILL.md of {} is as at the last sync or merge; other files have no base.",
                args.name
            ),
            Against::Bundled => format!("{} is as the firmware ships it.", args.name),
        };
        context.output.say(Tone::Plain, &line);
    }
    for line in diff.lines() {
        let tone = match line.as_bytes().first() {
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            _ => Tone::Plain,
        };
        context.output.print_raw(tone, line);
    }
    context.output.document(&Document {
        name: &args.name,
        against: word,
        diff: &diff,
    });
    Exit::Done
}
