//! The workspaces of a library's skills, one each, as an agent's tools reach them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::counts::{Counts, add};
use super::document::NewManifest;
use super::error::EvolveError;
use super::feedback::{Markers, RunResult};
use super::ids::{DIGITS, SystemSources, is_skill_id};
use super::judgement::Judgement;
use super::learn::Task;
use super::model::Advisor;
use super::workspace::{Engine, Workspace};
use crate::skill::{SkillDocument, shown};
use crate::store::{Filesystem, Hash, LinuxFilesystem, RelPath, layout, make_directories};
use crate::sync::{SkillSyncOptions, open_to_write};
use crate::tools::{Evolution, SkillTools, Tool, ToolError, check_arguments};

/// Who does it, unless told otherwise.
pub const ACTOR: &str = concat!("aiden-skills/", env!("CARGO_PKG_VERSION"));
const DIRECTORY: &str = "evolution";
static SYSTEM: SystemSources = SystemSources;

/// Where the workspace of a skill lies beneath the config dir.
///
/// # Errors
/// When the name is none of a directory.
pub fn workspace_of(skill: &str) -> Result<RelPath, EvolveError> {
    let parent = layout::state_file(DIRECTORY);
    let child = parent.child(skill).ok().filter(|path| {
        path.components().count() == parent.components().count() + 1 && !skill.starts_with('.')
    });
    child.ok_or_else(|| EvolveError::Input(format!("{:?} is no name of a skill", shown(skill, 64))))
}

/// Opens the workspace of a skill; `to_make` makes its directory where it is missing.
///
/// # Errors
/// When there is none, or it can't be opened.
pub fn open_workspace_of(
    options: &SkillSyncOptions,
    skill: &str,
    to_make: bool,
) -> Result<LinuxFilesystem, EvolveError> {
    let path = workspace_of(skill)?;
    if to_make {
        let config = open_to_write(options).map_err(ToolError::from)?;
        make_directories(&config, &path)?;
    }
    open_workspace(&options.config_dir.join(path.as_str()), options, to_make)
}

/// Opens a workspace; `to_make` makes its directory where it is missing.
///
/// # Errors
/// When there is none, or it can't be opened.
pub fn open_workspace(
    directory: &Path,
    options: &SkillSyncOptions,
    to_make: bool,
) -> Result<LinuxFilesystem, EvolveError> {
    let opened = match to_make {
        true => LinuxFilesystem::open_to_write(directory, options.unsafe_filesystems),
        false => LinuxFilesystem::open(directory),
    };
    opened.map_err(|source| {
        let shown = directory.display();
        if source.kind() == io::ErrorKind::NotFound && !to_make {
            return EvolveError::NoWorkspace(shown.to_string());
        }
        EvolveError::System {
            doing: format!("the workspace {shown} can't be opened"),
            source,
        }
    })
}

/// Evolution for an agent: a workspace is made when its skill is first learned about.
pub struct SkillEvolution {
    markers: Markers,
    advisor: Option<Arc<dyn Advisor>>,
    /// What a process that stays has not written yet, by skill; none: counts are written at once.
    gathered: Option<Mutex<BTreeMap<String, Counts>>>,
}

impl SkillEvolution {
    /// With these settings. `gathers`: counts are written when [`Evolution::write_counts`] is called.
    #[must_use]
    pub fn new(markers: Markers, advisor: Option<Arc<dyn Advisor>>, gathers: bool) -> Self {
        Self {
            markers,
            advisor,
            gathered: gathers.then(Mutex::default),
        }
    }

    fn engine(&self, options: &SkillSyncOptions) -> Engine<'_> {
        Engine {
            actor: ACTOR.to_owned(),
            markers: self.markers,
            lock_timeout: options.lock_timeout,
            sources: &SYSTEM,
            advisor: self.advisor.as_deref(),
        }
    }

    fn lock(
        gathered: &Mutex<BTreeMap<String, Counts>>,
    ) -> MutexGuard<'_, BTreeMap<String, Counts>> {
        gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, workspace: &Workspace<'_>, skill: &str, counts: Counts) {
        let Some(gathered) = &self.gathered else {
            if let Err(e) = workspace.add_counts(&counts) {
                log::warn!("it was not counted: {e}");
            }
            return;
        };
        gather(&mut Self::lock(gathered), skill, counts);
    }
}

fn gather(gathered: &mut BTreeMap<String, Counts>, skill: &str, counts: Counts) {
    if !counts.is_empty() {
        add(gathered.entry(skill.to_owned()).or_default(), &counts);
    }
}

/// The skills whose workspaces have documents that are not as they must be, and how many faults.
#[must_use]
pub fn faulty_workspaces(options: &SkillSyncOptions) -> Vec<(String, usize)> {
    let Ok(filesystem) = LinuxFilesystem::open(&options.config_dir) else {
        return Vec::new();
    };
    let entries = filesystem.read_dir(&layout::state_file(DIRECTORY));
    let engine = looking(options);
    let names = entries.unwrap_or_default().into_iter();
    let names = names.filter_map(|entry| entry.name.into_string().ok());
    let faults = names.filter_map(|name| {
        let filesystem = open_workspace_of(options, &name, false).ok()?;
        let validation = Workspace::new(&filesystem, &engine).validate().ok()?;
        let count = validation.errors.len();
        (count > 0).then_some((name, count))
    });
    faults.collect()
}

/// Of who changes nothing.
fn looking(options: &SkillSyncOptions) -> Engine<'static> {
    Engine {
        actor: ACTOR.to_owned(),
        markers: Markers::default(),
        lock_timeout: options.lock_timeout,
        sources: &SYSTEM,
        advisor: None,
    }
}

