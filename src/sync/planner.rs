//! Observing and planning, skill by skill.

use std::collections::{BTreeMap, BTreeSet};

use super::apply::Planned;
use super::bundle::{Bundle, BundledSkill, SkippedEntry};
use super::decide::{Decision, UserText, decide};
use super::ledger::{Ledger, Record, base_path};
use super::merge_job::EngineSetting;
use super::observe;
use super::plan::{Observed, Outcome, SkillPlan, files_follow, plan_skill, plan_stale};
use crate::library::{self, Library};
use crate::skill::SkillName;
use crate::store::{Context, FileHasher, Filesystem, RelPath, StoreError, absent_as_none, layout};

/// Observes and plans skill by skill.
pub(super) struct Planner<'a> {
    filesystem: &'a dyn Filesystem,
    bundle: &'a Bundle,
    ledger: &'a Ledger,
    engine: EngineSetting,
    /// Row 0b: the library is gone though the ledger has records; data loss, not deletion.
    library_lost: bool,
    hasher: FileHasher,
    library: Option<Result<Library, String>>,
}

impl<'a> Planner<'a> {
    pub fn new(
        filesystem: &'a dyn Filesystem,
        bundle: &'a Bundle,
        ledger: &'a Ledger,
        engine: EngineSetting,
    ) -> Result<Self, StoreError> {
        let root = layout::library();
        let there =
            absent_as_none(filesystem.metadata(&root)).during(filesystem, "examine", &root)?;
        Ok(Self {
            filesystem,
            bundle,
            ledger,
            engine,
            library_lost: there.is_none() && !ledger.records.is_empty(),
            hasher: FileHasher::default(),
            library: None,
        })
    }

    /// Plans all bundled and all recorded skills.
    pub fn plan_all(&mut self, skipped: &mut Vec<SkippedEntry>) -> BTreeMap<String, Planned> {
        let names: BTreeSet<&String> = self
            .bundle
            .names()
            .chain(self.ledger.records.keys())
            .collect();
        let mut plans = BTreeMap::new();
        for name in names {
            if let Some(planned) = self.plan(name) {
                if let Some(bundled) = &planned.bundled {
                    skipped.extend(bundled.skipped.iter().cloned());
                }
                plans.insert(name.clone(), planned);
            }
        }
        plans
    }

    /// Plans one; `None` if there is no such skill in bundle or ledger.
    pub fn plan(&mut self, name: &str) -> Option<Planned> {
        let mut record = self.ledger.records.get(name);
        let in_bundle = self.bundle.has(name, record.is_some());
        if !in_bundle && record.is_none() {
            return None;
        }
        if self.library_lost {
            record = record.filter(|record| record.is_deleted());
        }
        let before = record.cloned();
        if !in_bundle {
            let plan = match record {
                Some(record) => plan_stale(record),
                None => SkillPlan::nothing(Outcome::Stale, None),
            };
            return Some(Planned {
                plan,
                bundled: None,
                before,
            });
        }
        Some(match self.plan_bundled(name, record) {
            Ok((plan, bundled)) => Planned {
                plan,
                bundled: Some(bundled),
                before,
            },
            Err(reason) => Planned {
                plan: SkillPlan::nothing(Outcome::Failed(reason), before.clone()),
                bundled: None,
                before,
            },
        })
    }

    fn plan_bundled(
        &mut self,
        name: &str,
        record: Option<&Record>,
    ) -> Result<(SkillPlan, BundledSkill), String> {
        // What this program recorded together with its files was valid when it was written.
        let known_good = |hash| {
            record.is_some_and(|record| record.files.is_some() && record.origin_hash == Some(hash))
        };
        let bundled = self.bundle.read(name, &mut self.hasher, known_good)?;
        let user = observe::user_skill(self.filesystem, &bundled.name)?;
        if record.is_none() {
            self.check_free(&bundled.name, user.text == UserText::Absent)?;
        }
        let decision = decide(bundled.text.hash, user.text, record);
        let files = if files_follow(decision) {
            observe::user_files(self.filesystem, &bundled, record, &mut self.hasher)?
        } else {
            BTreeMap::new()
        };
        let base = observe::base(
            self.filesystem,
            &base_path(&bundled.name),
            decision != Decision::Unchanged,
            &mut self.hasher,
        )?;
        let plan = plan_skill(&Observed {
            bundled: &bundled,
            user: &user,
            files: &files,
            record,
            base,
            engine: self.engine,
        });
        for path in newly_deleted(&plan, record) {
            let path = observe::skill_directory(&bundled.name).join(&path);
            observe::confirm_absent(self.filesystem, &path)?;
        }
        Ok((plan, bundled))
    }

    /// Row 2: a name without record must not be taken by something else.
    pub fn check_free(&mut self, name: &SkillName, text_is_absent: bool) -> Result<(), String> {
        let directory = observe::skill_directory(name);
        if text_is_absent && let Some(entry) = observe::foreign_content(self.filesystem, name)? {
            return Err(format!(
                "{directory} has no SKILL.md but other things in it (first: {entry:?}); move the directory away, or delete it, to get the shipped skill"
            ));
        }
        let filesystem = self.filesystem;
        let library = self
            .library
            .get_or_insert_with(|| library::scan(filesystem).map_err(|e| e.to_string()));
        let library = library.as_ref().map_err(Clone::clone)?;
        let own = |skill: &&library::LibrarySkill| skill.directory.as_str() == name.as_str();
        match library.named(name.as_str()).find(|skill| !own(skill)) {
            Some(other) => Err(format!(
                "the library has a skill of this name in {}/{}; rename that one, or delete it, to get the shipped skill",
                layout::library(),
                other.directory
            )),
            None => Ok(()),
        }
    }
}

/// Paths in the skill that the plan records as deleted by the user, and that were not so before.
fn newly_deleted(plan: &SkillPlan, before: Option<&Record>) -> Vec<RelPath> {
    let Some(after) = &plan.record else {
        return Vec::new();
    };
    let mut deleted = Vec::new();
    if after.is_deleted() && !before.is_some_and(Record::is_deleted) {
        deleted.push(observe::text_path());
    }
    let was_deleted = |path: &RelPath| {
        let files = before.and_then(|record| record.files.as_ref());
        files
            .and_then(|files| files.get(path))
            .is_some_and(|file| file.deleted)
    };
    let files = after.files.iter().flatten();
    let new = files.filter(|(path, file)| file.deleted && !was_deleted(path));
    deleted.extend(new.map(|(path, _)| path.clone()));
    deleted
}
