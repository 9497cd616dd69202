//! The text of an entry: bullets, and lines between them that stay where they are.

use super::language::{
    Language, capitalised, clauses, cut, is_directive_word, language_of, trimmed,
};
use crate::skill::turns_direction;
use crate::text::{is_ideograph, normalised, tokens};

/// Longest title that is made of a lesson, in characters; an ideograph is as wide as two.
const MADE_TITLE_CHARS: usize = 80;
const MADE_TITLE_IDEOGRAPHS: usize = 40;
/// Most keywords that are made of a lesson.
const MADE_KEYWORDS: usize = 5;
/// Longest lesson, title and keyword, most keywords, and largest text of an entry that are taken from a caller or a file: an
/// agent is given up to five entries at once.
pub const MAX_LESSON_CHARS: usize = 2000;
/// See [`MAX_LESSON_CHARS`].
pub const MAX_TITLE_CHARS: usize = 200;
/// See [`MAX_LESSON_CHARS`].
pub const MAX_KEYWORDS: usize = 20;
const MAX_CONTENT_BYTES: usize = 16 * 1024;
const MAX_BULLETS: usize = 200;
/// Words that say little of what a lesson is about.
const PLAIN_WORDS: [&str; 14] = [
    "this", "failure", "pattern", "when", "before", "after", "first", "more", "too", "every",
    "each", "many", "same", "most",
];
/// Ideographs that part words, or say little.
const PARTING: &str =
    "的了和是在有我你请把与及或等前后先再要必须不每次都会能将被让从到对为以其于就也还";

/// Whether a character shows nothing, or makes what follows look like something else.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || turns_direction(c)
        || matches!(
            c,
            '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{2060}' | '\u{feff}'
        )
}

/// Whether a line may be a lesson, a title or a keyword.
///
/// # Errors
/// What is wrong with it.
pub fn check_line(line: &str, most: usize) -> Result<(), String> {
    if line.chars().all(|c| c.is_whitespace() || is_unseen(c)) {
        return Err("is empty".into());
    }
    if line.contains(is_unseen) {
        return Err("has a character that is not seen".into());
    }
    if line.chars().count() > most {
        return Err(format!("is longer than {most} characters"));
    }
    Ok(())
}

/// Whether a text may be that of an entry.
///
/// # Errors
/// What is wrong with it.
pub fn check_content(content: &str) -> Result<(), String> {
    if content.trim().is_empty() {
        return Err("is empty".into());
    }
    let unseen = |c: char| is_unseen(c) && !matches!(c, '\n' | '\r' | '\t');
    if content.contains(unseen) {
        return Err("has a character that is not seen".into());
    }
    if content.len() > MAX_CONTENT_BYTES {
        return Err(format!("is larger than {MAX_CONTENT_BYTES} bytes"));
    }
    if count_bullets(content) > MAX_BULLETS {
        return Err(format!("has more than {MAX_BULLETS} bullets"));
    }
    Ok(())
}

/// The bullets of a text: their lines, counted from 0, and what they say. Those count that begin at column 0, or after two
/// blanks (kit 5.4).
pub fn bullets(content: &str) -> impl Iterator<Item = (usize, &str)> {
    content.lines().enumerate().filter_map(|(at, line)| {
        let said = line
            .strip_prefix("- ")
            .or_else(|| line.strip_prefix("  - "))?;
        Some((at, said))
    })
}

/// How many bullets.
#[must_use]
pub fn count_bullets(content: &str) -> usize {
    bullets(content).count()
}

/// Whether two bullets say the same in one spelling.
fn is_same(a: &str, b: &str) -> bool {
    let spelling = |text: &str| normalised(trimmed(text));
    spelling(a) == spelling(b)
}

/// A text with the lesson as its last bullet, unless it has it already.
#[must_use]
pub fn with_bullet(content: &str, lesson: &str) -> String {
    if bullets(content).any(|(_, said)| is_same(said, lesson)) {
        return content.to_owned();
    }
    let kept = content.trim_end();
    let gap = if kept.is_empty() { "" } else { "\n" };
    format!("{kept}{gap}- {lesson}")
}

