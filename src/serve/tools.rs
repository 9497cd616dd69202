//! The skill tools over HTTP, in the shapes of the existing agent.

use std::time::Instant;

use hyper::http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use super::message::{Door, Reply, Request};
use super::routes::{Asking, not_found};
use super::server::Server;
use crate::clock;
use crate::tools::Tool;

const BUNDLE: &str = include_str!("bundle.md");
/// What the bundle says on the socket besides.
const BUNDLE_OF_THE_SOCKET: &str = include_str!("bundle_socket.md");
const BUNDLE_NAME: &str = "aiden-skills-http";
const BUNDLE_DESCRIPTION: &str = "Find and read the skills of a board over HTTP. Use before operating its device, to learn \
                                  how a task is done there.";

/// Outside agents list and read; those tools that change something are the agent's.
fn is_shown(tool: Tool, door: Door) -> bool {
    door != Door::Tcp || matches!(tool, Tool::List | Tool::Read)
}

fn shown(server: &Server, door: Door) -> impl Iterator<Item = Tool> {
    let all = server.live.tools().all();
    all.filter(move |tool| is_shown(*tool, door))
}

fn example(tool: Tool) -> Value {
    match tool {
        Tool::List => json!({"query": "log in to an app", "limit": 5}),
        Tool::Read => json!({"name": "app-login"}),
        Tool::Manage => json!({
            "action": "patch", "name": "app-login", "old_string": "Wait 5 seconds.", "new_string": "Wait for the button.",
            "reason": "the page is slow"
        }),
        Tool::MarkUsed => json!({"name": "app-login"}),
        Tool::Guide => json!({"skill": "app-login", "task": "log in to the shop"}),
        Tool::Learn => json!({
            "skill": "app-login", "task": "log in to the shop",
            "feedback": "This worked! Waiting for the captcha first makes it reliable.", "result": {"status": "success"}
        }),
    }
}

/// `GET /api/tools`
pub(super) fn all(server: &Server, door: Door) -> Reply {
    let tools = shown(server, door).map(|tool| {
        json!({
            "name": tool.name(),
            "category": "skills",
            "description": tool.description(),
            "input_mode": "json",
            "example_input": example(tool).to_string(),
            "args_schema": tool.parameters(),
            "http": {"method": "POST", "path": format!("/api/tools/{}", tool.name())}
        })
    });
    Reply::json(&json!({"tools": tools.collect::<Vec<_>>()}))
}

#[derive(Serialize)]
struct Called<'c> {
    tool: &'c str,
    raw_input: &'c str,
    output: &'c str,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'c str>,
    duration_ms: u64,
    called_at: String,
}

/// `POST /api/tools/<name>`: an error of the tool is an answer, too.
pub(super) fn call(server: &Server, request: &Request, asking: &Asking<'_>, name: &str) -> Reply {
    let tool = match name.parse::<Tool>() {
        Ok(tool) if shown(server, request.door).any(|there| there == tool) => tool,
        _ => return not_found(request.door),
    };
    let (input, raw_input) = match input(request) {
        Ok(input) => input,
        Err(reply) => return reply,
    };
    let called_at = clock::now();
    let began = Instant::now();
    let answer = server.live.call(tool, &input, asking.session);
    let took = began.elapsed();
    server.metrics.call(tool, answer.is_err(), took);
    let said = answer
        .as_ref()
        .map_or_else(ToString::to_string, Clone::clone);
    Reply::json(&Called {
        tool: tool.name(),
        raw_input: &raw_input,
        output: &said,
        is_error: answer.is_err(),
        error: answer.is_err().then_some(&said),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        called_at,
    })
}

fn input(request: &Request) -> Result<(Value, String), Reply> {
    let wrong = |message: &str| Err(Reply::error(StatusCode::BAD_REQUEST, message));
    let form = "the body must be a JSON object, {\"input\": {…}} or {\"raw_input\": \"…\"}";
    let body = request.json()?;
    let Value::Object(body) = body else {
        return wrong(form);
    };
    match (body.get("input"), body.get("raw_input")) {
        (Some(Value::Null) | None, Some(Value::String(raw))) => {
            let text = if raw.trim().is_empty() { "{}" } else { raw };
            match serde_json::from_str(text) {
                Ok(input) => Ok((input, raw.clone())),
                Err(e) => wrong(&format!("raw_input is not valid JSON ({e})")),
            }
        }
        (Some(Value::Null) | None, Some(Value::Null) | None) if body.is_empty() => {
            Ok((json!({}), "{}".into()))
        }
        (Some(input), None | Some(Value::Null)) => Ok((input.clone(), input.to_string())),
        _ => wrong(form),
    }
}

/// `GET /api/tool-skills`
pub(super) fn bundle(server: &Server, request: &Request) -> Reply {
    let names: Vec<&str> = shown(server, request.door).map(Tool::name).collect();
    let markdown = markdown(request);
    Reply::json(&json!({"skills": [{
        "name": BUNDLE_NAME, "description": BUNDLE_DESCRIPTION, "tool_names": names, "markdown": markdown
    }]}))
}

fn markdown(request: &Request) -> String {
    let more = match request.door {
        Door::Tcp => "",
        Door::Socket | Door::Console => BUNDLE_OF_THE_SOCKET,
    };
    let text = format!("{BUNDLE}{more}");
    let text = text
        .replace("{name}", BUNDLE_NAME)
        .replace("{description}", BUNDLE_DESCRIPTION);
    text.replace("{base_url}", &request.base_url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::SkillDocument;

    #[test]
    fn the_bundle_is_a_valid_skill_of_its_own_name() {
        for door in [Door::Tcp, Door::Socket] {
            let request = Request {
                door,
                method: hyper::Method::GET,
                path: Vec::new(),
                query: Default::default(),
                body: Default::default(),
                known_tag: None,
                base_url: "http://board:8791".into(),
            };
            let text = markdown(&request);
            let skill = SkillDocument::parse(text.as_bytes()).unwrap();
            assert_eq!(skill.name(), BUNDLE_NAME);
            assert_eq!(skill.description(), BUNDLE_DESCRIPTION);
            assert!(text.contains("http://board:8791/api/tools/skill_list"));
            assert!(!text.contains("{base_url}"));
            assert_eq!(text.contains("skill_manage"), door == Door::Socket);
        }
    }
}
