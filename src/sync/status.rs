//! What the next sync would do, skill by skill; writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::bundle::{Bundle, BundleState};
use super::ledger::{self, LedgerState, Record};
use super::merge_job::MergeMode;
use super::observe;
use super::plan::{Outcome, SkillPlan};
use super::planner::Planner;
use super::run::{SkillSyncOptions, SyncError, check_library_root, open_to_look, settle};
use super::{SkippedEntry, UserText};
use crate::clock;
use crate::library;
use crate::skill::SkillName;
use crate::store::{Filesystem, Hash, RelPath};
use crate::usage::{Ages, State, Usage};

/// State of bundle, ledger and all skills.
#[derive(Debug, Serialize)]
pub struct StatusReport {
    /// Whether there is a bundle.
    pub bundle: BundleState,
    /// How the ledger was found.
    pub ledger: LedgerState,
    /// When skills that an agent made age.
    pub lifecycle: Ages,
    /// By name: bundled, recorded, and the user's own.
    pub skills: Vec<SkillStatus>,
    /// What was wrong with bundle or ledger, for people.
    pub problems: Vec<String>,
}

/// State of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillStatus {
    /// Its name; of the user's own, the directory where the name can't be read.
    pub name: String,
    /// The ledger's status; `none` without a record.
    pub status: String,
    /// Whether it is in use, as the skill tools see it.
    pub state: State,
    /// Whether the ledger says that the bundle has it no more.
    pub stale: bool,
    /// What the next sync would do, in the words of its report; `none` for the user's own.
    pub next: String,
    /// Why it fails, or why it does not load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The bundle's SKILL.md.
    pub bundled_hash: Option<Hash>,
    /// The library's SKILL.md.
    pub user_hash: Option<Hash>,
    /// The bundled text of the last sync or merge.
    pub origin_hash: Option<Hash>,
    /// What was last written to the library.
    pub effective_hash: Option<Hash>,
    /// Its files other than SKILL.md that are the user's and that the next sync keeps, though the bundle has them too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_files: Vec<RelPath>,
    /// Bundled files that the user has deleted, and that stay so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted_files: Vec<RelPath>,
    /// Key of the merge that the next sync would name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_key: Option<String>,
    /// What is to be expected of that merge, if it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeOutlook>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_synced_at: Option<String>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_merged_at: Option<String>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_merge_failed_at: Option<String>,
    /// Why the last merge failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_merge_error: Option<String>,
    /// What merged, or the engine setting under which merging failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_merge_engine: Option<String>,
}

/// What is to be expected of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeOutlook {
    /// Which texts there are.
    pub mode: MergeMode,
    /// Whether it can be done without a model.
    pub settles: bool,
    /// What stands in the way of that.
    pub conflicts: Vec<String>,
}

/// Looks at all skills, or at those named.
///
/// # Errors
/// As a sync.
pub fn skill_status(
    options: &SkillSyncOptions,
    only: &[String],
) -> Result<StatusReport, SyncError> {
    let bundle = Bundle::open(&options.bundled_skills_dir);
    let filesystem = open_to_look(&options.config_dir)?;
    let filesystem = &*filesystem;
    check_library_root(filesystem)?;
    let loaded = ledger::load(filesystem)?;
    let mut report = StatusReport {
        bundle: bundle.state,
        ledger: loaded.state,
        lifecycle: options.ages,
        skills: Vec::new(),
        problems: loaded.problems.clone(),
    };
    report.problems.extend(bundle.problem.clone());
    let now = clock::now();
    let settled = settle(filesystem, None, loaded, &bundle, &now)?;
    let mut planner = Planner::new(filesystem, &bundle, &settled.ledger, options.engine)?;
    let wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    let mut skipped: Vec<SkippedEntry> = Vec::new();
    for (name, planned) in planner.plan_all(&mut skipped) {
        if wanted(&name) {
            let record = settled.ledger.records.get(&name);
            let bundled = planned.bundled.as_ref().map(|bundled| bundled.text.hash);
            let bundled = bundled.or_else(|| bundle.text_hash(&name));
            report.skills.push(status_of(
                filesystem,
                &name,
                bundled,
                record,
                &planned.plan,
                bundle.state,
            ));
        }
    }
    let known: BTreeSet<String> = report
        .skills
        .iter()
        .map(|skill| skill.name.clone())
        .collect();
    for skill in library::scan(filesystem)?.skills {
        let directory = skill.directory.as_str();
        let name = match &skill.document {
            Ok(document) => document.name().to_owned(),
            Err(_) => directory.to_owned(),
        };
        if known.contains(&name) || settled.ledger.records.contains_key(directory) || !wanted(&name)
        {
            continue;
        }
        report
            .skills
            .push(own(filesystem, name, directory, skill.document.err()));
    }
    report.skills.sort_by(|a, b| a.name.cmp(&b.name));
    let usage = Usage::load(filesystem).usage;
    for skill in &mut report.skills {
        skill.state = usage.lifecycle(&skill.name);
    }
    Ok(report)
}

