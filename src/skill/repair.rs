//! Values that hold a colon but no quotes (`description: Use when: a thing`) are not YAML, yet people and models
//! write them all the time. This pass puts such values into quotes, so that the text can be parsed after all.

use super::fields::RECOGNISED;
use super::frontmatter::{FIRST_YAML_LINE, Warning};

/// The YAML with every plain value that has a colon in it put in single quotes, and what was quoted; `None` when
/// there is no such value. Lines stay lines: an error in the result still carries the right number.
pub(super) fn quote_colons(yaml: &str) -> Option<(String, Vec<Warning>)> {
    let lines: Vec<&str> = yaml.split_inclusive('\n').collect();
    let mut out = String::with_capacity(yaml.len() + 16);
    let mut warnings = Vec::new();
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        let Some(entry) = Entry::read(line) else {
            out.push_str(line);
            next += 1;
            continue;
        };
        let end = block_end(&lines, next, entry.column);
        let scalar = match entry.value(line) {
            "" => value_below(&lines, next + 1, end),
            value if starts_plain(value) => Some((next, entry.value_at)),
            _ => None,
        };
        match scalar {
            Some((first, at))
                if has_colon(&lines, first, end, at) && !hides_field(&lines, first, end) =>
            {
                let end = before_comment(&lines, first, end);
                out.extend(lines.get(next..first).unwrap_or_default().iter().copied());
                quote(&mut out, lines.get(first..end).unwrap_or_default(), at);
                let key = entry.key(line).to_owned();
                warnings.push(Warning::UnquotedColon {
                    key,
                    line: next + FIRST_YAML_LINE,
                });
                next = end;
            }
            // A nested mapping or list: its lines are looked at one by one.
            None if entry.value(line).is_empty() && !opens_other_style(&lines, next + 1, end) => {
                out.push_str(line);
                next += 1;
            }
            // A sound scalar, or one in quotes, brackets or a block: nothing inside is a key of ours.
            _ => {
                out.extend(lines.get(next..end).unwrap_or_default().iter().copied());
                next = end;
            }
        }
    }
    (!warnings.is_empty()).then_some((out, warnings))
}

/// A line `key: value`, possibly an item of a list, by the places of its parts.
struct Entry {
    column: usize,
    key_end: usize,
    value_at: usize,
}

impl Entry {
    fn read(line: &str) -> Option<Self> {
        let mut column = indent(line);
        while let Some(rest) = line.get(column..)?.strip_prefix("- ") {
            column += 2 + indent(rest);
        }
        let rest = line.get(column..)?;
        let length =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))?;
        let key_end = column + length;
        let colon = key_end + indent(line.get(key_end..)?);
        let after = line.get(colon..)?.strip_prefix(':')?;
        if length == 0 || after.starts_with(|c: char| !c.is_whitespace()) {
            return None;
        }
        let value_at = line.len() - after.trim_start_matches([' ', '\t']).len();
        Some(Self {
            column,
            key_end,
            value_at,
        })
    }

    fn key<'a>(&self, line: &'a str) -> &'a str {
        line.get(self.column..self.key_end).unwrap_or_default()
    }

    /// The value on the key's own line; empty when there is only a comment.
    fn value<'a>(&self, line: &'a str) -> &'a str {
        let value = line.get(self.value_at..).unwrap_or_default().trim_end();
        if value.starts_with('#') { "" } else { value }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The line after the last one that belongs to the key in line `first`: those indented deeper than the key.
fn block_end(lines: &[&str], first: usize, column: usize) -> usize {
    let mut end = first + 1;
    let mut blanks = 0;
    while let Some(line) = lines.get(end + blanks) {
        if line.trim().is_empty() {
            blanks += 1;
        } else if indent(line) > column {
            end += blanks + 1;
            blanks = 0;
        } else {
            break;
        }
    }
    end
}

