//! The section of a SKILL.md that holds what the agent has learned, between two marks; and blocks of code, in which marks are
//! none.

use std::ops::Range;

use super::frontmatter::split;

/// The line that the section begins with.
pub const SECTION_BEGIN: &str = "<!-- skill-evolution:begin -->";
/// The line that it ends with.
pub const SECTION_END: &str = "<!-- skill-evolution:end -->";

/// A code fence, which goes on until its mark comes again.
#[derive(Default)]
pub struct Fence {
    open: Option<&'static str>,
}

impl Fence {
    /// Whether a line is in one, or its mark.
    pub fn holds(&mut self, line: &str) -> bool {
        let text = line.trim_start_matches([' ', '\t']);
        let marks = ["```", "~~~"];
        let mark = marks.into_iter().find(|mark| text.starts_with(mark));
        match (self.open, mark) {
            (Some(open), Some(mark)) if open == mark => self.open = None,
            (None, Some(mark)) => self.open = Some(mark),
            _ => {}
        }
        self.open.is_some() || mark.is_some()
    }

    /// Whether the next line is in it.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
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
    fn marks_in_a_block_of_code_are_text() {
        let text = "```\n<!-- skill-evolution:begin -->\n<!-- skill-evolution:end -->\n```\n";
        assert_eq!(section_range(text), None);
    }
}
