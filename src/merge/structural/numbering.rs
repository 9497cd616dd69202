//! The numbers of ordered lists in Markdown.

use crate::skill::Fence;

/// The parts of a line that is an item of an ordered list.
struct Item<'t> {
    indent: &'t str,
    number: u64,
    /// `.` or `)`, and what follows.
    rest: &'t str,
}

impl<'t> Item<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let text = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - text.len()];
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = text.split_at(digits);
        // CommonMark allows nine digits, and wants a blank or the end after the delimiter.
        let after = rest.strip_prefix(['.', ')'])?;
        if !(1..=9).contains(&digits)
            || !(after.is_empty() || after.starts_with([' ', '\t', '\r', '\n']))
        {
            return None;
        }
        let number = number.parse().ok()?;
        Some(Self {
            indent,
            number,
            rest,
        })
    }
}

/// A line, with a number that begins an item of a list left out.
pub fn without_number(line: &str) -> String {
    match Item::of(line) {
        Some(item) => format!("{}0{}", item.indent, item.rest),
        None => line.to_owned(),
    }
}

/// The lines without blanks at their ends and without the numbers of items; what is in a code fence keeps its numbers.
pub fn without_numbers(lines: &[&str]) -> Vec<String> {
    let mut fence = Fence::default();
    let key = |line: &&str| {
        let line = line.trim_end();
        if fence.holds(line) {
            line.to_owned()
        } else {
            without_number(line)
        }
    };
    lines.iter().map(key).collect()
}

/// Whether the items of all lists are counted from the number of the first one.
pub fn is_counted(text: &str) -> bool {
    counted(text) == text
}

/// Counts the items of each list from the number of its first one.
pub fn counted(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    // The lists that are open, outermost first: indentation, and the number of the last item.
    let mut open: Vec<(usize, u64)> = Vec::new();
    let mut fence = Fence::default();
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - trimmed.len();
        if fence.holds(line) || trimmed.trim().is_empty() {
            result.push_str(line);
            continue;
        }
        // A line that is less indented ends the lists within; one beside the items ends their own, unless it is one.
        open.retain(|(list, _)| *list <= indent);
        match Item::of(line) {
            Some(item) => {
                let number = match open.last_mut() {
                    Some((list, last)) if *list == indent => {
                        *last += 1;
                        *last
                    }
                    _ => {
                        open.push((indent, item.number));
                        item.number
                    }
                };
                result.push_str(item.indent);
                result.push_str(&number.to_string());
                result.push_str(item.rest);
            }
            None => {
                open.retain(|(list, _)| *list < indent);
                result.push_str(line);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_items_of_ordered_lists_have_a_number() {
        for (line, without) in [
            ("12. Tap", "0. Tap"),
            ("  3) Tap", "  0) Tap"),
            ("4.", "0."),
            ("3.5 V", "3.5 V"),
            ("2026-05-01. A date", "2026-05-01. A date"),
            ("1234567890. Too many digits", "1234567890. Too many digits"),
            ("- 1. no", "- 1. no"),
        ] {
            assert_eq!(without_number(line), without);
        }
    }

    #[test]
    fn numbers_in_code_stay() {
        let lines = ["1. a  ", "```", "1. b", "```", "2. c"];
        assert_eq!(
            without_numbers(&lines),
            ["0. a", "```", "1. b", "```", "0. c"]
        );
    }

    #[test]
    fn lists_are_counted_from_their_first_number_each_at_its_own_indentation() {
        let text = "3. a\n\n   1. b\n   1. c\n3. d\n\nText.\n\n7. e\n7. f\n```\n1. g\n1. h\n```\n";
        let expected =
            "3. a\n\n   1. b\n   2. c\n4. d\n\nText.\n\n7. e\n8. f\n```\n1. g\n1. h\n```\n";
        assert_eq!(counted(text), expected);
    }

    #[test]
    fn lists_that_are_numbered_otherwise_are_not_counted() {
        assert!(!is_counted("1. a\n1. b\n"));
        assert!(is_counted("3. a\n4. b\n\nText.\n\n1. c\n"));
    }
}
