//! The kind of a task, in snake case.

use crate::text::{is_ideograph, normalised};

/// Longest derived signature, in words.
const MAX_WORDS: usize = 8;

/// The signature that was given, in one spelling; else one made of the task's words, if there is a task.
#[must_use]
pub fn signature_of(given: Option<&str>, task: Option<&str>) -> Option<String> {
    let given = given.map(spelt).filter(|given| !given.is_empty());
    given.or_else(|| {
        let task = spelt(task?);
        let words: Vec<&str> = task.split('_').take(MAX_WORDS).collect();
        let short: String = words.join("_");
        let cut: String = short.chars().take(MAX_WORDS * 10).collect();
        (!cut.is_empty()).then_some(cut)
    })
}

fn spelt(text: &str) -> String {
    let mut spelt = String::new();
    for c in normalised(text).chars() {
        if c.is_alphanumeric() || is_ideograph(c) || matches!(c, '.' | ':' | '/') {
            spelt.push(c);
        } else if !spelt.is_empty() && !spelt.ends_with('_') {
            spelt.push('_');
        }
    }
    spelt.trim_matches(['_', '.', ':', '/']).to_owned()
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
