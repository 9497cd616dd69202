//! How the user wants things (branch 4): sentences with a word that directs, made into a directive.

use crate::evolve::language::{
    Language, capitalised, find_phrase, language_of, sentences, trimmed,
};

/// Which words direct.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Markers {
    /// The kit's own.
    #[default]
    Strict,
    /// Many more, which find more and are wrong a little more often.
    Extended,
}

impl std::str::FromStr for Markers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "strict" => Ok(Self::Strict),
            "extended" => Ok(Self::Extended),
            other => Err(format!(
                "there are no markers {other:?}: use strict or extended"
            )),
        }
    }
}

const STRICT: [&str; 14] = [
    "always",
    "never",
    "should",
    "avoid",
    "prefer",
    "make sure",
    "don't",
    "每次都",
    "必须",
    "不要",
    "避免",
    "优先",
    "一定要",
    "千万别",
];
const EXTENDED: [&str; 21] = [
    "must",
    "do not",
    "from now on",
    "ensure",
    "remember to",
    "keep",
    "at most",
    "总是",
    "绝不",
    "务必",
    "尽量",
    "禁止",
    "不能",
    "不得",
    "不超过",
    "要求",
    "以后",
    "下次",
    "保持",
    "要有",
    "no more than",
];

/// What makes a sentence a question, a doubt or a memory, whatever words it has.
const NO_WISH: [&str; 35] = [
    "have never",
    "has never",
    "i never",
    "don't need",
    "should be proud",
    "remind me",
    "提醒我",
    "不要了",
    "告诉",
    "播放",
    "not sure",
    "unsure",
    "wonder",
    "should i",
    "should we",
    "should have been",
    "should have done",
    "should've",
    "should work",
    "should be able",
    "should be fine",
    "should be ok",
    "don't know",
    "don't think",
    "don't understand",
    "don't remember",
    "don't mind",
    "don't care",
    "what should",
    "how should",
    "which should",
    "要不要",
    "是否",
    "不知道",
    "应不应该",
];
/// What a sentence begins with that asks.
const QUESTION_WORDS: [&str; 14] = [
    "what", "how", "why", "when", "where", "which", "who", "should", "do", "does", "is", "are",
    "can", "could",
];
/// What a clause begins with that says when.
const CONDITIONS: [&str; 18] = [
    "when", "whenever", "if", "for", "before", "after", "in", "on", "while", "unless", "once",
    "during", "with", "当", "如果", "若", "在", "每当",
];
const CONDITION_ENDS: [&str; 4] = ["时", "前", "后", "的话"];
const POLITENESS: [&str; 8] = [
    "please",
    "thanks",
    "thank you",
    "thx",
    "谢谢",
    "请",
    "拜托",
    "ok",
];
/// What a directive doesn't begin with.
const OPENINGS: [&str; 17] = [
    "please",
    "and",
    "but",
    "also",
    "so",
    "then",
    "you should",
    "we should",
    "you must",
    "i want you to",
    "you",
    "i",
    "we",
    "请",
    "而且",
    "并且",
    "但是",
];

/// The directive in a text, if there is one.
pub(super) fn directive(text: &str, markers: Markers) -> Option<String> {
    let found: Vec<String> = sentences(text)
        .filter_map(|sentence| of_sentence(sentence, markers))
        .collect();
    let glue = match language_of(found.first()?) {
        Language::Chinese => "；",
        Language::English => "; ",
    };
    Some(capitalised(&found.join(glue)))
}

fn of_sentence(sentence: &str, markers: Markers) -> Option<String> {
    let sentence = &without_quotes(sentence);
    if sentence.ends_with(['?', '？'])
        || NO_WISH.iter().any(|no| find_phrase(sentence, no).is_some())
    {
        return None;
    }
    let clauses = split(sentence);
    let mut begin = clauses
        .iter()
        .position(|(clause, _)| has_marker(clause, markers))?;
    let told = clauses
        .iter()
        .take(begin + 1)
        .any(|(clause, _)| is_told_to_others(clause));
    if told {
        return None;
    }
    let starts_with = |clause: &str, words: &[&str]| {
        words
            .iter()
            .any(|word| find_phrase(clause, word) == Some(0))
    };
    let first = clauses.first().map_or("", |(clause, _)| clause);
    if begin == 0 && starts_with(first, &QUESTION_WORDS) && !starts_with(first, &["do not", "when"])
    {
        return None;
    }
    if begin > 0 {
        let (before, _) = clauses[begin - 1];
        let is_condition = starts_with(before, &CONDITIONS)
            || CONDITION_ENDS.iter().any(|end| before.ends_with(end));
        begin -= usize::from(is_condition);
    }
    let mut end = clauses.len();
    while end > begin + 1 && is_politeness(clauses[end - 1].0) {
        end -= 1;
    }
    let mut directive = String::new();
    for at in begin..end {
        let (clause, _) = clauses[at];
        if at > begin {
            let glue = clauses[at - 1].1;
            let is_own = has_marker(clause, markers) && has_marker(clauses[at - 1].0, markers);
            // Wishes of their own stand apart.
            directive.push_str(if glue == "，" && is_own { "；" } else { glue });
            if glue.is_ascii() {
                directive.push(' ');
            }
        }
        directive.push_str(clause);
    }
    let directive = without_openings(&directive);
    let directive = without_politeness(directive);
    (!directive.is_empty()).then(|| directive.to_owned())
}

