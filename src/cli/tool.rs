//! `aiden-skills tools` and `aiden-skills tool`.

use std::io::Read;

use serde_json::{Value, json};

use super::args::{ToolArgs, ToolFormat, ToolsArgs};
use super::evolve::evolution;
use super::{Context, Exit};
use crate::skill::ToolCatalog;
use crate::tools::{Caller, Counting, Format, SkillTools, Tool, ToolError, schemas};

/// Larger than any input that the tools take.
const MAX_INPUT_BYTES: u64 = 1024 * 1024;

pub(super) fn schemas_of(context: &Context, args: &ToolsArgs) -> Exit {
    let format = match args.format {
        ToolFormat::Openai => Format::OpenAi,
        ToolFormat::Anthropic => Format::Anthropic,
        ToolFormat::Mcp => Format::Mcp,
    };
    // A tools file with a fault does not matter here.
    let tools = tools(context, None);
    context.output.answer(&schemas(tools.all(), format));
    Exit::Done
}

pub(super) fn call(context: &Context, args: &ToolArgs) -> Exit {
    let called = || -> Result<String, ToolError> {
        let tool: Tool = args.name.parse()?;
        let input = input(args.input.as_deref())?;
        let catalog = context.settings.tools().map_err(ToolError::new)?;
        tools(context, catalog).call(tool, &input, &mut Caller::CommandLine)
    };
    match called() {
        Ok(answer) => {
            context.output.print_text(&answer);
            context
                .output
                .document(&json!({"tool": args.name, "output": answer, "is_error": false}));
            Exit::Done
        }
        Err(e) => {
            // As an agent would read it, and nothing else on the line.
            eprintln!("{}", super::output::one_line(&e.to_string()));
            context
                .output
                .document(&json!({"tool": args.name, "output": e.to_string(), "is_error": true}));
            Exit::Nothing
        }
    }
}

fn tools(context: &Context, catalog: Option<ToolCatalog>) -> SkillTools {
    SkillTools {
        options: context.options.clone(),
        device: context.settings.device_type,
        catalog,
        counting: Counting::AtOnce,
        evolution: evolution(&context.settings, false),
    }
}

fn input(text: Option<&str>) -> Result<Value, ToolError> {
    let mut read = String::new();
    let text = match text {
        None => "{}",
        Some("-") => {
            let mut stdin = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1);
            stdin
                .read_to_string(&mut read)
                .map_err(|e| ToolError::new(format!("standard input can't be read: {e}")))?;
            if read.len() as u64 > MAX_INPUT_BYTES {
                let message = format!("the input is larger than {MAX_INPUT_BYTES} bytes");
                return Err(ToolError::new(message));
            }
            read.as_str()
        }
        Some(text) => text,
    };
    serde_json::from_str(text).map_err(|e| {
        ToolError::new(format!(
            "the input is not valid JSON ({e}): pass an object such as {{\"name\": \"…\"}}"
        ))
    })
}
