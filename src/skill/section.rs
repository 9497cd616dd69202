//! The section of a SKILL.md that holds what the agent has learned, between two marks; and blocks of code, in which marks are
//! none.

use std::ops::Range;

use super::frontmatter::split;

/// The line that the section begins with.
pub const SECTION_BEGIN: &str = "<!-- skill-evolution:begin -->";
/// The line that it ends with.
pub const SECTION_END: &str = "<!-- skill-evolution:end -->";

/// A code fence, which goes on until one of the same kind comes that is at least as long (CommonMark 4.5).
#[derive(Debug, Default)]
pub struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Whether a line is in one, or its mark.
    pub fn holds(&mut self, line: &str) -> bool {
        let text = line.trim_start_matches([' ', '\t']);
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'));
        let mark = mark.and_then(|mark| {
            let len = text.chars().take_while(|c| *c == mark).count();
            (len >= 3).then(|| (mark, len, text.get(len..).unwrap_or_default().trim()))
        });
        match (self.open, mark) {
            (Some((open, len)), Some((mark, its, ""))) if open == mark && its >= len => {
                self.open = None;
                true
            }
            (None, Some((mark, len, info))) if mark == '~' || !info.contains('`') => {
                self.open = Some((mark, len));
                true
            }
            (open, _) => open.is_some(),
        }
    }

    /// Whether the next line is in it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The line that ends it, if it is open.
    #[must_use]
    pub fn end(&self) -> Option<String> {
        self.open.map(|(mark, len)| mark.to_string().repeat(len))
    }
}

/// Why a text has no place for the section.
///
/// # Errors
/// What is to be done first.
pub fn check_section(text: &str) -> Result<(), &'static str> {
    let body = split(text).map_or(0, |parts| parts.body_range.start);
    let mut fence = Fence::default();
    let mut marks = Vec::new();
    for line in text.get(body..).unwrap_or_default().lines() {
        if !fence.holds(line) && [SECTION_BEGIN, SECTION_END].contains(&line.trim()) {
            marks.push(line.trim() == SECTION_BEGIN);
        }
    }
    match marks[..] {
        [] if fence.is_open() => Err("its last block of code is not closed: close it"),
        [] | [true, false] => Ok(()),
        _ => Err(
            "the marks of its learned guidance do not come once and in order: remove the lines that have them, and what was learned between them",
        ),
    }
}

/// Where the section is, with both marks and the blank lines above it: without it they would be a change. A text's frontmatter
/// has none.
#[must_use]
pub fn section_range(text: &str) -> Option<Range<usize>> {
    let body = split(text).map_or(0, |parts| parts.body_range.start);
    let mark = |from: usize, mark: &str| {
        let mut at = from;
        // A skill may tell of the marks.
        let mut fence = Fence::default();
        text.get(from..)?.split_inclusive('\n').find_map(|line| {
            let (start, end) = (at, at + line.len());
            at = end;
            (!fence.holds(line) && line.trim() == mark).then_some((start, end))
        })
    };
    let (begin, _) = mark(body, SECTION_BEGIN)?;
    let (_, end) = mark(begin, SECTION_END)?;
    let before = text.get(body..begin)?;
    let above = before.trim_end();
    let kept = before
        .get(above.len()..)?
        .find('\n')
        .map_or(before.len(), |line| above.len() + line + 1);
    Some(body + kept..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_has_its_marks_and_the_blank_lines_above_it() {
        let text = "---\nname: a\n---\n\nStep.\n\n<!-- skill-evolution:begin -->\nx\n<!-- skill-evolution:end -->\nMore.\n";
        let section = &text[section_range(text).unwrap()];
        assert_eq!(
            section,
            "\n<!-- skill-evolution:begin -->\nx\n<!-- skill-evolution:end -->\n"
        );
    }

    #[test]
    fn a_fence_ends_with_its_own_mark_only() {
        let open = |text: &str| {
            let mut fence = Fence::default();
            text.lines().for_each(|line| _ = fence.holds(line));
            fence.end()
        };
        assert_eq!(open("```rust\n~~~\n```"), None);
        assert_eq!(open("````\n```\n"), Some("````".into()));
        assert_eq!(open("``` of `code`\n"), None);
        assert_eq!(open("~~~\n```"), Some("~~~".into()));
    }

    #[test]
    fn a_section_has_its_marks_once_and_in_order() {
        let (begin, end) = (SECTION_BEGIN, SECTION_END);
        for good in [
            "text".to_owned(),
            format!("a\n{begin}\n{end}\n"),
            format!("```\n{begin}\n```"),
        ] {
            assert_eq!(check_section(&good), Ok(()), "{good}");
        }
        for bad in [
            format!("{begin}\nnotes"),
            format!("{end}\n{begin}"),
            format!("{begin}\n{begin}\n{end}"),
            "```\nopen".to_owned(),
        ] {
            assert!(check_section(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn marks_in_a_block_of_code_are_text() {
        let text = "```\n<!-- skill-evolution:begin -->\n<!-- skill-evolution:end -->\n```\n";
        assert_eq!(section_range(text), None);
    }
}
