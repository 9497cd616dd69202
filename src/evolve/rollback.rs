//! Going back to a snapshot (kit 7), also where manifest or bank can't be read any more.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::document::{Bank, Manifest, SnapshotHead};
use super::error::EvolveError;
use super::ids::Kind;
use super::record::Change;
use super::schema::{DocumentKind, check};
use super::workspace::{BANK, MANIFEST, SNAPSHOTS, Workspace, file_of, path};
use crate::store::{Documents, Hash};

/// A snapshot of this reason is one of before a rollback, which is no place to go back to by itself.
const BEFORE_ROLLBACK: &str = "Before ROLLBACK";

/// Digits of a hash in the name of what is set aside.
const ASIDE_DIGITS: usize = 12;

#[derive(Deserialize)]
struct SnapshotText {
    manifest: Box<RawValue>,
    skill_bank: Box<RawValue>,
}

/// What a snapshot gives back.
struct Restorable {
    manifest: Manifest,
    manifest_text: Vec<u8>,
    bank_text: Vec<u8>,
}

impl Workspace<'_> {
    /// Restores manifest and bank of a snapshot, the newest unless told otherwise; says which.
    ///
    /// # Errors
    /// When there is none, or what it holds is not valid; nothing is changed then.
    pub fn rollback(&self, to: Option<&str>, why: &str) -> Result<String, EvolveError> {
        let abort = |reason: String| EvolveError::Restore(reason);
        let why = super::language::one_line(why);
        if why.is_empty() {
            return Err(EvolveError::Input("the reason is empty".into()));
        }
        if self.ids(SNAPSHOTS, Kind::Snapshot.prefix())?.is_empty() {
            return Err(abort(format!("{} has no snapshots", self.shown())));
        }
        let documents = Documents::lock(self.filesystem, self.engine.lock_timeout)?;
        let (id, restored) = match to {
            Some(id) => (id.to_owned(), self.restorable(id)?),
            None => self.newest_restorable()?,
        };
        let (manifest_text, bank_text) = (restored.manifest_text, restored.bank_text);
        let manifest = restored.manifest;
        let mut change = Change::without_session(self, documents, manifest.skill_id.clone())?;
        let now = (self.read(&path(MANIFEST))?, self.read(&path(BANK))?);
        let before = match &now {
            (Some(manifest), Some(bank)) if is_whole(manifest, bank) => {
                let reason = format!("{BEFORE_ROLLBACK} to {id}");
                let (before, _) = change.snapshot(&reason, manifest, bank)?;
                json!({"snapshot_id": before})
            }
            (manifest, bank) => {
                json!({"set_aside": self.set_aside(&mut change, manifest.as_deref(), bank.as_deref())})
            }
        };
        change.put(MANIFEST, manifest_text);
        change.put(BANK, bank_text);
        let mut details = json!({"action": "ROLLBACK", "reasoning": why});
        if let (Some(details), Value::Object(before)) = (details.as_object_mut(), before) {
            details.extend(before);
        }
        let evidence = vec![format!("{SNAPSHOTS}/{id}.json")];
        change.audit("rollback_executed", &id, details, evidence)?;
        change.commit()?;
        Ok(id)
    }

    /// What a snapshot holds, if all of it is valid.
    fn restorable(&self, id: &str) -> Result<Restorable, EvolveError> {
        let abort = |reason: String| EvolveError::Restore(reason);
        if !Kind::Snapshot.is(id) {
            return Err(abort(format!("{id:?} is no identifier of a snapshot")));
        }
        let bytes = self.read(&file_of(SNAPSHOTS, id)?)?;
        let bytes = bytes.ok_or_else(|| abort(format!("there is no snapshot {id}")))?;
        let wrong =
            |what: &str, reason: String| abort(format!("{what} of snapshot {id}: {reason}"));
        let snapshot: SnapshotText =
            serde_json::from_slice(&bytes).map_err(|e| wrong("the text", e.to_string()))?;
        let manifest_text = alone(&snapshot.manifest);
        let bank_text = alone(&snapshot.skill_bank);
        for (what, kind, text) in [
            ("the manifest", DocumentKind::Manifest, &manifest_text),
            ("the bank", DocumentKind::Bank, &bank_text),
        ] {
            let value: Value =
                serde_json::from_slice(text).map_err(|e| wrong(what, e.to_string()))?;
            if let Some(fault) = check(kind, &value).first() {
                return Err(wrong(what, format!("{}: {}", fault.path, fault.error)));
            }
        }
        let manifest = Manifest::parse(&manifest_text);
        let manifest = manifest.map_err(|_| wrong("the manifest", "it lacks fields".into()))?;
        Ok(Restorable {
            manifest,
            manifest_text,
            bank_text,
        })
    }

    /// The newest snapshot that can be restored and is not one of before a rollback.
    fn newest_restorable(&self) -> Result<(String, Restorable), EvolveError> {
        let mut heads: Vec<SnapshotHead> = Vec::new();
        for id in self.ids(SNAPSHOTS, Kind::Snapshot.prefix())? {
            heads.extend(self.snapshot_head(&file_of(SNAPSHOTS, &id)?)?);
        }
        heads.retain(|head| !head.reason.starts_with(BEFORE_ROLLBACK));
        heads.sort_by(|a, b| {
            let key = |head: &SnapshotHead| (head.created_at.clone(), head.snapshot_id.clone());
            key(b).cmp(&key(a))
        });
        for head in heads {
            match self.restorable(&head.snapshot_id) {
                Ok(restorable) => return Ok((head.snapshot_id, restorable)),
                Err(EvolveError::Restore(reason)) => log::warn!("passed over: {reason}"),
                Err(e) => return Err(e),
            }
        }
        Err(EvolveError::Restore(
            "there is no snapshot that can be restored".into(),
        ))
    }

    /// Keeps the bytes of what can't be read, and says under which names.
    fn set_aside(
        &self,
        change: &mut Change<'_>,
        manifest: Option<&[u8]>,
        bank: Option<&[u8]>,
    ) -> Vec<String> {
        let mut kept = Vec::new();
        for (name, bytes) in [(MANIFEST, manifest), (BANK, bank)] {
            if let Some(bytes) = bytes {
                let digits: String = Hash::of(bytes).hex().chars().take(ASIDE_DIGITS).collect();
                let aside = format!(".aiden-before-rollback-{digits}-{name}");
                change.put(&aside, bytes.to_vec());
                kept.push(aside);
            }
        }
        kept
    }
}

fn is_whole(manifest: &[u8], bank: &[u8]) -> bool {
    let is_object = |bytes: &[u8]| serde_json::from_slice::<super::document::Object>(bytes).is_ok();
    is_object(manifest) && Bank::parse(bank).is_ok()
}

/// A value as a document of its own; snapshots hold the texts as they were.
fn alone(raw: &RawValue) -> Vec<u8> {
    let mut bytes = raw.get().as_bytes().to_vec();
    bytes.push(b'\n');
    bytes
}
