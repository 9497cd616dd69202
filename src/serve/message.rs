//! A request and its answer, apart from how they travel.

use std::collections::BTreeMap;

use hyper::body::Bytes;
use hyper::http::{HeaderValue, Method, StatusCode, header};
use serde::Serialize;
use serde_json::{Value, json};

/// By which door a request came; it decides what is to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Door {
    /// TCP, for outside agents: list and read.
    Tcp,
    /// The unix socket, for the agent: everything.
    Socket,
    /// The page for people: everything, with the token.
    Console,
}

/// A whole request.
#[derive(Debug)]
pub(super) struct Request {
    pub door: Door,
    pub method: Method,
    /// Decoded, without empty segments.
    pub path: Vec<String>,
    pub query: BTreeMap<String, String>,
    pub body: Bytes,
    /// Of `If-None-Match`.
    pub known_tag: Option<String>,
    /// `scheme://host` by which the client reaches this server.
    pub base_url: String,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub body: Vec<u8>,
    /// Others than those that every answer has.
    pub headers: Vec<(header::HeaderName, HeaderValue)>,
}

impl Reply {
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            content_type,
            body: body.into(),
            headers: Vec::new(),
        }
    }

    pub fn json(document: &impl Serialize) -> Self {
        Self::json_with(StatusCode::OK, document)
    }

    pub fn json_with(status: StatusCode, document: &impl Serialize) -> Self {
        let mut body = serde_json::to_vec(document).unwrap_or_default();
        body.push(b'\n');
        Self::new(status, "application/json", body)
    }

    /// One line that says what is wrong, and what to do.
    pub fn error(status: StatusCode, message: impl AsRef<str>) -> Self {
        Self::json_with(status, &json!({"error": message.as_ref()}))
    }

    pub fn with(mut self, name: header::HeaderName, value: impl AsRef<str>) -> Self {
        if let Ok(value) = HeaderValue::from_str(value.as_ref()) {
            self.headers.push((name, value));
        }
        self
    }
}

impl Request {
    /// The body as JSON; an empty one is an empty object.
    pub fn json(&self) -> Result<Value, Reply> {
        if self.body.trim_ascii().is_empty() {
            return Ok(json!({}));
        }
        serde_json::from_slice(&self.body).map_err(|e| {
            let message = format!("the body is not valid JSON ({e})");
            Reply::error(StatusCode::BAD_REQUEST, message)
        })
    }
}
