//! Reading `agent.toml`, key by key, so that each problem is told with its line.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::read_small;

pub(super) const AGENT_TOML: &str = "agent.toml";

/// The agent's own file; only a few keys concern this program.
pub(super) struct AgentToml {
    text: String,
    shown: String,
    /// What of it can't be used, and why.
    pub broken: Vec<String>,
}

impl AgentToml {
    pub fn read(config_dir: &Path) -> Self {
        let path = config_dir.join(AGENT_TOML);
        let mut file = Self {
            text: String::new(),
            shown: path.display().to_string(),
            broken: Vec::new(),
        };
        let text = match read_small(&path) {
            Ok(None) => return file,
            Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".into()),
            Err(e) => Err(e),
        };
        let parsed = text.and_then(|text| match DeTable::parse(&text) {
            Ok(_) => Ok(text),
            Err(e) => Err(match e.span() {
                Some(span) => format!("line {}: {}", line_of(&text, span.start), e.message()),
                None => e.message().to_owned(),
            }),
        });
        match parsed {
            Ok(text) => file.text = text,
            Err(reason) => file
                .broken
                .push(format!("{} can't be used: {reason}", file.shown)),
        }
        file
    }

    /// A text at a path of keys, and where it stands.
    pub fn text(&mut self, keys: &[&str]) -> Option<(String, String)> {
        self.value(keys, "a text in quotes", |value| match value {
            DeValue::String(text) => Some(text.clone().into_owned()),
            _ => None,
        })
    }

    /// A number above zero at a path of keys.
    pub fn number(&mut self, keys: &[&str]) -> Option<u32> {
        let found = self.value(keys, "a whole number above zero", |value| match value {
            DeValue::Integer(number) if number.radix() == 10 => {
                number.as_str().parse().ok().filter(|number| *number > 0)
            }
            _ => None,
        });
        found.map(|(number, _)| number)
    }

    /// A truth value at a path of keys.
    pub fn flag(&mut self, keys: &[&str]) -> Option<bool> {
        let found = self.value(keys, "true or false", |value| match value {
            DeValue::Boolean(flag) => Some(*flag),
            _ => None,
        });
        found.map(|(flag, _)| flag)
    }

    /// Whether there is anything at a path of keys.
    pub fn has(&self, keys: &[&str]) -> bool {
        let Ok(parsed) = DeTable::parse(&self.text) else {
            return false;
        };
        let mut table = parsed.get_ref();
        let Some((last, above)) = keys.split_last() else {
            return false;
        };
        for key in above {
            match table.get(*key).map(Spanned::get_ref) {
                Some(DeValue::Table(inner)) => table = inner,
                _ => return false,
            }
        }
        table.contains_key(*last)
    }

    fn value<T>(
        &mut self,
        keys: &[&str],
        wanted: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Option<(T, String)> {
        let parsed = DeTable::parse(&self.text).ok()?;
        let mut table = parsed.get_ref();
        let (last, above) = keys.split_last()?;
        for key in above {
            let value = table.get(*key)?;
            match value.get_ref() {
                DeValue::Table(inner) => table = inner,
                _ => {
                    let problem = self.wrong(value, key, "a table");
                    if !self.broken.contains(&problem) {
                        self.broken.push(problem);
                    }
                    return None;
                }
            }
        }
        let value = table.get(*last)?;
        match read(value.get_ref()) {
            Some(found) => {
                let line = line_of(&self.text, value.span().start);
                let origin = format!("{}, line {line}, {}", self.shown, keys.join("."));
                Some((found, origin))
            }
            None => {
                let problem = self.wrong(value, &keys.join("."), wanted);
                self.broken.push(problem);
                None
            }
        }
    }

    fn wrong(&self, value: &Spanned<DeValue<'_>>, key: &str, wanted: &str) -> String {
        let line = line_of(&self.text, value.span().start);
        format!("{}, line {line}: {key} must be {wanted}", self.shown)
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}
