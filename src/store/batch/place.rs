//! Step 3: each target is looked at once more, then renamed or removed.

use std::collections::BTreeSet;
use std::io;

use super::{Action, Batch, Committed, Expected, Follower, Step};
use crate::store::error::{StoreError, absent_as_none, is_link};
use crate::store::layout;
use crate::store::path::RelPath;
use crate::store::read::FileHasher;
use crate::store::stage::remove_empty_tree;

/// A batch in its step 3.
#[derive(Default)]
pub(super) struct Progress {
    pub done: Committed,
    /// Directories whose names changed.
    pub touched: BTreeSet<RelPath>,
    /// Directories that are known to be there.
    roots: BTreeSet<RelPath>,
}

impl Progress {
    pub fn touching(touched: BTreeSet<RelPath>) -> Self {
        Self {
            touched,
            ..Self::default()
        }
    }
}

impl Batch<'_, '_> {
    /// Step 3 without its flush.
    pub(super) fn place(&mut self, progress: &mut Progress) -> Result<(), StoreError> {
        let mut hasher = std::mem::take(&mut self.hasher);
        for step in &self.steps {
            self.place_step(step, &mut hasher, progress)?;
        }
        for follower in &self.followers {
            if follower.is_due(&progress.done) {
                self.rename_into_place(&follower.target, true, progress)?;
            }
        }
        Ok(())
    }

    fn place_step(
        &self,
        step: &Step,
        hasher: &mut FileHasher,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        let target = &step.target;
        if progress.done.placed.contains(target) || progress.done.changed.contains(target) {
            return Ok(());
        }
        let filesystem = self.lock.filesystem();
        let expected = match step.action {
            Action::Write(Expected::Absent) => {
                return self.rename_into_place(target, false, progress);
            }
            Action::Write(Expected::Content(hash))
            | Action::Remove(hash)
            | Action::Confirm(hash) => hash,
        };
        let now = hasher.hash(filesystem, target);
        if !matches!(now, Ok(Some(state)) if state.hash == expected) {
            progress.done.changed.insert(target.clone());
            return Ok(());
        }
        let (operation, acted) = match step.action {
            Action::Write(_) => {
                let from = layout::staged(target);
                ("replace", filesystem.rename(&from, target))
            }
            Action::Remove(_) => ("remove", filesystem.remove_file(target)),
            Action::Confirm(_) => {
                progress.done.placed.insert(target.clone());
                return Ok(());
            }
        };
        match acted {
            Ok(()) if operation == "remove" => self.removed(&target.parent(), progress),
            Ok(()) => {
                progress.touched.insert(target.parent());
            }
            Err(e) if somebody_else_acted(&e) => {
                progress.done.changed.insert(target.clone());
                return Ok(());
            }
            Err(e) => return Err(StoreError::new(filesystem, operation, target, e)),
        }
        progress.done.placed.insert(target.clone());
        Ok(())
    }

    /// Notes which directories changed by a removal from `parent`, and removes those it emptied.
    fn removed(&self, parent: &RelPath, progress: &mut Progress) {
        let left = self.lock.remove_emptied(parent.clone());
        let gone =
            |d: &RelPath| d.strip(&left).is_some() && (d == parent || parent.strip(d).is_some());
        progress.touched.retain(|directory| !gone(directory));
        progress.touched.insert(left);
    }

    /// Renames a staged file, or with it the topmost staged directory that its target lacks.
    fn rename_into_place(
        &self,
        target: &RelPath,
        replace: bool,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let root = [layout::bases(), layout::library()]
            .into_iter()
            .find(|root| target.strip(root).is_some())
            .unwrap_or_else(|| target.parent());
        if !progress.roots.contains(&root) {
            for made in self.lock.ensure_dirs(&root)? {
                progress.touched.insert(made.parent());
            }
            progress.roots.insert(root.clone());
        }
        let placed = self.missing_unit(target, &root).and_then(|unit| {
            let from = layout::staged(&unit);
            if replace && unit == *target {
                filesystem.rename(&from, &unit)?;
            } else {
                // An empty directory in a file's place is what an error left of one that was to be removed.
                match filesystem.rename_new(&from, &unit) {
                    Err(e)
                        if e.kind() == io::ErrorKind::AlreadyExists
                            && unit == *target
                            && remove_empty_tree(filesystem, &unit).is_ok() =>
                    {
                        filesystem.rename_new(&from, &unit)?;
                    }
                    result => result?,
                }
            }
            Ok(unit)
        });
        match placed {
            Ok(unit) => {
                progress.touched.insert(unit.parent());
                let targets = self.steps.iter().map(|step| &step.target);
                let with_it = targets.filter(|step| step.strip(&unit).is_some());
                progress.done.placed.extend(with_it.cloned());
                progress.done.placed.insert(target.clone());
                Ok(())
            }
            Err(e) if somebody_else_acted(&e) => {
                progress.done.changed.insert(target.clone());
                Ok(())
            }
            Err(e) => Err(StoreError::new(filesystem, "place", target, e)),
        }
    }

    /// The topmost directory above `target` that is not there yet, or `target` itself.
    fn missing_unit(&self, target: &RelPath, root: &RelPath) -> io::Result<RelPath> {
        let below_root = target
            .ancestors_from_top()
            .filter(|a| a.strip(root).is_some());
        for ancestor in below_root {
            if absent_as_none(self.lock.filesystem().metadata(&ancestor))?.is_none() {
                return Ok(ancestor);
            }
        }
        Ok(target.clone())
    }

    /// Brings the bases of texts that were placed into place, after an error stopped the batch; where that
    /// fails too, no base is better than a wrong one.
    pub(super) fn place_due_followers(&self, progress: &mut Progress) {
        for follower in &self.followers {
            let target = &follower.target;
            if !follower.is_due(&progress.done) || progress.done.placed.contains(target) {
                continue;
            }
            if let Err(e) = self.rename_into_place(target, true, progress) {
                log::warn!("{e}");
                let _ = self.lock.remove(target);
                progress.touched.insert(target.parent());
            }
        }
    }
}

impl Follower {
    fn is_due(&self, done: &Committed) -> bool {
        let placed = |after: &RelPath| done.placed.contains(after);
        self.after.as_ref().is_none_or(placed)
    }
}

/// The target is not what the batch looked at a moment ago: left alone, the next sync looks at it again.
fn somebody_else_acted(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory, NotFound};
    is_link(error)
        || matches!(
            error.kind(),
            AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory | NotFound
        )
}
