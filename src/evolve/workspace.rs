//! A workspace: where its documents lie, how a session is resumed (kit 3.2), and the lock under which it is changed.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::document::{Bank, Manifest, ManifestError, NewManifest, SnapshotHead};
use super::error::EvolveError;
use super::feedback::Markers;
use super::ids::Sources;
use super::index::Index;
use super::model::Advisor;
use crate::store::{
    Bounded, Context as _, Document, Documents, Filesystem, Kind, OWN_PREFIX, RelPath, StoreError,
    read_bounded,
};

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const BANK: &str = "skill_bank.json";
pub(super) const EXPERIENCE: &str = "experience";
pub(super) const AUDIT: &str = "audit";
pub(super) const SNAPSHOTS: &str = "snapshots";
/// Largest document that is read: a snapshot of a bank of 20,000 entries is below it.
const MAX_DOCUMENT_BYTES: u64 = 32 * 1024 * 1024;

/// What the engine goes by, besides the manifest's contract.
pub struct Engine<'e> {
    /// Who is named in audits and proposals.
    pub actor: String,
    /// Which words direct.
    pub markers: Markers,
    /// How long to wait for another process that writes.
    pub lock_timeout: Duration,
    /// Where identifiers and times come from.
    pub sources: &'e dyn Sources,
    /// A model that is asked; none: rules alone.
    pub advisor: Option<&'e dyn Advisor>,
}

/// A workspace of which nothing is known yet.
#[derive(Clone, Copy)]
pub struct Workspace<'w> {
    pub(super) filesystem: &'w dyn Filesystem,
    pub(super) engine: &'w Engine<'w>,
}

/// Manifest and bank as they are.
pub(super) struct Ready {
    pub manifest: Manifest,
    pub manifest_text: Vec<u8>,
    pub bank: Bank,
    pub bank_text: Vec<u8>,
}

/// A workspace that nobody else changes meanwhile.
pub(super) struct Session<'w> {
    pub documents: Documents<'w>,
    pub ready: Ready,
    pub index: Index,
}

/// A plain name beneath the workspace.
pub(super) fn path(name: &str) -> RelPath {
    RelPath::root()
        .child(name)
        .unwrap_or_else(|_| RelPath::root())
}

/// The file of a document with this identifier.
pub(super) fn file_of(directory: &str, id: &str) -> Result<RelPath, EvolveError> {
    let name = format!("{id}.json");
    path(directory)
        .child(&name)
        .ok()
        .filter(|path| path.components().count() == 2)
        .ok_or_else(|| EvolveError::Input(format!("{id:?} is no identifier")))
}

impl<'w> Workspace<'w> {
    /// The workspace in this directory.
    #[must_use]
    pub fn new(filesystem: &'w dyn Filesystem, engine: &'w Engine<'w>) -> Self {
        Self { filesystem, engine }
    }

    /// Where it lies.
    #[must_use]
    pub fn location(&self) -> &Path {
        self.filesystem.location()
    }

    /// Of the manifest.
    ///
    /// # Errors
    /// When the workspace can't be used.
    pub fn skill_id(&self) -> Result<String, EvolveError> {
        Ok(self.look()?.manifest.skill_id)
    }

    pub(super) fn shown(&self) -> String {
        self.filesystem.location().display().to_string()
    }

    /// Whether there is a workspace, be it one that can't be looked at.
    #[must_use]
    pub fn exists(&self) -> bool {
        let found = self.filesystem.metadata(&path(MANIFEST));
        !found.is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
    }

    /// Makes a new workspace. A bank whose manifest alone is lost stays.
    ///
    /// # Errors
    /// When there is one already, or a value can't be used.
    pub fn init(&self, new: &NewManifest<'_>) -> Result<(), EvolveError> {
        new.check()?;
        let documents = Documents::lock(self.filesystem, self.engine.lock_timeout)?;
        if self.exists() {
            return Err(EvolveError::Refused(format!(
                "{} is a workspace already: nothing was changed",
                self.shown()
            )));
        }
        let mut files = vec![Document {
            path: path(MANIFEST),
            bytes: Manifest::new_text(new),
        }];
        match self.read(&path(BANK))? {
            None => files.push(Document {
                path: path(BANK),
                bytes: Bank::default().to_file(),
            }),
            Some(bytes) => {
                Bank::parse(&bytes).map_err(|reason| self.corrupt_bank(reason))?;
            }
        }
        documents.make_directories(&[path(EXPERIENCE), path(AUDIT), path(SNAPSHOTS)])?;
        Ok(documents.commit(&files)?)
    }

    /// Manifest and bank; what a session needs and lacks is made (kit 3.2).
    pub(super) fn resume(&self) -> Result<Ready, EvolveError> {
        let manifest_text = self.read(&path(MANIFEST))?;
        let manifest_text = manifest_text.ok_or_else(|| EvolveError::Workspace {
            workspace: self.shown(),
            reason: "there is no manifest.json".into(),
        })?;
        let manifest = Manifest::parse(&manifest_text).map_err(|e| match e {
            ManifestError::Unreadable(reason) => EvolveError::Workspace {
                workspace: self.shown(),
                reason: format!("manifest.json: {reason}"),
            },
            ManifestError::Lacks(fields) => EvolveError::Manifest {
                workspace: self.shown(),
                reason: format!("it lacks {fields}"),
            },
        })?;
        if !["standalone", "governed"].contains(&manifest.mode.as_str()) {
            log::warn!(
                "governance.mode {:?} of {} is neither standalone nor governed: it counts as standalone",
                manifest.mode,
                self.shown()
            );
        }
        let bank_text = match self.read(&path(BANK))? {
            Some(bytes) => bytes,
            None => Bank::default().to_file(),
        };
        let bank = Bank::parse(&bank_text).map_err(|reason| self.corrupt_bank(reason))?;
        Ok(Ready {
            manifest,
            manifest_text,
            bank,
            bank_text,
        })
    }

