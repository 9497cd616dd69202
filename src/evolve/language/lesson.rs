//! Lessons as texts: one line, sentences, clauses.

/// What a lesson begins with that only says what went wrong.
pub const AVOID: &str = "Avoid this failure pattern: ";
/// The same in Chinese.
pub const AVOID_ZH: &str = "避免这种失败：";

/// A text on one line with straight quotes, as lessons are stored.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        let c = match c {
            '’' | '‘' => '\'',
            '“' | '”' => '"',
            c if c.is_control() => ' ',
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => continue,
            c => c,
        };
        if !c.is_whitespace() {
            line.push(c);
        } else if !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// The sentences of a line, each with the mark that ends it. A full stop within a word, as in `page.html`, ends none.
pub fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let mut characters = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, c)) = characters.next() {
            let after = characters.peek().map(|(_, c)| *c);
            let ends = match c {
                '。' | '！' | '？' => true,
                '.' | '!' | '?' => after.is_none_or(char::is_whitespace),
                _ => false,
            };
            if ends {
                end = at + c.len_utf8();
                break;
            }
        }
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence)
    })
}

/// Whether a mark parts clauses.
pub(super) fn parts_clauses(c: char) -> bool {
    matches!(c, ',' | '，' | ';' | '；' | '。' | '、' | '！' | '？')
}

/// The clauses of a line, without what parts them.
pub fn clauses(line: &str) -> impl Iterator<Item = &str> {
    sentences(line)
        .flat_map(|sentence| sentence.split(parts_clauses))
        .map(trimmed)
        .filter(|clause| !clause.is_empty())
}

/// A clause or sentence without blanks and marks around it.
#[must_use]
pub fn trimmed(text: &str) -> &str {
    let mark = |c: char| {
        c.is_whitespace() || parts_clauses(c) || matches!(c, '.' | '!' | '?' | ':' | '：')
    };
    let dash = |c: char| {
        c.is_whitespace() || parts_clauses(c) || matches!(c, ':' | '：' | '-' | '–' | '—')
    };
    text.trim_end_matches(mark).trim_start_matches(dash)
}

/// With a capital letter at its beginning.
#[must_use]
pub fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// A text of at most so many characters, cut at the end of a word.
#[must_use]
pub fn cut(text: &str, most: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text;
    };
    let start = &text[..end];
    let is_within_word = !text[end..].starts_with(char::is_whitespace);
    match start.rfind(' ').filter(|_| is_within_word) {
        Some(space) if space > end / 2 => start[..space].trim_end(),
        _ => start.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesson_is_one_line_with_straight_quotes() {
        assert_eq!(one_line(" a\n\n “b”\t it’s "), "a \"b\" it's");
    }

    #[test]
    fn sentences_end_where_a_sentence_ends() {
        let of = |line| sentences(line).collect::<Vec<_>>();
        assert_eq!(
            of("Use page.html in v1.2. Then stop! 先截图。再点击"),
            ["Use page.html in v1.2.", "Then stop!", "先截图。", "再点击"]
        );
        let clauses: Vec<&str> = clauses("Wait 30s; 10s is short, 再点击。").collect();
        assert_eq!(clauses, ["Wait 30s", "10s is short", "再点击"]);
    }

    #[test]
    fn a_cut_is_at_a_word() {
        assert_eq!(cut("one two three", 9), "one two");
        assert_eq!(cut("one two three", 7), "one two");
        assert_eq!(cut("操作前先截图", 3), "操作前");
        assert_eq!(cut("short", 9), "short");
    }
}
