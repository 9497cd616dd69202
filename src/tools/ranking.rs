//! How skills are put in order for a query: BM25F over name, description with keywords, and body; whatever holds the query as
//! it is, is never missed.

use std::collections::BTreeSet;

use crate::skill::SkillDocument;
use crate::text::{Field, Index, normalised, tokens};
use crate::usage::State;

const FIELDS: [Field; 3] = [
    Field {
        weight: 3.0,
        length: 0.3,
    },
    Field {
        weight: 2.0,
        length: 0.3,
    },
    Field {
        weight: 1.0,
        length: 0.75,
    },
];
/// Less than this part of the best match is noise, unless the query stands there as it is.
const LEAST_PART: f64 = 0.1;

/// A skill that matches a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Its place in the list that was ranked.
    pub at: usize,
    /// How well it matches; only the order means something.
    pub score: f64,
}

/// Skills as they are searched.
#[derive(Debug, Clone)]
pub struct Catalogue {
    index: Index,
    names: Vec<String>,
    /// All else of a skill, in one spelling.
    texts: Vec<String>,
}

impl Catalogue {
    /// Of these skills, which are called by their places from here on.
    #[must_use]
    pub fn new<'s>(skills: impl IntoIterator<Item = &'s SkillDocument>) -> Self {
        let (mut names, mut texts, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        for document in skills {
            names.push(normalised(document.name()));
            let all: Vec<&str> = found_by(document).chain([document.body()]).collect();
            // No query has a line break, so none is found across two of them.
            texts.push(
                all.iter()
                    .map(|text| normalised(text))
                    .collect::<Vec<_>>()
                    .join("\n"),
            );
            fields.push(vec![
                tokens(document.name()),
                found_by(document).flat_map(tokens).collect(),
                tokens(document.body()),
            ]);
        }
        Self {
            index: Index::new(&FIELDS, fields),
            names,
            texts,
        }
    }

    /// The skills that match a query, best first; equal ones in the order of their places. One that has no state is left
    /// out; what is not active counts for less.
    #[must_use]
    pub fn rank(&self, query: &str, state: impl Fn(usize) -> Option<State>) -> Vec<Ranked> {
        let wanted: BTreeSet<String> = tokens(query).into_iter().collect();
        let as_it_is = normalised(query);
        let mut ranked = Vec::new();
        for (at, (name, text)) in self.names.iter().zip(&self.texts).enumerate() {
            let Some(state) = state(at) else { continue };
            let least = if *name == as_it_is {
                3.0
            } else if name.contains(&as_it_is) {
                2.0
            } else if text.contains(&as_it_is) {
                1.0
            } else {
                0.0
            };
            let factor = match state {
                State::Active => 1.0,
                State::Stale => 0.5,
                State::Archived => 0.25,
            };
            let score = (self.index.score(at, &wanted) + least) * factor;
            if score > 0.0 {
                ranked.push((Ranked { at, score }, least > 0.0));
            }
        }
        let scores = ranked.iter().map(|(ranked, _)| ranked.score);
        let best = scores.fold(0.0, f64::max);
        ranked.retain(|(ranked, holds)| *holds || ranked.score >= LEAST_PART * best);
        ranked.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
        ranked.into_iter().map(|(ranked, _)| ranked).collect()
    }
}

/// As [`Catalogue::rank`], of skills that are searched once.
#[must_use]
pub fn rank<'s>(
    skills: impl IntoIterator<Item = (&'s SkillDocument, State)>,
    query: &str,
) -> Vec<Ranked> {
    let (skills, states): (Vec<_>, Vec<_>) = skills.into_iter().unzip();
    Catalogue::new(skills).rank(query, |at| states.get(at).copied())
}

/// The description, and the keywords that some skills have.
fn found_by(document: &SkillDocument) -> impl Iterator<Item = &str> {
    [document.description()]
        .into_iter()
        .chain(document.keywords())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, description: &str, body: &str) -> SkillDocument {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n");
        SkillDocument::parse(text.as_bytes()).unwrap()
    }

    fn order(skills: &[(SkillDocument, State)], query: &str) -> Vec<usize> {
        let skills = skills.iter().map(|(document, state)| (document, *state));
        rank(skills, query).iter().map(|ranked| ranked.at).collect()
    }

    #[test]
    fn name_before_description_before_body() {
        let skills = [
            (skill("a", "Other.", "How to pay."), State::Active),
            (skill("b", "Pay a bill.", "Other."), State::Active),
            (skill("pay", "Other.", "Other."), State::Active),
        ];
        assert_eq!(order(&skills, "pay"), [2, 1, 0]);
    }

    #[test]
    fn a_part_of_a_word_is_found_too() {
        let skills = [
            (
                skill("a", "The payment-confirmation flow.", "x"),
                State::Active,
            ),
            (skill("b", "Other.", "x"), State::Active),
        ];
        assert_eq!(order(&skills, "ment-conf"), [0]);
        assert_eq!(order(&skills, "支付"), [0; 0]);
    }

    #[test]
    fn ideographs_are_found_by_their_pairs() {
        let skills = [
            (
                skill("wechat-pay", "微信支付前先核对金额", "x"),
                State::Active,
            ),
            (skill("wifi", "连接酒店无线网络", "x"), State::Active),
        ];
        assert_eq!(order(&skills, "支付金额"), [0]);
        assert_eq!(order(&skills, "无线"), [1]);
    }

    #[test]
    fn what_is_stale_ranks_below_its_equal() {
        let skills = [
            (skill("a", "Pay a bill.", "x"), State::Stale),
            (skill("b", "Pay a bill.", "x"), State::Active),
        ];
        assert_eq!(order(&skills, "bill"), [1, 0]);
    }
}
