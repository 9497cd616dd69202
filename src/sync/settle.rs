//! Settling what a power cut left, path by path, by the intents in the ledger (contract §5).
//!
//! [`Settlement::compute`] only looks; [`Settlement::apply`] makes it durable. Whoever takes the lock to
//! write settles first.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::{Intent, Ledger, Pending, Record, base_path, library_path};
use super::observe::{skill_directory, text_path};
use super::report::Merged;
use crate::skill::{SKILL_FILE, SkillName};
use crate::store::{
    Context, FileHasher, Filesystem, Hash, Kind, RelPath, StoreError, WriteLock, is_staged, layout,
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
            let mut written = BTreeSet::new();
            // Another name is not ours: this program writes no such.
            if let Ok(skill) = SkillName::try_from(name.as_str()) {
                written = paths_written(filesystem, &skill, &record, pending, &mut hasher)?;
                settlement.note_directories(&skill, pending, &written);
                let mut text = TextIntent {
                    filesystem,
                    hasher: &mut hasher,
                    skill: &skill,
                    pending,
                    origin: record.origin_hash,
                };
                if settlement.settle_text(&mut text, &written, upstream)? {
                    written.insert(text_path());
                }
            }
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

    fn note_directories(
        &mut self,
        skill: &SkillName,
        pending: &Pending,
        written: &BTreeSet<RelPath>,
    ) {
        let directory = skill_directory(skill);
        for (path, intent) in &pending.paths {
            let parent = directory.join(path).parent();
            if intent.hash.is_none() && written.contains(path) {
                self.thinned.insert(parent.clone());
            }
            self.directories
                .extend(directory.join(path).ancestors_from_top());
        }
    }

    /// Decides over SKILL.md and its base, for a merge also whether it is finished; says whether the text
    /// is, or will be, the intended one.
    fn settle_text(
        &mut self,
        text: &mut TextIntent<'_>,
        written: &BTreeSet<RelPath>,
        upstream: &dyn Fn(&str) -> Option<Hash>,
    ) -> Result<bool, StoreError> {
        let Some(intent) = text.pending.paths.get(&text_path()) else {
            return Ok(false);
        };
        let base = base_path(text.skill);
        let base_now = text.hash(&base);
        let mut came = written.contains(&text_path());
        if !came && let Some(key) = &text.pending.merge_key {
            if !text.is_untouched()? {
                came = base_now.is_some() && base_now == intent.upstream_hash;
            } else if let Some(local) = text.can_finish(intent, upstream) {
                self.texts_to_place.push((library_path(text.skill), local));
                self.finished.push(Merged {
                    name: text.skill.to_string(),
                    mode: text.pending.mode,
                    engine: text.pending.engine.clone().unwrap_or_default(),
                    merge_key: key.clone(),
                    summary: "finished after an interruption".into(),
                });
                came = true;
            }
        }
        // After an error the staged files are emptied; such a base is none.
        let staged = text.hash(&layout::staged(&base));
        let base_is_staged = staged.is_some() && staged == intent.upstream_hash;
        let base_is_new = base_now == intent.upstream_hash;
        let base_is_wrong = if came {
            !base_is_staged && !base_is_new
        } else {
            // It can reach the flash before its text, and would be taken for that of the last sync.
            base_is_new && text.origin != intent.upstream_hash
        };
        if came {
            // The interrupted run may have placed it and not flushed its name.
            self.directories.extend(base.ancestors_from_top());
        }
        if came && base_is_staged {
            self.bases_to_place.push(base);
        } else if base_now.is_some() && base_is_wrong {
            self.bases_to_remove.push(base);
        }
        Ok(came)
    }

    /// Makes it durable: names that were seen are flushed before the ledger relies on them, and the
    /// temporary directory is swept after the ledger. What can't be swept is a problem, told in words, but
    /// stops nothing.
    ///
    /// # Errors
    /// The kernel's; the intents stand then.
    pub fn apply(
        &self,
        lock: &WriteLock<'_>,
        keep_previous: bool,
        now: &str,
    ) -> Result<Option<String>, StoreError> {
        if self.leftovers || self.had_intents {
            // The ledger that was read may have been renamed into place and not be on flash yet. What it intends must
            // not change before, and the one before it needs what is staged.
            let (filesystem, state) = (lock.filesystem(), layout::state());
            filesystem
                .sync_dir(&state)
                .during(filesystem, "flush", &state)?;
            // What was taken out of the library must not come back when what is left of it is swept.
            for directory in [layout::removed(), layout::library()] {
                let is_there = filesystem.metadata(&layout::removed()).is_ok();
                if is_there
                    && let Err(e) = filesystem.sync_dir(&directory)
                    && !is_gone(&e)
                {
                    return Err(StoreError::new(filesystem, "flush", &directory, e));
                }
            }
        }
        if self.had_intents {
            self.place(lock)?;
            self.flush(lock.filesystem())?;
            let bytes = self.ledger.to_json(now);
            state_file::write(lock, layout::LEDGER, &bytes, keep_previous)?;
        }
        if (self.leftovers || self.had_intents)
            && let Err(e) = sweep(lock)
        {
            let stage = layout::stage();
            return Ok(Some(format!("{e}; remove {stage} by hand")));
        }
        Ok(None)
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
        // What stands in the way of a base makes its skill fail when it is planned, and no other.
        let placed = self
            .bases_to_place
            .iter()
            .map(|base| lock.place_staged(base));
        let removed = self.bases_to_remove.iter().map(|base| lock.remove(base));
        for error in placed.chain(removed).filter_map(Result::err) {
            log::warn!("{error}");
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

/// The intent for one skill's SKILL.md, and what is needed to look at it.
struct TextIntent<'a> {
    filesystem: &'a dyn Filesystem,
    hasher: &'a mut FileHasher,
    skill: &'a SkillName,
    pending: &'a Pending,
    origin: Option<Hash>,
}

impl TextIntent<'_> {
    fn hash(&mut self, path: &RelPath) -> Option<Hash> {
        let state = self.hasher.hash(self.filesystem, path).ok().flatten();
        state.map(|state| state.hash)
    }

    /// Whether the text is still the one that was to be merged, and the merged one is still staged. The base may be in its
    /// place all the same: it can reach the flash before its text.
    fn is_untouched(&mut self) -> Result<bool, StoreError> {
        let target = library_path(self.skill);
        let now = self.hash(&target);
        Ok(now.is_some() && now == self.pending.local_hash && is_staged(self.filesystem, &target)?)
    }

    /// A merge whose text is staged, whose inputs are all as they were: the local text, if so.
    fn can_finish(
        &mut self,
        intent: &Intent,
        upstream: &dyn Fn(&str) -> Option<Hash>,
    ) -> Option<Hash> {
        let target = library_path(self.skill);
        let local = self
            .hash(&target)
            .filter(|local| Some(*local) == self.pending.local_hash)?;
        let candidate = self.hash(&layout::staged(&target))?;
        let same_upstream =
            upstream(self.skill.as_str()).is_some_and(|hash| Some(hash) == intent.upstream_hash);
        (Some(candidate) == intent.hash && same_upstream).then_some(local)
    }
}

/// The paths that reached the library: they have the intended hash, or their staged name is gone. For a
/// removal: the file is gone. Of a past intent the staged names tell nothing; but a base is only placed after
/// its text, and a new skill only as a whole.
fn paths_written(
    filesystem: &dyn Filesystem,
    skill: &SkillName,
    record: &Record,
    pending: &Pending,
    hasher: &mut FileHasher,
) -> Result<BTreeSet<RelPath>, StoreError> {
    let directory = skill_directory(skill);
    let base_came = pending.is_past && {
        let text = pending
            .paths
            .get(&text_path())
            .and_then(|intent| intent.upstream_hash);
        let base = hasher.hash(filesystem, &base_path(skill)).ok().flatten();
        text.is_some() && base.map(|base| base.hash) == text
    };
    let was_new = record.has_no_text();
    let mut written = BTreeSet::new();
    for (path, intent) in &pending.paths {
        let target = directory.join(path);
        let Some(hash) = intent.hash else {
            if is_gone_or_unknown(filesystem, &target) {
                written.insert(path.clone());
            }
            continue;
        };
        // What can't be read (a link put there since) is told by its staged name alone.
        let came = match hasher.hash(filesystem, &target) {
            // Where only the executable bit changes, the old file has the intended hash too.
            Ok(Some(now)) if now.hash == hash => {
                now.metadata.is_executable() == intent.executable
                    || pending.is_past
                    || !is_staged(filesystem, &target)?
            }
            _ if pending.is_past => base_came && (was_new || path.as_str() == SKILL_FILE),
            _ => !is_staged(filesystem, &target)?,
        };
        if came {
            written.insert(path.clone());
        }
    }
    Ok(written)
}

/// Whether a file that was to be removed is not there any more. A file may have taken the place of a directory above it,
/// or a directory its own. What can't be told is forgotten too: if the file is there after all, it is the user's from now
/// on; but one that the program removed itself must never count as deleted by the user.
fn is_gone_or_unknown(filesystem: &dyn Filesystem, file: &RelPath) -> bool {
    let found = filesystem.metadata(file);
    found.map_or(true, |found| found.kind == Kind::Directory)
}

/// Names of the records that have intents, with what they intend; for people.
#[must_use]
pub fn interrupted(ledger: &Ledger) -> BTreeMap<&str, usize> {
    let pending = |record: &Record| Some(record.pending.as_ref()?.paths.len());
    let records = ledger.records.iter();
    records
        .filter_map(|(name, record)| Some((name.as_str(), pending(record)?)))
        .collect()
}
