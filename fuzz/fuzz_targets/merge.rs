//! Any three texts, with NULs between them: merged or refused; and a side that changed nothing gives way.
#![no_main]

use aiden_skills::merge::structural::merge_documents;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut texts = text.splitn(3, '\0');
    let [Some(base), Some(upstream), Some(local)] = [texts.next(), texts.next(), texts.next()]
    else {
        return;
    };
    let merged = merge_documents(Some(base), upstream, local);
    if local == base && !text.contains("skill-evolution") && merged.is_ok() {
        assert_eq!(merged.as_deref(), Ok(upstream));
    }
    let _ = merge_documents(None, upstream, local);
});
