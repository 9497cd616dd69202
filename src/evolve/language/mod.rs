//! What a lesson says, as far as rules can tell, in English and Chinese: its topic, its direction, its numbers.

mod contradiction;
mod lesson;
mod numbers;
mod phrases;
mod topic;

pub use self::contradiction::contradicts;
pub use self::lesson::{AVOID, AVOID_ZH, capitalised, clauses, cut, one_line, sentences, trimmed};
pub use self::numbers::{Quantity, without_numbers};
pub use self::phrases::{Language, find_phrase, language_of};
pub use self::topic::{Sought, Topic, is_directive_word, polarity_is_negative, ratio};
