//! What came of a task, as the caller tells it.

use serde::Deserialize;
use serde_json::Value;

use crate::evolve::document::{object_of, value_of};
use crate::evolve::error::EvolveError;
use crate::evolve::language::{cut, find_phrase, one_line};

const FAILED: [&str; 5] = ["fail", "failed", "failure", "error", "timeout"];
const SUCCEEDED: [&str; 8] = [
    "ok",
    "success",
    "successful",
    "succeeded",
    "passed",
    "done",
    "completed",
    "complete",
];
/// Shapes of a failure in free text; a word alone may be of "0 errors".
const SHAPES: [&str; 10] = [
    "error:",
    "exception:",
    "traceback",
    "错误:",
    "错误：",
    "异常:",
    "异常：",
    "失败:",
    "失败：",
    "failed:",
];
/// Characters of a result that a lesson has.
const MAX_NOTE_CHARS: usize = 300;

/// What came of a task.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// In a word: success, failed and the like.
    pub status: Option<String>,
    /// Of a program; 0 is success.
    pub exit_code: Option<i64>,
    /// What went wrong.
    pub error: Option<Value>,
    /// What was put out, or a note on it.
    pub text: Option<String>,
    /// Whether it went better than before.
    pub improved: Option<bool>,
}

impl RunResult {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, EvolveError> {
        Self::of(&value_of(text).map_err(wrong)?)
    }

    /// Of JSON that was read already.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(value: &Value) -> Result<Self, EvolveError> {
        object_of(value).map_err(wrong)
    }

    /// What went wrong, if anything did. Words in free text count only where nothing structured was given.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        if let Some(error) = self.error() {
            return Some(error);
        }
        let status = self
            .status()
            .filter(|status| FAILED.contains(&status.as_str()));
        let exit_code = self.exit_code.filter(|code| *code != 0);
        let by_shape = || {
            let is_plain = self.status.is_none() && self.exit_code.is_none();
            let text = self.text.as_deref().filter(|_| is_plain)?;
            let shaped = |line: &&str| SHAPES.iter().any(|shape| has_shape(line, shape));
            let found = text.lines().find(shaped)?;
            // What a trace is of stands at its end.
            let is_trace = find_phrase(found, "traceback").is_some();
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            Some(one_line(last.filter(|_| is_trace).unwrap_or(found)))
        };
        if status.is_none() && exit_code.is_none() {
            return by_shape().map(|line| cut(&line, MAX_NOTE_CHARS).to_owned());
        }
        self.note()
            .or_else(|| exit_code.map(|code| format!("The command ended with exit code {code}")))
            .or_else(|| status.map(|status| format!("The task ended with status {status}")))
    }

    /// Whether it says that all went well.
    #[must_use]
    pub fn is_success(&self) -> bool {
        if self.failure().is_some() {
            return false;
        }
        let said = self
            .status()
            .map(|status| SUCCEEDED.contains(&status.as_str()));
        said.unwrap_or(self.exit_code == Some(0))
    }

    /// What was put out, in a line.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let text = one_line(self.text.as_deref()?);
        let text = cut(&text, MAX_NOTE_CHARS);
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn status(&self) -> Option<String> {
        let status = self.status.as_deref()?.trim().to_ascii_lowercase();
        (!status.is_empty()).then_some(status)
    }

    fn error(&self) -> Option<String> {
        let error = match self.error.as_ref()? {
            Value::Null | Value::Bool(false) => return None,
            Value::Bool(true) => self.note().unwrap_or_else(|| "an error".into()),
            Value::String(text) => one_line(text),
            other => one_line(&other.to_string()),
        };
        let error = cut(&error, MAX_NOTE_CHARS);
        (!error.is_empty() && error != "{}" && error != "[]").then(|| error.to_owned())
    }
}

fn wrong(reason: String) -> EvolveError {
    EvolveError::Input(format!(
        "the result is not as it must be, such as {{\"status\": \"success\"}}: {reason}"
    ))
}

fn has_shape(line: &str, shape: &str) -> bool {
    match shape.strip_suffix(':').filter(|word| word.is_ascii()) {
        // "TypeError: …" is one as well.
        Some(_) => line.to_ascii_lowercase().contains(shape),
        None => find_phrase(line, shape).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(json: &str) -> Option<String> {
        serde_json::from_str::<RunResult>(json).unwrap().failure()
    }

    #[test]
    fn failures_are_seen_where_they_are_told() {
        for (json, expected) in [
            (r#"{"error": "connection timeout"}"#, "connection timeout"),
            (r#"{"exit_code": 2, "text": "disk full"}"#, "disk full"),
            (r#"{"exit_code": 2}"#, "The command ended with exit code 2"),
            (r#"{"status": "Failed", "text": "no route"}"#, "no route"),
            (
                r#"{"text": "ok\nTypeError: x is null\nmore"}"#,
                "TypeError: x is null",
            ),
            (r#"{"text": "失败：没有权限"}"#, "失败：没有权限"),
            (r#"{"error": true}"#, "an error"),
        ] {
            assert_eq!(failure(json).as_deref(), Some(expected), "{json}");
        }
        for json in [
            r#"{"text": "0 errors, 3 warnings"}"#,
            r#"{"status": "success", "text": "error: was shown and handled"}"#,
            r#"{"exit_code": 0, "text": "Traceback of yesterday"}"#,
            r#"{"error": ""}"#,
            r#"{"error": null, "status": "ok"}"#,
            r"{}",
        ] {
            assert_eq!(failure(json), None, "{json}");
        }
    }
}
