//! `aiden-skills profile`.

use serde_json::json;

use super::args::ProfileArgs;
use super::{Context, Exit};
use crate::evolve::guidance;
use crate::profile::{Snapshot, Wanted};

pub(super) fn run(context: &Context, args: &ProfileArgs) -> Exit {
    let snapshot = match Snapshot::load(&context.options, context.settings.device_type) {
        Ok(snapshot) => snapshot,
        Err(e) => return context.fail_sync(&e),
    };
    for problem in &snapshot.problems {
        log::info!("{problem}");
    }
    let wanted = Wanted {
        active: args.active.clone(),
        task: args.task.clone(),
        language: args.lang,
    };
    let mut profile = snapshot.profile(&wanted);
    if let Some(task) = &wanted.task {
        profile.add_guidance(&guidance(&context.options, &wanted.active, task));
    }
    for name in &profile.missing {
        log::warn!("there is no skill {name:?} for this device: it is not among the active ones");
    }
    context.output.print_text(&profile.text);
    context
        .output
        .document(&json!({"profile": profile.text, "missing": profile.missing}));
    Exit::whole(profile.missing.is_empty())
}
