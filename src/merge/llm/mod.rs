//! Merging by a language model (seeds §10 and §11), over the wire formats of OpenAI and Anthropic.

mod answer;
mod http;
mod prompt;
mod settings;
mod wire;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;

use self::http::{Http, HttpError, Reply};
use self::prompt::Prompt;
pub use self::settings::{ModelSettings, Provider, Secret};
use self::wire::Content;
use super::model::{Answer, MergeError, MergeInput, Requests, SkillMergeModel};
use super::structural::{self, Conflict};
use crate::skill::SkillDocument;

/// Statuses with which servers refuse a way of asking that they do not know; llama.cpp says 500.
const NOT_SUPPORTED: [u16; 6] = [400, 404, 415, 422, 500, 501];
/// One for each way of asking, and one for the other name of the limit.
const MAX_REQUESTS_OF_A_QUESTION: u32 = 4;

/// A language model.
pub struct Llm {
    settings: ModelSettings,
    http: Http,
    /// The way of asking that the server is known to take; counts in those of the provider.
    way: AtomicUsize,
    /// Whether it wants the output limit by its newer name.
    newer_limit: AtomicBool,
}

/// OpenAI's newer models refuse `max_tokens`, and say what they want instead.
fn wants_newer_limit(body: &[u8]) -> bool {
    let wanted = wire::NEWER_LIMIT.as_bytes();
    body.windows(wanted.len()).any(|part| part == wanted)
}

impl Llm {
    /// The model of these settings.
    ///
    /// # Errors
    /// When the certificates that it is to trust can't be read.
    pub fn new(settings: ModelSettings) -> Result<Self, String> {
        let http = Http::new(settings.timeout, settings.ca_file.as_deref())?;
        Ok(Self {
            settings,
            http,
            way: AtomicUsize::new(0),
            newer_limit: AtomicBool::new(false),
        })
    }

    /// The answer to any question, an object of this schema as text; `room` is the most tokens that it may have.
    ///
    /// # Errors
    /// When there is none, or only a part of one.
    pub fn answer(
        &self,
        instructions: &'static str,
        question: String,
        schema: Value,
        room: u32,
    ) -> Result<String, MergeError> {
        let prompt = Prompt {
            system: instructions,
            user: question,
            room,
            schema,
        };
        let requests = Requests::new(0, MAX_REQUESTS_OF_A_QUESTION);
        let content = self.ask(&prompt, &requests)?;
        if content.is_refused {
            return Err(MergeError::Refused);
        }
        if content.is_cut_off {
            let reason = format!("was cut off at {room} tokens");
            return Err(MergeError::BadAnswer(reason));
        }
        Ok(content.text)
    }

    /// Asks in the first way that the server takes.
    fn ask(&self, prompt: &Prompt, requests: &Requests) -> Result<Content, MergeError> {
        let wire = self.settings.provider.wire();
        let ways = self.settings.provider.ways();
        let mut way = self.way.load(Ordering::Relaxed).min(ways.len() - 1);
        loop {
            let newer_limit = self.newer_limit.load(Ordering::Relaxed);
            let request = wire.request(&self.settings, prompt, ways[way], newer_limit);
            let reply = self.send(&request, requests)?;
            if reply.status == 400
                && !self.newer_limit.load(Ordering::Relaxed)
                && wants_newer_limit(&reply.body)
                && requests.are_left()
            {
                self.newer_limit.store(true, Ordering::Relaxed);
                continue;
            }
            if NOT_SUPPORTED.contains(&reply.status) && way + 1 < ways.len() && requests.are_left()
            {
                way += 1;
                continue;
            }
            if !(200..300).contains(&reply.status) {
                return Err(MergeError::NoAnswer(self.refusal(reply.status)));
            }
            self.way.store(way, Ordering::Relaxed);
            return wire.content(&reply.body).ok_or_else(|| {
                MergeError::NoAnswer(format!(
                    "{} did not reply as a model does: check base_url",
                    self.server()
                ))
            });
        }
    }

    fn send(&self, request: &http::Request, requests: &Requests) -> Result<Reply, MergeError> {
        let sent = self.http.post(request);
        if !sent.as_ref().is_err_and(|e| !e.reached_server) {
            requests.count();
        }
        sent.map_err(|e| match e {
            HttpError {
                is_too_large: true, ..
            } => MergeError::BadAnswer(e.reason),
            HttpError { reason, .. } => MergeError::NoAnswer(format!("{} {reason}", self.server())),
        })
    }

    fn refusal(&self, status: u16) -> String {
        let advice = match status {
            401 | 403 => ": check the API key",
            404 => ": check base_url and model",
            300..=399 => ": it redirects, which is not followed; check base_url",
            429 => ": it is asked too often",
            _ => "",
        };
        format!(
            "{} answered with HTTP status {status}{advice}",
            self.server()
        )
    }

    fn server(&self) -> String {
        format!("the model's server {}", self.settings.host())
    }
}

/// Whether two texts are the same but for line ends, remarks and how the frontmatter is written.
fn says_the_same(one: &str, other: &str) -> bool {
    let [a, b] = [one, other].map(|text| text.replace("\r\n", "\n"));
    let read = |text: &str| SkillDocument::parse(text.as_bytes()).ok();
    a.trim() == b.trim()
        || read(&a).zip(read(&b)).is_some_and(|(a, b)| {
            a.frontmatter() == b.frontmatter() && a.body().trim() == b.body().trim()
        })
}

impl SkillMergeModel for Llm {
    fn merge(
        &self,
        input: &MergeInput,
        conflicts: &[Conflict],
        requests: &Requests,
    ) -> Result<Answer, MergeError> {
        if !requests.are_left() {
            let made = requests.made();
            let reason = format!(
                "no more requests are made for these texts before the next start ({made} were)"
            );
            return Err(MergeError::NoAnswer(reason));
        }
        let prompt = Prompt::of(input, conflicts, &self.settings)?;
        let content = self.ask(&prompt, requests)?;
        if content.is_refused {
            return Err(MergeError::Refused);
        }
        if content.is_cut_off {
            let reason = format!("was cut off at {} tokens", prompt.room);
            return Err(MergeError::BadAnswer(reason));
        }
        let (text, summary) = answer::parse(&content.text)?;
        let text = structural::with_section_of(&text, &input.texts.local);
        let text = structural::with_line_ends_of(&text, &input.texts.local);
        for (whose, original) in [
            ("the firmware's text", Some(&input.texts.upstream)),
            ("the user's text", Some(&input.texts.local)),
            ("the text before both changes", input.texts.base.as_ref()),
        ] {
            if original.is_some_and(|original| says_the_same(original, &text)) {
                return Err(MergeError::BadAnswer(format!("is {whose} as it was")));
            }
        }
        Ok(Answer {
            text,
            summary,
            engine: "llm",
        })
    }
}
