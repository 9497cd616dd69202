//! A text as tokens: stems of words, and pairs of ideographs.

use std::borrow::Cow;

use super::stem::stem;

/// Words that say nothing of what a text is about; in order, and none is longer than [`LONGEST_STOP_WORD`].
const STOP_WORDS: [&str; 58] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "do", "does",
    "for", "from", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me",
    "my", "of", "on", "or", "our", "please", "so", "some", "such", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "was", "we", "were", "what", "when",
    "which", "will", "with", "you", "your",
];
const LONGEST_STOP_WORD: usize = 6;
/// The same as numbers, which are compared in one step: every word of every text is looked up.
const STOP_NUMBERS: [u64; STOP_WORDS.len()] = {
    let mut numbers = [0; STOP_WORDS.len()];
    let mut at = 0;
    while at < numbers.len() {
        numbers[at] = number_of(STOP_WORDS[at].as_bytes());
        at += 1;
    }
    numbers
};

/// The bytes of a short word as a number, whose order is that of the words.
const fn number_of(word: &[u8]) -> u64 {
    let mut number = 0;
    let mut at = 0;
    while at < LONGEST_STOP_WORD {
        number <<= 8;
        if at < word.len() {
            number |= word[at] as u64;
        }
        at += 1;
    }
    number
}

fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST_STOP_WORD
        && STOP_NUMBERS
            .binary_search(&number_of(word.as_bytes()))
            .is_ok()
}

/// The same among ideographs; as part of a pair they count.
const STOP_IDEOGRAPHS: &str = "的了和是在有我你请把与及或等个这那就都而也会能要对为";

/// A text in one spelling: lower case, full-width forms as ASCII, quotes straight, white space folded.
#[must_use]
pub fn normalised(text: &str) -> String {
    let mut folded: Vec<u8> = Vec::with_capacity(text.len());
    let push_blank = |folded: &mut Vec<u8>| {
        if folded.last().is_some_and(|last| *last != b' ') {
            folded.push(b' ');
        }
    };
    let mut rest = text;
    while !rest.is_empty() {
        let other = rest.bytes().position(|byte| !byte.is_ascii());
        let (ascii, others) = rest.split_at(other.unwrap_or(rest.len()));
        let is_blank = |byte: &u8| *byte == b' ' || (b'\t'..=b'\r').contains(byte);
        for (at, word) in ascii.as_bytes().split(is_blank).enumerate() {
            if at > 0 {
                push_blank(&mut folded);
            }
            let from = folded.len();
            folded.extend_from_slice(word);
            if let Some(added) = folded.get_mut(from..) {
                added.make_ascii_lowercase();
            }
        }
        let mut others = others.chars();
        for c in others
            .next()
            .into_iter()
            .flat_map(char::to_lowercase)
            .map(narrow)
        {
            if c.is_whitespace() {
                push_blank(&mut folded);
            } else {
                folded.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        rest = others.as_str();
    }
    if folded.last() == Some(&b' ') {
        folded.pop();
    }
    // Only whole characters were put in.
    String::from_utf8(folded).unwrap_or_default()
}

/// Full-width forms (U+FF01 to U+FF5E) as the ASCII characters that they are; both kinds of curly quotes as straight ones.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => {
            let ascii = u32::from(c) - 0xff01 + u32::from('!');
            char::from_u32(ascii).map_or(c, |c| c.to_ascii_lowercase())
        }
        '\u{3000}' => ' ',
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        _ => c,
    }
}

/// Whether a script writes no blanks between words.
pub fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}')
}

/// Words of so many letters together are also one word where a hyphen joins them: Wi-Fi, e-mail, log-in.
const MOST_JOINED_BYTES: usize = 8;

/// The tokens of a text in their order, repetitions included: stems of words without the common ones, and short hyphenated
/// words also as one; of a run of ideographs its pairs, and its single ones without the common ones.
#[must_use]
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    each_token(text, &mut |token| tokens.push(token.to_owned()));
    tokens
}

/// Hands out the tokens of a text as [`tokens`] has them, without keeping any.
pub fn each_token(text: &str, take: &mut dyn FnMut(&str)) {
    each_token_of(&normalised(text), &|_| true, take);
}

