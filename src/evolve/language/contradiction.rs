//! Whether a lesson says the opposite of a bullet, without a model (facts of 1.13): opposite direction, other numbers, a
//! preference turned round, or a replacement of what the bullet recommends.

use super::lesson::{clauses, trimmed};
use super::numbers::{Quantity, without_numbers};
use super::phrases::find_phrase;
use super::topic::{Topic, polarity_is_negative, spoken};

/// Texts on the same thing have more than this in common, of the smaller one: one of four words makes it another thing, such as
/// whom photos are sent to.
const SAME: f64 = 0.8;
/// Fewer tokens say too little to be the same.
const LEAST_TOKENS: usize = 2;

/// Whether a lesson contradicts a bullet.
#[must_use]
pub fn contradicts(lesson: &str, bullet: &str) -> bool {
    has_opposite_direction(lesson, bullet)
        || turns_preference_round(lesson, bullet)
        || replaces(lesson, bullet)
        || has_other_numbers(lesson, bullet)
}

fn has_opposite_direction(lesson: &str, bullet: &str) -> bool {
    let parts = |text: &str| -> Vec<(Topic, Option<u64>, bool)> {
        let clauses: Vec<&str> = clauses(text).chain([text]).collect();
        let read = clauses.iter().map(|clause| {
            (
                Topic::of(clause),
                Topic::first_of(clause),
                polarity_is_negative(clause),
            )
        });
        read.collect()
    };
    let theirs = parts(bullet);
    parts(lesson).iter().any(|(topic, first, negative)| {
        theirs.iter().any(|(other, other_first, other_negative)| {
            negative != other_negative
                && first.is_some()
                && first == other_first
                && topic.overlap(other) > SAME
        })
    })
}

fn has_other_numbers(lesson: &str, bullet: &str) -> bool {
    let parts = |text: &str| -> Vec<(Topic, Vec<Quantity>)> {
        let clauses = clauses(text).map(|clause| {
            let (rest, numbers) = without_numbers(clause);
            (Topic::of(&rest), numbers)
        });
        clauses.filter(|(_, numbers)| !numbers.is_empty()).collect()
    };
    let theirs = parts(bullet);
    parts(lesson).iter().any(|(topic, numbers)| {
        theirs.iter().any(|(other, other_numbers)| {
            topic.len().min(other.len()) >= LEAST_TOKENS
                && topic.overlap(other) > SAME
                && are_others(numbers, other_numbers)
        })
    })
}

/// Whether both count the same unit, and none of the numbers is the same.
fn are_others(numbers: &[Quantity], others: &[Quantity]) -> bool {
    let same_unit = |one: &Quantity| others.iter().any(|other| other.unit == one.unit);
    numbers.iter().any(same_unit) && !numbers.iter().any(|one| others.contains(one))
}

/// What a text prefers over what.
fn preference(text: &str) -> Option<(String, String)> {
    const FORMS: [(&str, &str); 6] = [
        ("prefer ", " over "),
        ("prefer ", " to "),
        ("prefer ", " rather than "),
        ("优先使用", "而不是"),
        ("优先用", "而不是"),
        ("优先", "而不是"),
    ];
    FORMS.iter().find_map(|(before, between)| {
        let at = find_phrase(text, before.trim_end())?;
        let rest = text.get(at + before.trim_end().len()..)?;
        let (first, second) = rest.split_once(between)?;
        Some((thing(first), thing(second)))
    })
}

/// A thing in one spelling, without what follows it.
fn thing(text: &str) -> String {
    const ENDS: [&str; 9] = [
        " for ",
        " in ",
        " when ",
        " on ",
        " if ",
        " because ",
        " as ",
        " to ",
        " with ",
    ];
    let text = clauses(text).next().unwrap_or_default();
    let ends = ENDS.iter().filter_map(|end| text.find(end));
    let text = text.get(..ends.min().unwrap_or(text.len())).unwrap_or(text);
    trimmed(&spoken(text)).to_owned()
}

fn turns_preference_round(lesson: &str, bullet: &str) -> bool {
    let (Some((first, second)), Some((other_first, other_second))) =
        (preference(lesson), preference(bullet))
    else {
        return false;
    };
    let is_same = |a: &str, b: &str| {
        let (one, two) = (Topic::of(a), Topic::of(b));
        a == b || (!one.is_empty() && one == two)
    };
    first != second && is_same(&first, &other_second) && is_same(&second, &other_first)
}