/// What is known of a task by each of these skills, as sections of a prompt; those without a workspace say nothing.
#[must_use]
pub fn guidance(options: &SkillSyncOptions, skills: &[String], task: &str) -> String {
    let engine = looking(options);
    let mut sections = String::new();
    for skill in skills {
        let Ok(filesystem) = open_workspace_of(options, skill, false) else {
            continue;
        };
        match Workspace::new(&filesystem, &engine).guide(task, None, None) {
            Ok(guidance) if !guidance.guidance.is_empty() => {
                sections.push_str(&format!("\n[{skill}]\n{}\n", guidance.guidance));
            }
            Ok(_) => {}
            Err(e) => log::warn!("what was learned of {skill} is left out: {e}"),
        }
    }
    sections
}

impl Evolution for SkillEvolution {
    fn guide(&self, tools: &SkillTools, input: &Value) -> Result<String, ToolError> {
        check_arguments(Tool::Guide, input)?;
        let skill = required(input, "skill", "say by which skill the task is done")?;
        let task = required(input, "task", "say what the user asks for")?;
        let limit = input["limit"]
            .as_u64()
            .and_then(|limit| usize::try_from(limit).ok());
        tools.skill_text(skill)?;
        let filesystem = match open_workspace_of(&tools.options, skill, false) {
            Ok(filesystem) => filesystem,
            // Nothing was learned yet.
            Err(EvolveError::NoWorkspace(_)) => return Ok(String::new()),
            Err(e) => return Err(e.into()),
        };
        let engine = self.engine(&tools.options);
        let workspace = Workspace::new(&filesystem, &engine);
        let guidance = workspace.guide(task, input["signature"].as_str(), limit)?;
        self.count(&workspace, skill, guidance.counts());
        Ok(guidance.guidance)
    }

    fn learn(&self, tools: &SkillTools, input: &Value) -> Result<String, ToolError> {
        check_arguments(Tool::Learn, input)?;
        let skill = required(input, "skill", "say by which skill the task was done")?;
        let text = tools.skill_text(skill)?;
        let given = |field: &str| input.get(field).filter(|value| !value.is_null());
        let task = Task {
            signature: input["signature"].as_str(),
            text: input["task"].as_str(),
            feedback: input["feedback"].as_str(),
            result: given("result").map(RunResult::of).transpose()?,
            judgement: given("judgement")
                .map(Judgement::of)
                .transpose()?
                .unwrap_or_default(),
        };
        let filesystem = open_workspace_of(&tools.options, skill, true)?;
        let engine = self.engine(&tools.options);
        let workspace = Workspace::new(&filesystem, &engine);
        if !workspace.exists() {
            init(&workspace, skill, &text)?;
        }
        let learned = workspace.learn(&task)?;
        serde_json::to_string(&learned).map_err(|e| ToolError::new(e.to_string()))
    }

    fn has_counts(&self) -> bool {
        let gathered = self.gathered.as_ref();
        gathered.is_some_and(|gathered| !Self::lock(gathered).is_empty())
    }

    fn write_counts(&self, tools: &SkillTools) -> Result<(), ToolError> {
        let Some(gathered) = &self.gathered else {
            return Ok(());
        };
        let all = std::mem::take(&mut *Self::lock(gathered));
        let engine = self.engine(&tools.options);
        let mut fault = None;
        for (skill, counts) in all {
            let written = open_workspace_of(&tools.options, &skill, false)
                .and_then(|filesystem| Workspace::new(&filesystem, &engine).add_counts(&counts));
            match written {
                // A workspace that is gone has no use for them.
                Ok(()) | Err(EvolveError::NoWorkspace(_)) => {}
                Err(e) => {
                    gather(&mut Self::lock(gathered), &skill, counts);
                    fault = Some(e);
                }
            }
        }
        fault.map_or(Ok(()), |e| Err(e.into()))
    }
}

/// Makes the workspace of a skill by what its SKILL.md says.
pub(super) fn init(workspace: &Workspace<'_>, skill: &str, text: &str) -> Result<(), EvolveError> {
    let document = SkillDocument::parse(text.as_bytes());
    let description = document.as_ref().map_or(skill, SkillDocument::description);
    let id = if is_skill_id(skill) {
        skill.to_owned()
    } else {
        id_of(skill)
    };
    let made = workspace.init(&NewManifest {
        id: &id,
        name: skill,
        description,
        ..NewManifest::default()
    });
    match made {
        // Another process was faster.
        Err(EvolveError::Refused(_)) if workspace.exists() => Ok(()),
        made => made,
    }
}

/// An identifier for a skill whose name is none.
fn id_of(name: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9') => c,
        _ => '-',
    };
    let id: String = name.chars().map(plain).collect();
    let id = id.trim_matches('-');
    if id.is_empty() {
        let digits: String = Hash::of(name.as_bytes())
            .hex()
            .chars()
            .take(DIGITS)
            .collect();
        return format!("skill-{digits}");
    }
    id.to_owned()
}

fn required<'v>(input: &'v Value, field: &str, what_for: &str) -> Result<&'v str, ToolError> {
    let value = input[field]
        .as_str()
        .filter(|value| !value.trim().is_empty());
    value.ok_or_else(|| ToolError::new(format!("the field `{field}` is missing: {what_for}")))
}

impl From<EvolveError> for ToolError {
    fn from(error: EvolveError) -> Self {
        Self::new(error.to_string())
    }
}
