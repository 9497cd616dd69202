//! Which entries say something on a task (kit 4), and the block that an agent is given.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::content::is_unseen;
use super::document::{Entry, newer_first};
use super::language::one_line;
use super::signature::{Signature, SignatureFit};
use crate::text::{Field, Index, normalised, tokens};

/// Most entries that an agent is given.
pub const MAX_ENTRIES: usize = 5;
const HEADER: &str = "=== Skill Guidance (from evolution history) ===";
const FOOTER: &str = "=== End Skill Guidance ===";

/// Title, keywords with the signature's words, content. That an entry has many keywords says nothing against one of them.
const FIELDS: [Field; 3] = [
    Field {
        weight: 3.0,
        length: 0.3,
    },
    Field {
        weight: 3.0,
        length: 0.0,
    },
    Field {
        weight: 1.0,
        length: 0.75,
    },
];
/// Of all that an entry could score with a task, a relevant one scores so much; less, if the task names one of its keywords.
/// `benches/guidance.rs` tells what comes of it.
const LEAST_SHARE: f64 = 0.32;
const LEAST_SHARE_WITH_KEYWORD: f64 = 0.20;
/// Less than this part of the best score is not worth being read beside it.
const LEAST_PART: f64 = 0.6;

/// Stems of words that only ask: tasks are full of them, and no entry is about them.
const ASKING: [&str; 11] = [
    "could", "hello", "help", "hey", "hi", "let", "lik", "need", "thank", "want", "would",
];
/// The same in Chinese; longer ones before those that they begin with or end in.
const ASKING_ZH: [&str; 17] = [
    "可不可以",
    "能不能",
    "请帮忙",
    "请帮我",
    "麻烦你",
    "我想要",
    "我需要",
    "请你",
    "请问",
    "麻烦",
    "帮忙",
    "帮我",
    "给我",
    "我想",
    "我要",
    "一下",
    "谢谢",
];

/// An entry that says something on a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retrieved {
    /// Its place in the bank.
    pub at: usize,
    /// How well it fits; only the order means something.
    pub score: f64,
}

/// All entries that have anything of a task, best first, whether or not they are relevant.
#[must_use]
pub fn rank(entries: &[Entry], task: &str, signature: Option<&str>) -> Vec<Retrieved> {
    let candidates = candidates(entries, task, signature);
    candidates.into_iter().map(|one| one.retrieved).collect()
}

/// The entries that are relevant to a task, best first, at most so many.
#[must_use]
pub fn retrieve(
    entries: &[Entry],
    task: &str,
    signature: Option<&str>,
    limit: usize,
) -> Vec<Retrieved> {
    let mut relevant = candidates(entries, task, signature);
    relevant.retain(|one| one.is_relevant);
    let best = relevant
        .iter()
        .map(|one| one.retrieved.score)
        .fold(0.0, f64::max);
    relevant
        .retain(|one| one.fit == SignatureFit::Exact || one.retrieved.score >= LEAST_PART * best);
    relevant.truncate(limit.min(MAX_ENTRIES));
    relevant.into_iter().map(|one| one.retrieved).collect()
}

struct Candidate {
    retrieved: Retrieved,
    fit: SignatureFit,
    is_relevant: bool,
}

/// What a task is about: its tokens, each once, without those that only ask; if it does nothing else, all of them.
fn topic(task: &str) -> BTreeSet<String> {
    let mut text = normalised(task);
    for phrase in ASKING_ZH {
        if text.contains(phrase) {
            text = text.replace(phrase, " ");
        }
    }
    let mut topic: BTreeSet<String> = tokens(&text).into_iter().collect();
    topic.retain(|token| !ASKING.contains(&token.as_str()));
    if topic.is_empty() {
        topic.extend(tokens(task));
    }
    topic
}

/// What one of so many entries would score with a task if it had each word of it over and over. A word that no entry has
/// counts as if one had it: in a small bank it would outweigh all others.
fn most(index: &Index, query: &BTreeSet<String>, entries: usize) -> f64 {
    // What a word weighs that one entry has.
    let rare = ((entries as f64 + 1.0) / 1.5).ln();
    query
        .iter()
        .map(|token| index.weight_of(token).min(rare))
        .sum()
}

