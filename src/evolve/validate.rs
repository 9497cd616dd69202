//! Whether all documents of a workspace are as they must be: by their schemas, and by what schemas can't say.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::Serialize;
use serde_json::Value;

use super::error::EvolveError;
use super::ids::Kind;
use super::schema::{DocumentKind, check};
use super::workspace::{AUDIT, BANK, EXPERIENCE, MANIFEST, SNAPSHOTS, Workspace, path};
use crate::store::{Context as _, DirEntry, Kind as FileKind, OWN_PREFIX, RelPath, absent_as_none};

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Validation {
    /// Documents that were looked at.
    pub files: usize,
    /// What is not as it must be.
    pub errors: Vec<Finding>,
    /// What may be so.
    pub warnings: Vec<Finding>,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Beneath the workspace.
    pub file: String,
    /// Where in it; the file itself: empty.
    pub path: String,
    /// In a sentence.
    pub error: String,
}

/// A document that could be read.
struct Found {
    kind: DocumentKind,
    file: String,
    value: Value,
}

impl Workspace<'_> {
    /// Looks at every file of the workspace; changes nothing.
    ///
    /// # Errors
    /// When the directory can't be listed.
    pub fn validate(&self) -> Result<Validation, EvolveError> {
        let mut validation = Validation::default();
        let mut found = Vec::new();
        let root = RelPath::root();
        let entries = self.filesystem.read_dir(&root);
        for entry in entries.during(self.filesystem, "list", &root)? {
            let name = entry.name.to_string_lossy().into_owned();
            match (name.as_str(), entry.kind) {
                (name, _) if name.starts_with(OWN_PREFIX) => {}
                (MANIFEST, FileKind::File) => self.take(
                    DocumentKind::Manifest,
                    MANIFEST,
                    &mut found,
                    &mut validation,
                ),
                (BANK, FileKind::File) => {
                    self.take(DocumentKind::Bank, BANK, &mut found, &mut validation)
                }
                (EXPERIENCE | AUDIT | SNAPSHOTS, FileKind::Directory) => {
                    self.directory(&name, &mut found, &mut validation)?;
                }
                _ => validation.stray(&name),
            }
        }
        for name in [MANIFEST, BANK] {
            let is_there = absent_as_none(self.filesystem.metadata(&path(name)));
            if is_there
                .during(self.filesystem, "examine", &path(name))?
                .is_none()
            {
                validation.error(name, "", "it is missing");
            }
        }
        for document in &found {
            validation.by_schema(document);
        }
        validation.together(&found);
        validation
            .errors
            .sort_by(|a, b| (&a.file, &a.path).cmp(&(&b.file, &b.path)));
        Ok(validation)
    }

    fn directory(
        &self,
        directory: &str,
        found: &mut Vec<Found>,
        validation: &mut Validation,
    ) -> Result<(), EvolveError> {
        let listed = path(directory);
        let entries: Vec<DirEntry> =
            self.filesystem
                .read_dir(&listed)
                .during(self.filesystem, "list", &listed)?;
        for entry in entries {
            let name = entry.name.to_string_lossy().into_owned();
            let file = format!("{directory}/{name}");
            let stem = name
                .strip_suffix(".json")
                .filter(|_| entry.kind == FileKind::File);
            let kind = stem.and_then(|stem| kind_of(directory, stem));
            match kind {
                _ if name.starts_with(OWN_PREFIX) => {}
                Some(kind) => self.take(kind, &file, found, validation),
                None => validation.stray(&file),
            }
        }
        Ok(())
    }

    fn take(
        &self,
        kind: DocumentKind,
        file: &str,
        found: &mut Vec<Found>,
        validation: &mut Validation,
    ) {
        validation.files += 1;
        let bytes = RelPath::parse(file)
            .map_err(|e| e.to_string())
            .and_then(|path| self.read(&path).map_err(|e| e.to_string()))
            .and_then(|bytes| bytes.ok_or_else(|| io::ErrorKind::NotFound.to_string()));
        let value = bytes.and_then(|bytes| match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(_) => Err("it begins with a byte order mark".to_owned()),
            None => parse(&bytes),
        });
        match value {
            Ok(value) => found.push(Found {
                kind,
                file: file.to_owned(),
                value,
            }),
            Err(reason) => validation.error(file, "", &reason),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Value, String> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|e| format!("it can't be read: {e}"))?;
    if !value.is_object() {
        return Err("it is no JSON object".into());
    }
    Ok(value)
}

/// What a file in a directory must be, by its name.
fn kind_of(directory: &str, stem: &str) -> Option<DocumentKind> {
    let prefixes = [
        (
            EXPERIENCE,
            Kind::Experience.prefix(),
            DocumentKind::Experience,
        ),
        (SNAPSHOTS, Kind::Snapshot.prefix(), DocumentKind::Snapshot),
        (AUDIT, Kind::Audit.prefix(), DocumentKind::Audit),
        (AUDIT, Kind::Proposal.prefix(), DocumentKind::Proposal),
        (AUDIT, "dec-", DocumentKind::Decision),
    ];
    let found = prefixes
        .iter()
        .find(|(known, prefix, _)| *known == directory && stem.starts_with(prefix));
    found.map(|(_, _, kind)| *kind)
}

