//! What the engine remembers beside the kit's documents, so that it need not read all of them: it can be made again from them
//! at any time, and is when their number does not fit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::document::{AuditEntry, Experience, sequence};
use super::error::EvolveError;
use super::ids::{Kind, Timestamp};
use super::workspace::{AUDIT, EXPERIENCE, SNAPSHOTS, Workspace, file_of, path};

const FILE: &str = ".aiden-index.json";
/// Earlier experiences of a signature that count.
pub(super) const RECENT: usize = 5;
/// In which a snapshot says when it was taken.
const START_BYTES: usize = 256;

/// What is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Index {
    /// Numbers of documents, by which it is seen whether this is of now.
    experiences: usize,
    snapshots: usize,
    audits: usize,
    /// The last place among all records.
    sequence: u64,
    /// The latest time of any record.
    latest: Option<Timestamp>,
    /// The newest snapshot, and its time.
    newest_snapshot: Option<(String, Timestamp)>,
    /// The last experiences of each signature, newest last.
    recent: BTreeMap<String, Vec<String>>,
}

impl Index {
    /// What is remembered, if it is of now; else made again.
    pub fn load(workspace: &Workspace<'_>) -> Result<Self, EvolveError> {
        let experiences = workspace.ids(EXPERIENCE, Kind::Experience.prefix())?;
        let snapshots = workspace.ids(SNAPSHOTS, Kind::Snapshot.prefix())?;
        let audits = workspace.ids(AUDIT, Kind::Audit.prefix())?;
        let kept = workspace
            .read(&path(FILE))?
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
            .and_then(|value| Self::deserialize(value).ok());
        let is_of_now = |kept: &Self| {
            kept.experiences == experiences.len()
                && kept.snapshots == snapshots.len()
                && kept.audits == audits.len()
        };
        if let Some(kept) = kept.filter(|kept| is_of_now(kept) && kept.knows_newest(workspace)) {
            return Ok(kept);
        }
        let mut index = Self::default();
        let mut all: Vec<Experience> = Vec::new();
        for id in &experiences {
            all.extend(workspace.document::<Experience>(&file_of(EXPERIENCE, id)?)?);
            index.experiences += 1;
        }
        all.sort_by(|a, b| {
            let key = |one: &Experience| (sequence(&one.metadata), one.recorded_at.clone());
            key(a).cmp(&key(b))
        });
        for experience in &all {
            index.seen(&experience.recorded_at, sequence(&experience.metadata));
            index.remember(experience);
        }
        for id in &snapshots {
            if let Some(head) = workspace.snapshot_head(&file_of(SNAPSHOTS, id)?)? {
                index.seen(&head.created_at, 0);
                if let Some(time) = Timestamp::parse(&head.created_at) {
                    index.note_snapshot(id, &time);
                }
            }
            index.snapshots += 1;
        }
        for id in &audits {
            if let Some(audit) = workspace.document::<AuditEntry>(&file_of(AUDIT, id)?)? {
                index.seen(&audit.created_at, sequence(&audit.details));
            }
            index.audits += 1;
        }
        Ok(index)
    }

    /// Whether the newest snapshot says of its time what is remembered; it is at the beginning of the file, which may be large.
    fn knows_newest(&self, workspace: &Workspace<'_>) -> bool {
        let Some((id, time)) = &self.newest_snapshot else {
            return self.snapshots == 0;
        };
        let mut start = [0; START_BYTES];
        let read = file_of(SNAPSHOTS, id).ok().and_then(|path| {
            let mut file = workspace.filesystem.open(&path).ok()?;
            file.read(&mut start).ok()
        });
        let start = read.and_then(|read| start.get(..read)).unwrap_or_default();
        String::from_utf8_lossy(start).contains(&format!("\"created_at\": \"{}\"", time.as_str()))
    }

    fn note_snapshot(&mut self, id: &str, time: &Timestamp) {
        if self
            .newest_snapshot
            .as_ref()
            .is_none_or(|(_, newest)| newest <= time)
        {
            self.newest_snapshot = Some((id.to_owned(), time.clone()));
        }
    }

    fn seen(&mut self, time: &str, sequence: u64) {
        self.latest = self.latest.take().max(Timestamp::parse(time));
        self.sequence = self.sequence.max(sequence);
    }

    /// The next place among all records.
    pub fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// The time of what is recorded now: never before what was recorded already, for clocks stand still and jump back.
    pub fn time(&mut self, now: Timestamp) -> Timestamp {
        let time = self
            .latest
            .take()
            .map_or(now.clone(), |latest| latest.max(now));
        self.latest = Some(time.clone());
        time
    }

    /// The time of a snapshot that is taken now: later than that of any other.
    pub fn snapshot_time(&mut self, id: &str, now: Timestamp) -> Timestamp {
        let time = self.time(now);
        let next = self
            .newest_snapshot
            .as_ref()
            .map(|(_, newest)| newest.next());
        let time = next.map_or(time.clone(), |next| next.max(time));
        self.note_snapshot(id, &time);
        self.latest = Some(time.clone());
        self.snapshots += 1;
        time
    }

    /// An audit entry is written.
    pub fn audited(&mut self) {
        self.audits += 1;
    }

    /// An experience is written.
    pub fn experienced(&mut self, experience: &Experience) {
        self.experiences += 1;
        self.remember(experience);
    }

    fn remember(&mut self, experience: &Experience) {
        if let Some(signature) = &experience.task_signature {
            let recent = self.recent.entry(signature.clone()).or_default();
            recent.push(experience.experience_id.clone());
            if recent.len() > RECENT {
                recent.remove(0);
            }
        }
    }

    /// The last experiences of a signature, newest last.
    pub fn recent(&self, signature: &str) -> &[String] {
        self.recent.get(signature).map_or(&[], Vec::as_slice)
    }

    /// As it is written to its file.
    pub fn to_document(&self) -> crate::store::Document {
        crate::store::Document {
            path: path(FILE),
            bytes: serde_json::to_vec(self).unwrap_or_default(),
        }
    }
}
