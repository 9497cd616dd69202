//! What a text is about, apart from whether it is to be done or not.

use crate::text::{Wanted, each_token, normalised};

use super::lesson::{AVOID, AVOID_ZH};
use super::phrases::{find_phrase, has_ideographs};

/// Stems that direct, and say nothing of a topic.
fn is_directive_stem(stem: &str) -> bool {
    matches!(
        stem,
        "alway"
            | "never"
            | "should"
            | "avoid"
            | "prefer"
            | "must"
            | "use"
            | "ensur"
            | "sur"
            | "mak"
            | "don"
            | "t"
            | "not"
            | "no"
            | "instead"
            | "keep"
            | "rememb"
            | "stop"
            | "longer"
    )
}

/// Chinese words that direct; longer ones before those that they begin with.
const DIRECTIVE_WORDS: [&str; 29] = [
    "每次都要",
    "一定要",
    "千万别",
    "不要",
    "必须",
    "避免",
    "优先",
    "总是",
    "绝不",
    "务必",
    "尽量",
    "禁止",
    "切勿",
    "不再",
    "不能",
    "不得",
    "要求",
    "以后",
    "下次",
    "保持",
    "要有",
    "应该",
    "使用",
    "改用",
    "而不是",
    "需要",
    "记得",
    "注意",
    "别",
];
/// What says that something is not to be done.
const NEGATIVE: [&str; 24] = [
    "never",
    "don't",
    "dont",
    "do not",
    "avoid",
    "stop",
    "no longer",
    "must not",
    "should not",
    "shouldn't",
    "不要",
    "避免",
    "千万别",
    "绝不",
    "不再",
    "禁止",
    "切勿",
    "别",
    "不能",
    "不得",
    "不应",
    "不可",
    "勿",
    "严禁",
];

/// Whether a word directs: for titles and keywords.
#[must_use]
pub fn is_directive_word(stem: &str) -> bool {
    is_directive_stem(stem) || DIRECTIVE_WORDS.contains(&stem)
}

/// Whether a text says that something is not to be done.
#[must_use]
pub fn polarity_is_negative(text: &str) -> bool {
    let ideographs = has_ideographs(text);
    NEGATIVE.iter().any(|phrase| {
        (ideographs || phrase.is_ascii())
            && find_phrase(text, phrase).is_some_and(|at| {
                // To differ, and other words that only hold the character.
                *phrase != "别"
                    || !text[..at].ends_with(['特', '分', '类', '级', '区', '识', '个', '性', '差'])
            })
    })
}

/// A text in one spelling, without what only directs.
#[must_use]
pub fn spoken(text: &str) -> String {
    let text = normalised(without_introduction(text));
    if has_ideographs(&text) {
        without_directive_words(&text)
    } else {
        text
    }
}

fn without_introduction(text: &str) -> &str {
    let text = text.strip_prefix(AVOID).unwrap_or(text);
    text.strip_prefix(AVOID_ZH).unwrap_or(text)
}

/// A text with a blank in the place of each Chinese word that directs.
fn without_directive_words(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = DIRECTIVE_WORDS.iter().find(|word| rest.starts_with(**word));
        match word {
            Some(_) => kept.push(' '),
            None => kept.push(c),
        }
        let len = word.map_or(c.len_utf8(), |word| word.len());
        rest = rest.get(len..).unwrap_or_default();
    }
    kept
}

/// Hands out the tokens of a text that say what it is about; of those that are not wanted, and of some that only direct, it
/// tells that they are there.
fn each_topic_token(text: &str, wanted: &Wanted, take: &mut dyn FnMut(Option<&str>)) {
    let text = without_introduction(text);
    if has_ideographs(text) {
        each_token(&without_directive_words(&normalised(text)), wanted, take);
    } else {
        each_token(text, wanted, take);
    }
}

/// The tokens that say what a text is about, each once; as hashes in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topic(Vec<u64>);