/// The field that holds the identifier of a document.
fn id_field(kind: DocumentKind) -> Option<&'static str> {
    match kind {
        DocumentKind::Manifest | DocumentKind::Bank => None,
        DocumentKind::Experience => Some("experience_id"),
        DocumentKind::Audit => Some("audit_id"),
        DocumentKind::Snapshot => Some("snapshot_id"),
        DocumentKind::Proposal => Some("proposal_id"),
        DocumentKind::Decision => Some("decision_id"),
    }
}

impl Validation {
    fn error(&mut self, file: &str, path: &str, error: &str) {
        self.errors.push(Finding {
            file: file.to_owned(),
            path: path.to_owned(),
            error: error.to_owned(),
        });
    }

    fn stray(&mut self, file: &str) {
        self.error(file, "", "there is no such file in a workspace");
    }

    fn by_schema(&mut self, document: &Found) {
        let Found { kind, file, value } = document;
        for fault in check(*kind, value) {
            self.error(file, &fault.path, &fault.error);
        }
        match kind {
            DocumentKind::Bank => self.bank(file, "", value),
            DocumentKind::Snapshot => {
                for (field, kind) in [
                    ("manifest", DocumentKind::Manifest),
                    ("skill_bank", DocumentKind::Bank),
                ] {
                    for fault in check(kind, &value[field]) {
                        let gap = if fault.path.is_empty() { "" } else { "." };
                        self.error(file, &format!("{field}{gap}{}", fault.path), &fault.error);
                    }
                }
                self.bank(file, "skill_bank.", &value["skill_bank"]);
            }
            _ => {}
        }
    }

    /// Identifiers of entries are there once, and times end in Z.
    fn bank(&mut self, file: &str, prefix: &str, bank: &Value) {
        let mut known = BTreeSet::new();
        for (at, entry) in bank["skills"].as_array().into_iter().flatten().enumerate() {
            if let Some(id) = entry["skill_entry_id"].as_str()
                && !known.insert(id)
            {
                let path = format!("{prefix}skills[{at}].skill_entry_id");
                self.error(file, &path, &format!("{id} stands twice in the bank"));
            }
        }
    }

    /// What documents say of each other.
    fn together(&mut self, found: &[Found]) {
        let manifest = found.iter().find(|one| one.kind == DocumentKind::Manifest);
        let skill_id = manifest.and_then(|one| one.value["skill_id"].as_str());
        let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
        let stem = |file: &str| -> String {
            let name = file.rsplit('/').next().unwrap_or(file);
            name.strip_suffix(".json").unwrap_or(name).to_owned()
        };
        for one in found {
            let Some(field) = id_field(one.kind) else {
                continue;
            };
            if let Some(id) = one.value[field].as_str() {
                if id != stem(&one.file) {
                    self.error(
                        &one.file,
                        field,
                        &format!("the file is not called by its identifier {id}"),
                    );
                }
                if let Some(other) = ids.insert(id, &one.file) {
                    self.error(
                        &one.file,
                        field,
                        &format!("{other} has the same identifier"),
                    );
                }
            }
            let own = match one.kind {
                DocumentKind::Snapshot => &one.value["manifest"]["skill_id"],
                _ => &one.value["skill_id"],
            };
            if let (Some(own), Some(skill_id)) = (own.as_str(), skill_id)
                && own != skill_id
            {
                let path = if one.kind == DocumentKind::Snapshot {
                    "manifest.skill_id"
                } else {
                    "skill_id"
                };
                self.error(
                    &one.file,
                    path,
                    &format!("it is of skill {own:?}, the workspace of {skill_id:?}"),
                );
            }
        }
        for one in found {
            match one.kind {
                DocumentKind::Decision => {
                    let proposal = one.value["proposal_id"].as_str();
                    if let Some(proposal) = proposal.filter(|id| !ids.contains_key(id)) {
                        self.error(
                            &one.file,
                            "proposal_id",
                            &format!("there is no proposal {proposal}"),
                        );
                    }
                }
                DocumentKind::Bank => {
                    for (at, entry) in one.value["skills"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .enumerate()
                    {
                        let sources = entry["source_experience_ids"].as_array();
                        for id in sources.into_iter().flatten().filter_map(Value::as_str) {
                            if !ids.contains_key(id) {
                                self.warnings.push(Finding {
                                    file: one.file.clone(),
                                    path: format!("skills[{at}].source_experience_ids"),
                                    error: format!("there is no experience {id} in the workspace"),
                                });
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
