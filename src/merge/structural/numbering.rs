//! The numbers of ordered lists in Markdown.

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

/// Counts the items of each list from the number of its first one, if all lists of the `sources` are numbered so.
pub fn renumber(text: &str, sources: &[&str]) -> String {
    if !sources.iter().all(|source| renumbered(source) == *source) {
        return text.to_owned();
    }
    renumbered(text)
}

fn renumbered(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    // The lists that are open, outermost first: indentation, and the number of the last item.
    let mut open: Vec<(usize, u64)> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - trimmed.len();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            _ => {}
        }
        if fence.is_some() || mark.is_some() || trimmed.trim().is_empty() {
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
    fn lists_are_counted_from_their_first_number_each_at_its_own_indentation() {
        let text = "3. a\n\n   1. b\n   1. c\n3. d\n\nText.\n\n7. e\n7. f\n```\n1. g\n1. h\n```\n";
        let counted =
            "3. a\n\n   1. b\n   2. c\n4. d\n\nText.\n\n7. e\n8. f\n```\n1. g\n1. h\n```\n";
        assert_eq!(renumber(text, &[]), counted);
    }

    #[test]
    fn lists_that_are_numbered_otherwise_on_a_side_stay_as_they_are() {
        let text = "1. a\n1. b\n1. c\n";
        assert_eq!(renumber(text, &["1. a\n1. b\n"]), text);
        assert_eq!(renumber(text, &["1. a\n2. b\n"]), "1. a\n2. b\n3. c\n");
    }
}