    /// As [`Self::resume`], for who only looks: what is missing is made if that can be done.
    pub(super) fn look(&self) -> Result<Ready, EvolveError> {
        let ready = self.resume()?;
        if self.lacks_something() {
            match Documents::lock(self.filesystem, self.engine.lock_timeout) {
                Ok(documents) => self.complete(&documents)?,
                Err(e) => log::warn!("what the workspace lacks can't be made: {e}"),
            }
        }
        Ok(ready)
    }

    fn lacks_something(&self) -> bool {
        let parts = [BANK, EXPERIENCE, AUDIT, SNAPSHOTS];
        let is_missing = |name: &&str| {
            let found = self.filesystem.metadata(&path(name));
            found.is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
        };
        parts.iter().any(is_missing)
    }

    fn complete(&self, documents: &Documents<'_>) -> Result<(), EvolveError> {
        if !self.lacks_something() {
            return Ok(());
        }
        documents.make_directories(&[path(EXPERIENCE), path(AUDIT), path(SNAPSHOTS)])?;
        if self.read(&path(BANK))?.is_none() {
            documents.commit(&[Document {
                path: path(BANK),
                bytes: Bank::default().to_file(),
            }])?;
        }
        Ok(())
    }

    /// Takes the lock, finishes what a cut left, and reads what there is.
    pub(super) fn begin(&self) -> Result<Session<'w>, EvolveError> {
        // Where there is no workspace, and none that is to be finished, no lock file is left either.
        if !self.exists() && !Documents::are_unfinished(self.filesystem) {
            self.resume()?;
        }
        let documents = Documents::lock(self.filesystem, self.engine.lock_timeout)?;
        let ready = self.resume()?;
        self.complete(&documents)?;
        let index = Index::load(self)?;
        Ok(Session {
            documents,
            ready,
            index,
        })
    }

    pub(super) fn corrupt_bank(&self, reason: String) -> EvolveError {
        EvolveError::Bank {
            workspace: self.shown(),
            reason,
        }
    }

    /// The bytes of a file; `None` if it is missing.
    pub(super) fn read(&self, path: &RelPath) -> Result<Option<Vec<u8>>, EvolveError> {
        let read = read_bounded(self.filesystem, path, MAX_DOCUMENT_BYTES);
        match read.during(self.filesystem, "read", path)? {
            None => Ok(None),
            Some(Bounded::Whole(bytes)) => Ok(Some(bytes)),
            Some(Bounded::TooLarge { bytes }) => {
                let error = io::Error::other(format!("it is too large ({bytes} bytes)"));
                Err(StoreError::new(self.filesystem, "read", path, error).into())
            }
        }
    }

    /// A document; one that is none is told and left out.
    ///
    /// # Errors
    /// The kernel's: of what can't be read now, nobody knows what it says.
    pub(super) fn document<T: DeserializeOwned>(
        &self,
        path: &RelPath,
    ) -> Result<Option<T>, EvolveError> {
        let Some(bytes) = self.whole(path)? else {
            return Ok(None);
        };
        let parsed = serde_json::from_slice::<Value>(&bytes).and_then(T::deserialize);
        Ok(parsed
            .map_err(|e| self.leave_out(path, &e.to_string()))
            .ok())
    }

    fn whole(&self, path: &RelPath) -> Result<Option<Vec<u8>>, EvolveError> {
        let read = read_bounded(self.filesystem, path, MAX_DOCUMENT_BYTES);
        match read.during(self.filesystem, "read", path)? {
            Some(Bounded::Whole(bytes)) => return Ok(Some(bytes)),
            Some(Bounded::TooLarge { bytes }) => {
                self.leave_out(path, &format!("it is too large ({bytes} bytes)"));
            }
            None => self.leave_out(path, "it is missing"),
        }
        Ok(None)
    }

    fn leave_out(&self, path: &RelPath, reason: &str) {
        log::warn!("{path} of {} is left out: {reason}", self.shown());
    }

    /// As [`Self::document`], of a snapshot: what it holds may be large, and is passed over.
    pub(super) fn snapshot_head(
        &self,
        path: &RelPath,
    ) -> Result<Option<SnapshotHead>, EvolveError> {
        let Some(bytes) = self.whole(path)? else {
            return Ok(None);
        };
        let head = serde_json::from_slice(&bytes);
        Ok(head.map_err(|e| self.leave_out(path, &e.to_string())).ok())
    }

    /// The identifiers of the documents in a directory that begin so.
    pub(super) fn ids(&self, directory: &str, prefix: &str) -> Result<Vec<String>, EvolveError> {
        let directory = path(directory);
        let entries = match self.filesystem.read_dir(&directory) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.during(self.filesystem, "list", &directory)?,
        };
        let names = entries.iter().filter(|entry| entry.kind == Kind::File);
        let ids = names.filter_map(|entry| {
            let id = entry.name.to_str()?.strip_suffix(".json")?;
            (id.starts_with(prefix) && !id.starts_with(OWN_PREFIX)).then(|| id.to_owned())
        });
        Ok(ids.collect())
    }
}