/// A text with the lesson in the place of the first of these lines, and without the others.
#[must_use]
pub fn with_replaced(content: &str, lines: &[usize], lesson: &str) -> String {
    let Some(first) = lines.first() else {
        return with_bullet(content, lesson);
    };
    // It may stand elsewhere already.
    let others = bullets(content).filter(|(at, _)| !lines.contains(at));
    let is_known = others.into_iter().any(|(_, said)| is_same(said, lesson));
    let kept = content.lines().enumerate().filter_map(|(at, line)| {
        if !lines.contains(&at) {
            return Some(line.to_owned());
        }
        let indent = if line.starts_with("  ") { "  " } else { "" };
        (at == *first && !is_known).then(|| format!("{indent}- {lesson}"))
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// A text without these lines.
#[must_use]
pub fn without_lines(content: &str, lines: &[usize]) -> String {
    let kept = content.lines().enumerate();
    let kept = kept
        .filter(|(at, _)| !lines.contains(at))
        .map(|(_, line)| line);
    kept.collect::<Vec<_>>().join("\n")
}

/// A title for what a lesson says.
#[must_use]
pub fn title_of(lesson: &str) -> String {
    let first = clauses(lesson).next().unwrap_or(lesson);
    let most = match language_of(first) {
        Language::Chinese => MADE_TITLE_IDEOGRAPHS,
        Language::English => MADE_TITLE_CHARS,
    };
    capitalised(trimmed(cut(first, most)))
}

/// Words that a lesson is found by, those that say most first. `weight` tells how much a token says.
#[must_use]
pub fn keywords_of(lesson: &str, weight: impl Fn(&str) -> f64) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let lesson = normalised(lesson);
    let pieces = lesson.split(|c: char| {
        !(c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | '$')) || PARTING.contains(c)
    });
    for piece in pieces {
        for word in same_script(piece) {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            if is_keyword(word) && !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        }
    }
    let weigh = |word: &String| {
        let tokens = tokens(word);
        tokens.iter().map(|token| weight(token)).fold(0.0, f64::max)
    };
    let mut weighed: Vec<(f64, String)> =
        words.into_iter().map(|word| (weigh(&word), word)).collect();
    weighed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    weighed.truncate(MADE_KEYWORDS);
    weighed.into_iter().map(|(_, word)| word).collect()
}

/// Runs of ideographs, of two to four, and runs of all else.
fn same_script(piece: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = piece;
    while let Some(first) = rest.chars().next() {
        let script = is_ideograph(first);
        let end = rest
            .find(|c| is_ideograph(c) != script)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if !script {
            runs.push(run);
            continue;
        }
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
        // What is longer than a word is taken by pairs.
        let step = if starts.len() <= 4 { 4 } else { 2 };
        for from in (0..starts.len()).step_by(step) {
            let start = starts.get(from).copied().unwrap_or(run.len());
            let end = starts.get(from + step).copied().unwrap_or(run.len());
            runs.push(&run[start..end]);
        }
    }
    runs
}

fn is_keyword(word: &str) -> bool {
    let characters = word.chars().count();
    if word.contains(is_ideograph) {
        return characters >= 2 && !is_directive_word(word);
    }
    let stems = tokens(word);
    characters >= 2
        && !PLAIN_WORDS.contains(&word)
        && !word.chars().all(|c| c.is_ascii_digit())
        && !stems.is_empty()
        && !stems.iter().all(|stem| is_directive_word(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Rules\n- one\n  - two\n    - deep\n* star\ntext\n- three";

    #[test]
    fn bullets_begin_at_the_margin_or_two_blanks_from_it() {
        let said: Vec<&str> = bullets(TEXT).map(|(_, said)| said).collect();
        assert_eq!(said, ["one", "two", "three"]);
        assert_eq!(count_bullets(TEXT), 3);
    }

    #[test]
    fn a_lesson_is_added_once_and_replaces_in_place() {
        assert_eq!(with_bullet("- One.", "one"), "- One.");
        assert_eq!(with_bullet("- one\n", "two"), "- one\n- two");
        assert_eq!(with_bullet("", "two"), "- two");
        assert_eq!(
            with_replaced(TEXT, &[2, 6], "new"),
            "# Rules\n- one\n  - new\n    - deep\n* star\ntext"
        );
        assert_eq!(with_replaced("- a\n- b", &[1], "a"), "- a");
    }

    #[test]
    fn titles_are_the_first_clause_and_keywords_what_says_most() {
        assert_eq!(
            title_of("always compress photos, then upload."),
            "Always compress photos"
        );
        assert_eq!(title_of(&"很".repeat(50)).chars().count(), 40);
        let weight = |token: &str| if token == "photo" { 2.0 } else { 1.0 };
        let words = keywords_of(
            "Always compress photos before uploading with jpeg-turbo to s3",
            weight,
        );
        assert_eq!(
            words,
            ["photos", "compress", "uploading", "jpeg-turbo", "s3"]
        );
        assert_eq!(keywords_of("拍照前检查电量", |_| 1.0), ["拍照", "检查电量"]);
    }
}
