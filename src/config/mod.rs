//! Settings: flag > environment > `agent.toml` > default (contract §2).

mod agent_toml;
mod model;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use self::agent_toml::AgentToml;
pub use self::model::ModelChoice;
use crate::evolve::{EngineChoice, Markers};
use crate::skill::{DeviceType, ToolCatalog};
use crate::store::{Bounded, read_followed};
use crate::sync::EngineSetting;
use crate::usage::Ages;

const CONFIG_DIR: &str = "/userdata/agent";
const BUNDLED_DIR: &str = "/oem/usr/share/aiden/skills";
const TOOLS_FILE: &str = "/oem/usr/share/aiden/tools.json";
/// Larger than any `agent.toml` or tools file.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// What the flags say.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--config-dir`.
    pub config_dir: Option<PathBuf>,
    /// `--bundled-dir`.
    pub bundled_dir: Option<PathBuf>,
    /// `--device-type`.
    pub device_type: Option<DeviceType>,
    /// `--tools-file`.
    pub tools_file: Option<PathBuf>,
    /// `--engine`.
    pub engine: Option<EngineSetting>,
}

/// How skills evolve, `[skills.evolution]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EvolutionSettings {
    /// Whether the agent has the tools for it.
    pub is_enabled: bool,
    /// Which words of a user direct.
    pub markers: Markers,
    /// Whether a model is asked.
    pub engine: EngineChoice,
}

/// What the program goes by.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The config dir.
    pub config_dir: PathBuf,
    /// The bundle.
    pub bundled_dir: PathBuf,
    /// The board's target; unset: nothing is filtered.
    pub device_type: Option<DeviceType>,
    /// A file with the names of all tools; none: they are not checked.
    pub tools_file: Option<PathBuf>,
    /// The merge engine.
    pub engine: EngineSetting,
    /// The model that merges.
    pub model: ModelChoice,
    /// When skills age that an agent made.
    pub ages: Ages,
    /// How skills evolve.
    pub evolution: EvolutionSettings,
    /// Problems with a single value, which counts as unset.
    pub warnings: Vec<String>,
    /// Why `agent.toml` was not used, or not all of it.
    pub broken: Vec<String>,
}

impl Settings {
    /// Resolves all settings; never fails, for a board must boot: what is wrong is in `warnings` and `broken`.
    #[must_use]
    pub fn resolve(flags: Overrides, environment: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let environment = |name: &str| environment(name).filter(|value| !value.is_empty());
        let config_dir = flags
            .config_dir
            .or_else(|| environment("AIDEN_CONFIG_DIR").map(PathBuf::from))
            .unwrap_or_else(|| CONFIG_DIR.into());
        let mut file = AgentToml::read(&config_dir);
        let mut warnings = Vec::new();
        // All of them, so that a wrong one is named even if it is overridden.
        let bundled_in_file = file.text(&["bundled_skills_dir"]);
        let device_in_file = file.text(&["device", "device_type"]);
        let engine_in_file = file.text(&["skills", "merge", "engine"]);
        let tools_in_file = file.text(&["skills", "tools_file"]);
        let markers_in_file = file.text(&["skills", "evolution", "markers"]);
        let advisor_in_file = file.text(&["skills", "evolution", "engine"]);
        let evolves = file.flag(&["skills", "evolution", "enabled"]);
        let model = ModelChoice::read(&mut file);
        let mut days = |key: &str, default: u32| file.number(&["skills", key]).unwrap_or(default);
        let default = Ages::default();
        let ages = Ages {
            stale_days: days("stale_days", default.stale_days),
            archive_days: days("archive_days", default.archive_days),
        };
        let bundled_dir = flags
            .bundled_dir
            .or_else(|| environment("AIDEN_BUNDLED_SKILLS_DIR").map(PathBuf::from))
            .or_else(|| bundled_in_file.map(|(text, _)| text.into()))
            .unwrap_or_else(|| BUNDLED_DIR.into());
        let device_type = flags.device_type.or_else(|| {
            let found = word(&environment, "AIDEN_DEVICE_TYPE").or(device_in_file);
            parse_word(found, &mut warnings)
        });
        let engine = flags.engine.or_else(|| {
            let found = word(&environment, "AIDEN_MERGE_ENGINE").or(engine_in_file);
            parse_word(found, &mut warnings)
        });
        let evolution = EvolutionSettings {
            is_enabled: evolves.unwrap_or(false),
            markers: parse_word(markers_in_file, &mut warnings).unwrap_or_default(),
            engine: parse_word(advisor_in_file, &mut warnings).unwrap_or_default(),
        };
        let tools_file = flags
            .tools_file
            .or_else(|| environment("AIDEN_TOOLS_FILE").map(PathBuf::from))
            .or_else(|| tools_in_file.map(|(text, _)| text.into()))
            .or_else(|| Some(PathBuf::from(TOOLS_FILE)).filter(|path| path.exists()));
        Self {
            config_dir,
            bundled_dir,
            device_type,
            tools_file,
            engine: engine.unwrap_or_default(),
            model,
            ages,
            evolution,
            warnings,
            broken: file.broken,
        }
    }

    /// The known tools, if there is a tools file.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn tools(&self) -> Result<Option<ToolCatalog>, String> {
        let Some(path) = &self.tools_file else {
            return Ok(None);
        };
        let shown = path.display();
        match read_small(path) {
            Ok(Some(bytes)) => ToolCatalog::from_json(&bytes)
                .map(Some)
                .map_err(|e| format!("{shown} {e}")),
            Ok(None) => Err(format!("there is no tools file {shown}")),
            Err(e) => Err(format!("the tools file {shown} can't be read: {e}")),
        }
    }
}

fn word(environment: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<(String, String)> {
    let value = environment(name)?;
    Some((value.to_string_lossy().into_owned(), name.to_owned()))
}

/// An unknown word is a warning, and the setting stays unset; an empty one is unset.
fn parse_word<T: std::str::FromStr>(
    found: Option<(String, String)>,
    warnings: &mut Vec<String>,
) -> Option<T>
where
    T::Err: std::fmt::Display,
{
    let (text, origin) = found.filter(|(text, _)| !text.trim().is_empty())?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(e) => {
            warnings.push(format!("{origin}: {e}; the setting is ignored"));
            None
        }
    }
}

/// Reads a configuration file; `None` if it is missing. It is not ours, so it may be a link.
fn read_small(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match read_followed(path, MAX_CONFIG_BYTES).map_err(|e| e.to_string())? {
        None => Ok(None),
        Some(Bounded::Whole(bytes)) => Ok(Some(bytes)),
        Some(Bounded::TooLarge { .. }) => {
            Err(format!("it is larger than {MAX_CONFIG_BYTES} bytes"))
        }
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
