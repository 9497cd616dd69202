//! `aiden-skills lint`.

use serde::Serialize;

use super::args::LintArgs;
use super::output::Tone;
use super::{Context, Exit};
use crate::library::{LintedSkill, lint_directory};
use crate::skill::Severity;

#[derive(Serialize)]
struct Document {
    skills: Vec<LintedSkill>,
}

pub(super) fn run(context: &Context, args: &LintArgs) -> Exit {
    let tools = match context.settings.tools() {
        Ok(tools) => tools,
        Err(e) => {
            return context.fail(&e);
        }
    };
    let mut skills = Vec::new();
    for directory in &args.directories {
        match lint_directory(directory, tools.as_ref()) {
            Ok(found) => skills.extend(found),
            Err(e) => {
                return context.fail(&e);
            }
        }
    }
    let output = &context.output;
    let mut errors = 0;
    for skill in &skills {
        for finding in &skill.findings {
            let tone = match finding.severity {
                Severity::Error => Tone::Bad,
                Severity::Warning => Tone::Attention,
            };
            errors += usize::from(finding.severity == Severity::Error);
            let line = format!("{}: {}: {}", skill.path, finding.severity, finding.message);
            output.print_line(tone, &line);
        }
    }
    let meant = skills.iter().filter(|skill| skill.is_skill);
    let (good, all) = meant.fold((0, 0), |(good, all), skill| {
        (good + usize::from(skill.is_valid()), all + 1)
    });
    output.say(Tone::Plain, &format!("{good} of {all} skills are valid."));
    output.document(&Document { skills });
    Exit::whole(errors == 0)
}
