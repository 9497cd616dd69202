//! The text of a YAML block mapping, cut into its entries, so that each can be merged and written as its author wrote it.

use serde_yaml::{Mapping, Value};

use crate::skill::frontmatter::parse_yaml;

/// The lines of a block mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Block<'t> {
    pub entries: Vec<Entry<'t>>,
    /// Comments and blank lines after the last entry.
    pub tail: &'t str,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<'t> {
    pub key: String,
    pub value: Value,
    /// Comments and blank lines above it.
    pub lead: &'t str,
    /// Its lines, the last line break included.
    pub text: &'t str,
    /// How much the key is indented.
    pub indent: usize,
}

impl<'t> Block<'t> {
    /// Cuts the text of a mapping; `None` where its entries can't be told from the text (flow style, anchors, and all that
    /// reads otherwise alone than in its place).
    pub fn of(text: &'t str, mapping: &Mapping) -> Option<Self> {
        let block = Self::cut(text)?;
        let same_keys = block.entries.len() == mapping.len()
            && block
                .entries
                .iter()
                .zip(mapping)
                .all(|(entry, (key, value))| {
                    key.as_str() == Some(&entry.key) && entry.value == *value
                });
        same_keys.then_some(block)
    }

    fn cut(text: &'t str) -> Option<Self> {
        let indent = text
            .lines()
            .find(|line| !is_remark(line))
            .map_or(0, indentation);
        let mut starts: Vec<(usize, usize)> = Vec::new();
        // Where the remarks above the present line begin, if there are any.
        let mut remarks = 0;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.len();
            let is_within = !starts.is_empty() && indentation(line) > indent;
            if is_remark(line) {
                // What is further in belongs to the value above it: a comment in it, or a line of a text.
                if is_within && !line.trim().is_empty() {
                    remarks = end;
                }
            } else {
                if indentation(line) == indent && key_length(line.get(indent..)?).is_some() {
                    starts.push((remarks, at));
                } else if starts.is_empty() || indentation(line) < indent {
                    return None;
                }
                remarks = end;
            }
            at = end;
        }
        let tail = text.get(remarks..)?;
        let ends = starts
            .iter()
            .skip(1)
            .map(|(remarks, _)| *remarks)
            .chain([remarks]);
        let mut entries = Vec::new();
        for ((lead, start), end) in starts.iter().copied().zip(ends) {
            entries.push(Entry::of(
                text.get(lead..start)?,
                text.get(start..end)?,
                indent,
            )?);
        }
        Some(Self { entries, tail })
    }

    pub fn get(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

impl<'t> Entry<'t> {
    fn of(lead: &'t str, text: &'t str, indent: usize) -> Option<Self> {
        let alone: String = text
            .split_inclusive('\n')
            .map(|line| line.get(indent..).unwrap_or(line.trim_start_matches(' ')))
            .collect();
        let (mapping, _) = parse_yaml(&alone).ok()?;
        let mut all = mapping.into_iter();
        let (key, value) = all.next().filter(|_| all.next().is_none())?;
        Some(Self {
            key: key.as_str()?.to_owned(),
            value,
            lead,
            text,
            indent,
        })
    }

    /// The key with its colon and the blanks behind it, and all after that.
    pub fn split_key(&self) -> Option<(&'t str, &'t str)> {
        let key = self.indent + key_length(self.text.get(self.indent..)?)?;
        let rest = self.text.get(key..)?;
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.text.split_at_checked(key + blanks)
    }

    /// The value on the key's line, and the comment behind it with the blanks before it, if the value ends there.
    pub fn split_scalar(&self) -> Option<(&'t str, &'t str)> {
        let (_, rest) = self.split_key()?;
        let line = rest.trim_end_matches(['\n', '\r']);
        if line.contains('\n')
            || !matches!(
                self.value,
                Value::String(_) | Value::Number(_) | Value::Bool(_)
            )
        {
            return None;
        }
        if line.starts_with(['|', '>', '&', '*', '!']) {
            return None;
        }
        let value = match line.chars().next()? {
            quote @ ('"' | '\'') => quoted_length(line, quote)?,
            _ => line.find(" #").unwrap_or(line.len()),
        };
        let (value, comment) = line.split_at_checked(value)?;
        let trimmed = value.trim_end();
        Some((
            trimmed,
            line.get(trimmed.len()..)
                .filter(|_| comment.is_empty() || comment.trim_start().starts_with('#'))?,
        ))
    }

    /// Whether another one has the same value. A number is what is written: `1.10` is another version than `1.1`.
    pub fn is_same(&self, other: &Self) -> bool {
        let written = |entry: &Self| entry.split_scalar().map(|(value, _)| value.to_owned());
        self.value == other.value && (!self.value.is_number() || written(self) == written(other))
    }

    /// The remarks above it and in it.
    pub fn remarks(&self) -> Vec<&'t str> {
        let lines = self.lead.lines().chain(self.text.lines());
        lines.filter_map(remark).collect()
    }

    /// The lines of a value that is a block mapping.
    pub fn nested(&self) -> Option<Block<'t>> {
        let Value::Mapping(mapping) = &self.value else {
            return None;
        };
        let line = self.text.find('\n')? + 1;
        let (first, rest) = self.text.split_at_checked(line)?;
        let key = self.indent + key_length(first.get(self.indent..)?)?;
        let behind = first.get(key..)?.trim();
        if !(behind.is_empty() || behind.starts_with('#')) {
            return None;
        }
        Block::of(rest, mapping)
    }

    /// The key's line of a block mapping.
    pub fn first_line(&self) -> &'t str {
        self.text.split_inclusive('\n').next().unwrap_or(self.text)
    }
}

