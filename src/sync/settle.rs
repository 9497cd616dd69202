//! Settling what a power cut left, path by path, by the intents in the ledger (contract §5).
//!
//! [`Settlement::compute`] only looks; [`Settlement::apply`] makes it durable. Whoever takes the lock to
//! write settles first.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::{Ledger, Pending, base_path, library_path};
use super::observe::{skill_directory, text_path};
use super::report::Merged;
use crate::skill::SkillName;
use crate::store::{
    Context, FileHasher, Filesystem, Hash, RelPath, StoreError, WriteLock, is_staged, layout,
    leftovers, state_file, sweep,
};

/// What settling will do.
#[derive(Debug, Default)]
pub struct Settlement {
    /// The ledger afterwards, without intents.
    pub ledger: Ledger,
    /// Merges that were interrupted and are finished.
    pub finished: Vec<Merged>,
    /// Entries of the temporary directory that another version owns.
    pub foreign: Vec<String>,
    /// Whether any record had an intent.
    had_intents: bool,
    leftovers: bool,
    /// Library files of interrupted merges, with the text they replace.
    texts_to_place: Vec<(RelPath, Hash)>,
    bases_to_place: Vec<RelPath>,
    bases_to_remove: Vec<RelPath>,
    /// Directories that lost a file; a cut may have come before they were removed with it.
    thinned: BTreeSet<RelPath>,
    /// Directories whose names may not have been flushed.
    directories: BTreeSet<RelPath>,
}

impl Settlement {
    /// Looks what became of each intent. `upstream` tells the hash of a skill's bundled text now.
    ///
    /// # Errors
    /// The kernel's.
    pub fn compute(
        filesystem: &dyn Filesystem,
        ledger: Ledger,
        upstream: &dyn Fn(&str) -> Option<Hash>,
        now: &str,
    ) -> Result<Self, StoreError> {
        let (leftovers, foreign) = leftovers(filesystem)?;
        let mut settlement = Self {
            had_intents: ledger.has_pending(),
            leftovers,
            foreign,
            ..Self::default()
        };
        settlement.ledger.other = ledger.other;
        let mut hasher = FileHasher::default();
        for (name, record) in ledger.records {
            let Some(pending) = &record.pending else {
                settlement.ledger.records.insert(name, record);
                continue;
            };
            let written = match SkillName::try_from(name.as_str()) {
                Ok(skill) => {
                    let written = written(filesystem, &skill, pending, &mut hasher)?;
                    settlement.settle_text(
                        filesystem,
                        &skill,
                        pending,
                        written,
                        upstream,
                        &mut hasher,
                    )?
                }
                // Not ours: this program writes no such name.
                Err(_) => BTreeSet::new(),
            };
            if let Some(record) = record.settled(&name, |path| written.contains(path), now) {
                settlement.ledger.records.insert(name, record);
            }
        }
        Ok(settlement)
    }

    /// Whether any record had an intent.
    #[must_use]
    pub fn had_intents(&self) -> bool {
        self.had_intents
    }

