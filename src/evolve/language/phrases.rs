//! Finding phrases: English ones as words ("shoulder" is not "should"), Chinese ones wherever they stand.

use crate::text::is_ideograph;

/// In which language something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English, or anything that is not Chinese.
    English,
    /// Chinese.
    Chinese,
}

/// Whether a text has ideographs.
#[must_use]
pub fn has_ideographs(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_ideograph)
}

/// The language of a text: Chinese if it has more ideographs than letters.
#[must_use]
pub fn language_of(text: &str) -> Language {
    let ideographs = text.chars().filter(|c| is_ideograph(*c)).count();
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    if ideographs * 3 > letters {
        Language::Chinese
    } else {
        Language::English
    }
}

/// Where a phrase stands in a text, in bytes. The phrase is in lower case; ASCII letters of the text may be in either.
#[must_use]
pub fn find_phrase(text: &str, phrase: &str) -> Option<usize> {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let lower = text.to_ascii_lowercase();
    let as_words = !has_ideographs(phrase);
    let mut from = 0;
    while let Some(at) = lower.get(from..)?.find(phrase) {
        let (start, end) = (from + at, from + at + phrase.len());
        let before = lower[..start].chars().next_back();
        let after = lower[end..].chars().next();
        if !as_words || !(is_word(before) || is_word(after)) {
            return Some(start);
        }
        from = start + lower[start..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_phrases_are_found_as_words_and_chinese_ones_anywhere() {
        assert_eq!(find_phrase("You Should rest", "should"), Some(4));
        assert_eq!(find_phrase("Carry it on your shoulder", "should"), None);
        assert_eq!(find_phrase("one timeout, one time", "one time"), Some(13));
        assert_eq!(find_phrase("请不要停", "不要"), Some(3));
        assert_eq!(find_phrase("用never模式", "never"), Some(3));
    }
}