/// As [`each_token`], of a text that is [`normalised`]. Of words that are not wanted it hands out the empty text: so that all are
/// counted, but only those are looked at whose first byte tells that they may be of use. A stem begins as its word does.
pub fn each_token_of(text: &str, is_wanted: &dyn Fn(u8) -> bool, take: &mut dyn FnMut(&str)) {
    let mut rest = text;
    // The word before a hyphen that has just been passed.
    let mut before: Option<&str> = None;
    while let Some(first) = rest.chars().next() {
        let end = end_of_run(rest, first);
        if end == 0 {
            before = None;
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (run, after) = rest.split_at(end);
        rest = after;
        if !first.is_ascii() && is_ideograph(first) {
            take_ideographs(run, take);
            continue;
        }
        let wanted = |word: &str| word.bytes().next().is_some_and(is_wanted);
        if !is_stop_word(run) {
            take(
                if wanted(run) {
                    stem(run)
                } else {
                    Cow::Borrowed("")
                }
                .as_ref(),
            );
        }
        if let Some(before) = before.filter(|word| word.len() + run.len() <= MOST_JOINED_BYTES) {
            take(
                if wanted(before) {
                    stem(&format!("{before}{run}")).into_owned()
                } else {
                    String::new()
                }
                .as_str(),
            );
        }
        // U+2010 and U+2011 begin with this byte, too.
        let hyphen = match rest.bytes().next() {
            Some(b'-' | 0xe2) => rest.strip_prefix(['-', '\u{2010}', '\u{2011}']),
            _ => None,
        };
        before = hyphen.map(|_| run);
        rest = hyphen.unwrap_or(rest);
    }
}

/// Where the word, or the run of ideographs, ends that a text begins with; 0 if it begins with neither.
fn end_of_run(text: &str, first: char) -> usize {
    if !first.is_ascii() && is_ideograph(first) {
        return text.find(|c| !is_ideograph(c)).unwrap_or(text.len());
    }
    let ascii = text.bytes().position(|byte| !byte.is_ascii_alphanumeric());
    let at = ascii.unwrap_or(text.len());
    if text.as_bytes().get(at).is_none_or(u8::is_ascii) {
        return at;
    }
    let belongs = |c: char| c.is_alphanumeric() && !is_ideograph(c);
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

fn take_ideographs(run: &str, take: &mut dyn FnMut(&str)) {
    let mut starts = run.char_indices().map(|(at, _)| at).peekable();
    while let Some(at) = starts.next() {
        let end = starts.peek().copied().unwrap_or(run.len());
        let one = &run[at..end];
        if !STOP_IDEOGRAPHS.contains(one) {
            take(one);
        }
        if end < run.len() {
            let next = run[end..].chars().next().map_or(0, char::len_utf8);
            take(&run[at..end + next]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        tokens(text)
    }

    #[test]
    fn words_are_lower_case_stems_without_the_common_ones() {
        assert_eq!(
            of("Confirm the payments before you are PAYING."),
            ["confirm", "payment", "befor", "pay"]
        );
        assert_eq!(
            of("hotel-wifi_login.debug"),
            ["hotel", "wifi", "login", "debug"]
        );
        assert_eq!(
            of("user's Wi‑Fi 5GHz"),
            ["user", "s", "wi", "fi", "wifi", "5ghz"]
        );
        assert_eq!(
            of("log-in -- two-step-check"),
            ["log", "login", "two", "step", "twostep", "check"]
        );
    }

    #[test]
    fn ideographs_are_pairs_and_single_ones() {
        assert_eq!(
            of("安全检查"),
            ["安", "安全", "全", "全检", "检", "检查", "查"]
        );
        assert_eq!(of("我的支付"), ["我的", "的支", "支", "支付", "付"]);
        assert_eq!(of("用WeChat登录"), ["用", "wechat", "登", "登录", "录"]);
    }

    #[test]
    fn full_width_forms_are_as_narrow_ones() {
        assert_eq!(normalised("ＡＢＣ　１２３ “Ｘ”\n\n  y "), "abc 123 \"x\" y");
        assert_eq!(of("ＷＩＦＩ"), of("wifi"));
    }

    #[test]
    fn other_scripts_are_words() {
        assert_eq!(of("Größe измерить"), ["größe", "измерить"]);
        assert_eq!(of(""), [""; 0]);
        assert_eq!(of("—…!?"), [""; 0]);
    }
}
