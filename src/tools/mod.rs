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

use serde_json::Value;

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
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::List, Self::Read, Self::Manage, Self::MarkUsed];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "skill_list",
            Self::Read => "skill_read",
            Self::Manage => "skill_manage",
            Self::MarkUsed => "skill_mark_used",
        }
    }
}

impl std::str::FromStr for Tool {
    type Err = ToolError;

    fn from_str(name: &str) -> Result<Self, ToolError> {
        let known = Self::ALL.into_iter().find(|tool| tool.name() == name);
        known.ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
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
        }
    }
}