/// How many skills the ledger has of each status.
///
/// # Errors
/// As a sync.
pub fn recorded_statuses(options: &SkillSyncOptions) -> Result<BTreeMap<String, usize>, SyncError> {
    let filesystem = open_to_look(&options.config_dir)?;
    let loaded = ledger::load(&*filesystem)?;
    let mut counts = BTreeMap::new();
    for record in loaded.ledger.records.values() {
        let status = record.status.clone();
        let status = status.map_or_else(|| "none".into(), String::from);
        *counts.entry(status).or_insert(0) += 1;
    }
    Ok(counts)
}

fn status_of(
    filesystem: &dyn Filesystem,
    name: &str,
    bundled_hash: Option<Hash>,
    record: Option<&Record>,
    plan: &SkillPlan,
    bundle: BundleState,
) -> SkillStatus {
    let (next, error, merge_key) = match &plan.outcome {
        _ if bundle != BundleState::Ok => ("none", None, None),
        Outcome::Copied => ("copied", None, None),
        Outcome::Updated => ("updated", None, None),
        Outcome::Adopted => ("adopted", None, None),
        Outcome::Repaired => ("repaired", None, None),
        Outcome::Unchanged => ("unchanged", None, None),
        Outcome::KeptUser => ("kept_user", None, None),
        Outcome::DeletedByUser => ("deleted_by_user", None, None),
        Outcome::Stale => ("stale", None, None),
        Outcome::MergeNeeded(job) => ("merge_needed", None, Some(job.merge_key.clone())),
        Outcome::MergeSkipped { job, .. } => ("merge_skipped", None, Some(job.merge_key.clone())),
        Outcome::Failed(error) => ("failed", Some(error.clone()), None),
    };
    let nothing = Record::default();
    let shown = record.unwrap_or(&nothing);
    SkillStatus {
        name: name.to_owned(),
        status: match &shown.status {
            Some(status) => status.clone().into(),
            None => "none".into(),
        },
        state: State::default(),
        stale: shown.stale,
        next: next.into(),
        error,
        bundled_hash,
        user_hash: user_hash(filesystem, name),
        origin_hash: shown.origin_hash,
        effective_hash: shown.effective(),
        kept_files: plan.kept_files.clone(),
        deleted_files: plan.deleted_files.clone(),
        merge_key,
        merge: None,
        last_synced_at: shown.last_synced_at.clone(),
        last_merged_at: shown.last_merged_at.clone(),
        last_merge_failed_at: shown.last_merge_failed_at.clone(),
        last_merge_error: shown.last_merge_error.clone(),
        last_merge_engine: shown.last_merge_engine.clone(),
    }
}

/// A skill of the user's own: not bundled, not recorded.
fn own(
    filesystem: &dyn Filesystem,
    name: String,
    directory: &str,
    error: Option<String>,
) -> SkillStatus {
    SkillStatus {
        name,
        status: "none".into(),
        state: State::default(),
        stale: false,
        next: "none".into(),
        error,
        bundled_hash: None,
        user_hash: user_hash(filesystem, directory),
        origin_hash: None,
        effective_hash: None,
        kept_files: Vec::new(),
        deleted_files: Vec::new(),
        merge_key: None,
        merge: None,
        last_synced_at: None,
        last_merged_at: None,
        last_merge_failed_at: None,
        last_merge_error: None,
        last_merge_engine: None,
    }
}

fn user_hash(filesystem: &dyn Filesystem, directory: &str) -> Option<Hash> {
    let name = SkillName::try_from(directory).ok()?;
    match observe::user_skill(filesystem, &name).ok()?.text {
        UserText::Absent | UserText::TooLarge { .. } => None,
        UserText::Blank(hash) | UserText::Text(hash) => Some(hash),
    }
}