/// Where a plain value starts that begins on a line below its key. A first line with a key of its own, or a list
/// item, is a nested structure instead.
fn value_below(lines: &[&str], from: usize, end: usize) -> Option<(usize, usize)> {
    let (at, line) = first_text(lines, from, end)?;
    let plain = starts_plain(line.trim()) && Entry::read(line).is_none();
    plain.then_some((at, indent(line)))
}

fn opens_other_style(lines: &[&str], from: usize, end: usize) -> bool {
    first_text(lines, from, end).is_some_and(|(_, line)| {
        let text = line.trim();
        !starts_plain(text) && !text.starts_with('-') && !text.starts_with('#')
    })
}

fn first_text<'a>(lines: &[&'a str], from: usize, end: usize) -> Option<(usize, &'a str)> {
    let found = lines
        .get(from..end)?
        .iter()
        .position(|line| !line.trim().is_empty())?;
    Some((from + found, lines.get(from + found)?))
}

/// Whether YAML would read a text that begins like this as a plain scalar.
fn starts_plain(text: &str) -> bool {
    let indicator = text.starts_with([
        '"', '\'', '[', ']', '{', '}', '|', '>', '&', '*', '!', '%', '@', '`', '#', ',',
    ]);
    let marker =
        matches!(text, "-" | "?" | ":") || ["- ", "? ", ": "].iter().any(|m| text.starts_with(m));
    !text.is_empty() && !indicator && !marker
}

/// Whether a plain scalar has a colon that YAML takes for a key's. One in a comment (`a # b: c`) is harmless, and
/// such a value must stay as it is.
fn has_colon(lines: &[&str], first: usize, end: usize, at: usize) -> bool {
    lines
        .get(first..end)
        .unwrap_or_default()
        .iter()
        .enumerate()
        .any(|(nth, line)| {
            let text = if nth == 0 {
                line.get(at..).unwrap_or_default()
            } else {
                line
            };
            let text = text.trim();
            let code = [" #", "\t#"]
                .iter()
                .filter_map(|c| text.find(c))
                .min()
                .map_or(text, |c| &text[..c]);
            let code = code.trim_end();
            !code.starts_with('#')
                && (code.contains(": ") || code.contains(":\t") || code.ends_with(':'))
        })
}

/// Whether a line below the first is a field of a skill, indented by mistake: quoting would make it text, and a
/// restriction such as `allowed_tools` would be lost without a word.
fn hides_field(lines: &[&str], first: usize, end: usize) -> bool {
    let below = lines.get(first + 1..end).unwrap_or_default();
    below
        .iter()
        .any(|line| Entry::read(line).is_some_and(|entry| RECOGNISED.contains(&entry.key(line))))
}

/// The end of a scalar that starts in line `first`: a line of nothing but comment ends it, as it does in YAML.
fn before_comment(lines: &[&str], first: usize, end: usize) -> usize {
    let text = |line: &&str| !line.trim_start().starts_with('#');
    let mut at = first + 1;
    at += lines
        .get(at..end)
        .unwrap_or_default()
        .iter()
        .take_while(|line| text(line))
        .count();
    while at > first + 1 && lines.get(at - 1).is_some_and(|line| line.trim().is_empty()) {
        at -= 1;
    }
    at
}

/// Writes the lines with single quotes around the value that starts at byte `at` of the first. Such a value folds
/// over lines as a plain one does, and only the quote itself must be doubled.
fn quote(out: &mut String, lines: &[&str], at: usize) {
    for (nth, line) in lines.iter().enumerate() {
        let (before, rest) = line
            .split_at_checked(if nth == 0 { at } else { 0 })
            .unwrap_or((line, ""));
        let text = rest.trim_end();
        out.push_str(before);
        if nth == 0 {
            out.push('\'');
        }
        out.push_str(&text.replace('\'', "''"));
        if nth + 1 == lines.len() {
            out.push('\'');
        }
        out.push_str(rest.get(text.len()..).unwrap_or_default());
    }
}