    /// Whether nothing was left behind.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.had_intents && !self.leftovers
    }

    /// Decides over SKILL.md and its base, for a merge also whether it is finished.
    fn settle_text(
        &mut self,
        filesystem: &dyn Filesystem,
        skill: &SkillName,
        pending: &Pending,
        mut written: BTreeSet<RelPath>,
        upstream: &dyn Fn(&str) -> Option<Hash>,
        hasher: &mut FileHasher,
    ) -> Result<BTreeSet<RelPath>, StoreError> {
        let directory = skill_directory(skill);
        self.directories.insert(layout::library());
        self.directories.insert(directory.clone());
        for (path, intent) in &pending.paths {
            let parent = directory.join(path).parent();
            if intent.hash.is_none() && written.contains(path) {
                self.thinned.insert(parent.clone());
            }
            self.directories.insert(parent);
        }
        let Some(intent) = pending.paths.get(&text_path()) else {
            return Ok(written);
        };
        let base = base_path(skill);
        let base_staged = is_staged(filesystem, &base)?;
        if let Some(key) = &pending.merge_key
            && !written.contains(&text_path())
        {
            let hash_of = |path: &RelPath, hasher: &mut FileHasher| {
                let state = hasher.hash(filesystem, path).ok().flatten();
                state.map(|state| state.hash)
            };
            let target = library_path(skill);
            let local = hash_of(&target, hasher);
            let base_is_new = hash_of(&base, hasher) == intent.upstream_hash;
            let candidate = hash_of(&layout::staged(&target), hasher);
            if base_is_new && intent.upstream_hash.is_some() {
                written.insert(text_path());
            } else if let Some(local) = local.filter(|local| Some(*local) == pending.local_hash)
                && candidate.is_some()
                && candidate == intent.hash
                && intent.upstream_hash.is_some()
                && upstream(skill.as_str()) == intent.upstream_hash
            {
                self.texts_to_place.push((target, local));
                self.finished.push(Merged {
                    name: skill.to_string(),
                    mode: pending.mode,
                    engine: pending.engine.clone().unwrap_or_default(),
                    merge_key: key.clone(),
                    summary: "finished after an interruption".into(),
                });
                written.insert(text_path());
            }
        }
        if written.contains(&text_path()) {
            if base_staged {
                self.bases_to_place.push(base);
            }
        } else if !base_staged && self.base_came_alone(filesystem, &base, pending, hasher) {
            self.bases_to_remove.push(base);
        }
        Ok(written)
    }

    /// A base can reach the flash before the file it belongs to. It is wrong then; a missing one is made
    /// again from the bundle, or tells that no baseline is known.
    fn base_came_alone(
        &self,
        filesystem: &dyn Filesystem,
        base: &RelPath,
        pending: &Pending,
        hasher: &mut FileHasher,
    ) -> bool {
        let upstream = pending
            .paths
            .get(&text_path())
            .map(|intent| intent.upstream_hash);
        let now = hasher.hash(filesystem, base).ok().flatten();
        now.is_some_and(|now| upstream == Some(Some(now.hash)))
    }

    /// Makes it durable: names that were seen are flushed before the ledger relies on them, and the
    /// temporary directory is swept after the ledger.
    ///
    /// # Errors
    /// The kernel's; the intents stand then.
    pub fn apply(
        &self,
        lock: &WriteLock<'_>,
        keep_previous: bool,
        now: &str,
    ) -> Result<(), StoreError> {
        if self.had_intents {
            self.place(lock)?;
            self.flush(lock.filesystem())?;
            let bytes = self.ledger.to_json(now);
            state_file::write(lock, layout::LEDGER, &bytes, keep_previous)?;
        }
        if self.leftovers || self.had_intents {
            sweep(lock)?;
        }
        Ok(())
    }

    fn place(&self, lock: &WriteLock<'_>) -> Result<(), StoreError> {
        let filesystem = lock.filesystem();
        let mut hasher = FileHasher::default();
        for (text, local) in &self.texts_to_place {
            let now = hasher
                .hash(filesystem, text)
                .during(filesystem, "read", text)?;
            if now.is_none_or(|now| now.hash != *local) {
                let error = std::io::Error::other("it changed while the sync ran; run it again");
                return Err(StoreError::new(filesystem, "replace", text, error));
            }
            lock.place_staged(text)?;
        }
        for base in &self.bases_to_place {
            lock.place_staged(base)?;
        }
        for base in &self.bases_to_remove {
            lock.remove(base)?;
        }
        for directory in &self.thinned {
            lock.remove_emptied(directory.clone());
        }
        Ok(())
    }

    fn flush(&self, filesystem: &dyn Filesystem) -> Result<(), StoreError> {
        if filesystem.sync_filesystem_is_trusted() {
            let root = RelPath::root();
            return filesystem.sync_filesystem().during(
                filesystem,
                "flush the file system of",
                &root,
            );
        }
        let bases = self.bases_to_place.iter().chain(&self.bases_to_remove);
        let above = bases.flat_map(|base| [base.parent(), base.parent().parent()]);
        let state = [layout::state(), RelPath::root()];
        let all: BTreeSet<RelPath> = above
            .chain(state)
            .chain(self.directories.iter().cloned())
            .collect();
        for directory in all {
            match filesystem.sync_dir(&directory) {
                // Gone, or no directory: its parent's names tell, and that is flushed too.
                Err(e) if is_gone(&e) => {}
                result => result.during(filesystem, "flush", &directory)?,
            }
        }
        Ok(())
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    ) || crate::store::is_link(error)
}

/// The paths that reached the library: they have the intended hash, or their staged name is gone. For a
/// removal: the file is gone.
fn written(
    filesystem: &dyn Filesystem,
    skill: &SkillName,
    pending: &Pending,
    hasher: &mut FileHasher,
) -> Result<BTreeSet<RelPath>, StoreError> {
    let directory = skill_directory(skill);
    let mut written = BTreeSet::new();
    for (path, intent) in &pending.paths {
        let target = directory.join(path);
        // What can't be read (a link put there since) is told by its staged name alone.
        let now = hasher
            .hash(filesystem, &target)
            .map(|state| state.map(|state| state.hash));
        let came = match (intent.hash, now) {
            (None, now) => matches!(now, Ok(None)),
            (Some(hash), Ok(Some(now))) if now == hash => true,
            (Some(_), _) => !is_staged(filesystem, &target)?,
        };
        if came {
            written.insert(path.clone());
        }
    }
    Ok(written)
}

/// Names of the records that have intents, with what they intend; for people.
#[must_use]
pub fn interrupted(ledger: &Ledger) -> BTreeMap<&str, usize> {
    let pending = |record: &super::ledger::Record| Some(record.pending.as_ref()?.paths.len());
    let records = ledger.records.iter();
    records
        .filter_map(|(name, record)| Some((name.as_str(), pending(record)?)))
        .collect()
}
