//! What the user said of how a task went (branch 1).

use crate::evolve::document::FeedbackStatus::{self, Negative, Positive};
use crate::evolve::language::{find_phrase, sentences, trimmed};
use crate::text::{is_ideograph, tokens};

/// Verdicts: they say how it went, and nothing of why.
const VERDICTS: [(&str, FeedbackStatus); 38] = [
    ("this didn't work", Negative),
    ("that didn't work", Negative),
    ("it didn't work", Negative),
    ("this did not work", Negative),
    ("that did not work", Negative),
    ("it did not work", Negative),
    ("this doesn't work", Negative),
    ("it doesn't work", Negative),
    ("this does not work", Negative),
    ("this failed", Negative),
    ("that failed", Negative),
    ("it failed", Negative),
    ("this is wrong", Negative),
    ("this was wrong", Negative),
    ("that's wrong", Negative),
    ("not what i wanted", Negative),
    ("这个有问题", Negative),
    ("这样有问题", Negative),
    ("这个不行", Negative),
    ("这个没用", Negative),
    ("这个无效", Negative),
    ("这次失败了", Negative),
    ("这个失败了", Negative),
    ("这个不对", Negative),
    ("this worked", Positive),
    ("that worked", Positive),
    ("it worked", Positive),
    ("this works", Positive),
    ("that works", Positive),
    ("this helped", Positive),
    ("good job", Positive),
    ("well done", Positive),
    ("这个有效", Positive),
    ("这样有效", Positive),
    ("这个好用", Positive),
    ("这次成功了", Positive),
    ("做得好", Positive),
    ("做得不错", Positive),
];

/// Words after which the insight comes.
struct Introduction {
    phrase: &'static str,
    status: Option<FeedbackStatus>,
    /// What follows is what to do, not what happened.
    is_directive: bool,
}

const fn tells(phrase: &'static str, status: FeedbackStatus) -> Introduction {
    Introduction {
        phrase,
        status: Some(status),
        is_directive: false,
    }
}

const fn directs(phrase: &'static str) -> Introduction {
    Introduction {
        phrase,
        status: None,
        is_directive: true,
    }
}

/// Longer ones before those that they begin with.
const INTRODUCTIONS: [Introduction; 28] = [
    directs("next time"),
    directs("下次应该"),
    directs("下次要"),
    tells("the problem was that", Negative),
    tells("the problem was", Negative),
    tells("the problem is that", Negative),
    tells("the problem is", Negative),
    tells("the issue was that", Negative),
    tells("the issue was", Negative),
    tells("the issue is that", Negative),
    tells("the issue is", Negative),
    tells("it failed because", Negative),
    tells("this failed because", Negative),
    tells("that failed because", Negative),
    tells("failed because", Negative),
    tells("what went wrong was", Negative),
    tells("失败的原因是", Negative),
    tells("失败原因是", Negative),
    tells("失败是因为", Negative),
    tells("失败因为", Negative),
    tells("问题在于", Negative),
    tells("问题是", Negative),
    tells("good job on", Positive),
    tells("great job on", Positive),
    tells("this worked because", Positive),
    tells("it worked because", Positive),
    tells("that worked because", Positive),
    tells("what worked was", Positive),
];

/// Words of praise, thanks and the like: they are no insight.
const FILLERS: [&str; 30] = [
    "well",
    "great",
    "good",
    "fin",
    "perfectly",
    "perfect",
    "nicely",
    "nic",
    "thank",
    "awesom",
    "now",
    "again",
    "really",
    "very",
    "ok",
    "okay",
    "all",
    "ye",
    "here",
    "too",
    "much",
    "better",
    "finally",
    "expect",
    "right",
    "job",
    "work",
    "time",
    "lot",
    "first",
];
const FILLERS_ZH: [&str; 10] = [
    "谢谢",
    "很好",
    "不错",
    "太好了",
    "非常",
    "好的",
    "可以",
    "这次",
    "辛苦了",
    "了",
];
/// Words between a verdict and what it is of.
const JOINTS: [&str; 12] = [
    "but", "and", "so", "because", "since", "as", "但是", "因为", "所以", "而且", "不过", "但",
];
/// Letters of an insight at least; an ideograph says as much as half a word.
const LEAST_WORDS: usize = 2;
const LEAST_IDEOGRAPHS: usize = 3;

/// What a statement says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub status: FeedbackStatus,
    pub insight: String,
    pub is_directive: bool,
}

/// How the user says that it went; any negative word decides.
pub(super) fn verdict(said: &str) -> Option<FeedbackStatus> {
    let introduced = INTRODUCTIONS
        .iter()
        .filter_map(|introduction| find_phrase(said, introduction.phrase).and(introduction.status));
    let verdicts = VERDICTS
        .iter()
        .filter(|(phrase, _)| find_phrase(said, phrase).is_some());
    let all: Vec<FeedbackStatus> = introduced
        .chain(verdicts.map(|(_, status)| *status))
        .collect();
    if all.contains(&Negative) {
        Some(Negative)
    } else {
        all.first().copied()
    }
}

