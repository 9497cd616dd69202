//! Lists in a frontmatter, merged as sets: each side's additions and removals count, the order is the local side's.

use serde_yaml::{Mapping, Value};

use super::entries::Entry;
use crate::skill::fields::{Split, list_field};
use crate::skill::frontmatter::parse_yaml;

/// A list, as its author wrote it.
pub struct List {
    items: Vec<Item>,
    style: Style,
    /// The key with its colon, and its blanks.
    key: String,
}

#[derive(Clone, PartialEq)]
struct Item {
    value: Value,
    /// As it was written, if that can be told.
    text: Option<String>,
}

#[derive(Clone, PartialEq)]
enum Style {
    /// `[a, b]`, and what stands behind it.
    Flow { behind: String },
    /// Each item on a line of its own, with so many blanks before its dash; `first` is what stands behind the key.
    Block { indent: usize, first: String },
    /// One text of words, with what stands between them.
    Words { between: &'static str },
}

impl List {
    /// The list that is the value of a key; `None` if it is none, or holds more than plain values.
    pub fn of(entry: &Entry<'_>) -> Option<Self> {
        let (key, rest) = entry.split_key()?;
        match &entry.value {
            Value::Sequence(values) => {
                let is_plain = |value: &Value| {
                    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
                };
                if !values.iter().all(is_plain) {
                    return None;
                }
                let (style, texts) = if rest.trim_start().starts_with('[') {
                    flow(rest)
                } else {
                    block(rest, entry.indent)
                };
                let texts = texts.filter(|texts| texts.len() == values.len());
                let items = values.iter().enumerate().map(|(at, value)| Item {
                    value: value.clone(),
                    text: texts.as_ref().and_then(|texts| texts.get(at)).cloned(),
                });
                Some(Self {
                    items: items.collect(),
                    style,
                    key: key.to_owned(),
                })
            }
            Value::String(words) => {
                let split: Split = list_field(&entry.key)?;
                let words_of = split(words)
                    .into_iter()
                    .map(str::trim)
                    .filter(|word| !word.is_empty());
                let items = words_of.map(|word| Item {
                    value: Value::String(word.to_owned()),
                    text: None,
                });
                Some(Self {
                    items: items.collect(),
                    style: Style::Words {
                        between: if words.contains(',') { ", " } else { " " },
                    },
                    key: key.to_owned(),
                })
            }
            _ => None,
        }
    }

