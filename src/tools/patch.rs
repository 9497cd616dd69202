//! Replacing one passage of a text; pure. Bytes match exactly or not at all.

use crate::skill::shown;

/// Lines that are shown of a passage that was nearly found.
const SHOWN_LINES: usize = 3;
const SHOWN_CHARS: usize = 100;
/// Lines that are named of a passage that stands more than once.
const SHOWN_PLACES: usize = 10;

/// A patched text, and which lines of it are new.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patched {
    pub text: String,
    pub first_line: usize,
    pub last_line: usize,
}

/// Replaces the only place where `old` stands.
///
/// # Errors
/// How near it was, and what to do.
pub(super) fn patch(text: &str, old: &str, new: &str) -> Result<Patched, String> {
    if old.is_empty() {
        return Err("old_string is empty: pass the passage that is to be replaced".into());
    }
    if old == new {
        return Err("old_string and new_string are the same: nothing would change".into());
    }
    let places: Vec<usize> = starts(text, old).collect();
    match places.as_slice() {
        [] => Err(not_found(text, old)),
        [at] => {
            let (before, rest) = text.split_at(*at);
            let after = rest.get(old.len()..).unwrap_or_default();
            let first_line = line_of(text, *at);
            let within = new.strip_suffix('\n').unwrap_or(new);
            Ok(Patched {
                text: format!("{before}{new}{after}"),
                first_line,
                last_line: first_line + within.matches('\n').count(),
            })
        }
        _ => {
            let mut lines: Vec<usize> = places.iter().map(|at| line_of(text, *at)).collect();
            lines.dedup();
            let shown = lines.iter().take(SHOWN_PLACES).map(usize::to_string);
            let more = if lines.len() > SHOWN_PLACES {
                ", …"
            } else {
                ""
            };
            Err(format!(
                "old_string stands {} times, in lines {}{more}: make it longer, so that it stands once",
                places.len(),
                shown.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// All places, overlapping ones too: one of those is no less ambiguous.
fn starts<'t>(text: &'t str, old: &'t str) -> impl Iterator<Item = usize> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(old)?;
        from = at + text.get(at..)?.chars().next().map_or(1, char::len_utf8);
        Some(at)
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at)
        .map_or(0, |before| before.matches('\n').count())
        + 1
}

fn not_found(text: &str, old: &str) -> String {
    let lower = text.to_lowercase().matches(&old.to_lowercase()).count();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let spaced = words(text).matches(&words(old)).count();
    let near = nearest(text, old);
    let near = match near.as_slice() {
        [] => "nothing like it is there".to_owned(),
        lines => format!("nearest: {}", lines.join("; ")),
    };
    format!(
        "old_string is not in the text (matches without regard to case: {lower}, to white space: {spaced}; {near}): \
         read the skill again with skill_read and copy the passage exactly"
    )
}

/// The lines that have most words in common with the first line of a passage.
fn nearest(text: &str, old: &str) -> Vec<String> {
    let Some(wanted) = old.lines().find(|line| !line.trim().is_empty()) else {
        return Vec::new();
    };
    let words = |line: &str| -> Vec<String> {
        line.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let wanted = words(wanted);
    let mut lines: Vec<(usize, usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let has = words(line);
            (
                wanted.iter().filter(|word| has.contains(word)).count(),
                at + 1,
                line,
            )
        })
        .filter(|(common, ..)| *common > 0)
        .collect();
    lines.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    lines.truncate(SHOWN_LINES);
    lines
        .into_iter()
        .map(|(_, at, line)| format!("line {at} {:?}", shown(line.trim(), SHOWN_CHARS)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Steps\n\n1. Tap Save.\n2. Tap OK.\n";

    #[test]
    fn the_only_place_is_replaced_and_its_lines_are_told() {
        let patched = patch(TEXT, "1. Tap Save.", "1. Look.\n2. Tap Save.").unwrap();
        assert_eq!(
            patched.text,
            "# Steps\n\n1. Look.\n2. Tap Save.\n2. Tap OK.\n"
        );
        assert_eq!((patched.first_line, patched.last_line), (3, 4));
        let removed = patch(TEXT, "2. Tap OK.\n", "").unwrap();
        assert_eq!((removed.first_line, removed.last_line), (4, 4));
    }

    #[test]
    fn replacement_bytes_land_as_they_are() {
        let patched = patch("a C:\\run b", "run", "\\r$1\r\n").unwrap();
        assert_eq!(patched.text, "a C:\\\\r$1\r\n b");
    }

    #[test]
    fn what_stands_more_than_once_is_told_by_its_lines() {
        let error = patch(TEXT, "Tap", "Press").unwrap_err();
        assert_eq!(
            error,
            "old_string stands 2 times, in lines 3, 4: make it longer, so that it stands once"
        );
        assert!(
            patch("aaa", "aa", "b").unwrap_err().contains("2 times"),
            "overlapping"
        );
        let error = patch(&"a a\n".repeat(300), "a", "b").unwrap_err();
        assert!(
            error.contains("stands 600 times, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …:"),
            "{error}"
        );
    }

    #[test]
    fn what_is_not_there_is_told_with_how_near_it_was() {
        let error = patch(TEXT, "1.  tap save.", "x").unwrap_err();
        assert!(
            error.contains("without regard to case: 0, to white space: 0"),
            "{error}"
        );
        assert!(
            error.contains("nearest: line 3 \"1. Tap Save.\""),
            "{error}"
        );
        let error = patch(TEXT, "1. TAP SAVE.", "x").unwrap_err();
        assert!(error.contains("case: 1, to white space: 0"), "{error}");
        let error = patch(TEXT, "Save.\n\n2.", "x").unwrap_err();
        assert!(error.contains("case: 0, to white space: 1"), "{error}");
        assert!(
            patch(TEXT, "zebra", "x")
                .unwrap_err()
                .contains("nothing like it")
        );
    }

    #[test]
    fn what_would_change_nothing_is_refused() {
        assert!(patch(TEXT, "", "x").is_err());
        assert!(patch(TEXT, "Tap OK.", "Tap OK.").is_err());
    }
}
