//! The model that merges, asked for what rules can't tell.

use super::model::{Advisor, EngineChoice, Question};
use crate::merge::llm::Llm;

/// Tokens of an answer: eight rules of 400 characters.
const ROOM: u32 = 2048;

/// A language model as an advisor.
pub struct ModelAdvisor {
    model: Llm,
    choice: EngineChoice,
}

impl ModelAdvisor {
    /// One that is asked as is chosen; `None` if it is never asked.
    #[must_use]
    pub fn new(model: Llm, choice: EngineChoice) -> Option<Self> {
        (choice != EngineChoice::Local).then_some(Self { model, choice })
    }
}

impl Advisor for ModelAdvisor {
    fn ask(&self, question: Question) -> Option<String> {
        let answer = self
            .model
            .answer(question.instructions, question.text, question.schema, ROOM);
        answer
            .map_err(|e| log::warn!("the rules decide: the model {e}"))
            .ok()
    }

    fn is_first(&self) -> bool {
        self.choice == EngineChoice::Llm
    }
}
