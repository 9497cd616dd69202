//! The four steps, and what is done when one of them fails.

use std::collections::BTreeSet;

use super::place::Progress;
use super::{Batch, Committed, Flush, Journal, document};
use crate::store::error::{Context, StoreError, absent_as_none};
use crate::store::filesystem::Filesystem;
use crate::store::mutant::{Mutant, is_on};
use crate::store::path::RelPath;
use crate::store::stage::{sweep, truncate_staged};
use crate::store::state_file::ReplaceError;
use crate::store::{layout, state_file};

const INTENT: &str = "ledger-intent.json";
const SETTLED: &str = "ledger-settled.json";

impl Batch<'_, '_> {
    /// Makes all of it durable, in order. `Ok` with an error inside means that some of it was done; the
    /// ledger then says so, or its intents stand for the next start.
    ///
    /// # Errors
    /// When nothing was changed.
    pub fn commit(mut self, journal: Option<&Journal<'_>>) -> Result<Committed, StoreError> {
        if let Err(e) = self.prepare(journal) {
            self.sweep_quietly();
            return Err(e);
        }
        let has_intents = self.has_steps() && !is_on(Mutant::NoIntent);
        if let Some(journal) = journal.filter(|_| has_intents) {
            match state_file::replace_staged(
                self.lock,
                INTENT,
                layout::LEDGER,
                journal.keep_previous,
            ) {
                Ok(()) => {}
                Err(ReplaceError::Unchanged(e)) => {
                    self.sweep_quietly();
                    return Err(e);
                }
                Err(ReplaceError::NotFlushed(e)) => {
                    let names = self.names_to_flush.clone();
                    return Ok(self.give_up(journal, Progress::touching(names), e));
                }
            }
        }
        if let Some(journal) = journal.filter(|_| is_on(Mutant::LedgerFirst)) {
            self.record(journal)?;
        }
        let mut progress = Progress::touching(std::mem::take(&mut self.names_to_flush));
        let placed = self
            .place(&mut progress)
            .and_then(|()| self.restage_settled(journal, &progress.done));
        if let Err(e) = placed {
            let Some(journal) = journal else {
                self.sweep_quietly();
                return Err(e);
            };
            return Ok(self.give_up(journal, progress, e));
        }
        if !self.is_empty()
            && let Err(e) = self.flush_names(&progress.touched)
        {
            return Ok(intents_stand(e));
        }
        if let Some(journal) = journal.filter(|_| !is_on(Mutant::LedgerFirst))
            && let Err(e) = self.record(journal)
        {
            return Ok(intents_stand(e));
        }
        self.sweep_quietly();
        Ok(Committed {
            recorded: true,
            ..progress.done
        })
    }

    /// Step 4.
    fn record(&self, journal: &Journal<'_>) -> Result<(), StoreError> {
        let keep = journal.keep_previous || self.has_steps();
        let replaced = state_file::replace_staged(self.lock, SETTLED, layout::LEDGER, keep);
        Ok(replaced?)
    }

    /// Takes back everything staged; nothing was changed.
    pub fn discard(self) {
        if !self.directories.is_empty() {
            self.sweep_quietly();
        }
    }

    /// Step 1, after the files: the documents, and everything staged made durable.
    fn prepare(&mut self, journal: Option<&Journal<'_>>) -> Result<(), StoreError> {
        if let Some(journal) = journal {
            if let Some(intent) = journal.intent.as_ref().filter(|_| self.has_steps()) {
                self.stage_document(INTENT, intent)?;
            }
            let settled = (journal.settled)(&|_| true);
            self.stage_document(SETTLED, &settled)?;
        }
        let whole = self.flush == Flush::Filesystem;
        if whole && !(self.is_empty() && self.files_to_flush.is_empty()) {
            if is_on(Mutant::NoDataFlush) {
                return Ok(());
            }
            return self.flush_filesystem();
        }
        let filesystem = self.lock.filesystem();
        for file in &self.files_to_flush {
            absent_as_none(filesystem.sync_file(file)).during(filesystem, "flush", file)?;
        }
        for directory in &self.names_to_flush {
            flush_directory(filesystem, directory)?;
        }
        if self.is_empty() {
            self.names_to_flush.clear();
            return Ok(());
        }
        for directory in self.directories.iter().rev() {
            flush_directory(filesystem, directory)?;
        }
        flush_directory(filesystem, &RelPath::root())
    }

    fn flush_filesystem(&self) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let flushed = filesystem.sync_filesystem();
        flushed.during(filesystem, "flush the file system of", &RelPath::root())
    }

    fn flush_names(&self, touched: &BTreeSet<RelPath>) -> Result<(), StoreError> {
        if is_on(Mutant::NoNamesFlush) {
            return Ok(());
        }
        match self.flush {
            Flush::Filesystem => self.flush_filesystem(),
            Flush::Files => touched
                .iter()
                .try_for_each(|directory| flush_directory(self.lock.filesystem(), directory)),
        }
    }

    /// The final ledger was staged for the case that all goes well; when it did not, it is written anew.
    fn restage_settled(
        &mut self,
        journal: Option<&Journal<'_>>,
        done: &Committed,
    ) -> Result<(), StoreError> {
        let Some(journal) =
            journal.filter(|_| !(done.changed.is_empty() && done.failed.is_empty()))
        else {
            return Ok(());
        };
        let settled = (journal.settled)(&|path| done.placed.contains(path));
        self.rewrite_settled(&settled)
    }

    fn rewrite_settled(&mut self, settled: &[u8]) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let path = layout::stage().join(&document(SETTLED));
        absent_as_none(filesystem.remove_file(&path)).during(filesystem, "remove", &path)?;
        self.stage_document(SETTLED, settled)
    }

    /// After an error in the middle: what is left of the staged files goes first, for that frees space;
    /// then the ledger tells what was placed. If that can't be written, the intents stand.
    fn give_up(
        mut self,
        journal: &Journal<'_>,
        mut progress: Progress,
        error: StoreError,
    ) -> Committed {
        match self.record_partial(journal, &mut progress) {
            Ok(()) => {
                self.sweep_quietly();
                Committed {
                    recorded: true,
                    error: Some(error),
                    ..progress.done
                }
            }
            Err(second) => {
                log::error!("{second}; the next start settles what was written");
                intents_stand(error)
            }
        }
    }

    fn record_partial(
        &mut self,
        journal: &Journal<'_>,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        self.place_due_followers(progress);
        for tree in [layout::library(), layout::state()] {
            let staged = layout::staged(&tree);
            truncate_staged(filesystem, &staged).during(filesystem, "empty", &staged)?;
        }
        let settled = (journal.settled)(&|path| progress.done.placed.contains(path));
        self.flush = Flush::Files;
        self.rewrite_settled(&settled)?;
        self.flush_names(&progress.touched)?;
        Ok(state_file::replace_staged(
            self.lock,
            SETTLED,
            layout::LEDGER,
            true,
        )?)
    }

    fn sweep_quietly(&self) {
        // What stays is swept at the next start.
        if let Err(e) = sweep(self.lock) {
            log::warn!("{e}");
        }
    }
}

/// Nothing may be reported as done: the next start finds the intents and settles them.
fn intents_stand(error: StoreError) -> Committed {
    Committed {
        error: Some(error),
        ..Committed::default()
    }
}

/// A directory that is gone has no names to lose: that of its parent tells, which is flushed too.
fn flush_directory(filesystem: &dyn Filesystem, directory: &RelPath) -> Result<(), StoreError> {
    absent_as_none(filesystem.sync_dir(directory)).during(filesystem, "flush", directory)?;
    Ok(())
}
