//! The text below the frontmatter, merged by lines. What the agent has learned, between two marks, is the local side's.

use super::lines::{LineConflict, merge_lines};
use crate::skill::{Fence, SECTION_BEGIN, SECTION_END, section_range};

/// Why two texts without a common base can't be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyConflict {
    /// Both sides changed these places.
    Lines(Vec<LineConflict>),
    /// No base is known, and each side has lines that the other has not.
    NoBase,
}

/// Merges the texts below the frontmatters.
///
/// # Errors
/// Where it can't.
pub fn merge_bodies(
    base: Option<&str>,
    upstream: &str,
    local: &str,
) -> Result<String, BodyConflict> {
    let upstream = Sectioned::of(upstream).text;
    let Sectioned {
        text: local,
        section,
    } = Sectioned::of(local);
    let merged = match base {
        Some(base) => {
            let base = Sectioned::of(base).text;
            merge_lines(&base, &upstream, &local).map_err(BodyConflict::Lines)?
        }
        // What the firmware has more, the user may have removed.
        None if has_all(&local, &upstream) => local,
        None => return Err(BodyConflict::NoBase),
    };
    Ok(match section {
        None => merged,
        Some(section) => section.put_into(&merged),
    })
}

/// Whether a text has all lines of the other one in their order: nothing is lost with it.
fn has_all(text: &str, other: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end);
    let mut wanted = other
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    wanted.all(|line| lines.any(|there| there == line))
}

/// A text with the section of another one, and none of its own.
pub fn with_section_of(text: &str, local: &str) -> String {
    let mut text = text.to_owned();
    while let Sectioned {
        text: without,
        section: Some(_),
    } = Sectioned::of(&text)
    {
        text = without;
    }
    // A mark without the other one would end or begin what it must not.
    let is_mark = |line: &&str| [SECTION_BEGIN, SECTION_END].contains(&line.trim());
    let text: String = text
        .split_inclusive('\n')
        .filter(|line| !is_mark(line))
        .collect();
    match Sectioned::of(local).section {
        None => text,
        Some(section) => section.put_into(&text),
    }
}

/// A text, and the section that was in it.
pub struct Sectioned<'t> {
    pub text: String,
    section: Option<Section<'t>>,
}

struct Section<'t> {
    /// With both marks, and blank lines around it.
    lines: &'t str,
    /// The last line with text above it.
    above: &'t str,
    is_last: bool,
}

impl<'t> Sectioned<'t> {
    pub fn of(text: &'t str) -> Self {
        match Section::find(text) {
            None => Self {
                text: text.to_owned(),
                section: None,
            },
            Some((before, section, after)) => Self {
                text: format!("{before}{after}"),
                section: Some(section),
            },
        }
    }
}

impl<'t> Section<'t> {
    fn find(text: &'t str) -> Option<(&'t str, Self, &'t str)> {
        let range = section_range(text)?;
        let (before, rest) = text.split_at_checked(range.start)?;
        let (lines, after) = rest.split_at_checked(range.len())?;
        let section = Self {
            lines,
            above: before.trim_end().lines().next_back().unwrap_or_default(),
            is_last: after.trim().is_empty(),
        };
        Some((before, section, after))
    }

    /// At the top or the end, if it was there; else below the line that it was below, if there is one.
    fn put_into(&self, text: &str) -> String {
        let at = if self.above.is_empty() {
            Some(0)
        } else if self.is_last {
            None
        } else {
            self.place_in(text)
        };
        let (before, after) = text.split_at(at.unwrap_or(text.trim_end().len()));
        let (before, after) = match at {
            Some(_) => (before.to_owned(), after),
            None if before.is_empty() => (String::new(), ""),
            None => (format!("{before}\n"), after.trim_start()),
        };
        let blank = if self.lines.starts_with(['\n', '\r']) || before.is_empty() || at.is_some() {
            ""
        } else {
            "\n"
        };
        let end = if self.lines.ends_with('\n') || after.is_empty() {
            ""
        } else {
            "\n"
        };
        format!("{before}{blank}{}{end}{after}", self.lines)
    }

    fn place_in(&self, text: &str) -> Option<usize> {
        let mut at = 0;
        // Within a block of code the marks would be code.
        let mut fence = Fence::default();
        let ends = text.split_inclusive('\n').filter_map(|line| {
            at += line.len();
            fence.holds(line);
            if fence.is_open() {
                return None;
            }
            (line.trim_end() == self.above.trim_end() && line.ends_with('\n')).then_some(at)
        });
        let mut ends: Vec<usize> = ends.collect();
        if ends.len() == 1 { ends.pop() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTION: &str = "\n<!-- skill-evolution:begin -->\n## Learned guidance\n\n- Wait.\n<!-- skill-evolution:end -->\n";

    #[test]
    fn the_section_is_the_local_sides() {
        let base = "Intro.\n\nStep.\n";
        let upstream = format!(
            "Intro, better.\n\nStep.\n\nMore.\n{}",
            SECTION.replace("Wait", "Hurry")
        );
        let local = format!("{base}{SECTION}");
        let merged = merge_bodies(Some(base), &upstream, &local).unwrap();
        assert_eq!(
            merged,
            format!("Intro, better.\n\nStep.\n\nMore.\n{SECTION}")
        );
    }

    #[test]
    fn a_section_of_the_firmware_does_not_come() {
        let base = "Intro.\n\nStep.\n";
        let upstream = format!("{base}{SECTION}");
        let merged = merge_bodies(Some(base), &upstream, "Intro, mine.\n\nStep.\n").unwrap();
        assert_eq!(merged, "Intro, mine.\n\nStep.\n");
    }

    #[test]
    fn a_section_in_the_middle_stays_below_the_line_above_it() {
        let base = "Intro.\n\nStep.\n";
        let local = format!("Intro.\n{SECTION}\nStep.\n");
        let merged = merge_bodies(Some(base), "Intro.\n\nStep, better.\n", &local).unwrap();
        assert_eq!(merged, format!("Intro.\n{SECTION}\nStep, better.\n"));
    }

    #[test]
    fn without_a_base_the_users_text_is_taken_if_it_has_all_of_the_firmwares() {
        let firmware_has_more = merge_bodies(None, "a\nb\nc\n", "a\n\nc\n");
        assert_eq!(firmware_has_more, Err(BodyConflict::NoBase));
        assert_eq!(
            merge_bodies(None, "a\nc\n", "a\nb\nc\n"),
            Ok("a\nb\nc\n".into())
        );
        assert_eq!(merge_bodies(None, "a\n", "b\n"), Err(BodyConflict::NoBase));
    }
}
