//! What must hold of the workspace of a skill that learns, whatever happened to it: told by its documents alone.

#![allow(dead_code, missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

pub const BANK: &str = "skill_bank.json";
pub const MANIFEST: &str = "manifest.json";
/// What the program stages, and what it has begun to put into place.
pub const STAGE: &str = ".aiden-tmp";
pub const COMMIT: &str = ".aiden-commit.json";
pub const LOCK: &str = ".aiden-lock";

/// Files of a workspace by their paths in it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What is wrong: documents that can't be read, records that name what is not there, and changes of the bank without their
/// snapshot or their audit entry.
pub fn judge(files: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut documents = BTreeMap::new();
    for (path, bytes) in files {
        if path.starts_with(".aiden-") {
            continue;
        }
        match serde_json::from_slice::<Value>(bytes) {
            Ok(document) => {
                documents.insert(path.as_str(), document);
            }
            Err(e) => wrong.push(format!("{path} is torn: {e}")),
        }
    }
    let audits = audits(&documents);
    for audit in &audits {
        let refs = audit["evidence_refs"].as_array().into_iter().flatten();
        for path in refs.filter_map(Value::as_str) {
            if !documents.contains_key(path) {
                wrong.push(format!("{path} is missing, of {audit}"));
            }
        }
    }
    let taken: Vec<&str> = audits.iter().filter_map(|audit| taken(audit)).collect();
    for path in documents.keys() {
        let id = path.strip_prefix("snapshots/").map(stem);
        if let Some(id) = id
            && taken.iter().filter(|taken| **taken == id).count() != 1
        {
            wrong.push(format!("the audit does not tell once of {path}"));
        }
    }
    wrong.extend(judge_changes(&documents, &audits));
    wrong
}

/// What the program should have taken away.
pub fn leftovers(files: &Files) -> Vec<String> {
    let ours = |path: &&String| path.starts_with(STAGE) || *path == COMMIT;
    let told = |path| format!("{path} is left over");
    files.keys().filter(ours).map(told).collect()
}

/// The audit entries, in the order in which they were made.
fn audits<'d>(documents: &'d BTreeMap<&str, Value>) -> Vec<&'d Value> {
    let entries = documents.iter();
    let mut audits: Vec<&Value> = entries
        .filter(|(path, _)| path.starts_with("audit/aud-"))
        .map(|(_, audit)| audit)
        .collect();
    audits.sort_by_key(|audit| audit["details"]["sequence"].as_u64());
    audits
}

fn stem(name: &str) -> &str {
    name.strip_suffix(".json").unwrap_or(name)
}

/// The snapshot of which an audit entry says that it was taken.
fn taken(audit: &Value) -> Option<&str> {
    let is_taken = audit["event_type"] == "snapshot_created";
    audit["subject_id"].as_str().filter(|_| is_taken)
}

/// Goes through the audit: between a snapshot and the next, and between the last and the bank, those entries differ, and only
/// those, of which it says so.
fn judge_changes(documents: &BTreeMap<&str, Value>, audits: &[&Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    // Nothing is known of the bank before the first snapshot.
    let mut known: Option<Entries> = None;
    let mut told = BTreeSet::new();
    let mut last = "";
    for audit in audits {
        let details = &audit["details"];
        if let Some(id) = taken(audit) {
            let bank = entries_of(&snapshot(documents, id)["skill_bank"]);
            wrong.extend(judge_between(known.as_ref(), &bank, &told, id));
            (known, last) = (Some(bank), id);
            told.clear();
        } else if audit["event_type"] == "rollback_executed" {
            let to = audit["subject_id"].as_str().unwrap_or_default();
            if details.get("set_aside").is_none() && details["snapshot_id"] != last {
                wrong.push(format!("no snapshot was taken before {audit}"));
            }
            known = Some(entries_of(&snapshot(documents, to)["skill_bank"]));
            told.clear();
        } else if let Some(before) = details["snapshot_id"].as_str() {
            if before != last {
                wrong.push(format!("{last} was taken last before {audit}"));
            }
            let entry = match audit["event_type"].as_str() {
                Some("proposal_accepted") => &details["skill_entry_id"],
                _ => &audit["subject_id"],
            };
            told.extend(entry.as_str().map(str::to_owned));
        }
    }
    if let Some(bank) = documents.get(BANK) {
        wrong.extend(judge_between(
            known.as_ref(),
            &entries_of(bank),
            &told,
            "the bank",
        ));
    }
    wrong
}

/// Entries of a bank by their identifiers.
type Entries = BTreeMap<String, Value>;

fn entries_of(bank: &Value) -> Entries {
    let entries = bank["skills"].as_array().into_iter().flatten();
    let id = |entry: &Value| entry["skill_entry_id"].as_str().unwrap_or("").to_owned();
    entries.map(|entry| (id(entry), entry.clone())).collect()
}

fn snapshot<'d>(documents: &'d BTreeMap<&str, Value>, id: &str) -> &'d Value {
    let found = documents.get(format!("snapshots/{id}.json").as_str());
    found.unwrap_or(&Value::Null)
}

fn judge_between(
    before: Option<&Entries>,
    after: &Entries,
    told: &BTreeSet<String>,
    of: &str,
) -> Option<String> {
    let before = before?;
    let ids: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed: BTreeSet<String> = ids
        .into_iter()
        .filter(|id| before.get(*id) != after.get(*id))
        .cloned()
        .collect();
    (changed != *told)
        .then(|| format!("by {of} {changed:?} have changed, and the audit tells of {told:?}"))
}

/// A bank without what is another one each time: its times, and the identifiers that `before` has not.
pub fn told(bank: &[u8], before: &[u8]) -> Value {
    let before = String::from_utf8_lossy(before);
    let mut bank: Value = serde_json::from_slice(bank).unwrap_or_else(|e| json!(e.to_string()));
    forget(&mut bank, &before);
    bank
}

fn forget(value: &mut Value, before: &str) {
    match value {
        Value::String(text) => {
            let prefix = ["skl-", "exp-"]
                .into_iter()
                .find(|prefix| text.starts_with(prefix));
            if let Some(prefix) = prefix.filter(|_| !before.contains(text.as_str())) {
                *text = format!("{prefix}new");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| forget(item, before)),
        Value::Object(fields) => {
            fields.remove("updated_at");
            fields.values_mut().for_each(|item| forget(item, before));
        }
        _ => {}
    }
}
