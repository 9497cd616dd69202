//! Any bytes as a ledger: records or a reason; and what was read survives being written.
#![no_main]

use aiden_skills::sync::ledger;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(parsed) = ledger::parse(bytes) else {
        return;
    };
    let written = parsed.ledger.to_json("2026-01-01T00:00:00Z");
    let Ok(again) = ledger::parse(&written) else {
        panic!(
            "what was written can't be read: {}",
            String::from_utf8_lossy(&written)
        );
    };
    assert!(again.unreadable.is_empty(), "{:?}", again.unreadable);
    assert_eq!(again.ledger.records, parsed.ledger.records);
    // A second rewrite changes nothing: a ledger does not grow from boot to boot.
    assert_eq!(again.ledger.to_json("2026-01-01T00:00:00Z"), written);
});
