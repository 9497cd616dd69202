//! The kind of a task, in snake case.

use super::language::{Sought, Topic, one_line, sentences};
use crate::text::{is_ideograph, normalised};

/// Longest derived signature, in words.
const MAX_WORDS: usize = 8;

/// The signature that was given, in one spelling; else one made of the task's words, if there is a task.
#[must_use]
pub fn signature_of(given: Option<&str>, task: Option<&str>) -> Option<String> {
    let given = given.map(spelt).filter(|given| !given.is_empty());
    given.or_else(|| {
        // What follows the first sentence is how, not what.
        let task = one_line(task?);
        let task = spelt(sentences(&task).next()?);
        let words: Vec<&str> = task.split('_').take(MAX_WORDS).collect();
        let short: String = words.join("_");
        let cut: String = short.chars().take(MAX_WORDS * 10).collect();
        (!cut.is_empty()).then_some(cut)
    })
}

fn spelt(text: &str) -> String {
    let mut spelt = String::new();
    for c in normalised(text).chars() {
        if c.is_alphanumeric() || is_ideograph(c) {
            spelt.push(c);
        } else if !spelt.is_empty() && !spelt.ends_with('_') {
            spelt.push('_');
        }
    }
    spelt.trim_matches('_').to_owned()
}

/// Signatures that share so much of their words are of one kind.
const PARTIAL: f64 = 0.5;

/// How a signature fits another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignatureFit {
    /// Not at all.
    None,
    /// They share half of their words.
    Partial,
    /// They are the same.
    Exact,
}

/// A signature that many others are compared with.
#[derive(Debug)]
pub struct Signature {
    spelt: String,
    words: Sought,
}

impl Signature {
    /// Of this text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self {
            spelt: spelt(text),
            words: Sought::of(text),
        }
    }

    /// How another one fits.
    #[must_use]
    pub fn fit(&self, other: &str) -> SignatureFit {
        let is_same = other == self.spelt
            || (other.chars().next().map(narrowed) == self.spelt.chars().next().map(narrowed)
                && spelt(other) == self.spelt);
        if is_same && !self.spelt.is_empty() {
            return SignatureFit::Exact;
        }
        let mut marks = vec![false; self.words.topic.len()];
        if self.words.mark(other, &mut marks) > 0
            && self.words.topic.jaccard(&Topic::of(other)) >= PARTIAL
        {
            SignatureFit::Partial
        } else {
            SignatureFit::None
        }
    }
}

/// A first letter in whatever case.
fn narrowed(c: char) -> char {
    c.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_in_snake_case() {
        assert_eq!(
            signature_of(Some("Code Review"), None).as_deref(),
            Some("code_review")
        );
        assert_eq!(
            signature_of(Some("api_rate_limiting"), Some("x")).as_deref(),
            Some("api_rate_limiting")
        );
        assert_eq!(
            signature_of(None, Some("Write the report, please!")).as_deref(),
            Some("write_the_report_please")
        );
        assert_eq!(signature_of(Some("  "), None), None);
        assert_eq!(
            signature_of(None, Some("写周报")).as_deref(),
            Some("写周报")
        );
    }
}
