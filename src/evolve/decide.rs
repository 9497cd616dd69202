//! What becomes of a lesson (kit 5.4): pure.

use super::content::{bullets, title_of, with_bullet, with_replaced};
use super::document::{Action, Entry};
use super::language::find_phrase;
use super::matching::{MATCH, Match, Relation, best_match, contradicted, likest};

/// Words by which the user says that a lesson is not for the next time.
const DISCARD_TOKENS: [&str; 11] = [
    "one-off",
    "temporary",
    "do not reuse",
    "ignore this",
    "one time",
    "just this once",
    "一次性",
    "临时",
    "不要复用",
    "忽略这次",
    "仅此一次",
];

/// The word by which a lesson is discarded.
#[must_use]
pub fn discard_token(lesson: &str) -> Option<&'static str> {
    DISCARD_TOKENS
        .into_iter()
        .find(|token| find_phrase(lesson, token).is_some())
}

/// What is known of how a lesson stands to the bank, before the rules are asked.
#[derive(Debug, Clone, Default)]
pub struct Judged {
    /// The entry and the relation.
    pub relation: Option<(String, Relation)>,
    /// The whole new text.
    pub content: Option<String>,
    /// Of a new entry.
    pub title: Option<String>,
    /// Of a new entry.
    pub keywords: Option<Vec<String>>,
}

/// What is to be done with a lesson.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What.
    pub action: Action,
    /// Which entry; none: a new one.
    pub at: Option<usize>,
    /// All of its text.
    pub content: String,
    /// Of a new entry.
    pub title: String,
    /// How well it matched, by the rules.
    pub score: Option<f64>,
    /// In a sentence.
    pub reasoning: String,
}

/// Decides. An entry that was judged to match and is not in the bank is an error.
///
/// # Errors
/// What is wrong with the judgement.
pub fn decide(
    entries: &[Entry],
    lesson: &str,
    signature: Option<&str>,
    judged: &Judged,
) -> Result<Decision, String> {
    let (found, relation, reasoning) = match &judged.relation {
        Some((_, Relation::None)) => (
            None,
            Relation::None,
            "it was judged to match no entry".to_owned(),
        ),
        Some((id, relation)) => {
            let at = entries.iter().position(|entry| entry.skill_entry_id == *id);
            let at = at.ok_or_else(|| format!("there is no entry {id:?} in the bank"))?;
            let relation_is = match relation {
                Relation::Contradict => "contradict",
                _ => "agree with",
            };
            let reasoning = format!("it was judged to {relation_is} entry {id}");
            (Some(Match { at, score: 0.0 }), *relation, reasoning)
        }
        None => match best_match(entries, lesson, signature) {
            Some(found) if found.score >= MATCH => by_rules(entries, lesson, found),
            Some(found) => (
                None,
                Relation::None,
                format!("no entry matches (best {:.2})", found.score),
            ),
            None => (None, Relation::None, "no entry matches".to_owned()),
        },
    };
    let by_rule = judged.relation.is_none();
    let entry = found.and_then(|found| Some((found, entries.get(found.at)?)));
    let Some((found, entry)) = entry else {
        return Ok(Decision {
            action: Action::Add,
            at: None,
            content: judged
                .content
                .clone()
                .unwrap_or_else(|| format!("- {lesson}")),
            title: judged.title.clone().unwrap_or_else(|| title_of(lesson)),
            score: None,
            reasoning,
        });
    };
    let mut title = entry.title.clone();
    let (action, content) = match relation {
        Relation::Contradict => {
            let mut lines = contradicted(entry, lesson);
            if lines.is_empty() {
                lines.extend(likest(entry, lesson));
            }
            // A title that was made of what is not true any more would go on saying it.
            let was = bullets(&entry.content).filter(|(at, _)| lines.contains(at));
            if was.into_iter().any(|(_, bullet)| title_of(bullet) == title) {
                title = title_of(lesson);
            }
            (
                Action::Supersede,
                with_replaced(&entry.content, &lines, lesson),
            )
        }
        _ => (Action::Merge, with_bullet(&entry.content, lesson)),
    };
    Ok(Decision {
        action,
        at: Some(found.at),
        content: judged.content.clone().unwrap_or(content),
        title: judged.title.clone().unwrap_or(title),
        score: by_rule.then_some(found.score),
        reasoning,
    })
}

fn by_rules(entries: &[Entry], lesson: &str, found: Match) -> (Option<Match>, Relation, String) {
    let entry = entries.get(found.at);
    let id = entry.map_or("", |entry| &entry.skill_entry_id);
    let lines = entry
        .map(|entry| contradicted(entry, lesson))
        .unwrap_or_default();
    if lines.is_empty() {
        let reasoning = format!("it agrees with entry {id} (match {:.2})", found.score);
        (Some(found), Relation::Compatible, reasoning)
    } else {
        let reasoning = format!(
            "it contradicts {} of entry {id} (match {:.2})",
            if lines.len() == 1 {
                "a bullet".to_owned()
            } else {
                format!("{} bullets", lines.len())
            },
            found.score
        );
        (Some(found), Relation::Contradict, reasoning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discard_tokens_are_words() {
        for (lesson, token) in [
            ("This is a one-off task, ignore this", Some("one-off")),
            ("Just this once", Some("just this once")),
            ("本次为临时方案", Some("临时")),
            ("timeouts happened one timeout at a time", None),
            ("contemporary style", None),
        ] {
            assert_eq!(discard_token(lesson), token, "{lesson}");
        }
    }
}
