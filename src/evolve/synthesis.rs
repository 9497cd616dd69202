//! Fewer bullets that say the same (kit 5.4): without a model, by what stands there twice or nearly so.

use super::content::{bullets, without_lines};
use super::language::{Topic, polarity_is_negative, trimmed, without_numbers};
use crate::text::normalised;

struct Bullet {
    line: usize,
    spelling: String,
    topic: Topic,
    numbers: Vec<super::language::Quantity>,
    is_negative: bool,
}

/// The text without bullets that others say as well; `None` where there are none. Of those that say the same, the newest stays,
/// for that is the lower one.
#[must_use]
pub fn synthesise(content: &str) -> Option<String> {
    let all: Vec<Bullet> = bullets(content)
        .map(|(line, said)| Bullet::of(line, said))
        .collect();
    let mut kept: Vec<&Bullet> = Vec::new();
    let mut dropped = Vec::new();
    for bullet in all.iter().rev() {
        if kept.iter().any(|survivor| survivor.says_all_of(bullet)) {
            dropped.push(bullet.line);
        } else {
            kept.push(bullet);
        }
    }
    (!dropped.is_empty()).then(|| without_lines(content, &dropped))
}

impl Bullet {
    fn of(line: usize, said: &str) -> Self {
        let (_, numbers) = without_numbers(said);
        Self {
            line,
            spelling: normalised(trimmed(said)),
            topic: Topic::of(said),
            numbers,
            is_negative: polarity_is_negative(said),
        }
    }

    /// Nothing is lost without the other one: no word, no number, no negation. Two that share most of their words may be of two
    /// rooms or two people.
    fn says_all_of(&self, other: &Self) -> bool {
        if self.spelling == other.spelling {
            return true;
        }
        let has_all_words =
            !other.topic.is_empty() && self.topic.common(&other.topic) == other.topic.len();
        self.is_negative == other.is_negative
            && has_all_words
            && other
                .numbers
                .iter()
                .all(|number| self.numbers.contains(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_twice_is_said_once_and_last() {
        let content =
            "# Safety\n- Always check\n- other thing entirely\n- always check.\n- Always check";
        assert_eq!(
            synthesise(content).as_deref(),
            Some("# Safety\n- other thing entirely\n- Always check")
        );
    }

    #[test]
    fn nearly_the_same_is_kept_in_its_newest_words() {
        let content = "- Wait for the page to load\n- Wait for the page to load before tapping\n- Take a screenshot";
        assert_eq!(
            synthesise(content).as_deref(),
            Some("- Wait for the page to load before tapping\n- Take a screenshot")
        );
    }

    #[test]
    fn no_number_and_no_negation_is_lost() {
        for content in [
            "- Retry the upload 3 times\n- Retry the upload",
            "- Never restart the daemon at night\n- Restart the daemon at night",
            "- alpha beta\n- gamma delta",
            "- Switch on the lamp in the kitchen with the left button\n- Switch on the lamp in the bedroom with the left button",
        ] {
            assert_eq!(synthesise(content), None, "{content}");
        }
    }
}
