//! Step 3: each target is looked at once more, then renamed or removed.

use std::collections::BTreeSet;
use std::io;

use super::{Action, Batch, Committed, Expected, Follower, Group, Step, staged_root};
use crate::store::error::{Context, StoreError, absent_as_none, is_link};
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
    /// Step 3 without its flush. What goes wrong in one directory ends there; an error means that there is
    /// no use in going on.
    pub(super) fn place(&mut self, progress: &mut Progress) -> Result<(), StoreError> {
        let mut hasher = std::mem::take(&mut self.hasher);
        for group in &self.groups {
            if let Err(e) = self.place_group(group, &mut hasher, progress) {
                if concerns_all(&e.source) {
                    return Err(e);
                }
                progress.done.failed.insert(group.directory.clone(), e);
            }
        }
        for follower in &self.followers {
            if !follower.is_due(&progress.done) {
                continue;
            }
            if let Err(e) = self.place_follower(follower, progress) {
                if concerns_all(&e.source) {
                    return Err(e);
                }
                self.follower_failed(follower, e, progress);
            }
        }
        Ok(())
    }

    fn place_group(
        &self,
        group: &Group,
        hasher: &mut FileHasher,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        // Somebody made a directory of this name since: it is theirs, and none of ours goes into it.
        let entries = absent_as_none(self.lock.filesystem().read_dir(&group.directory));
        let taken = entries.is_ok_and(|entries| entries.is_some_and(|entries| !entries.is_empty()));
        if group.is_new && taken {
            let targets = group.steps.iter().map(|step| step.target.clone());
            progress.done.changed.extend(targets);
            return Ok(());
        }
        let steps = group.steps.iter();
        let mut steps = steps.map(|step| self.place_step(group, step, hasher, progress));
        steps.find(Result::is_err).unwrap_or(Ok(()))
    }

    fn place_step(
        &self,
        group: &Group,
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
            Action::Write(Expected::Absent) => return self.place_new(group, target, progress),
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
            Action::Confirm(_) => ("confirm", Ok(())),
        };
        match acted {
            Ok(()) => {}
            Err(e) if somebody_else_acted(&e) => {
                progress.done.changed.insert(target.clone());
                return Ok(());
            }
            Err(e) => return Err(StoreError::new(filesystem, operation, target, e)),
        }
        match step.action {
            Action::Write(_) => {
                progress.touched.insert(target.parent());
            }
            Action::Remove(_) => self.removed(&target.parent(), progress),
            Action::Confirm(_) => {}
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
    fn place_new(
        &self,
        group: &Group,
        target: &RelPath,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        self.ensure_root(&layout::library(), progress)?;
        let placed = self
            .missing_unit(target, &layout::library())
            .and_then(|unit| {
                if unit != *target && !group.may_come_whole(&unit, &progress.done) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                let from = layout::staged(&unit);
                match filesystem.rename_new(&from, &unit) {
                    // An empty directory in a file's place is what an error left of one that was to be removed.
                    Err(e)
                        if e.kind() == io::ErrorKind::AlreadyExists
                            && unit == *target
                            && remove_empty_tree(filesystem, &unit).is_ok() =>
                    {
                        filesystem.rename_new(&from, &unit)?;
                    }
                    result => result?,
                }
                Ok(unit)
            });
        match placed {
            Ok(unit) => {
                progress.touched.insert(unit.parent());
                if unit != *target {
                    let with_it = group.targets_beneath(&unit);
                    progress.done.placed.extend(with_it.cloned());
                }
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

    fn place_follower(
        &self,
        follower: &Follower,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        let filesystem = self.lock.filesystem();
        let target = &follower.target;
        let root = layout::bases();
        self.ensure_root(&root, progress)?;
        let placed = self.missing_unit(target, &root).and_then(|unit| {
            let from = layout::staged(&unit);
            if unit == *target {
                filesystem.rename(&from, &unit)?;
            } else {
                filesystem.rename_new(&from, &unit)?;
            }
            Ok(unit)
        });
        let unit = placed.during(filesystem, "replace", target)?;
        progress.touched.insert(unit.parent());
        progress.done.placed.insert(target.clone());
        Ok(())
    }

    /// No base is better than the one of another text.
    fn follower_failed(&self, follower: &Follower, error: StoreError, progress: &mut Progress) {
        let target = &follower.target;
        if follower.after.is_some() && self.lock.remove(target).is_ok() {
            progress.touched.insert(target.parent());
        }
        progress.done.failed.insert(target.clone(), error);
    }

    /// Places the library root, or that of the bases, where it was missing when the batch was staged.
    fn ensure_root(&self, root: &RelPath, progress: &mut Progress) -> Result<(), StoreError> {
        if progress.roots.contains(root) {
            return Ok(());
        }
        let filesystem = self.lock.filesystem();
        let there = absent_as_none(filesystem.metadata(root));
        if there.during(filesystem, "examine", root)?.is_none() {
            match filesystem.rename_new(&staged_root(root), root) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                renamed => renamed.during(filesystem, "create", root)?,
            }
            progress.touched.insert(root.parent());
        }
        progress.roots.insert(root.clone());
        Ok(())
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

    /// Brings the bases of texts that were placed into place, after an error stopped the batch.
    pub(super) fn place_due_followers(&self, progress: &mut Progress) {
        for follower in &self.followers {
            if !follower.is_due(&progress.done) || progress.done.placed.contains(&follower.target) {
                continue;
            }
            if let Err(e) = self.place_follower(follower, progress) {
                self.follower_failed(follower, e, progress);
            }
        }
    }
}

impl Group {
    /// Whether a directory that is missing now may be placed with all that is staged in it. Not if planning saw
    /// it, unless the batch itself has emptied it: then somebody has deleted it since, and what is staged in it
    /// partly replaces what was there.
    fn may_come_whole(&self, unit: &RelPath, done: &Committed) -> bool {
        let fits = |step: &Step| match step.action {
            Action::Write(Expected::Absent) => true,
            Action::Remove(_) => done.placed.contains(&step.target),
            Action::Write(Expected::Content(_)) | Action::Confirm(_) => false,
        };
        let mut beneath = self
            .steps
            .iter()
            .filter(|step| step.target.strip(unit).is_some());
        (self.is_new || *unit != self.directory) && beneath.all(fits)
    }

    fn targets_beneath<'a>(&'a self, unit: &'a RelPath) -> impl Iterator<Item = &'a RelPath> {
        let targets = self.steps.iter().map(|step| &step.target);
        targets.filter(move |target| target.strip(unit).is_some())
    }
}

impl Follower {
    fn is_due(&self, done: &Committed) -> bool {
        let placed = |after: &RelPath| done.placed.contains(after);
        self.after.as_ref().is_none_or(placed)
    }
}

/// Whether no other file can be written either.
fn concerns_all(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(
        error.kind(),
        StorageFull | QuotaExceeded | ReadOnlyFilesystem
    )
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