/// What is passed on to somebody else is no wish of how things are done.
fn is_told_to_others(clause: &str) -> bool {
    const VERBS: [&str; 11] = [
        "tell", "write to", "send", "message", "text", "ask", "email", "play", "sing", "search",
        "post",
    ];
    let told = ["that", "to", "for", "never", "always"]
        .iter()
        .any(|word| find_phrase(clause, word).is_some());
    let begins = VERBS
        .iter()
        .any(|verb| find_phrase(clause, verb) == Some(0));
    (begins && told)
        || ["让他", "让她", "叫他", "叫她"]
            .iter()
            .any(|word| clause.contains(word))
}

/// A sentence without what it only quotes.
fn without_quotes(sentence: &str) -> String {
    let mut rest = String::with_capacity(sentence.len());
    let mut closing = None;
    for c in sentence.chars() {
        match (closing, c) {
            (Some(end), c) if c == end => closing = None,
            (Some(_), _) => {}
            (None, '"') => closing = Some('"'),
            (None, '《') => closing = Some('》'),
            (None, '「') => closing = Some('」'),
            (None, c) => rest.push(c),
        }
    }
    // One mark alone quotes nothing.
    if closing.is_some() {
        sentence.to_owned()
    } else {
        rest
    }
}

/// The clauses of a sentence, each with the mark behind it.
fn split(sentence: &str) -> Vec<(&str, &str)> {
    let mut clauses = Vec::new();
    let mut rest = trimmed(sentence);
    while !rest.is_empty() {
        let at = rest.find([',', '，', ';', '；']);
        let (clause, mark, after) = match at {
            None => (rest, "", ""),
            Some(at) => {
                let (clause, rest) = rest.split_at(at);
                let mark = rest.chars().next().map_or(0, char::len_utf8);
                let (mark, after) = rest.split_at(mark);
                (clause, mark, after)
            }
        };
        if !clause.trim().is_empty() {
            clauses.push((clause.trim(), mark));
        }
        rest = after;
    }
    clauses
}

fn has_marker(clause: &str, markers: Markers) -> bool {
    let more: &[&str] = match markers {
        Markers::Strict => &[],
        Markers::Extended => &EXTENDED,
    };
    STRICT
        .iter()
        .chain(more)
        .any(|marker| find_phrase(clause, marker).is_some())
}

fn is_politeness(clause: &str) -> bool {
    POLITENESS
        .iter()
        .any(|word| trimmed(clause).eq_ignore_ascii_case(word))
}

fn without_politeness(directive: &str) -> &str {
    let directive = trimmed(directive);
    let please = directive.len().checked_sub(" please".len());
    match please.and_then(|at| directive.split_at_checked(at)) {
        Some((directive, end)) if end.eq_ignore_ascii_case(" please") => trimmed(directive),
        _ => directive,
    }
}

fn without_openings(directive: &str) -> &str {
    let mut directive = trimmed(directive);
    'again: loop {
        for opening in OPENINGS {
            if find_phrase(directive, opening) == Some(0) {
                let rest = trimmed(directive.get(opening.len()..).unwrap_or_default());
                // "I don't want", but not "I".
                let is_subject = matches!(opening, "you" | "i" | "we");
                let starts_well = !is_subject
                    || ["prefer", "always", "never", "must", "don't", "do not"]
                        .iter()
                        .any(|word| find_phrase(rest, word) == Some(0) && !rest.contains("want"));
                if !rest.is_empty() && starts_well {
                    directive = rest;
                    continue 'again;
                }
            }
        }
        return directive;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_become_directives() {
        for (text, expected) in [
            (
                "Write the report. Always include a summary section, please.",
                "Always include a summary section",
            ),
            (
                "写一份周报，每次都要先列风险，不要超过一页。",
                "每次都要先列风险；不要超过一页",
            ),
            (
                "Always back up the config first.",
                "Always back up the config first",
            ),
            (
                "Write a report, always include title, author, and date",
                "Always include title, author, and date",
            ),
            (
                "When writing reports, always include a summary.",
                "When writing reports, always include a summary",
            ),
            (
                "You should check the battery first",
                "Check the battery first",
            ),
            ("I prefer short answers.", "Prefer short answers"),
            (
                "Never delete a file. Make sure to ask first.",
                "Never delete a file; Make sure to ask first",
            ),
            ("点击前，必须先截图", "点击前，必须先截图"),
            (
                "The report should have a summary",
                "The report should have a summary",
            ),
        ] {
            assert_eq!(
                directive(text, Markers::Strict).as_deref(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn questions_doubts_and_other_words_are_none() {
        for text in [
            "Carry it on your shoulder",
            "I'm not sure what I should do",
            "要不要用缓存？",
            "Should I always do it?",
            "This should work",
            "It should have been done",
            "I don't know",
            "Play some music",
            "What should we avoid",
            "Write to Bob that he should never call me again",
            "Play the song Always by Bon Jovi",
            "给小王发消息，让他不要迟到",
            "播放《不要说话》",
            "I have never seen such a good result",
        ] {
            assert_eq!(directive(text, Markers::Strict), None, "{text}");
        }
    }

    #[test]
    fn more_words_direct_if_that_is_wished() {
        for text in [
            "From now on write in English",
            "以后都用中文回答",
            "Keep it short",
        ] {
            assert_eq!(directive(text, Markers::Strict), None, "{text}");
            assert!(directive(text, Markers::Extended).is_some(), "{text}");
        }
    }
}
