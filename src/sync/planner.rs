//! Observing and planning, skill by skill.

use std::collections::{BTreeMap, BTreeSet};

use super::apply::Planned;
use super::bundle::{Bundle, BundledSkill, SkippedEntry};
use super::decide::{Decision, UserText, decide};
use super::files::UserFile;
use super::ledger::{Ledger, Record, base_path};
use super::merge_job::{EngineSetting, MergeJob};
use super::observe::{self, Base, UserSkill};
use super::plan::{
    MergedText, Observed, Outcome, SkillPlan, files_follow, plan_merged, plan_skill, plan_stale,
};
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
                merged: None,
            });
        }
        Some(match self.plan_bundled(name, record) {
            Ok((plan, bundled)) => Planned {
                plan,
                bundled: Some(bundled),
                before,
                merged: None,
            },
            Err(reason) => Planned {
                plan: SkillPlan::nothing(Outcome::Failed(reason), before.clone()),
                bundled: None,
                before,
                merged: None,
            },
        })
    }

    fn plan_bundled(
        &mut self,
        name: &str,
        record: Option<&Record>,
    ) -> Result<(SkillPlan, BundledSkill), String> {
        let seen = self.look(name, record, Follow::AsDecided)?;
        let plan = plan_skill(&seen.observed(record, self.engine));
        for path in newly_deleted(&plan, record) {
            let path = observe::skill_directory(&seen.bundled.name).join(&path);
            observe::confirm_absent(self.filesystem, &path)?;
        }
        Ok((plan, seen.bundled))
    }

    /// Plans the application of a merge, if that is still the one that is needed.
    pub fn plan_merge(
        &mut self,
        job: &MergeJob,
        merged: MergedText<'_>,
    ) -> Result<Option<(SkillPlan, BundledSkill)>, String> {
        let record = self.ledger.records.get(&job.name);
        let seen = self.look(&job.name, record, Follow::Always)?;
        let observed = seen.observed(record, self.engine);
        let needed = match plan_skill(&observed).outcome {
            Outcome::MergeNeeded(needed) | Outcome::MergeSkipped { job: needed, .. } => needed,
            _ => return Ok(None),
        };
        if needed != *job {
            return Ok(None);
        }
        let plan = plan_merged(&observed, job, merged);
        Ok(Some((plan, seen.bundled)))
    }

    fn look(
        &mut self,
        name: &str,
        record: Option<&Record>,
        follow: Follow,
    ) -> Result<Seen, String> {
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
        let files = if follow == Follow::Always || files_follow(decision) {
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
        Ok(Seen {
            bundled,
            user,
            files,
            base,
        })
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

/// Whether the supporting files are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// Where they follow the decision over SKILL.md.
    AsDecided,
    Always,
}

/// What was seen of a bundled skill.
struct Seen {
    bundled: BundledSkill,
    user: UserSkill,
    files: BTreeMap<RelPath, UserFile>,
    base: Base,
}

impl Seen {
    fn observed<'s>(&'s self, record: Option<&'s Record>, engine: EngineSetting) -> Observed<'s> {
        Observed {
            bundled: &self.bundled,
            user: &self.user,
            files: &self.files,
            record,
            base: self.base,
            engine,
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
