//! `aiden-skills diff`.

use serde::Serialize;

use super::args::DiffArgs;
use super::output::Tone;
use super::{Context, Exit};
use crate::merge::{Preview, preview_merge};
use crate::sync::{Against, compare_skill};

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    against: &'a str,
    diff: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<String>,
}

pub(super) fn run(context: &Context, args: &DiffArgs) -> Exit {
    if args.preview {
        return preview(context, &args.name);
    }
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
    print(context, &diff);
    context.output.document(&Document {
        name: &args.name,
        against: word,
        diff: &diff,
        conflicts: Vec::new(),
    });
    Exit::Done
}

fn preview(context: &Context, name: &str) -> Exit {
    let tools = match context.settings.tools() {
        Ok(tools) => tools,
        Err(e) => return context.fail(&e),
    };
    let preview = match preview_merge(&context.options, name, tools.as_ref()) {
        Ok(preview) => preview,
        Err(e) => return context.fail_sync(&e),
    };
    let output = &context.output;
    let (diff, conflicts) = match preview {
        Preview::Unknown => {
            let known = "'status' lists all skills";
            return context.fail(&format!(
                "there is no skill {name:?} in bundle, ledger or library; {known}"
            ));
        }
        Preview::NotNeeded => {
            output.say(Tone::Plain, &format!("{name} has nothing to merge."));
            (String::new(), Vec::new())
        }
        Preview::Settled(diff) => {
            if diff.is_empty() {
                output.say(Tone::Plain, &format!("Merging changes nothing in {name}."));
            }
            (diff, Vec::new())
        }
        Preview::Unsettled(conflicts) => {
            for conflict in &conflicts {
                let line = format!("{name} can't be merged without a model: {conflict}.");
                output.say(Tone::Attention, &line);
            }
            (String::new(), conflicts)
        }
    };
    print(context, &diff);
    let is_settled = conflicts.is_empty();
    output.document(&Document {
        name,
        against: "preview",
        diff: &diff,
        conflicts,
    });
    Exit::whole(is_settled)
}

fn print(context: &Context, diff: &str) {
    for line in diff.lines() {
        let tone = match line.as_bytes().first() {
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            _ => Tone::Plain,
        };
        context.output.print_raw(tone, line);
    }
}