fn candidates(entries: &[Entry], task: &str, signature: Option<&str>) -> Vec<Candidate> {
    let query = topic(task);
    let documents = entries.iter().map(|entry| {
        let words = entry.keywords.iter().map(String::as_str);
        vec![
            vec![entry.title.as_str()],
            words.chain(entry.task_signature.as_deref()).collect(),
            vec![entry.content.as_str()],
        ]
    });
    let index = Index::for_query(&FIELDS, &query, documents);
    let most = most(&index, &query, entries.len());
    let wanted = signature.map(Signature::of);
    let mut candidates: Vec<Candidate> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let other = entry.task_signature.as_deref();
        let fit = wanted.as_ref().zip(other);
        let fit = fit.map_or(SignatureFit::None, |(wanted, other)| wanted.fit(other));
        let score = index.score(at, &query);
        if score == 0.0 && fit == SignatureFit::None {
            continue;
        }
        // In whatever form: "lazy-loaded" has "lazy-load".
        let names = |keyword: &String| {
            let words = tokens(&keyword.replace('-', " "));
            !words.is_empty() && words.iter().all(|word| query.contains(word))
        };
        let is_relevant = fit > SignatureFit::None
            || score >= LEAST_SHARE * most
            || (score >= LEAST_SHARE_WITH_KEYWORD * most && entry.keywords.iter().any(names));
        candidates.push(Candidate {
            retrieved: Retrieved { at, score },
            fit,
            is_relevant,
        });
    }
    candidates.sort_by(|a, b| {
        let of = |one: &Candidate| entries.get(one.retrieved.at);
        let by_age = of(a).zip(of(b)).map(|(a, b)| newer_first(a, b));
        Reverse(a.fit)
            .cmp(&Reverse(b.fit))
            .then(b.retrieved.score.total_cmp(&a.retrieved.score))
            .then(by_age.unwrap_or(std::cmp::Ordering::Equal))
    });
    candidates
}

/// The block that goes into an agent's prompt; of no entries it is empty. Content stays as it is, but for lines that would
/// end the block, and characters that are not seen.
#[must_use]
pub fn block<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (at, entry) in entries.into_iter().enumerate() {
        // Whatever is taken for the end of a line is one.
        let breaks = [
            '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
        ];
        let content = entry.content.replace("\r\n", "\n");
        let content: Vec<String> = content.split(breaks).map(safe_line).collect();
        let title = one_line(&entry.title);
        parts.push(format!(
            "[{}] {title} (v{})\n{}",
            at + 1,
            entry.version,
            content.join("\n").trim_end_matches('\n')
        ));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("{HEADER}\n{}\n{FOOTER}", parts.join("\n\n"))
}

fn safe_line(line: &str) -> String {
    let line: String = line
        .chars()
        .filter(|c| *c == '\t' || !is_unseen(*c))
        .collect();
    let spelling = line.trim().to_lowercase();
    if spelling.starts_with("===") && spelling.contains("skill guidance") {
        format!("  {line}")
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evolve::ids::Timestamp;

    #[test]
    fn whoever_asks_kindly_asks_the_same() {
        let kindly = "Hi, could you please help me? I would like to compress photos, thanks";
        assert_eq!(topic(kindly), topic("Compress photos"));
        assert_eq!(topic("麻烦帮我一下，我想压缩照片，谢谢"), topic("压缩照片"));
        assert_eq!(topic("Help!"), BTreeSet::from(["help".to_owned()]));
    }

    #[test]
    fn an_only_entry_is_relevant_to_a_task_that_says_more() {
        let time = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let content = "- Scale to 2048 pixels".to_owned();
        let entries = [Entry::new(
            "skl-1".into(),
            "Compress photos".into(),
            content,
            &time,
        )];
        let found = |task| retrieve(&entries, task, None, MAX_ENTRIES).len();
        assert_eq!(found("Compress the photos of our trip"), 1);
        assert_eq!(found("Print the photos of our trip to Lisbon in June"), 0);
    }
}
