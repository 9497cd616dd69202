//! The two wire formats: OpenAI's chat completions and Anthropic's messages.

use serde_json::{Value, json};

use super::http::Request;
use super::prompt::Prompt;
use super::settings::{ModelSettings, Provider};

const ANTHROPIC_VERSION: &str = "2023-06-01";
/// The newer name of the output limit.
pub(super) const NEWER_LIMIT: &str = "max_completion_tokens";
const TOOL: &str = "report_result";

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    OpenAi,
    Anthropic,
}

/// How an answer in JSON is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// `response_format` of type `json_schema`.
    JsonSchema,
    /// `response_format` of type `json_object` with a `schema`, as llama.cpp has it.
    JsonObjectOfSchema,
    /// `response_format` of type `json_object`.
    JsonObject,
    /// A tool that must be called.
    Tool,
    /// In words only.
    Plain,
}

/// What a model said.
pub(super) struct Content {
    pub text: String,
    /// It had more to say than it was allowed.
    pub is_cut_off: bool,
    /// It, or a filter, would not answer.
    pub is_refused: bool,
}

impl Wire {
    pub fn request(
        self,
        settings: &ModelSettings,
        prompt: &Prompt,
        way: Way,
        newer_limit: bool,
    ) -> Request {
        let base = settings.base_url.trim_end_matches('/');
        let key = settings.api_key.as_ref().map(|key| key.expose().to_owned());
        match self {
            Self::OpenAi => {
                let url = match base.ends_with("/chat/completions") {
                    true => base.to_owned(),
                    false => format!("{base}/chat/completions"),
                };
                let headers = key.map(|key| ("authorization", format!("Bearer {key}")));
                Request {
                    url,
                    headers: headers.into_iter().collect(),
                    body: openai_body(settings, prompt, way, newer_limit).to_string(),
                }
            }
            Self::Anthropic => {
                let url = if base.ends_with("/messages") {
                    base.to_owned()
                } else if base.ends_with("/v1") {
                    format!("{base}/messages")
                } else {
                    format!("{base}/v1/messages")
                };
                let mut headers = vec![("anthropic-version", ANTHROPIC_VERSION.to_owned())];
                headers.extend(key.map(|key| ("x-api-key", key)));
                Request {
                    url,
                    headers,
                    body: anthropic_body(settings, prompt, way).to_string(),
                }
            }
        }
    }

    /// What the model said; `None` if this is no reply of one.
    pub fn content(self, body: &[u8]) -> Option<Content> {
        let reply: Value = serde_json::from_slice(body).ok()?;
        match self {
            Self::OpenAi => openai_content(&reply),
            Self::Anthropic => anthropic_content(&reply),
        }
    }
}

fn openai_body(settings: &ModelSettings, prompt: &Prompt, way: Way, newer_limit: bool) -> Value {
    let mut body = json!({
        "model": settings.model,
        "messages": [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ],
    });
    // OpenAI's newer models refuse the old name, other servers do not know the new one.
    let is_openai_itself =
        settings.provider == Provider::OpenAi && settings.host() == "api.openai.com";
    let limit = if is_openai_itself || newer_limit {
        NEWER_LIMIT
    } else {
        "max_tokens"
    };
    body[limit] = prompt.room.into();
    let format = match way {
        Way::JsonSchema => json!({
            "type": "json_schema",
            "json_schema": {"name": "result", "strict": true, "schema": prompt.schema},
        }),
        Way::JsonObjectOfSchema => json!({"type": "json_object", "schema": prompt.schema}),
        Way::JsonObject => json!({"type": "json_object"}),
        Way::Tool | Way::Plain => return body,
    };
    body["response_format"] = format;
    body
}

fn anthropic_body(settings: &ModelSettings, prompt: &Prompt, way: Way) -> Value {
    let mut body = json!({
        "model": settings.model,
        "max_tokens": prompt.room,
        "system": prompt.system,
        "messages": [{"role": "user", "content": prompt.user}],
    });
    if way == Way::Tool {
        body["tools"] = json!([{
            "name": TOOL,
            "description": "Takes the result.",
            "input_schema": prompt.schema,
        }]);
        body["tool_choice"] = json!({"type": "tool", "name": TOOL});
    }
    body
}

fn openai_content(reply: &Value) -> Option<Content> {
    let choice = reply.get("choices")?.get(0)?;
    let message = choice.get("message")?;
    let finish = choice.get("finish_reason").and_then(Value::as_str);
    let text = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        // Some servers send the parts of a message.
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    };
    Some(Content {
        text,
        is_cut_off: finish == Some("length"),
        is_refused: finish == Some("content_filter")
            || message.get("refusal").is_some_and(Value::is_string),
    })
}

fn anthropic_content(reply: &Value) -> Option<Content> {
    let parts = reply.get("content")?.as_array()?;
    let stop = reply.get("stop_reason").and_then(Value::as_str);
    let called = parts
        .iter()
        .find(|part| part["type"] == "tool_use" && part["name"] == TOOL);
    let text = match called {
        Some(part) => part.get("input")?.to_string(),
        None => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
    };
    Some(Content {
        text,
        is_cut_off: stop == Some("max_tokens"),
        is_refused: stop == Some("refusal"),
    })
}
