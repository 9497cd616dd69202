//! Numbers with their units: `30s`, `10 %`, `两页`.

use crate::text::normalised;

/// Chinese numbers of one character; others are too rare in lessons to be worth it.
const NUMERALS: [(char, u32); 11] = [
    ('一', 1),
    ('二', 2),
    ('两', 2),
    ('三', 3),
    ('四', 4),
    ('五', 5),
    ('六', 6),
    ('七', 7),
    ('八', 8),
    ('九', 9),
    ('十', 10),
];
/// What can be counted by them.
const MEASURES: &str = "页个次秒分小天周月年条项步遍层级张位名度行列字章节倍块元米件组轮";

/// A number and what it counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    /// As it is written in digits.
    pub number: String,
    /// Letters, a sign or an ideograph behind it; none: empty.
    pub unit: String,
}

/// A text in one spelling without its numbers and units, and these.
#[must_use]
pub fn without_numbers(text: &str) -> (String, Vec<Quantity>) {
    let text = with_digits(&normalised(text));
    let (mut rest, mut found) = (String::with_capacity(text.len()), Vec::new());
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    let is_letter = |c: char| c.is_ascii_alphabetic();
    while let Some(c) = characters.get(at) {
        let starts_word = at == 0 || !characters[at - 1].is_ascii_alphanumeric();
        if !c.is_ascii_digit() || !starts_word {
            rest.push(*c);
            at += 1;
            continue;
        }
        let mut end = at;
        let digit_at = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
        while digit_at(end) || (characters.get(end) == Some(&'.') && digit_at(end + 1)) {
            end += 1;
        }
        let number: String = characters[at..end].iter().collect();
        let mut unit_at = end;
        let blank = characters.get(end) == Some(&' ') && characters.get(end + 1) == Some(&'%');
        unit_at += usize::from(blank);
        let mut unit = String::new();
        match characters.get(unit_at) {
            Some(c) if is_letter(*c) => {
                while let Some(c) = characters.get(unit_at).filter(|c| is_letter(**c)) {
                    unit.push(*c);
                    unit_at += 1;
                }
            }
            Some(c) if *c == '%' || MEASURES.contains(*c) => {
                unit.push(*c);
                unit_at += 1;
            }
            _ => unit_at = end,
        }
        found.push(Quantity { number, unit });
        rest.push(' ');
        at = unit_at;
    }
    (rest, found)
}

/// Chinese numbers as digits where something is counted by them.
fn with_digits(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let counts = characters
            .peek()
            .is_some_and(|next| MEASURES.contains(*next));
        match NUMERALS.iter().find(|(numeral, _)| *numeral == c) {
            Some((_, number)) if counts => written.push_str(&number.to_string()),
            _ => written.push(c),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let (_, found) = without_numbers(text);
        let shown = found
            .iter()
            .map(|one| format!("{}|{}", one.number, one.unit));
        shown.collect()
    }

    #[test]
    fn numbers_are_found_with_their_units() {
        assert_eq!(
            of("wait 30s, max 1.5 %, HTTP 429"),
            ["30|s", "1.5|%", "429|"]
        );
        assert_eq!(of("周报不要超过两页，至少３次"), ["2|页", "3|次"]);
        assert_eq!(of("一定要 v2 and utf8"), [""; 0]);
        assert_eq!(without_numbers("at most 30s here").0, "at most   here");
    }
}
