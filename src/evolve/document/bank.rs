//! `skill_bank.json`: the entries. Those that don't change stay, byte for byte, as they were written.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::json::Object;
use crate::evolve::ids::{Timestamp, Version};

/// What an entry's text is indented by in the file.
const INDENT: &str = "    ";

/// An entry: guidance on one topic, as bullets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// `skl-…`
    pub skill_entry_id: String,
    /// In a line.
    pub title: String,
    /// Bullets; whatever else stands between them stays.
    pub content: String,
    /// Three numbers.
    pub version: String,
    /// The kind of task.
    #[serde(default)]
    pub task_signature: Option<String>,
    /// Words that it is found by.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// What it was learned from.
    #[serde(default)]
    pub source_experience_ids: Vec<String>,
    /// Of its last change.
    pub updated_at: String,
    /// As it stands in the file, if it was not changed since.
    #[serde(skip)]
    raw: Option<String>,
    /// As it stood in the file before it was changed.
    #[serde(skip)]
    source: Option<String>,
}

impl Entry {
    /// A new one.
    #[must_use]
    pub fn new(id: String, title: String, content: String, updated_at: &Timestamp) -> Self {
        Self {
            skill_entry_id: id,
            title,
            content,
            version: Version::FIRST.to_string(),
            task_signature: None,
            keywords: Vec::new(),
            source_experience_ids: Vec::new(),
            updated_at: updated_at.as_str().to_owned(),
            raw: None,
            source: None,
        }
    }

    /// Its version; one that can't be read counts as the first.
    #[must_use]
    pub fn version(&self) -> Version {
        Version::parse(&self.version).unwrap_or(Version::FIRST)
    }

    /// As JSON, with whatever else it holds.
    fn text(&self) -> String {
        let mut object: Object = match &self.source {
            Some(raw) => serde_json::from_str(raw).unwrap_or_default(),
            None => Object::default(),
        };
        object.set("skill_entry_id", &self.skill_entry_id);
        object.set("title", &self.title);
        object.set("content", &self.content);
        object.set("version", &self.version);
        if let Some(signature) = &self.task_signature {
            object.set("task_signature", signature);
        }
        object.set("keywords", &self.keywords);
        object.set("source_experience_ids", &self.source_experience_ids);
        object.set("updated_at", &self.updated_at);
        let pretty = serde_json::to_string_pretty(&object).unwrap_or_default();
        pretty.replace('\n', &format!("\n{INDENT}"))
    }
}

/// The bank.
#[derive(Debug, Clone, Default)]
pub struct Bank {
    /// In the order of the file.
    pub entries: Vec<Entry>,
    /// What else the document holds: keys of others, and where the entries stand among them.
    others: Vec<(String, Box<RawValue>)>,
    place: usize,
}

const ENTRIES: &str = "skills";

impl Bank {
    /// Reads a bank.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let parts: BankParts<'_> = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let skills = parts.skills.ok_or_else(|| format!("it has no {ENTRIES}"))?;
        let entries = skills.iter().enumerate().map(|(at, raw)| {
            let read = serde_json::from_str::<Entry>(raw.get());
            let mut entry = read.map_err(|e| format!("entry {}: {e}", at + 1))?;
            entry.raw = Some(raw.get().to_owned());
            Ok(entry)
        });
        Ok(Self {
            entries: entries.collect::<Result<_, String>>()?,
            others: parts.others,
            place: parts.place,
        })
    }

    /// As it is written to a file.
    #[must_use]
    pub fn to_file(&self) -> Vec<u8> {
        let mut text = String::from("{");
        let begin = |text: &mut String, key: &str| {
            text.push_str(if text.len() == 1 { "\n  " } else { ",\n  " });
            text.push_str(&serde_json::to_string(key).unwrap_or_default());
            text.push_str(": ");
        };
        for at in 0..=self.others.len() {
            if at == self.place.min(self.others.len()) {
                begin(&mut text, ENTRIES);
                self.write_entries(&mut text);
            }
            if let Some((key, value)) = self.others.get(at) {
                begin(&mut text, key);
                text.push_str(value.get());
            }
        }
        text.push_str("\n}\n");
        text.into_bytes()
    }

    fn write_entries(&self, text: &mut String) {
        text.push('[');
        for (at, entry) in self.entries.iter().enumerate() {
            text.push_str(if at == 0 { "\n" } else { ",\n" });
            text.push_str(INDENT);
            match &entry.raw {
                Some(raw) => text.push_str(raw),
                None => text.push_str(&entry.text()),
            }
        }
        text.push_str(if self.entries.is_empty() {
            "]"
        } else {
            "\n  ]"
        });
    }

    /// The place of the entry with this identifier.
    #[must_use]
    pub fn position(&self, id: &str) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.skill_entry_id == id)
    }

    /// Changes an entry.
    pub fn change(&mut self, at: usize, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(at) {
            let mut changed = entry.clone();
            change(&mut changed);
            changed.source = changed.raw.take().or(changed.source);
            *entry = changed;
        }
    }

    /// The entries, newest first; of the same time by identifier.
    #[must_use]
    pub fn newest_first(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by(|a, b| newer_first(a, b));
        entries
    }
}

/// A bank as the pieces of its text.
#[derive(Default)]
struct BankParts<'b> {
    skills: Option<Vec<&'b RawValue>>,
    others: Vec<(String, Box<RawValue>)>,
    place: usize,
}

impl<'de: 'b, 'b> Deserialize<'de> for BankParts<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = BankParts<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BankParts<'de>, A::Error> {
                let mut parts = BankParts::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == ENTRIES {
                        parts.place = parts.others.len();
                        parts.skills = Some(map.next_value()?);
                    } else {
                        parts.others.push((key, map.next_value()?));
                    }
                }
                Ok(parts)
            }
        }
        deserializer.deserialize_map(Parts)
    }
}

/// The order of entries that are equal in all else.
pub fn newer_first(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    b.updated_at
        .cmp(&a.updated_at)
        .then_with(|| a.skill_entry_id.cmp(&b.skill_entry_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "skills": [
    {"skill_entry_id": "skl-000000000001", "title": "A",  "content": "- a", "version": "0.1.0",
     "updated_at": "2026-01-01T00:00:00Z", "of_others": [1,  2]},
    {
      "skill_entry_id": "skl-000000000002",
      "title": "B",
      "content": "- b",
      "version": "0.1.0",
      "keywords": ["x"],
      "updated_at": "2026-01-02T00:00:00Z"
    }
  ],
  "more": 1.0
}
"#;

    #[test]
    fn a_bank_is_written_as_it_was_read() {
        let bank = Bank::parse(TEXT.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(bank.to_file()).unwrap(), TEXT);
        let empty = Bank::default().to_file();
        assert_eq!(
            String::from_utf8(empty).unwrap(),
            "{\n  \"skills\": []\n}\n"
        );
    }

    #[test]
    fn only_the_changed_entry_is_written_anew_and_keeps_what_is_not_known() {
        let mut bank = Bank::parse(TEXT.as_bytes()).unwrap();
        bank.change(0, |entry| entry.version = "0.1.1".into());
        let text = String::from_utf8(bank.to_file()).unwrap();
        let (_, unchanged) = TEXT.split_once("    {\n").unwrap();
        assert!(text.ends_with(unchanged), "{text}");
        assert!(text.contains(r#""of_others": [1,  2]"#), "{text}");
        let again = Bank::parse(text.as_bytes()).unwrap();
        assert_eq!(again.entries[0].version, "0.1.1");
        assert_eq!(again.newest_first()[0].title, "B");
    }
}
