//! What can be learned from a task (kit 5.1): the first branch that applies decides.

mod explicit;
mod preference;
mod result;

use serde::{Deserialize, Serialize};

pub use self::preference::Markers;
pub use self::result::RunResult;
use super::content::MAX_LESSON_CHARS;
use super::document::{Experience, FeedbackSource, FeedbackStatus};
use super::language::{
    AVOID, AVOID_ZH, Language, capitalised, cut, language_of, one_line, trimmed,
};

/// The lesson where there is none.
pub const NO_INSIGHT: &str = "No specific insight extracted. Current approach maintained.";
const REPEAT: &str = "Repeat what worked: ";
const REPEAT_ZH: &str = "沿用有效的做法：";

/// What a task taught.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// Again, or not.
    pub status: FeedbackStatus,
    /// In a line.
    pub lesson: String,
    /// Where it comes from.
    pub source: FeedbackSource,
    /// How far it is trusted, from 0 to 1.
    pub confidence: f64,
    /// Why it was read so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// What is known of a task that was done.
#[derive(Debug, Clone, Default)]
pub struct Evidence<'e> {
    /// What the user asked for.
    pub task: Option<&'e str>,
    /// What the user said afterwards.
    pub said: Option<&'e str>,
    /// What came of it.
    pub result: Option<&'e RunResult>,
    /// The newest earlier experience of the same signature.
    pub before: Option<&'e Experience>,
}

/// Reads the feedback out of what is known.
#[must_use]
pub fn extract(evidence: &Evidence<'_>, markers: Markers) -> Feedback {
    let mut feedback = read(evidence, markers);
    feedback.lesson = cut(&feedback.lesson, MAX_LESSON_CHARS).to_owned();
    feedback
}

fn read(evidence: &Evidence<'_>, markers: Markers) -> Feedback {
    explicit_feedback(evidence)
        .or_else(|| failure(evidence, markers))
        .or_else(|| improvement(evidence))
        .or_else(|| preference(evidence, markers))
        .unwrap_or_else(|| Feedback {
            status: FeedbackStatus::Positive,
            lesson: NO_INSIGHT.into(),
            source: FeedbackSource::Default,
            confidence: FeedbackSource::Default.confidence(FeedbackStatus::Positive),
            reasoning: None,
        })
}

/// Whether the user said, or the result shows, that it went well; `None` where neither tells.
#[must_use]
pub fn went_well(evidence: &Evidence<'_>) -> Option<bool> {
    let said = evidence.said.map(sentences_of);
    let said = said.as_deref().and_then(explicit::verdict);
    said.map(|status| status == FeedbackStatus::Positive)
        .or_else(|| match evidence.result {
            Some(result) if result.failure().is_some() => Some(false),
            Some(result) if result.is_success() => Some(true),
            _ => None,
        })
}

fn explicit_feedback(evidence: &Evidence<'_>) -> Option<Feedback> {
    let said = sentences_of(evidence.said?);
    let statement = explicit::read(&said)?;
    let insight = capitalised(&statement.insight);
    let lesson = match (statement.status, statement.is_directive) {
        (FeedbackStatus::Negative, false) => to_avoid(&insight),
        _ => insight,
    };
    Some(Feedback {
        status: statement.status,
        lesson,
        source: FeedbackSource::Explicit,
        confidence: FeedbackSource::Explicit.confidence(statement.status),
        reasoning: None,
    })
}

fn failure(evidence: &Evidence<'_>, markers: Markers) -> Option<Feedback> {
    let failure = evidence.result?.failure()?;
    let wish = preference(evidence, markers);
    Some(Feedback {
        status: FeedbackStatus::Negative,
        lesson: to_avoid(&failure),
        source: FeedbackSource::ExecutionResult,
        confidence: FeedbackSource::ExecutionResult.confidence(FeedbackStatus::Negative),
        reasoning: wish.map(|wish| format!("The user also said: {}", wish.lesson)),
    })
}

fn improvement(evidence: &Evidence<'_>) -> Option<Feedback> {
    let result = evidence.result?;
    let before = evidence.before.filter(|before| {
        before.feedback_status == FeedbackStatus::Negative
            && before.feedback_source == FeedbackSource::ExecutionResult
    });
    let improved = match result.improved {
        Some(said) => said,
        None => before.is_some() && result.is_success(),
    };
    if !improved || result.failure().is_some() {
        return None;
    }
    let what = result
        .note()
        .or_else(|| evidence.task.map(one_line))
        .or_else(|| before.map(|before| format!("it overcame \"{}\"", before.lesson)));
    let what = trimmed(what.as_deref()?).to_owned();
    if what.is_empty() {
        return None;
    }
    let lesson = match language_of(&what) {
        Language::Chinese => format!("{REPEAT_ZH}{what}"),
        Language::English => format!("{REPEAT}{}", capitalised(&what)),
    };
    let reasoning = before.map(|before| {
        let id = &before.experience_id;
        format!("The last attempt of this kind failed ({id})")
    });
    Some(Feedback {
        status: FeedbackStatus::Positive,
        lesson,
        source: FeedbackSource::ExecutionResult,
        confidence: FeedbackSource::ExecutionResult.confidence(FeedbackStatus::Positive),
        reasoning,
    })
}

/// A wish in what the user asked for, or said afterwards.
fn preference(evidence: &Evidence<'_>, markers: Markers) -> Option<Feedback> {
    let wishes = [evidence.task, evidence.said];
    let mut wishes = wishes.into_iter().flatten().map(sentences_of);
    let lesson = wishes.find_map(|text| preference::directive(&text, markers))?;
    Some(Feedback {
        status: FeedbackStatus::Positive,
        lesson,
        source: FeedbackSource::UserInput,
        confidence: FeedbackSource::UserInput.confidence(FeedbackStatus::Positive),
        reasoning: None,
    })
}

/// A text of several lines on one: the end of a line ends a sentence.
fn sentences_of(text: &str) -> String {
    let mut told = String::new();
    for line in text.lines().map(one_line).filter(|line| !line.is_empty()) {
        let line = line.trim_start_matches(['-', '*', ' ']);
        if !told.is_empty() {
            let is_ended =
                told.ends_with(|c: char| c.is_ascii_punctuation() || "。！？；：，、".contains(c));
            told.push_str(if is_ended { " " } else { ". " });
        }
        told.push_str(line);
    }
    told
}

/// What went wrong as a lesson.
fn to_avoid(what: &str) -> String {
    let what = trimmed(what);
    let lower = what.to_ascii_lowercase();
    if lower.contains("avoid") || what.contains("避免") {
        return capitalised(what);
    }
    match language_of(what) {
        Language::Chinese => format!("{AVOID_ZH}{what}"),
        Language::English => format!("{AVOID}{what}"),
    }
}
