//! A text as tokens: stems of words, and pairs of ideographs.

use super::stem::stem;

/// Words that say nothing of what a text is about.
const STOP_WORDS: [&str; 58] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "do", "does",
    "for", "from", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me",
    "my", "of", "on", "or", "our", "please", "so", "some", "such", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "was", "we", "were", "what", "when",
    "which", "will", "with", "you", "your",
];

/// The same among ideographs; as part of a pair they count.
const STOP_IDEOGRAPHS: &str = "的了和是在有我你请把与及或等个这那就都而也会能要对为";

/// A text in one spelling: lower case, full-width forms as ASCII, quotes straight, white space folded.
#[must_use]
pub fn normalised(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut push = |c: char| {
        if !c.is_whitespace() {
            folded.push(c);
        } else if !folded.ends_with(' ') && !folded.is_empty() {
            folded.push(' ');
        }
    };
    for c in text.chars() {
        if c.is_ascii() {
            push(c.to_ascii_lowercase());
        } else {
            c.to_lowercase().map(narrow).for_each(&mut push);
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
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
    let text = normalised(text);
    let mut rest = text.as_str();
    // The word before a hyphen that has just been passed.
    let mut before: Option<&str> = None;
    while let Some(first) = rest.chars().next() {
        let belongs = |c: char| {
            if is_ideograph(first) {
                is_ideograph(c)
            } else {
                c.is_alphanumeric() && !is_ideograph(c)
            }
        };
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        if end == 0 {
            before = None;
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (run, after) = rest.split_at(end);
        rest = after;
        if is_ideograph(first) {
            take_ideographs(run, take);
            continue;
        }
        if !STOP_WORDS.contains(&run) {
            take(&stem(run));
        }
        if let Some(before) = before.filter(|word| word.len() + run.len() <= MOST_JOINED_BYTES) {
            take(&stem(&format!("{before}{run}")));
        }
        let hyphen = rest.strip_prefix(['-', '\u{2010}', '\u{2011}']);
        before = hyphen.map(|_| run);
        rest = hyphen.unwrap_or(rest);
    }
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
