//! What the structural engine would make of the merges that are pending; writes nothing.

use super::model::{MergeError, MergeInput, Requests, SkillMergeModel};
use super::structural::{Conflict, Structural};
use super::validate::validate;
use crate::skill::ToolCatalog;
use crate::sync::{
    Bundle, EngineSetting, MergeOutlook, PendingMerge, SkillSyncOptions, StatusReport, SyncError,
    open_to_look, pending_merge, skill_status, unified_diff,
};

/// What the structural engine makes of a pending merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preview {
    /// There is no such skill.
    Unknown,
    /// Nothing is to be merged.
    NotNeeded,
    /// A unified diff from the library's text to the merged one; empty if they are the same.
    Settled(String),
    /// It can't, for these reasons.
    Unsettled(Vec<String>),
}

/// Tries the merge of a skill without applying it.
///
/// # Errors
/// As a sync's, while looking.
pub fn preview_merge(
    options: &SkillSyncOptions,
    name: &str,
    tools: Option<&ToolCatalog>,
) -> Result<Preview, SyncError> {
    let bundle = Bundle::open(&options.bundled_skills_dir);
    let filesystem = open_to_look(&options.config_dir)?;
    let Some(pending) = pending_merge(&*filesystem, &bundle, name, EngineSetting::Structural)?
    else {
        let known = skill_status(options, &[name.to_owned()])?;
        return Ok(match known.skills.is_empty() {
            true => Preview::Unknown,
            false => Preview::NotNeeded,
        });
    };
    Ok(match settle(pending, tools) {
        Ok((local, merged)) => {
            let [library, preview] =
                ["library", "preview"].map(|side| format!("{side}/{name}/SKILL.md"));
            Preview::Settled(unified_diff((&library, &local), (&preview, &merged)))
        }
        Err(reasons) => Preview::Unsettled(reasons),
    })
}

/// As [`skill_status`], with what is to be expected of the merges that are pending.
///
/// # Errors
/// As a sync.
pub fn status_with_merges(
    options: &SkillSyncOptions,
    only: &[String],
    tools: Option<&ToolCatalog>,
) -> Result<StatusReport, SyncError> {
    let mut report = skill_status(options, only)?;
    let bundle = Bundle::open(&options.bundled_skills_dir);
    let filesystem = open_to_look(&options.config_dir)?;
    for skill in report
        .skills
        .iter_mut()
        .filter(|skill| skill.merge_key.is_some())
    {
        let pending = pending_merge(
            &*filesystem,
            &bundle,
            &skill.name,
            EngineSetting::Structural,
        )?;
        if let Some(pending) = pending {
            let mode = pending.job.mode;
            let conflicts = settle(pending, tools).err().unwrap_or_default();
            skill.merge = Some(MergeOutlook {
                mode,
                settles: conflicts.is_empty(),
                conflicts,
            });
        }
    }
    Ok(report)
}

/// The library's text and the merged one.
fn settle(
    pending: PendingMerge,
    tools: Option<&ToolCatalog>,
) -> Result<(String, String), Vec<String>> {
    let texts = pending.texts.map_err(|failure| vec![failure.reason])?;
    let input = MergeInput {
        job: pending.job,
        texts,
    };
    let requests = Requests::new(0, 0);
    match Structural.merge(&input, &[], &requests) {
        Ok(answer) => match validate(&answer.text, &input, tools) {
            Ok(()) => Ok((input.texts.local, answer.text)),
            Err(invalid) => Err(vec![format!("the merged text {invalid}")]),
        },
        Err(MergeError::Conflict(conflicts)) => {
            let told = |conflict: &Conflict| format!("both sides changed {conflict}");
            Err(conflicts.iter().map(told).collect())
        }
        Err(e) => Err(vec![e.to_string()]),
    }
}
