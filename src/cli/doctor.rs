//! `aiden-skills doctor`.

use serde::Serialize;

use super::output::Tone;
use super::{Context, Exit};
use crate::doctor::{Finding, examine};

#[derive(Serialize)]
struct Document<'a> {
    findings: &'a [Finding],
}

pub(super) fn run(context: &Context) -> Exit {
    let findings = match examine(&context.settings, &context.options) {
        Ok(findings) => findings,
        Err(e) => return context.fail_sync(&e),
    };
    for finding in &findings {
        let output = &context.output;
        output.print_line(
            Tone::Attention,
            &format!("{}: {}", finding.subject, finding.problem),
        );
        output.print_line(Tone::Plain, &format!("    repair: {}", finding.repair));
    }
    if findings.is_empty() {
        context
            .output
            .say(Tone::Good, "Everything is as it should be.");
    }
    context.output.document(&Document {
        findings: &findings,
    });
    Exit::whole(findings.is_empty())
}