    fn has(&self, item: &Item) -> bool {
        self.items.iter().any(|other| other.value == item.value)
    }
}

/// What both sides added and neither removed, written in the local side's style; without a base, all of both.
pub fn merge(base: Option<&List>, upstream: &List, local: &List) -> (String, Value) {
    let was_there = |item: &Item| base.is_some_and(|base| base.has(item));
    let mut merged: Vec<Item> = Vec::new();
    for item in &local.items {
        let removed = was_there(item) && !upstream.has(item);
        if !removed && !merged.iter().any(|known| known.value == item.value) {
            merged.push(item.clone());
        }
    }
    let mut after = 0;
    for item in &upstream.items {
        match merged.iter().position(|known| known.value == item.value) {
            Some(at) => after = at + 1,
            None if was_there(item) => {}
            None => {
                let mut item = item.clone();
                if upstream.style != local.style {
                    item.text = None;
                }
                merged.insert(after, item);
                after += 1;
            }
        }
    }
    write(&merged, local)
}

fn write(items: &[Item], like: &List) -> (String, Value) {
    let key = &like.key;
    let values = || Value::Sequence(items.iter().map(|item| item.value.clone()).collect());
    let texts = items.iter().map(Item::written);
    match &like.style {
        Style::Words { between } => {
            let words: Vec<&str> = items
                .iter()
                .filter_map(|item| item.value.as_str())
                .collect();
            let words = Value::String(words.join(between));
            let text = Item {
                value: words.clone(),
                text: None,
            };
            let key = key.trim_end();
            (format!("{key} {}\n", text.written()), words)
        }
        Style::Block { indent, first } if !items.is_empty() => {
            let blanks = " ".repeat(*indent);
            let lines = texts.map(|text| format!("{blanks}- {text}\n"));
            (
                format!("{}{first}\n{}", key.trim_end(), lines.collect::<String>()),
                values(),
            )
        }
        Style::Flow { .. } | Style::Block { .. } => {
            let behind = match &like.style {
                Style::Flow { behind } => behind.as_str(),
                _ => "",
            };
            let texts: Vec<String> = texts.collect();
            (
                format!("{} [{}]{behind}\n", key.trim_end(), texts.join(", ")),
                values(),
            )
        }
    }
}

impl Item {
    fn written(&self) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let Value::String(plain) = &self.value else {
            return serde_yaml::to_string(&self.value)
                .unwrap_or_default()
                .trim_end()
                .to_owned();
        };
        // Plain in both styles of lists, if it reads as this text there.
        let in_flow = format!("a: [{plain}]\nb:\n- {plain}\nc: {plain}\n");
        let lists = Value::Sequence(vec![self.value.clone()]);
        let expected: Mapping = [
            ("a", lists.clone()),
            ("b", lists),
            ("c", self.value.clone()),
        ]
        .into_iter()
        .map(|(key, value)| (Value::String(key.into()), value))
        .collect();
        let reads_as_is = parse_yaml(&in_flow)
            .is_ok_and(|(read, remarks)| remarks.is_empty() && read == expected);
        if reads_as_is {
            plain.clone()
        } else {
            // JSON's quoting is YAML's.
            serde_json::to_string(plain).unwrap_or_default()
        }
    }
}

/// The items of `[…]` as they were written.
fn flow(text: &str) -> (Style, Option<Vec<String>>) {
    let text = text.trim_end_matches(['\n', '\r']);
    let mut items = Vec::new();
    let mut item = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    chars.next();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') => {
                item.push(c);
                item.extend(chars.next());
                continue;
            }
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') if item.trim().is_empty() => quote = Some(c),
            (None, ',') => {
                items.push(std::mem::take(&mut item).trim().to_owned());
                continue;
            }
            (None, ']') => {
                if !item.trim().is_empty() {
                    items.push(item.trim().to_owned());
                }
                let behind = chars.as_str();
                let is_remark = behind.trim().is_empty() || behind.trim_start().starts_with('#');
                let is_plain = is_remark
                    && !behind.contains('\n')
                    && items.iter().all(|item| !item.contains(['\n', '#']));
                let behind = if is_remark && !behind.contains('\n') {
                    behind
                } else {
                    ""
                };
                let style = Style::Flow {
                    behind: behind.to_owned(),
                };
                return (style, is_plain.then_some(items));
            }
            _ => {}
        }
        item.push(c);
    }
    let style = Style::Flow {
        behind: String::new(),
    };
    (style, None)
}

/// The items of a list with an item on each line, as they were written.
fn block(text: &str, key_indent: usize) -> (Style, Option<Vec<String>>) {
    let (first, lines) = text.split_once('\n').unwrap_or((text, ""));
    let mut indent = None;
    let mut items = Vec::new();
    for line in lines.lines() {
        let blanks = super::entries::indentation(line);
        let item = line.get(blanks..).and_then(|text| text.strip_prefix("- "));
        match item {
            Some(item) if indent.is_none_or(|indent| indent == blanks) => {
                indent = Some(blanks);
                items.push(item.trim_end().to_owned());
            }
            _ => {
                let style = Style::Block {
                    indent: indent.unwrap_or(key_indent + 2),
                    first: first.trim_end().to_owned(),
                };
                return (style, None);
            }
        }
    }
    let first = first.trim_end();
    let style = Style::Block {
        indent: indent.unwrap_or(key_indent + 2),
        first: if first.is_empty() {
            String::new()
        } else {
            format!(" {}", first.trim_start())
        },
    };
    (style, Some(items))
}
