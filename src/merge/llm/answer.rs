//! The JSON in a model's words (seed §10.3).

use serde::Deserialize;

use crate::merge::model::MergeError;
use crate::skill::shown;

const MAX_SUMMARY_CHARS: usize = 300;
/// An object is looked for at so many places.
const MAX_STARTS: usize = 64;

#[derive(Deserialize)]
struct Result {
    status: String,
    #[serde(default)]
    merged_skill_md: String,
    #[serde(default)]
    summary: String,
}

/// The merged text and the summary. The object may stand alone, in a fence, or among other words.
pub(super) fn parse(text: &str) -> std::result::Result<(String, String), MergeError> {
    let result = find(text).ok_or_else(|| {
        MergeError::BadAnswer("is not the JSON object that was asked for".to_owned())
    })?;
    match result.status.as_str() {
        "merged" => {
            // The summary is the model's: fit for one line, and nothing is decided by it.
            let summary = shown(result.summary.trim(), MAX_SUMMARY_CHARS);
            Ok((result.merged_skill_md, summary))
        }
        "failed" => Err(MergeError::Refused),
        _ => Err(MergeError::BadAnswer(
            "has a status that is neither merged nor failed".to_owned(),
        )),
    }
}

fn find(text: &str) -> Option<Result> {
    let starts = text.char_indices().filter(|(_, c)| *c == '{');
    // Each may be read to the end of the text.
    let starts = starts.take(MAX_STARTS);
    starts.filter_map(|(at, _)| read(text.get(at..)?)).next()
}

/// The object that a text begins with, whatever follows it.
fn read(text: &str) -> Option<Result> {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Result>();
    objects.next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str =
        r#"{"status":"merged","merged_skill_md":"a {b}","summary":"Both\nsides."}"#;

    #[test]
    fn an_object_is_found_alone_in_a_fence_and_among_words() {
        for text in [
            OBJECT.to_owned(),
            format!("```json\n{OBJECT}\n```"),
            format!("<think>{{\"status\": maybe}}</think>\nHere you are: {OBJECT} Done."),
        ] {
            assert_eq!(parse(&text), Ok(("a {b}".into(), "Both\\nsides.".into())));
        }
    }

    #[test]
    fn an_answer_of_brackets_costs_no_time() {
        let began = std::time::Instant::now();
        for text in [
            "{\"a\":".repeat(100_000),
            "{\"a\":[".repeat(80_000),
            "{".repeat(500_000),
        ] {
            assert!(parse(&text).is_err());
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn anything_else_is_no_merged_text() {
        assert_eq!(
            parse(r#"{"status":"failed","summary":"No."}"#),
            Err(MergeError::Refused)
        );
        for text in [
            "",
            "Sorry.",
            "{\"status\":\"done\"}",
            "{\"status\":",
            "[]",
            "{\"merged_skill_md\":\"a\"}",
        ] {
            assert!(
                matches!(parse(text), Err(MergeError::BadAnswer(_))),
                "{text}"
            );
        }
    }
}
