//! The reading of a calling agent, in place of the engine's own.

use serde::Deserialize;
use serde_json::Value;

use super::content::{MAX_KEYWORDS, MAX_LESSON_CHARS, MAX_TITLE_CHARS, check_content, check_line};
use super::decide::Judged;
use super::document::{FeedbackSource, FeedbackStatus};
use super::document::{object_of, value_of};
use super::error::EvolveError;
use super::feedback::Feedback;
use super::language::one_line;
use super::matching::Relation;

/// What a calling agent judges; whatever is missing is the engine's.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Judgement {
    feedback: Option<JudgedFeedback>,
    #[serde(rename = "match")]
    matched: Option<JudgedMatch>,
    title: Option<String>,
    keywords: Option<Vec<String>>,
    content: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgedFeedback {
    status: FeedbackStatus,
    lesson: String,
    source: FeedbackSource,
    confidence: Option<f64>,
    #[serde(default)]
    reasoning: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgedMatch {
    #[serde(default)]
    skill_entry_id: Option<String>,
    relation: Relation,
}

impl Judgement {
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
        let judgement: Self = object_of(value).map_err(wrong)?;
        let confidence = judgement.feedback.as_ref().and_then(|one| one.confidence);
        if confidence.is_some_and(|confidence| !(0.0..=1.0).contains(&confidence)) {
            return Err(wrong("feedback.confidence must be from 0 to 1".into()));
        }
        if let Some(matched) = &judgement.matched
            && matched.relation != Relation::None
            && matched.skill_entry_id.is_none()
        {
            return Err(wrong("match.skill_entry_id is missing".into()));
        }
        let lesson = judgement.feedback.as_ref().map(|feedback| &feedback.lesson);
        for (what, text, most) in [
            ("feedback.lesson", lesson, MAX_LESSON_CHARS),
            ("title", judgement.title.as_ref(), MAX_TITLE_CHARS),
        ] {
            if let Some(text) = text {
                check_line(&one_line(text), most).map_err(|e| wrong(format!("{what} {e}")))?;
            }
        }
        for keyword in judgement.keywords.iter().flatten() {
            check_line(&one_line(keyword), MAX_TITLE_CHARS)
                .map_err(|e| wrong(format!("a keyword {e}")))?;
        }
        if judgement
            .keywords
            .as_ref()
            .is_some_and(|all| all.len() > MAX_KEYWORDS)
        {
            return Err(wrong(format!(
                "there are more than {MAX_KEYWORDS} keywords"
            )));
        }
        if let Some(content) = &judgement.content {
            check_content(content).map_err(|e| wrong(format!("content {e}")))?;
        }
        Ok(judgement)
    }

    /// The feedback, if it was judged.
    #[must_use]
    pub fn feedback(&self) -> Option<Feedback> {
        let judged = self.feedback.as_ref()?;
        Some(Feedback {
            status: judged.status,
            lesson: one_line(&judged.lesson),
            source: judged.source,
            confidence: judged
                .confidence
                .unwrap_or_else(|| judged.source.confidence(judged.status)),
            reasoning: judged.reasoning.as_deref().map(one_line),
        })
    }

    /// What was judged of entry and text.
    #[must_use]
    pub fn judged(&self) -> Judged {
        let relation = self.matched.as_ref().map(|matched| {
            let id = matched.skill_entry_id.clone().unwrap_or_default();
            (id, matched.relation)
        });
        let content = self
            .content
            .as_ref()
            .map(|content| content.replace("\r\n", "\n").trim_end().to_owned());
        Judged {
            relation,
            content,
            title: self.title.as_deref().map(one_line),
            keywords: self.keywords.as_ref().map(|keywords| {
                let keywords = keywords.iter().map(|keyword| one_line(keyword));
                keywords.filter(|keyword| !keyword.is_empty()).collect()
            }),
        }
    }

    /// Which parts were judged, for the audit.
    #[must_use]
    pub fn parts(&self) -> Vec<&'static str> {
        let parts = [
            ("feedback", self.feedback.is_some()),
            ("match", self.matched.is_some()),
            ("title", self.title.is_some()),
            ("keywords", self.keywords.is_some()),
            ("content", self.content.is_some()),
        ];
        let judged = parts.into_iter().filter(|(_, is_judged)| *is_judged);
        judged.map(|(part, _)| part).collect()
    }
}

fn wrong(reason: String) -> EvolveError {
    EvolveError::Input(format!("the judgement is not as it must be: {reason}"))
}