impl Topic {
    /// Of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self::of_all([text])
    }

    /// Of several texts together.
    #[must_use]
    pub fn of_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut hashes = Vec::new();
        for text in texts {
            each_topic_token(text, &Wanted::ALL, &mut |token| {
                if let Some(token) = token
                    && !is_directive_stem(token)
                {
                    hashes.push(hash(token));
                }
            });
        }
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// The first token that says something.
    #[must_use]
    pub fn first_of(text: &str) -> Option<u64> {
        let mut first = None;
        each_topic_token(text, &Wanted::ALL, &mut |token| {
            let says = token.filter(|token| first.is_none() && !is_directive_stem(token));
            first = first.or(says.map(hash));
        });
        first
    }

    /// How many tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many tokens both have.
    #[must_use]
    pub fn common(&self, other: &Self) -> usize {
        let (mut a, mut b, mut common) = (0, 0, 0);
        while let (Some(one), Some(two)) = (self.0.get(a), other.0.get(b)) {
            match one.cmp(two) {
                std::cmp::Ordering::Less => a += 1,
                std::cmp::Ordering::Greater => b += 1,
                std::cmp::Ordering::Equal => (a, b, common) = (a + 1, b + 1, common + 1),
            }
        }
        common
    }

    /// What both have of what either has, from 0 to 1.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        let common = self.common(other);
        ratio(common, self.len() + other.len() - common)
    }

    /// What both have of the smaller one, from 0 to 1.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> f64 {
        ratio(self.common(other), self.len().min(other.len()))
    }
}

/// A topic that many texts are compared with: most have nothing of it, which is seen at little cost.
#[derive(Debug)]
pub struct Sought {
    /// What is looked for.
    pub topic: Topic,
    wanted: Wanted,
}

impl Sought {
    /// The topic of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut tokens: Vec<String> = Vec::new();
        each_topic_token(text, &Wanted::ALL, &mut |token| {
            tokens.extend(token.map(str::to_owned));
        });
        Self {
            topic: Topic::of(text),
            wanted: Wanted::only(tokens.iter().map(String::as_str)),
        }
    }

    /// Marks those of its tokens that a text has; says how many these are, in the order of the text and repetitions included.
    pub fn mark(&self, text: &str, marks: &mut [bool]) -> usize {
        let mut count = 0;
        // A text without its directive words has no token more.
        if has_ideographs(text) && !self.may_have(text) {
            return 0;
        }
        each_topic_token(text, &self.wanted, &mut |token| {
            if let Some(at) = token.and_then(|token| self.position(token))
                && let Some(mark) = marks.get_mut(at)
            {
                *mark = true;
                count += 1;
            }
        });
        count
    }

    fn may_have(&self, text: &str) -> bool {
        let mut any = false;
        each_token(text, &self.wanted, &mut |token| {
            any |= token.is_some_and(|token| self.position(token).is_some());
        });
        any
    }

    fn position(&self, token: &str) -> Option<usize> {
        self.topic.0.binary_search(&hash(token)).ok()
    }
}

/// A part of a whole; of nothing it is nothing.
pub fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// FNV-1a.
fn hash(token: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    token.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_directs_is_no_topic() {
        assert_eq!(
            Topic::of("Always use tabs for indentation"),
            Topic::of("Never use tabs for indentation")
        );
        assert_eq!(Topic::of("必须先截图"), Topic::of("不要先截图"));
        assert_eq!(
            Topic::of("Avoid this failure pattern: disk full"),
            Topic::of("disk full")
        );
    }

    #[test]
    fn directions_are_read() {
        for negative in [
            "Never do it",
            "You should not",
            "不要跳过验证",
            "别点击",
            "Stop using it",
        ] {
            assert!(polarity_is_negative(negative), "{negative}");
        }
        for positive in [
            "Always do it",
            "Notes",
            "特别注意",
            "分别截图",
            "unstoppable",
        ] {
            assert!(!polarity_is_negative(positive), "{positive}");
        }
    }
}
