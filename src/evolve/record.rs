//! One change of a workspace as documents: experience, proposal, snapshots, audit entries, bank and manifest; written together.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::document::{AuditEntry, Experience, Manifest, SEQUENCE, to_file};
use super::error::EvolveError;
use super::ids::{Kind, Timestamp, new_id};
use super::workspace::{
    AUDIT, EXPERIENCE, MANIFEST, Ready, SNAPSHOTS, Session, Workspace, file_of, path,
};
use crate::store::{Document, Documents};

/// What is written in one step.
pub(super) struct Change<'w> {
    workspace: Workspace<'w>,
    documents: Documents<'w>,
    index: super::index::Index,
    skill_id: String,
    files: Vec<Document>,
}

impl<'w> Change<'w> {
    /// Of a session; what was read goes on with the caller.
    pub fn new(workspace: &Workspace<'w>, session: Session<'w>) -> (Self, Ready) {
        let change = Self {
            workspace: *workspace,
            documents: session.documents,
            index: session.index,
            skill_id: session.ready.manifest.skill_id.clone(),
            files: Vec::new(),
        };
        (change, session.ready)
    }

    /// Where manifest or bank can't be read.
    pub fn without_session(
        workspace: &Workspace<'w>,
        documents: Documents<'w>,
        skill_id: String,
    ) -> Result<Self, EvolveError> {
        Ok(Self {
            workspace: *workspace,
            documents,
            index: super::index::Index::load(workspace)?,
            skill_id,
            files: Vec::new(),
        })
    }

    pub fn skill_id(&self) -> &str {
        &self.skill_id
    }

    pub fn index(&self) -> &super::index::Index {
        &self.index
    }

    /// A new identifier.
    pub fn id(&self, kind: Kind) -> Result<String, EvolveError> {
        new_id(kind, self.workspace.engine.sources).map_err(|source| EvolveError::System {
            doing: "no identifier could be made".into(),
            source,
        })
    }

    fn now(&self) -> Timestamp {
        Timestamp::of(self.workspace.engine.sources.now())
    }

    /// The time of what is recorded now.
    pub fn time(&mut self) -> Timestamp {
        let now = self.now();
        self.index.time(now)
    }

    /// Records an experience; its place among all records is put into it.
    pub fn experience(&mut self, mut experience: Experience) -> Result<(), EvolveError> {
        let sequence = self.index.next_sequence();
        experience.metadata.insert(SEQUENCE.into(), sequence.into());
        self.index.experienced(&experience);
        self.write(EXPERIENCE, &experience.experience_id, &experience)
    }

    /// Puts an audit entry to what is written.
    pub fn audit(
        &mut self,
        event: &str,
        subject: &str,
        details: Value,
        evidence: Vec<String>,
    ) -> Result<(), EvolveError> {
        let mut details: Map<String, Value> = match details {
            Value::Object(details) => details,
            _ => Map::new(),
        };
        details.retain(|_, value| !value.is_null());
        details.insert(SEQUENCE.into(), self.index.next_sequence().into());
        let audit = AuditEntry {
            audit_id: self.id(Kind::Audit)?,
            created_at: self.time().as_str().to_owned(),
            event_type: event.to_owned(),
            skill_id: self.skill_id.clone(),
            subject_id: subject.to_owned(),
            actor: self.workspace.engine.actor.clone(),
            details,
            evidence_refs: evidence,
        };
        self.index.audited();
        self.write(AUDIT, &audit.audit_id, &audit)
    }

    /// Takes a snapshot of these texts, and tells the audit of it.
    pub fn snapshot(
        &mut self,
        reason: &str,
        manifest: &[u8],
        bank: &[u8],
    ) -> Result<(String, Timestamp), EvolveError> {
        let id = self.id(Kind::Snapshot)?;
        let now = self.now();
        let time = self.index.snapshot_time(&id, now);
        let head = serde_json::to_string_pretty(&json!({
            "snapshot_id": id, "created_at": time.as_str(), "reason": reason
        }));
        let head = head.unwrap_or_default();
        // Both were read as objects; a copy of their texts is a copy of them.
        let mut bytes = head.trim_end_matches(['\n', '}']).as_bytes().to_vec();
        for (key, text) in [("manifest", manifest), ("skill_bank", bank)] {
            bytes.extend_from_slice(format!(",\n  \"{key}\": ").as_bytes());
            bytes.extend_from_slice(text.trim_ascii());
        }
        bytes.extend_from_slice(b"\n}\n");
        self.files.push(Document {
            path: file_of(SNAPSHOTS, &id)?,
            bytes,
        });
        let details = json!({"action": "SNAPSHOT", "reasoning": reason});
        let evidence = vec![format!("{SNAPSHOTS}/{id}.json")];
        self.audit("snapshot_created", &id, details, evidence)?;
        Ok((id, time))
    }

    /// Writes a proposal or a decision.
    pub fn write(
        &mut self,
        directory: &str,
        id: &str,
        document: &impl Serialize,
    ) -> Result<(), EvolveError> {
        self.files.push(Document {
            path: file_of(directory, id)?,
            bytes: to_file(document),
        });
        Ok(())
    }

    /// Replaces the manifest.
    pub fn manifest(&mut self, manifest: &Manifest) {
        self.put(MANIFEST, manifest.to_file());
    }

    /// Writes a file in the workspace itself; the last one of a name counts.
    pub fn put(&mut self, name: &str, bytes: Vec<u8>) {
        let path = path(name);
        self.files.retain(|file| file.path != path);
        self.files.push(Document { path, bytes });
    }

    /// Writes all of it, or nothing.
    pub fn commit(mut self) -> Result<(), EvolveError> {
        self.files.push(self.index.to_document());
        // Bank and manifest come into place last: whoever sees them changed finds what tells of it.
        self.files
            .sort_by_key(|file| file.path.components().count() == 1);
        Ok(self.documents.commit(&self.files)?)
    }
}
