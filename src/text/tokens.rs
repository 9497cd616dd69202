//! A text as tokens: stems of words, and pairs of ideographs.

use super::stem::{beginnings, stem};

/// Words that say nothing of what a text is about; none is longer than [`LONGEST_STOP_WORD`].
const STOP_WORDS: [&str; 58] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "do", "does",
    "for", "from", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me",
    "my", "of", "on", "or", "our", "please", "so", "some", "such", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "was", "we", "were", "what", "when",
    "which", "will", "with", "you", "your",
];
const LONGEST_STOP_WORD: usize = 6;
/// The same by their numbers, each at or behind its [`stop_slot`]: every word of every text is looked up.
const STOP_SLOTS: [u64; 128] = {
    let mut slots = [0; 128];
    let mut at = 0;
    while at < STOP_WORDS.len() {
        let number = number_of(STOP_WORDS[at].as_bytes());
        let mut slot = stop_slot(number);
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = number;
        at += 1;
    }
    slots
};

/// The letters of a short word, in either case, as a number.
const fn number_of(word: &[u8]) -> u64 {
    let mut number = 0;
    let mut at = 0;
    while at < word.len() {
        number = number << 8 | lower(word[at]) as u64;
        at += 1;
    }
    number
}

/// Where to look for a number first: the upper bits of its product with 2^64 divided by the golden ratio.
const fn stop_slot(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize
}

fn is_stop_word(word: &[u8]) -> bool {
    if word.len() > LONGEST_STOP_WORD {
        return false;
    }
    let number = number_of(word);
    let mut slot = stop_slot(number);
    while STOP_SLOTS[slot] != number {
        if STOP_SLOTS[slot] == 0 {
            return false;
        }
        slot = (slot + 1) % STOP_SLOTS.len();
    }
    true
}

/// Ideographs that say nothing; as part of a pair they count.
fn is_stop_ideograph(c: char) -> bool {
    "的了和是在有我你请把与及或等个这那就都而也会能要对为".contains(c)
}

/// Of an ASCII letter or digit the lower case.
const fn lower(byte: u8) -> u8 {
    byte | 0x20
}

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

/// Which tokens are looked for. Most words can be none of them, and are only counted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// A bit for each pair of first bytes; see [`Wanted::bit`].
    begins: [u64; 16],
}

impl Wanted {
    /// Whatever there is.
    pub const ALL: Self = Self {
        begins: [u64::MAX; 16],
    };

    /// These, and some others that begin as they do.
    #[must_use]
    pub fn only<'t>(tokens: impl IntoIterator<Item = &'t str>) -> Self {
        let mut wanted = Self { begins: [0; 16] };
        for token in tokens {
            for word in beginnings(token) {
                let (at, bit) = Self::bit(word.as_bytes(), &[]);
                wanted.begins[at] |= bit;
            }
        }
        wanted
    }

    /// Whether a word, or two together, may become a token that is looked for.
    fn may_be(&self, word: &[u8], second: &[u8]) -> bool {
        let (at, bit) = Self::bit(word, second);
        self.begins[at] & bit != 0
    }

    /// Letters differ in their five lower bits, whatever their case; ideographs differ in their last byte.
    fn bit(word: &[u8], second: &[u8]) -> (usize, u64) {
        let mut bytes = word.iter().chain(second).copied();
        let (one, two, three) = (bytes.next(), bytes.next(), bytes.next());
        let is_ascii = one.is_none_or(|byte| byte.is_ascii());
        let (one, two) = if is_ascii || three.is_none() {
            (one, two)
        } else {
            (two, three)
        };
        let (one, two) = (one.unwrap_or(0), two.unwrap_or(0));
        (
            usize::from(one & 0x1f) >> 1,
            1 << ((one & 1) << 5 | two & 0x1f),
        )
    }
}

/// The tokens of a text in their order, repetitions included: stems of words without the common ones, and short hyphenated
/// words also as one; of a run of ideographs its pairs, and its single ones without the common ones.
#[must_use]
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    each_token(text, &Wanted::ALL, &mut |token| {
        tokens.extend(token.map(str::to_owned));
    });
    tokens
}

