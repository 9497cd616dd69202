//! A sync, and the merges that it names, in one go.

use std::collections::BTreeSet;

use super::report::MergeReport;
use super::stop::Stop;
use super::worker::{Event, MergeOptions, Merger};
use crate::store::Filesystem;
use crate::sync::{
    Bundle, BundleState, EngineSetting, Failed, SyncError, open_to_write, sync_bundled_skills,
    sync_tree,
};

/// Which of the merges that a sync names are done.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// These; none means all.
    pub names: Vec<String>,
    /// Those that failed before, too.
    pub retry_failed: bool,
}

/// Syncs, and then merges one skill after the other.
///
/// # Errors
/// As a sync.
pub fn merge_bundled_skills(
    options: &MergeOptions,
    wanted: &Wanted,
    stop: &Stop,
    observe: &mut dyn FnMut(&Event),
) -> Result<MergeReport, SyncError> {
    let bundle = Bundle::open(&options.sync.bundled_skills_dir);
    if bundle.state != BundleState::Ok {
        return Ok(MergeReport {
            sync: sync_bundled_skills(&options.sync)?,
            merge_failed: Vec::new(),
        });
    }
    let filesystem = open_to_write(&options.sync)?;
    merge_tree(&filesystem, &bundle, options, wanted, stop, observe)
}

/// The same on any file system, for tests that fail or stop single calls.
///
/// # Errors
/// As a sync.
pub fn merge_tree(
    filesystem: &dyn Filesystem,
    bundle: &Bundle,
    options: &MergeOptions,
    wanted: &Wanted,
    stop: &Stop,
    observe: &mut dyn FnMut(&Event),
) -> Result<MergeReport, SyncError> {
    let before = filesystem.flushes();
    let mut report = MergeReport {
        sync: sync_tree(filesystem, bundle, &options.sync)?,
        merge_failed: Vec::new(),
    };
    let names = if options.sync.engine == EngineSetting::Off {
        BTreeSet::new()
    } else {
        asked_for(&report, wanted)
    };
    let mut merger = Merger::new(options.clone(), stop.clone());
    merger.run(
        filesystem,
        bundle,
        &names,
        wanted.retry_failed,
        &mut |event| {
            observe(&event);
            report.note(event);
        },
    );
    report.sort();
    report.sync.flushes = filesystem.flushes() - before;
    Ok(report)
}

fn asked_for(report: &MergeReport, wanted: &Wanted) -> BTreeSet<String> {
    let needed = report.sync.merge_needed.iter().map(|job| &job.name);
    let skipped = report
        .sync
        .merge_skipped
        .iter()
        .map(|skipped| &skipped.name);
    let is_asked_for = |name: &&String| wanted.names.is_empty() || wanted.names.contains(name);
    needed
        .chain(skipped.filter(|_| wanted.retry_failed))
        .filter(is_asked_for)
        .cloned()
        .collect()
}

impl MergeReport {
    /// Moves a skill from what the sync said of it to what became of it.
    fn note(&mut self, event: Event) {
        let name = match &event {
            Event::Started { .. } => return,
            Event::Applied { merged, .. } => &merged.name,
            Event::Failed(failed) => &failed.name,
            Event::NotNeeded(name) | Event::Error { name, .. } => name,
        };
        let sync = &mut self.sync;
        sync.merge_needed.retain(|job| job.name != *name);
        sync.merge_skipped.retain(|skipped| skipped.name != *name);
        match event {
            Event::Started { .. } => {}
            Event::Applied { merged, problem } => {
                sync.merged.push(merged);
                sync.problems.extend(problem);
            }
            Event::Failed(failed) => self.merge_failed.push(failed),
            Event::NotNeeded(name) => sync.unchanged.push(name),
            Event::Error { name, reason } => sync.failed.push(Failed {
                name,
                error: reason,
            }),
        }
    }

    fn sort(&mut self) {
        self.sync.merged.sort_by(|a, b| a.name.cmp(&b.name));
        self.sync.failed.sort_by(|a, b| a.name.cmp(&b.name));
        self.sync.unchanged.sort();
    }
}
