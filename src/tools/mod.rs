//! The four skill tools of an agent (seed §18, contract §6): list, read, manage, mark used.

mod arguments;
mod counting;
mod list;
mod manage;
mod mark_used;
mod patch;
mod ranking;
mod read;
mod resolve;
mod resources;
mod schema;
mod session;
mod text;

use std::sync::Arc;

use serde_json::Value;

pub(crate) use self::arguments::check as check_arguments;
pub use self::counting::Counting;
pub use self::ranking::{Catalogue, Ranked, rank};
pub use self::resources::{ResourceContent, SkillResource};
pub use self::schema::{Format, schemas};
pub use self::session::{Caller, Session};
use crate::skill::{DeviceType, ToolCatalog, shown};
use crate::sync::{SkillSyncOptions, SyncError};

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `skill_list`
    List,
    /// `skill_read`
    Read,
    /// `skill_manage`
    Manage,
    /// `skill_mark_used`
    MarkUsed,
    /// `skill_guide`, where evolution is switched on
    Guide,
    /// `skill_learn`, where evolution is switched on
    Learn,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::List,
        Self::Read,
        Self::Manage,
        Self::MarkUsed,
        Self::Guide,
        Self::Learn,
    ];

    /// Whether there is this one only where evolution is switched on.
    #[must_use]
    pub fn is_of_evolution(self) -> bool {
        matches!(self, Self::Guide | Self::Learn)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "skill_list",
            Self::Read => "skill_read",
            Self::Manage => "skill_manage",
            Self::MarkUsed => "skill_mark_used",
            Self::Guide => "skill_guide",
            Self::Learn => "skill_learn",
        }
    }
}

impl std::str::FromStr for Tool {
    type Err = ToolError;

    fn from_str(name: &str) -> Result<Self, ToolError> {
        let known = Self::ALL.into_iter().find(|tool| tool.name() == name);
        known.ok_or_else(|| {
            let skills = Self::ALL.into_iter().filter(|tool| !tool.is_of_evolution());
            let all: Vec<&str> = skills.map(Self::name).collect();
            let all = all.join(", ");
            ToolError::new(format!(
                "there is no tool {:?}: there are {all}",
                shown(name, 40)
            ))
        })
    }
}

/// What an agent is told when a tool did nothing: one line that says what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// With these words; whatever they quote, they stay one line.
    #[must_use]
    pub fn new(message: impl AsRef<str>) -> Self {
        let line: Vec<&str> = message
            .as_ref()
            .split(['\n', '\r'])
            .map(str::trim)
            .collect();
        Self(line.join(" "))
    }
}

impl From<SyncError> for ToolError {
    fn from(error: SyncError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

/// The tools on one library.
#[derive(Debug, Clone)]
pub struct SkillTools {
    /// Where things are.
    pub options: SkillSyncOptions,
    /// The device that the agent operates; unset: nothing is filtered.
    pub device: Option<DeviceType>,
    /// The tools that the agent has, if they are known.
    pub catalog: Option<ToolCatalog>,
    /// When reads, uses and changes that are counted reach `usage.json`.
    pub counting: Counting,
    /// What the agent learns with; none: that is switched off.
    pub evolution: Option<Arc<dyn Evolution>>,
}

/// What learns from tasks, and guides by what was learned; in a room above this one.
pub trait Evolution: Send + Sync {
    /// `skill_guide`
    ///
    /// # Errors
    /// What an agent is to read.
    fn guide(&self, tools: &SkillTools, input: &Value) -> Result<String, ToolError>;

    /// `skill_learn`
    ///
    /// # Errors
    /// What an agent is to read.
    fn learn(&self, tools: &SkillTools, input: &Value) -> Result<String, ToolError>;

    /// Whether there are counts to write.
    fn has_counts(&self) -> bool;

    /// Writes them; what can't be written stays.
    ///
    /// # Errors
    /// As of a change.
    fn write_counts(&self, tools: &SkillTools) -> Result<(), ToolError>;
}

impl std::fmt::Debug for dyn Evolution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Evolution")
    }
}

impl SkillTools {
    /// Calls a tool with its input, a JSON object.
    ///
    /// # Errors
    /// What an agent is to read.
    pub fn call(
        &self,
        tool: Tool,
        input: &Value,
        caller: &mut Caller<'_>,
    ) -> Result<String, ToolError> {
        match tool {
            Tool::List => self.list(&arguments::read(tool, input)?),
            Tool::Read => self.read(&arguments::read(tool, input)?, caller),
            Tool::Manage => self.manage(&arguments::read(tool, input)?, caller),
            Tool::MarkUsed => self.mark_used(&arguments::read(tool, input)?),
            Tool::Guide => self.evolution(tool)?.guide(self, input),
            Tool::Learn => self.evolution(tool)?.learn(self, input),
        }
    }

    /// The SKILL.md of a skill of the library, as it is.
    ///
    /// # Errors
    /// When there is none, or it can't be read.
    pub fn skill_text(&self, name: &str) -> Result<String, ToolError> {
        let filesystem = crate::sync::open_to_look(&self.options.config_dir)?;
        let found = resolve::find(resolve::scan(&*filesystem)?, name)?;
        Ok(found.text(&*filesystem)?.text)
    }

    /// The tools that there are.
    pub fn all(&self) -> impl Iterator<Item = Tool> + use<> {
        let evolves = self.evolution.is_some();
        Tool::ALL
            .into_iter()
            .filter(move |tool| evolves || !tool.is_of_evolution())
    }

    fn evolution(&self, tool: Tool) -> Result<&dyn Evolution, ToolError> {
        self.evolution.as_deref().ok_or_else(|| {
            ToolError::new(format!(
                "{} is switched off: [skills.evolution] enabled = true in agent.toml switches it on",
                tool.name()
            ))
        })
    }
}
