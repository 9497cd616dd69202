//! Unified diffs, as `diff -u` writes them and `patch` reads them.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// Lines around a change.
const CONTEXT: usize = 3;

/// The diff of two texts with the labels of its head; empty if they are the same.
#[must_use]
pub fn unified_diff(before: (&str, &str), after: (&str, &str)) -> String {
    let [old, new] = [before.1, after.1].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let changes: Vec<Hunk> = diff.hunks().collect();
    let near = |one: &Hunk, next: &Hunk| next.before.start <= one.before.end + 2 * CONTEXT as u32;
    let hunks = changes
        .chunk_by(near)
        .map(|changes| hunk(&old, &new, changes));
    let hunks: String = hunks.collect();
    if hunks.is_empty() {
        return hunks;
    }
    format!("--- {}\n+++ {}\n{hunks}", before.0, after.0)
}

/// Changes that are near each other, with the lines around them.
fn hunk(old: &[&str], new: &[&str], changes: &[Hunk]) -> String {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return String::new();
    };
    let above = (first.before.start as usize).min(CONTEXT);
    let below = (old.len() - last.before.end as usize).min(CONTEXT);
    let around = |start: u32, end: u32| start as usize - above..end as usize + below;
    let range = around(first.before.start, last.before.end);
    let new_range = around(first.after.start, last.after.end);
    let mut text = format!("@@ -{} +{} @@\n", shown(&range), shown(&new_range));
    let mut at = range.start;
    for change in changes {
        let (removed, added) = (span(&change.before), span(&change.after));
        write(&mut text, ' ', &old[at..removed.start]);
        at = removed.end;
        write(&mut text, '-', &old[removed]);
        write(&mut text, '+', &new[added]);
    }
    write(&mut text, ' ', &old[at..range.end]);
    text
}

/// Lines are counted from 1. An empty range stands behind a line, and a single one has no count.
fn shown(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

fn span(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

fn write(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_no_diff() {
        assert_eq!(unified_diff(("a", "x\n"), ("b", "x\n")), "");
    }

    #[test]
    fn hunks_are_those_of_diff_u() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9";
        let expected = "--- a\n+++ b\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n\\ No newline at end of file\n";
        assert_eq!(unified_diff(("a", before), ("b", after)), expected);
        assert_eq!(
            unified_diff(("/dev/null", ""), ("b", "1\n")),
            "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+1\n"
        );
        assert_eq!(
            unified_diff(("a", "1\n2\n"), ("/dev/null", "")),
            "--- a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n"
        );
    }
}
