//! To which entry a lesson belongs, and whether it agrees with it (kit 5.4). Scores are of this rule alone: they are not those
//! of retrieval, nor of any embedding.

use super::content::bullets;
use super::document::{Entry, newer_first};
use super::language::{Sought, Topic, contradicts, ratio};
use super::signature::{Signature, SignatureFit};

/// From here on a lesson belongs to an entry.
pub const MATCH: f64 = 0.30;
const OF_ENTRY: f64 = 0.6;
const OF_HEAD: f64 = 0.5;
const SAME_SIGNATURE: f64 = 0.2;
const PARTIAL_SIGNATURE: f64 = 0.1;

/// How a lesson stands to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// It adds to it.
    Compatible,
    /// It corrects it.
    Contradict,
    /// It is of another thing.
    None,
}

/// The entry that a lesson fits best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Its place in the bank.
    pub at: usize,
    /// From 0 to 1.2.
    pub score: f64,
}

/// The entry that a lesson fits best, however badly; of equal ones the newer.
#[must_use]
pub fn best_match(entries: &[Entry], lesson: &str, signature: Option<&str>) -> Option<Match> {
    let lesson = Sought::of(lesson);
    let signature = signature.map(Signature::of);
    let mut best: Option<(Match, &Entry)> = None;
    for (at, entry) in entries.iter().enumerate() {
        let least = best.as_ref().map_or(0.0, |(best, _)| best.score);
        let score = score(entry, &lesson, signature.as_ref(), least);
        let is_better = best.as_ref().is_none_or(|(best, known)| {
            score > best.score || (score == best.score && newer_first(entry, known).is_lt())
        });
        if score > 0.0 && is_better {
            best = Some((Match { at, score }, entry));
        }
    }
    best.map(|(best, _)| best)
}

/// How well a lesson fits an entry; if that is less than `least`, anything less than it.
fn score(entry: &Entry, lesson: &Sought, signature: Option<&Signature>, least: f64) -> f64 {
    let topic = &lesson.topic;
    if topic.is_empty() {
        return 0.0;
    }
    let fit = signature.zip(entry.task_signature.as_deref());
    let by_signature = match fit.map_or(SignatureFit::None, |(one, other)| one.fit(other)) {
        SignatureFit::Exact => SAME_SIGNATURE,
        SignatureFit::Partial => PARTIAL_SIGNATURE,
        SignatureFit::None => 0.0,
    };
    let head = || {
        let keywords = entry.keywords.iter().map(String::as_str);
        keywords.chain([entry.title.as_str()])
    };
    let mut covered = vec![false; topic.len()];
    let in_head: usize = head().map(|text| lesson.mark(text, &mut covered)).sum();
    let marked: Vec<(&str, usize)> = bullets(&entry.content)
        .map(|(_, bullet)| (bullet, lesson.mark(bullet, &mut covered)))
        .filter(|(_, marks)| *marks > 0)
        .collect();
    let covered = covered.iter().filter(|is_covered| **is_covered).count();
    let mut best = OF_ENTRY * ratio(covered, topic.len());
    // The same parts of texts are looked at again only where that can change anything.
    if in_head > 0 && (best.max(OF_HEAD) + by_signature) >= least {
        let head = Topic::of_all(head());
        best = best.max(OF_HEAD * ratio(topic.common(&head), topic.len().min(head.len())));
    }
    for (bullet, marks) in marked {
        let most = ratio(marks, topic.len());
        if most > best && most + by_signature >= least {
            best = best.max(topic.jaccard(&Topic::of(bullet)));
        }
    }
    best + by_signature
}

/// The lines of an entry's text that a lesson contradicts.
#[must_use]
pub fn contradicted(entry: &Entry, lesson: &str) -> Vec<usize> {
    let lines = bullets(&entry.content).filter(|(_, bullet)| contradicts(lesson, bullet));
    lines.map(|(at, _)| at).collect()
}

/// The line of an entry's text that is most like a lesson.
#[must_use]
pub fn likest(entry: &Entry, lesson: &str) -> Option<usize> {
    let topic = Topic::of(lesson);
    let scored =
        bullets(&entry.content).map(|(at, bullet)| (at, Topic::of(bullet).jaccard(&topic)));
    let best = scored.max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.filter(|(_, score)| *score > 0.0).map(|(at, _)| at)
}
