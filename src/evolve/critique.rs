//! What the last experiences of one kind of task say together.

use super::document::{Experience, FeedbackSource, FeedbackStatus};
use crate::text::normalised;

/// A sentence on the last experiences, newest last; `None` where there is nothing to say.
#[must_use]
pub fn critique(earlier: &[Experience]) -> Option<String> {
    let told: Vec<&Experience> = earlier
        .iter()
        .filter(|one| one.feedback_source != FeedbackSource::Default)
        .collect();
    let last = told.last()?;
    let negative = told
        .iter()
        .filter(|one| one.feedback_status == FeedbackStatus::Negative)
        .count();
    let mut said = format!(
        "{} earlier experiences of this kind: {} positive, {negative} negative.",
        told.len(),
        told.len() - negative
    );
    let same = |a: &Experience, b: &Experience| normalised(&a.lesson) == normalised(&b.lesson);
    let repeated = told
        .iter()
        .rev()
        .find(|one| told.iter().filter(|other| same(one, other)).count() > 1);
    if let Some(repeated) = repeated {
        said.push_str(&format!(" Said more than once: {}", repeated.lesson));
    } else {
        said.push_str(&format!(" Last: {}", last.lesson));
    }
    Some(said)
}