/// Whether a lesson puts another thing in the place of one that the bullet recommends.
fn replaces(lesson: &str, bullet: &str) -> bool {
    const BEFORE_OLD: [&str; 9] = [
        "instead of",
        "rather than",
        "no longer use",
        "stop using",
        "而不是",
        "不再使用",
        "不再用",
        "别再用",
        "停止使用",
    ];
    if polarity_is_negative(bullet) {
        return false;
    }
    let recommended = Topic::of(bullet);
    let has_all = |topic: &Topic| !topic.is_empty() && topic.common(&recommended) == topic.len();
    let old = BEFORE_OLD.iter().find_map(|phrase| {
        let at = find_phrase(lesson, phrase)?;
        Some((
            Topic::of(&thing(lesson.get(at + phrase.len()..)?)),
            *phrase,
            at,
        ))
    });
    if let Some((old, phrase, at)) = old {
        // A bullet that has the new thing as well may say the same.
        let new = clauses(lesson.get(..at).unwrap_or_default())
            .last()
            .map(Topic::of);
        let is_new_known = matches!(phrase, "instead of" | "rather than" | "而不是");
        let says_new = is_new_known && new.as_ref().is_some_and(&has_all);
        return has_all(&old) && !says_new;
    }
    switches(lesson, bullet)
}

/// `日志改用JSON` of `日志使用XML`: the same purpose, another means.
fn switches(lesson: &str, bullet: &str) -> bool {
    let Some((purpose, new)) = lesson.split_once("改用") else {
        return false;
    };
    let means = ["使用", "用"]
        .iter()
        .find_map(|word| bullet.split_once(word));
    let Some((old_purpose, old)) = means else {
        return false;
    };
    let (purpose, old_purpose) = (Topic::of(purpose), Topic::of(old_purpose));
    let (new, old) = (Topic::of(&thing(new)), Topic::of(&thing(old)));
    let is_same_purpose = !purpose.is_empty() && purpose.overlap(&old_purpose) > SAME;
    is_same_purpose && !new.is_empty() && !old.is_empty() && new.overlap(&old) < SAME
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTRADICTIONS: [(&str, &str); 14] = [
        (
            "Never use tabs for indentation",
            "Always use tabs for indentation",
        ),
        ("Don't restart the daemon", "Restart the daemon"),
        ("不要先截图再点击", "先截图再点击"),
        (
            "Use a timeout of 30s for page.waitForSelector() on lazy-loaded elements; 10s is too short",
            "Use page.waitForSelector() with a timeout of 10s for lazy-loaded elements",
        ),
        ("周报不要超过两页", "周报不要超过一页"),
        ("Retry at most 5 times", "Retry at most 3 times"),
        (
            "Prefer page.$() over page.evaluate() for complex DOM traversals in shadow DOMs",
            "Prefer page.evaluate() over page.$() for complex DOM traversals in shadow DOMs",
        ),
        ("优先使用表格而不是图片", "优先使用图片而不是表格"),
        ("Use fetch instead of axios", "Use axios for HTTP requests"),
        ("Use ripgrep rather than grep for code", "Search with grep"),
        ("No longer use FTP for uploads", "Use FTP for uploads"),
        ("用短信验证而不是邮箱验证", "登录时使用邮箱验证"),
        ("不再使用旧接口", "下单使用旧接口"),
        ("日志改用JSON", "日志使用XML"),
    ];

    const COMPATIBLE: [(&str, &str); 14] = [
        (
            "Always send photos of the kids to grandma",
            "Don't send photos of the kids to Facebook",
        ),
        ("Wait 5 seconds after login", "Wait 10 seconds after logout"),
        (
            "Add jitter to exponential backoff when many clients retry at the same time",
            "Implement exponential backoff starting at 1s, max 30s, with jitter",
        ),
        ("安全检查后必须记录结果", "不要跳过验证"),
        ("安全检查后必须记录结果", "每次都要先做安全检查"),
        (
            "Always back up the config first",
            "Back up the config first",
        ),
        ("Wait 30s for the page", "Retry 3 times on errors"),
        ("Wait 30s for the page to load", "Wait 30s for the page"),
        ("Use fetch instead of axios", "Use fetch for HTTP requests"),
        ("Use fetch instead of axios", "Avoid axios"),
        ("Prefer tables over lists", "Prefer tables over lists"),
        ("Never skip the login", "Check the battery"),
        ("周报不要超过一页", "周报不要超过一页"),
        ("Show at least 2 prices", "Keep the shop's 10 rules"),
    ];

    #[test]
    fn contradictions_are_seen() {
        for (lesson, bullet) in CONTRADICTIONS {
            assert!(contradicts(lesson, bullet), "{lesson} | {bullet}");
        }
    }

    #[test]
    fn what_agrees_or_is_of_another_thing_is_none() {
        for (lesson, bullet) in COMPATIBLE {
            assert!(!contradicts(lesson, bullet), "{lesson} | {bullet}");
        }
    }
}
