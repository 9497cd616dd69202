//! `aiden-skills mcp`.

use super::evolve::evolution;
use super::{Context, Exit};
use crate::mcp::serve_standard_streams;
use crate::tools::{Counting, SkillTools};

pub(super) fn run(context: &Context) -> Exit {
    let directory = &context.settings.config_dir;
    if !directory.is_dir() {
        let shown = directory.display();
        return context.fail(&format!(
            "there is no config dir {shown}: run sync first, or name it by --config-dir"
        ));
    }
    let catalog = match context.settings.tools() {
        Ok(catalog) => catalog,
        Err(e) => return context.fail(&e),
    };
    let tools = SkillTools {
        options: context.options.clone(),
        device: context.settings.device_type,
        catalog,
        counting: Counting::AtOnce,
        evolution: evolution(&context.settings, true),
    };
    match serve_standard_streams(tools) {
        Ok(()) => Exit::Done,
        Err(e) => context.fail(&e),
    }
}
