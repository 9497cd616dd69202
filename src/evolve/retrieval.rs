//! Which entries say something on a task (kit 4), and the block that an agent is given.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::document::{Entry, newer_first};
use super::signature::{Signature, SignatureFit};
use crate::text::{Field, Index, tokens};

/// Most entries that an agent is given.
pub const MAX_ENTRIES: usize = 5;
const HEADER: &str = "=== Skill Guidance (from evolution history) ===";
const FOOTER: &str = "=== End Skill Guidance ===";

/// Title, keywords with the signature's words, content.
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
/// Of what a task says, so much an entry must have to be relevant; less, if the task names one of its keywords.
const LEAST_COVERAGE: f64 = 0.40;
const LEAST_COVERAGE_WITH_KEYWORD: f64 = 0.15;
/// Less than this part of the best score is not worth being read beside it.
const LEAST_PART: f64 = 0.5;
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

fn candidates(entries: &[Entry], task: &str, signature: Option<&str>) -> Vec<Candidate> {
    let query: BTreeSet<String> = tokens(task).into_iter().collect();
    let documents = entries.iter().map(|entry| {
        let words = entry.keywords.iter().map(String::as_str);
        vec![
            vec![entry.title.as_str()],
            words.chain(entry.task_signature.as_deref()).collect(),
            vec![entry.content.as_str()],
        ]
    });
    let index = Index::for_query(&FIELDS, &query, documents);
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
        let coverage = index.coverage(at, &query);
        // In whatever form: "lazy-loaded" has "lazy-load".
        let names = |keyword: &String| {
            let words = tokens(&keyword.replace('-', " "));
            !words.is_empty() && words.iter().all(|word| query.contains(word))
        };
        let is_relevant = fit > SignatureFit::None
            || coverage >= LEAST_COVERAGE
            || (coverage >= LEAST_COVERAGE_WITH_KEYWORD && entry.keywords.iter().any(names));
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
/// end the block.
#[must_use]
pub fn block<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (at, entry) in entries.into_iter().enumerate() {
        let content: Vec<String> = entry.content.lines().map(safe_line).collect();
        let title = entry.title.replace(['\n', '\r'], " ");
        parts.push(format!(
            "[{}] {title} (v{})\n{}",
            at + 1,
            entry.version,
            content.join("\n")
        ));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("{HEADER}\n{}\n{FOOTER}", parts.join("\n\n"))
}

fn safe_line(line: &str) -> String {
    if [HEADER, FOOTER].contains(&line.trim()) {
        format!("  {line}")
    } else {
        line.to_owned()
    }
}
