//! Lists in a frontmatter, merged as sets: each side's additions and removals count, the order is the local side's.

use serde_yaml::{Mapping, Value};

use super::entries::{Entry, indentation, is_remark};
use crate::skill::fields::{Split, list_field};
use crate::skill::frontmatter::parse_yaml;

/// A list, as its author wrote it.
pub struct List {
    items: Vec<Item>,
    style: Style,
    /// The key with its colon, and its blanks.
    key: String,
    /// Whether neither order nor repetition means anything.
    is_set: bool,
}

#[derive(Clone)]
struct Item {
    value: Value,
    /// Remarks above it, in lines of their own.
    lead: String,
    /// As it was written, if that can be told.
    text: Option<String>,
}

enum Style {
    /// `[a, b]`, and what stands behind it.
    Flow { behind: String },
    /// Each item on a line of its own, with so many blanks before its dash; `first` is what stands behind the key, `tail`
    /// remarks below the last item.
    Block {
        indent: usize,
        first: String,
        tail: String,
    },
    /// One text of words, with what stands between them.
    Words { between: &'static str },
}

impl List {
    /// The list that is the value of a key; `None` if it is none, or holds more than plain values.
    pub fn of(entry: &Entry<'_>) -> Option<Self> {
        let (key, rest) = entry.split_key()?;
        let split: Option<Split> = list_field(&entry.key);
        let (style, items) = match (&entry.value, split) {
            (Value::Sequence(values), _) => {
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
                let items = values.iter().enumerate().map(|(at, value)| {
                    let text = texts.as_ref().and_then(|texts| texts.get(at)).cloned();
                    let (lead, text) = text.unzip();
                    Item {
                        value: value.clone(),
                        lead: lead.unwrap_or_default(),
                        text,
                    }
                });
                (style, items.collect())
            }
            (Value::String(words), Some(split)) => {
                let all = split(words).into_iter().map(str::trim);
                let items = all.filter(|word| !word.is_empty()).map(|word| Item {
                    value: Value::String(word.to_owned()),
                    lead: String::new(),
                    text: None,
                });
                let between = if words.contains(',') { ", " } else { " " };
                (Style::Words { between }, items.collect())
            }
            _ => return None,
        };
        Some(Self {
            items,
            style,
            key: key.to_owned(),
            is_set: split.is_some(),
        })
    }

    fn find(&self, item: &Item) -> Option<&Item> {
        self.items.iter().find(|other| other.value == item.value)
    }

    fn has(&self, item: &Item) -> bool {
        self.find(item).is_some()
    }

    /// Whether a change from `base` to this is more than some items put in or taken out.
    fn is_rewritten(&self, base: Option<&Self>) -> bool {
        let repeats = |list: &Self| {
            let twice = |(at, item): (usize, &Item)| {
                list.items[..at]
                    .iter()
                    .any(|other| other.value == item.value)
            };
            list.items.iter().enumerate().any(twice)
        };
        let Some(base) = base else {
            return true;
        };
        let added = self.items.iter().any(|item| !base.has(item));
        let removed = base.items.iter().any(|item| !self.has(item));
        let of_both = |one: &Self, other: &Self| -> Vec<Value> {
            let common = one.items.iter().filter(|item| other.has(item));
            common.map(|item| item.value.clone()).collect()
        };
        repeats(self)
            || repeats(base)
            || added && removed
            || of_both(self, base) != of_both(base, self)
    }
}

/// What both sides added and neither removed, written in the local side's style. `None` where that is no answer: a list that
/// restricts the skill would get empty, which means "all", or is not known to have had a common base; the order of another
/// list, or what stands twice in it, may mean something.
pub fn merge(base: Option<&List>, upstream: &List, local: &List) -> Option<(String, Value)> {
    let is_set = upstream.is_set && local.is_set;
    if is_set && base.is_none()
        || !is_set && (upstream.is_rewritten(base) || local.is_rewritten(base))
    {
        return None;
    }
    let of_base = |item: &Item| base.and_then(|base| base.find(item));
    let mut merged: Vec<Item> = Vec::new();
    for item in &local.items {
        let removed = of_base(item).is_some() && !upstream.has(item);
        if removed || merged.iter().any(|known| known.value == item.value) {
            continue;
        }
        // What the firmware wrote otherwise and the user did not.
        let as_base =
            of_base(item).is_some_and(|base| (&base.lead, &base.text) == (&item.lead, &item.text));
        let rewritten = upstream
            .find(item)
            .filter(|_| as_base && upstream.is_written_like(local));
        merged.push(rewritten.unwrap_or(item).clone());
    }
    let mut after = 0;
    for item in &upstream.items {
        match merged.iter().position(|known| known.value == item.value) {
            Some(at) => after = at + 1,
            None if of_base(item).is_some() => {}
            None => {
                let mut item = item.clone();
                if !upstream.is_written_like(local) {
                    // Quotes mean the same in every style.
                    item.text = item.text.filter(|text| is_quoted(text));
                    item.lead.clear();
                }
                merged.insert(after, item);
                after += 1;
            }
        }
    }
    let gets_empty = merged.is_empty() && !upstream.items.is_empty() && !local.items.is_empty();
    (!gets_empty).then(|| write(&merged, local))
}

fn is_quoted(text: &str) -> bool {
    ['"', '\'']
        .iter()
        .any(|quote| text.len() > 1 && text.starts_with(*quote) && text.ends_with(*quote))
}

impl List {
    fn is_written_like(&self, other: &Self) -> bool {
        std::mem::discriminant(&self.style) == std::mem::discriminant(&other.style)
    }
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
                lead: String::new(),
                text: None,
            };
            let key = key.trim_end();
            (format!("{key} {}\n", text.written()), words)
        }
        Style::Block {
            indent,
            first,
            tail,
        } if !items.is_empty() => {
            let blanks = " ".repeat(*indent);
            let lines = items.iter().zip(texts);
            let lines = lines.map(|(item, text)| format!("{}{blanks}- {text}\n", item.lead));
            let lines: String = lines.collect();
            (
                format!("{}{first}\n{lines}{tail}", key.trim_end()),
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
fn flow(text: &str) -> (Style, Option<Vec<(String, String)>>) {
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
                let items = items
                    .into_iter()
                    .map(|item| (String::new(), item))
                    .collect();
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

/// The items of a list with an item on each line, as they were written, with the remarks above each.
fn block(text: &str, key_indent: usize) -> (Style, Option<Vec<(String, String)>>) {
    let (first, lines) = text.split_once('\n').unwrap_or((text, ""));
    let mut indent = None;
    let mut items = Vec::new();
    let mut lead = String::new();
    let mut is_told = true;
    for line in lines.split_inclusive('\n') {
        if is_remark(line) {
            lead.push_str(line);
            continue;
        }
        let blanks = indentation(line);
        let item = line.get(blanks..).and_then(|text| text.strip_prefix("- "));
        match item {
            Some(item) if indent.is_none_or(|indent| indent == blanks) => {
                indent = Some(blanks);
                items.push((std::mem::take(&mut lead), item.trim_end().to_owned()));
            }
            _ => is_told = false,
        }
    }
    let first = first.trim();
    let style = Style::Block {
        indent: indent.unwrap_or(key_indent + 2),
        first: if first.is_empty() {
            String::new()
        } else {
            format!(" {first}")
        },
        tail: lead,
    };
    (style, is_told.then_some(items))
}
