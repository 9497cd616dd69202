//! Banks of the kit's Python era: other prefixes of identifiers, and fields that are missing.

use serde_json::{Value, json};

use super::content::{keywords_of, title_of};
use super::document::{Entry, Mode};
use super::error::EvolveError;
use super::ids::{DIGITS, Kind, Timestamp, Version};
use super::language::one_line;
use super::record::Change;
use super::workspace::{BANK, SNAPSHOTS, Workspace};
use crate::store::Hash;

/// A field of an entry of another era, which has several names in that.
fn text_of<'v>(entry: &'v Value, names: &[&str]) -> Result<&'v str, String> {
    let given = names.iter().find_map(|name| entry.get(name));
    match given {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("{} must be a text", names[0])),
    }
}

fn texts_of(entry: &Value, names: &[&str]) -> Result<Vec<String>, String> {
    let given = names.iter().find_map(|name| entry.get(name));
    let texts = match given {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(all)) => all
            .iter()
            .map(|one| one.as_str().map(str::to_owned))
            .collect(),
        Some(_) => None,
    };
    texts.ok_or_else(|| format!("{} must be a list of texts", names[0]))
}

impl Workspace<'_> {
    /// Takes the entries of a bank in, the text of a file; says how many are new. Those that are there already are left out.
    ///
    /// # Errors
    /// When it is no bank, or one of its entries is another one of the same identifier; nothing is changed then.
    pub fn import(&self, text: &str) -> Result<usize, EvolveError> {
        let wrong = |reason: String| EvolveError::Input(format!("this is no skill bank: {reason}"));
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|e| wrong(e.to_string()))?;
        let foreign =
            entries_of(&value).ok_or_else(|| wrong("it must be {\"skills\": […]}".into()))?;
        let session = self.begin()?;
        if session.ready.manifest.governance_mode() == Mode::Governed {
            return Err(EvolveError::Refused(
                "a governed bank is changed by decisions only: import before it is governed".into(),
            ));
        }
        let (mut change, mut ready) = Change::new(self, session);
        let now = change.time();
        let mut new: Vec<Entry> = Vec::new();
        for (at, value) in foreign.iter().enumerate() {
            let entry =
                translated(value, &now).map_err(|e| wrong(format!("entry {}: {e}", at + 1)))?;
            let id = &entry.skill_entry_id;
            let known = ready.bank.entries.iter().chain(&new);
            match known.into_iter().find(|known| known.skill_entry_id == *id) {
                None => new.push(entry),
                Some(known) if known.content == entry.content => {}
                Some(_) => {
                    return Err(EvolveError::Refused(format!(
                        "there is another entry {id} in the bank already: nothing was imported"
                    )));
                }
            }
        }
        if new.is_empty() {
            return Ok(0);
        }
        let (snapshot, _) = change.snapshot(
            "Before IMPORT on skill entry new",
            &ready.manifest_text,
            &ready.bank_text,
        )?;
        for entry in &new {
            let details = json!({
                "action": "ADD", "reasoning": "Imported from a bank", "new_version": entry.version, "snapshot_id": snapshot
            });
            let evidence = vec![format!("{SNAPSHOTS}/{snapshot}.json")];
            change.audit("skill_added", &entry.skill_entry_id, details, evidence)?;
        }
        let imported = new.len();
        ready.bank.entries.extend(new);
        change.put(BANK, ready.bank.to_file());
        change.commit()?;
        Ok(imported)
    }
}

fn entries_of(value: &Value) -> Option<&Vec<Value>> {
    let bank = value.get("skill_bank").unwrap_or(value);
    bank.get("skills").and_then(Value::as_array)
}

/// An entry of ours; whatever the other one lacks is made up for.
fn translated(foreign: &Value, now: &Timestamp) -> Result<Entry, String> {
    if !foreign.is_object() {
        return Err("it is no JSON object".into());
    }
    let id = text_of(foreign, &["skill_entry_id", "id", "skill_id"])?;
    let content = ["content", "body", "instructions"];
    let content = match content.iter().find_map(|name| foreign.get(name)) {
        Some(Value::String(text)) => text.replace("\r\n", "\n").trim_end().to_owned(),
        Some(Value::Array(lines)) => {
            let lines = lines.iter().filter_map(Value::as_str).map(one_line);
            let lines: Vec<String> = lines.map(|line| format!("- {line}")).collect();
            lines.join("\n")
        }
        _ => String::new(),
    };
    if content.is_empty() {
        return Err("it has no content".into());
    }
    let title = one_line(text_of(foreign, &["title", "name"])?);
    let first = content.lines().next().unwrap_or_default();
    let title = if title.is_empty() {
        title_of(first.trim_start_matches(['-', '#', ' ']))
    } else {
        title
    };
    let time = match text_of(foreign, &["updated_at", "created_at"])? {
        "" => now.clone(),
        text => Timestamp::parse(text).ok_or_else(|| format!("updated_at {text:?} is no time"))?,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !id.chars().all(plain) {
        return Err(format!("{id:?} is no identifier"));
    }
    let seed = if id.is_empty() { &title } else { id };
    let mut entry = Entry::new(id_of(Kind::Entry, seed, "skill-"), title, content, &time);
    let version = text_of(foreign, &["version"])?;
    if !version.is_empty() {
        let version =
            Version::parse(version).ok_or_else(|| format!("{version:?} is no version"))?;
        entry.version = version.to_string();
    }
    let signature = text_of(foreign, &["task_signature"])?;
    entry.task_signature = Some(signature.to_owned()).filter(|signature| !signature.is_empty());
    entry.keywords = texts_of(foreign, &["keywords"])?;
    if entry.keywords.is_empty() {
        entry.keywords = keywords_of(&entry.title, |_| 1.0);
    }
    let experiences = texts_of(foreign, &["source_experience_ids", "experience_ids"])?;
    let experiences = experiences.iter();
    entry.source_experience_ids = experiences
        .map(|id| id_of(Kind::Experience, id, "bank-exp-"))
        .collect();
    Ok(entry)
}

/// An identifier of ours for one of another era: its digits, where it has as many, else such as always come of the same one.
fn id_of(kind: Kind, foreign: &str, old_prefix: &str) -> String {
    if kind.is(foreign) {
        return foreign.to_owned();
    }
    let digits = foreign.strip_prefix(old_prefix).unwrap_or(foreign);
    let same = format!("{}{}", kind.prefix(), digits.to_ascii_lowercase());
    if kind.is(&same) {
        return same;
    }
    let digits: String = Hash::of(foreign.as_bytes())
        .hex()
        .chars()
        .take(DIGITS)
        .collect();
    format!("{}{digits}", kind.prefix())
}