/// Whether a line has nothing on it but a comment.
pub fn is_remark(line: &str) -> bool {
    let text = line.trim();
    text.is_empty() || text.starts_with('#')
}

/// The remark on a line, if there is one: from a `#` at its beginning or behind a blank, outside quotes.
fn remark(line: &str) -> Option<&str> {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') if matches!(before, ' ' | '[' | ',') => quote = Some(c),
            (None, '#') if before == ' ' => return line.get(at..).map(str::trim_end),
            _ => {}
        }
        before = c;
    }
    None
}

pub fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The length of a key with its colon, if the text begins with one.
fn key_length(text: &str) -> Option<usize> {
    let colon = match text.chars().next()? {
        quote @ ('"' | '\'') => {
            let key = quoted_length(text, quote)?;
            key + text
                .get(key..)?
                .find(':')
                .filter(|gap| text[key..key + gap].trim().is_empty())?
        }
        '-' | '?' | '[' | '{' | '|' | '>' | '&' | '*' | '!' | '%' | '@' | '`' => return None,
        _ => text.find(':')?,
    };
    let after = text.get(colon + 1..)?;
    (after.is_empty() || after.starts_with([' ', '\t', '\r', '\n'])).then_some(colon + 1)
}

/// The length of a quoted text on one line.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote == '"' => {
                chars.next();
            }
            '\'' if quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                chars.next();
            }
            c if c == quote => return Some(at + 1),
            '\n' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Option<Vec<(String, String, String)>> {
        let (mapping, _) = parse_yaml(text).unwrap();
        let block = Block::of(text, &mapping)?;
        let entries = block.entries.into_iter();
        Some(
            entries
                .map(|entry| (entry.key, entry.lead.to_owned(), entry.text.to_owned()))
                .collect(),
        )
    }

    #[test]
    fn entries_keep_their_lines_and_the_remarks_above_them() {
        let text = "# all\nname: x\n\n# what for\ndescription: >\n  long\n\n  text\n'a b': 1 # why\nlist:\n- a\n# in it\n- b\nmap:\n  k: v\n# end\n";
        let entries = block(text).unwrap();
        let joined: String = entries
            .iter()
            .map(|(_, lead, text)| format!("{lead}{text}"))
            .collect();
        assert_eq!(format!("{joined}# end\n"), text);
        let keys: Vec<&str> = entries.iter().map(|(key, ..)| key.as_str()).collect();
        assert_eq!(keys, ["name", "description", "a b", "list", "map"]);
        assert_eq!(entries[1].1, "\n# what for\n");
        assert_eq!(entries[3].2, "list:\n- a\n# in it\n- b\n");
    }

    #[test]
    fn what_reads_otherwise_alone_is_not_cut() {
        for text in [
            "{name: x, description: y}\n",
            "a: &x 1\nb: *x\n",
            "? a\n: b\n",
        ] {
            if parse_yaml(text).is_ok() {
                assert_eq!(block(text), None, "{text:?}");
            }
        }
    }

    #[test]
    fn a_scalar_is_told_from_the_comment_behind_it() {
        for (text, value, comment) in [
            ("a: b # c\n", "b", " # c"),
            ("a: \"b # c\" # d\n", "\"b # c\"", " # d"),
            ("a: 'it''s'\n", "'it''s'", ""),
            ("a: b#c\n", "b#c", ""),
        ] {
            let (mapping, _) = parse_yaml(text).unwrap();
            let block = Block::of(text, &mapping).unwrap();
            assert_eq!(block.entries[0].split_scalar(), Some((value, comment)));
        }
    }
}