/// Hands out the tokens of a text as [`tokens`] has them, without keeping any; of those that are not wanted only that they are
/// there.
pub fn each_token(text: &str, wanted: &Wanted, take: &mut dyn FnMut(Option<&str>)) {
    let folded;
    let mut rest = if needs_folding(text) {
        folded = normalised(text);
        &folded
    } else {
        text
    };
    let mut words = Words {
        wanted,
        take,
        scratch: String::new(),
    };
    // The word before a hyphen that has just been passed.
    let mut before: Option<&str> = None;
    loop {
        let parting = rest
            .bytes()
            .position(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
        let Some(parting) = parting else { return };
        if parting > 0 {
            before = None;
        }
        rest = &rest[parting..];
        let (word, is_ideographs) = run(rest);
        rest = &rest[word.len()..];
        if is_ideographs {
            before = None;
            words.take_ideographs(word);
            continue;
        }
        if word.is_empty() {
            // Neither a letter nor a digit.
            before = None;
            let mut others = rest.chars();
            others.next();
            rest = others.as_str();
            continue;
        }
        if !is_stop_word(word.as_bytes()) {
            words.take(word, "");
        }
        if let Some(before) = before.filter(|before| before.len() + word.len() <= MOST_JOINED_BYTES)
        {
            words.take(before, word);
        }
        // U+2010 and U+2011 begin with this byte, too.
        let hyphen = match rest.as_bytes().first() {
            Some(b'-' | 0xe2) => rest.strip_prefix(['-', '\u{2010}', '\u{2011}']),
            _ => None,
        };
        before = hyphen.map(|_| word);
        rest = hyphen.unwrap_or(rest);
    }
}

/// Whether a text has letters of other scripts, or full-width forms: the case of ASCII letters is seen to without.
fn needs_folding(text: &str) -> bool {
    let is_folded = |c: char| {
        !c.is_ascii() && !is_ideograph(c) && (c.is_alphanumeric() || narrow(c).is_ascii())
    };
    !text.is_ascii() && text.chars().any(is_folded)
}

/// The word, or the run of ideographs, that a text begins with, and whether it is that; empty if the text begins with neither.
fn run(text: &str) -> (&str, bool) {
    let ascii = text.bytes().position(|byte| !byte.is_ascii_alphanumeric());
    let at = ascii.unwrap_or(text.len());
    if text.as_bytes().get(at).is_none_or(u8::is_ascii) {
        return (&text[..at], false);
    }
    let is_ideographs = at == 0 && text.starts_with(is_ideograph);
    let belongs = |c: char| {
        if is_ideographs {
            is_ideograph(c)
        } else {
            c.is_alphanumeric() && !is_ideograph(c)
        }
    };
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    (&text[..end], is_ideographs)
}

struct Words<'w> {
    wanted: &'w Wanted,
    take: &'w mut dyn FnMut(Option<&str>),
    scratch: String,
}

impl Words<'_> {
    /// Of two words together, or of one and nothing.
    fn take(&mut self, word: &str, second: &str) {
        if !self.wanted.may_be(word.as_bytes(), second.as_bytes()) {
            return (self.take)(None);
        }
        self.scratch.clear();
        self.scratch.push_str(word);
        self.scratch.push_str(second);
        self.scratch.make_ascii_lowercase();
        (self.take)(Some(&stem(&self.scratch)));
    }

    fn take_ideographs(&mut self, run: &str) {
        let mut rest = run.chars();
        let mut from = run;
        while let Some(c) = rest.next() {
            let next = rest.as_str().chars().next().map_or(0, char::len_utf8);
            let may_be = self.wanted.may_be(from.as_bytes(), &[]);
            if !is_stop_ideograph(c) {
                (self.take)(may_be.then(|| &from[..c.len_utf8()]));
            }
            if next > 0 {
                (self.take)(may_be.then(|| &from[..c.len_utf8() + next]));
            }
            from = rest.as_str();
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
    fn words_that_are_not_wanted_are_counted_only() {
        let of = |text: &str, wanted: &[&str]| {
            let wanted = Wanted::only(wanted.iter().copied());
            let (mut count, mut taken) = (0, Vec::new());
            each_token(text, &wanted, &mut |token| {
                count += 1;
                taken.extend(token.map(str::to_owned));
            });
            (count, taken)
        };
        let text = "Found a Wi-Fi, PAID for the window";
        assert_eq!(of(text, &[]), (6, vec![]));
        assert_eq!(
            of(text, &["find", "wifi", "pay"]),
            (
                6,
                ["find", "wi", "fi", "wifi", "pay", "window"]
                    .map(String::from)
                    .into()
            )
        );
        assert_eq!(
            of("安全检查", &["检查"]),
            (7, ["检", "检查"].map(String::from).into())
        );
    }

    proptest::proptest! {
        #[test]
        fn a_text_has_the_tokens_of_its_normal_form(
            text in "[a-zA-Z0-9 éÉİ\u{212a}ＡＷ１安全的检\u{2010}\u{3000}'’_,.-]{0,40}|\\PC{0,20}"
        ) {
            proptest::prop_assert_eq!(of(&text), of(&normalised(&text)));
        }

        #[test]
        fn what_is_wanted_is_found_wherever_it_is(
            text in "[a-cA-Csé安全检-]{0,20}|[a-z]{0,8}|found|sent|PAID"
        ) {
            let all = of(&text);
            for token in &all {
                let wanted = Wanted::only([token.as_str()]);
                let (mut count, mut found) = (0, 0);
                each_token(&text, &wanted, &mut |each| {
                    count += 1;
                    found += usize::from(each == Some(token.as_str()));
                });
                proptest::prop_assert_eq!(count, all.len());
                proptest::prop_assert_eq!(found, all.iter().filter(|each| *each == token).count());
            }
        }
    }

    #[test]
    fn other_scripts_are_words() {
        assert_eq!(of("Größe измерить"), ["größe", "измерить"]);
        assert_eq!(of(""), [""; 0]);
        assert_eq!(of("—…!?"), [""; 0]);
    }
}
