//! The tools as JSON schemas, in the forms that agents are given them in; one definition.

use serde_json::{Value, json};

use super::Tool;
use super::manage::ACTIONS;

/// In which form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Functions of OpenAI's chat completions.
    #[default]
    OpenAi,
    /// Tools of Anthropic's messages.
    Anthropic,
    /// The result of `tools/list` of the Model Context Protocol.
    Mcp,
}

/// These tools, such as [`super::SkillTools::all`].
#[must_use]
pub fn schemas(tools: impl Iterator<Item = Tool>, format: Format) -> Value {
    let all = tools;
    match format {
        Format::OpenAi => all
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name(), "description": tool.description(), "parameters": tool.parameters()
                }})
            })
            .collect(),
        Format::Anthropic => all
            .map(|tool| {
                json!({
                    "name": tool.name(), "description": tool.description(), "input_schema": tool.parameters()
                })
            })
            .collect(),
        Format::Mcp => {
            let tools: Vec<Value> = all
                .map(|tool| {
                    json!({
                        "name": tool.name(),
                        "description": tool.description(),
                        "inputSchema": tool.parameters(),
                        "annotations": {
                            "readOnlyHint": matches!(tool, Tool::List | Tool::Read | Tool::Guide),
                            "destructiveHint": tool == Tool::Manage,
                            "openWorldHint": false
                        }
                    })
                })
                .collect();
            json!({"tools": tools})
        }
    }
}

impl Tool {
    /// What it is for, as an agent reads it.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::List => {
                "List the installed skills: name, description, state and counters, as a JSON array. With a query, those that \
                 match, best first; without, those used most first. Archived skills, and those for other devices, are left out \
                 unless asked for."
            }
            Self::Read => {
                "Read a skill before you follow it or change it. Answers the text of its SKILL.md, and below it the paths of \
                 its other files, which file_path reads."
            }
            Self::Manage => {
                "Create, change or delete an installed skill, its files, or its state. Read a skill with skill_read before \
                 edit or patch. Prefer patch for small changes. A skill that came with the firmware may be changed, too: only the \
                 installed copy changes, and the change is kept under the next firmware."
            }
            Self::MarkUsed => {
                "Tell that you have carried out a task by a skill: call it once, after you did what the skill says. A stale or \
                 archived skill gets active by it."
            }
            Self::Guide => {
                "Ask what was learned in earlier tasks of this kind, before you carry one out by a skill. Answers a block of \
                 guidance, which is advice, or nothing."
            }
            Self::Learn => {
                "Tell how a task that you carried out by a skill has gone: what the user asked for, what they said afterwards, \
                 and what came of it. What can be learned of it guides the next time."
            }
        }
    }

    /// The JSON schema of its input.
    #[must_use]
    pub fn parameters(self) -> Value {
        let name =
            json!({"type": "string", "description": "The skill's name, as skill_list shows it."});
        let text = |description: &str| json!({"type": "string", "description": description});
        let flag = |description: &str| json!({"type": "boolean", "description": description});
        let (properties, required) = match self {
            Self::List => (
                json!({
                    "query": text("Words to look for in names, descriptions and texts, in the language that the skills are written in. Leave it out to list all."),
                    "limit": {"type": "integer", "minimum": 1, "description": "At most so many skills."},
                    "state": {"type": "string", "enum": ["active", "stale", "archived"], "description": "Only skills in this state."},
                    "include_archived": flag("Archived skills, too."),
                    "include_incompatible": flag("Skills for other devices, too.")
                }),
                json!([]),
            ),
            Self::Read => (
                json!({
                    "name": name,
                    "file_path": text("A file of the skill under references/, templates/, scripts/ or assets/. Leave it out for SKILL.md."),
                    "include_incompatible": flag("Read it although it is for other devices.")
                }),
                json!(["name"]),
            ),
            Self::MarkUsed => (json!({"name": name}), json!(["name"])),
            Self::Guide => (
                json!({
                    "skill": name,
                    "task": text("What the user asks for, in their words."),
                    "signature": text("The kind of task in snake_case, such as code_review; the same each time."),
                    "limit": {"type": "integer", "minimum": 1, "description": "At most so many entries; never more than 5."}
                }),
                json!(["skill", "task"]),
            ),
            Self::Learn => (
                json!({
                    "skill": name,
                    "signature": text("The kind of task in snake_case, such as code_review; the same each time."),
                    "task": text("What the user asked for, in their words."),
                    "feedback": text("What the user said of it afterwards, in their words."),
                    "result": {"type": "object", "description": "What came of it: status (success or failed), exit_code, error, text (a note on it), improved (true if it went better than before)."},
                    "judgement": {"type": "object", "description": "Your own reading instead of the engine's: feedback {status: positive or negative, lesson, source: explicit, user_input, execution_result or default, confidence from 0 to 1}, match {skill_entry_id, relation: compatible, contradict or none}, title, keywords, content."}
                }),
                json!(["skill"]),
            ),
            Self::Manage => (
                json!({
                    "action": {
                        "type": "string",
                        "enum": ACTIONS,
                        "description": "create: a new skill from content; source and created_by are added to its frontmatter. edit: content replaces the whole SKILL.md. patch: new_string \
                            replaces old_string in SKILL.md. delete: the whole skill goes. write_file, remove_file: a file of the \
                            skill, file_path. mark_stale, archive, restore_archive: its state."
                    },
                    "name": text("The skill's name: lower-case letters a to z, digits and single hyphens (pinyin or English); the same as name in its frontmatter."),
                    "content": text("create, edit: the whole SKILL.md, beginning with `---`, name and description, then the instructions. At most 32 KiB."),
                    "old_string": text("patch: the passage to replace, copied exactly; it must stand in the text once."),
                    "new_string": text("patch: what comes instead."),
                    "file_path": text("write_file, remove_file: a path under references/, templates/, scripts/ or assets/."),
                    "file_content": text("write_file: the whole file. At most 64 KiB."),
                    "expect_sha256": text("The sha256 of the text you know, as an earlier answer of skill_manage told it: refused if SKILL.md, or the file of write_file and remove_file, has another one now. Leave it out if you do not have it."),
                    "reason": text("Why, in a sentence.")
                }),
                json!(["action", "name", "reason"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required})
    }
}