/// Reads a statement, if it says how it went, or what to do the next time, and more than that.
pub(super) fn read(said: &str) -> Option<Statement> {
    let status = verdict(said);
    let introduced = introduced(said);
    if let Some((insight, is_directive)) = introduced {
        return Some(Statement {
            status: status.unwrap_or(Positive),
            insight,
            is_directive,
        });
    }
    let status = status?;
    let rest: Vec<String> = sentences(said)
        .filter(|sentence| !sentence.ends_with(['?', '？']))
        .map(without_verdict)
        .filter(|rest| is_insight(rest))
        .collect();
    let insight = rest.join("; ");
    (!insight.is_empty()).then_some(Statement {
        status,
        insight,
        is_directive: false,
    })
}

/// What comes after words that introduce an insight: what to do goes before what happened.
fn introduced(said: &str) -> Option<(String, bool)> {
    INTRODUCTIONS.iter().find_map(|introduction| {
        let sentences = sentences(said).filter(|sentence| !sentence.ends_with(['?', '？']));
        let mut rests = sentences.filter_map(|sentence| {
            let at = find_phrase(sentence, introduction.phrase)?;
            sentence.get(at + introduction.phrase.len()..)
        });
        let insight = rests.find_map(|rest| {
            let rest = without_joints(trimmed(rest));
            is_insight(rest).then(|| rest.to_owned())
        })?;
        Some((insight, introduction.is_directive))
    })
}

fn without_verdict(sentence: &str) -> String {
    let found = VERDICTS
        .iter()
        .filter_map(|(phrase, _)| Some((find_phrase(sentence, phrase)?, phrase.len())));
    // The longest of the first ones.
    let first = found.min_by_key(|(at, len)| (*at, usize::MAX - len));
    let Some((at, len)) = first else {
        return trimmed(sentence).to_owned();
    };
    let before = trimmed(sentence.get(..at).unwrap_or_default());
    let after = without_joints(trimmed(sentence.get(at + len..).unwrap_or_default()));
    if is_insight(after) {
        after.to_owned()
    } else {
        before.to_owned()
    }
}

fn without_joints(text: &str) -> &str {
    let joint = JOINTS.iter().find_map(|joint| {
        let rest = text
            .get(..joint.len())
            .filter(|start| start.eq_ignore_ascii_case(joint))
            .and_then(|_| text.get(joint.len()..))?;
        let is_whole = !joint.is_ascii() || rest.starts_with([' ', ',']);
        is_whole.then_some(rest)
    });
    joint.map_or(text, trimmed)
}

/// Whether a text says more than how it went.
fn is_insight(text: &str) -> bool {
    let mut text = text.to_owned();
    for filler in FILLERS_ZH {
        text = text.replace(filler, " ");
    }
    let ideographs = text.chars().filter(|c| is_ideograph(*c)).count();
    let words = tokens(&text);
    let words = words.iter().filter(|word| {
        !word.contains(is_ideograph) && !FILLERS.contains(&word.as_str()) && word.len() > 1
    });
    words.count() >= LEAST_WORDS || ideographs >= LEAST_IDEOGRAPHS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_read() {
        for (said, status, insight, is_directive) in [
            (
                "This failed. The problem was that the selector changed after login.",
                Negative,
                "the selector changed after login",
                false,
            ),
            (
                "这个有效，先关闭蓝牙再配对成功率更高。",
                Positive,
                "先关闭蓝牙再配对成功率更高",
                false,
            ),
            (
                "这个有问题，失败原因是没有等待页面加载完成",
                Negative,
                "没有等待页面加载完成",
                false,
            ),
            (
                "Good job on checking the battery before the update!",
                Positive,
                "checking the battery before the update",
                false,
            ),
            (
                "This worked! Closing bluetooth first makes pairing reliable.",
                Positive,
                "Closing bluetooth first makes pairing reliable",
                false,
            ),
            (
                "It worked, but the problem was the wrong screen.",
                Negative,
                "the wrong screen",
                false,
            ),
            (
                "失败因为网络断开，下次应该先检查网络",
                Negative,
                "先检查网络",
                true,
            ),
            (
                "Next time, take the screenshot before you tap.",
                Positive,
                "take the screenshot before you tap",
                true,
            ),
            (
                "This didn't work because the token had expired.",
                Negative,
                "the token had expired",
                false,
            ),
        ] {
            let expected = Statement {
                status,
                insight: insight.into(),
                is_directive,
            };
            assert_eq!(read(said), Some(expected), "{said}");
        }
    }

    #[test]
    fn a_verdict_alone_is_no_insight() {
        for said in [
            "This worked!",
            "This worked well, thanks!",
            "这个有效，谢谢",
            "This failed.",
            "Good job!",
            "Thanks.",
            "Did this work?",
            "What was the problem?",
            "The page was slow",
        ] {
            assert_eq!(read(said), None, "{said}");
        }
    }
}
