//! Any bytes as a SKILL.md: a skill or a reason, never a panic, a hang or a pile of memory.
#![no_main]

use aiden_skills::skill::SkillDocument;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match SkillDocument::parse(bytes) {
        // Loading asks for both, and whoever shows them relies on it.
        Ok(document) => assert!(!document.name().trim().is_empty()),
        Err(reason) => assert!(!reason.to_string().is_empty()),
    }
});
