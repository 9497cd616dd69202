//! A light stemmer for English: it makes words of one family meet, and leaves alone what it is not sure of.

use std::borrow::Cow;

/// Endings, longest first, with what stands for them and the least letters that must be left.
const ENDINGS: [(&str, &str, usize); 15] = [
    ("ications", "ic", 3),
    ("ication", "ic", 3),
    ("ations", "at", 3),
    ("ation", "at", 3),
    ("ments", "ment", 3),
    ("ingly", "", 3),
    ("sses", "ss", 2),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("xes", "x", 2),
    ("ies", "y", 2),
    ("ied", "y", 2),
    ("ing", "", 3),
    ("ers", "er", 3),
    ("ed", "", 3),
];

/// Words that the endings do not bring together, and their stems.
const IRREGULAR: [(&str, &str); 8] = [
    ("used", "use"),
    ("uses", "use"),
    ("using", "use"),
    ("paid", "pay"),
    ("sent", "send"),
    ("chosen", "choos"),
    ("written", "writ"),
    ("found", "find"),
];

/// How the words begin that have this stem: their first two bytes are those of one of these.
pub(super) fn beginnings(token: &str) -> impl Iterator<Item = &str> {
    let others = IRREGULAR.iter().filter(move |(_, stem)| *stem == token);
    others.map(|(word, _)| *word).chain([token])
}

/// The stem of a word in lower case.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    // No ending and no irregular word (`sent`) ends in another letter.
    let may_end = matches!(
        word.as_bytes().last(),
        Some(b'd' | b'g' | b'n' | b's' | b't' | b'y')
    );
    if !may_end {
        let is_plain = word.bytes().all(|b| b.is_ascii_lowercase());
        return Cow::Borrowed(if is_plain { without_end(word) } else { word });
    }
    if let Some((_, stem)) = IRREGULAR.iter().find(|(known, _)| *known == word) {
        return Cow::Borrowed(stem);
    }
    if !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    for (ending, instead, least) in ENDINGS {
        if let Some(kept) = word.strip_suffix(ending)
            && kept.len() >= least
        {
            let kept = undoubled(kept, instead);
            if instead.is_empty() {
                return Cow::Borrowed(without_end(kept));
            }
            return Cow::Owned(without_end(&format!("{kept}{instead}")).to_owned());
        }
    }
    let plural = word
        .strip_suffix('s')
        .filter(|kept| kept.len() >= 3 && !kept.ends_with(['s', 'u', 'i']));
    Cow::Borrowed(without_end(plural.unwrap_or(word)))
}

/// `tapp` of `tapping` is `tap`.
fn undoubled<'w>(kept: &'w str, instead: &str) -> &'w str {
    let bytes = kept.as_bytes();
    match bytes {
        [.., a, b]
            if instead.is_empty() && a == b && !matches!(b, b'l' | b's' | b'z' | b'e' | b'o') =>
        {
            &kept[..kept.len() - 1]
        }
        _ => kept,
    }
}

/// A silent `e` is there in one form of a word and not in the other.
fn without_end(word: &str) -> &str {
    let kept = word.strip_suffix('e').filter(|kept| kept.len() >= 3);
    kept.unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::stem;

    #[test]
    fn words_of_a_family_meet() {
        for family in [
            &["use", "uses", "used", "using"][..],
            &["tap", "taps", "tapped", "tapping"],
            &["verify", "verifies", "verified", "verifying"],
            &["payment", "payments"],
            &["installation", "installations"],
            &["switch", "switches", "switched", "switching"],
            &["scroll", "scrolls", "scrolled", "scrolling"],
            &["device", "devices"],
            &["process", "processes", "processed", "processing"],
        ] {
            let stems: Vec<Cow<'_, str>> = family.iter().map(|word| stem(word)).collect();
            assert!(
                stems.iter().all(|one| *one == stems[0]),
                "{family:?}: {stems:?}"
            );
        }
    }

    #[test]
    fn what_only_looks_like_an_ending_stays() {
        for word in [
            "bus", "ring", "bed", "thing", "this", "analysis", "status", "5ghz", "wi",
        ] {
            assert_eq!(stem(word), word);
        }
    }
}
