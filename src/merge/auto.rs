//! Which engine merges, by the setting (contract §5, "Engines").

use std::sync::Arc;

use super::model::{Answer, MergeError, MergeInput, Requests, SkillMergeModel};
use super::structural::{Conflict, Structural};
use super::validate::validate;
use crate::skill::ToolCatalog;
use crate::sync::EngineSetting;

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no model to ask: {0}")]
pub struct NoModel(pub String);

/// The engine of a setting.
pub type Engine = Arc<dyn SkillMergeModel>;

/// Structural first, the model for what that can't settle; or either alone.
pub struct Auto {
    setting: EngineSetting,
    model: Result<Engine, NoModel>,
    tools: Option<ToolCatalog>,
}

impl Auto {
    /// The engine of this setting.
    #[must_use]
    pub fn new(
        setting: EngineSetting,
        model: Result<Engine, NoModel>,
        tools: Option<ToolCatalog>,
    ) -> Self {
        Self {
            setting,
            model,
            tools,
        }
    }

    fn settle(&self, input: &MergeInput, requests: &Requests) -> Result<Answer, MergeError> {
        let answer = Structural.merge(input, &[], requests)?;
        validate(&answer.text, input, self.tools.as_ref())?;
        Ok(answer)
    }
}

impl SkillMergeModel for Auto {
    fn merge(
        &self,
        input: &MergeInput,
        _: &[Conflict],
        requests: &Requests,
    ) -> Result<Answer, MergeError> {
        let ask = |conflicts: &[Conflict]| match &self.model {
            Ok(model) => model.merge(input, conflicts, requests),
            Err(why) => Err(MergeError::NoAnswer(why.to_string())),
        };
        match self.setting {
            EngineSetting::Structural => self.settle(input, requests),
            EngineSetting::Llm => ask(&[]),
            EngineSetting::Off => Err(MergeError::NoAnswer("merging is off".into())),
            EngineSetting::Auto => match (self.settle(input, requests), &self.model) {
                (Err(MergeError::Conflict(conflicts)), Ok(_)) => ask(&conflicts),
                // What two good texts give line by line need not be good.
                (Err(MergeError::Invalid(_)), Ok(_)) => ask(&[]),
                (Err(unsettled), Err(why)) => {
                    Err(MergeError::NoAnswer(format!("{unsettled}; {why}")))
                }
                (settled, _) => settled,
            },
        }
    }
}
