//! How many merges need no model: the skills of consecutive releases of openclaw as base and upstream, and generated edits
//! of a user. `cargo bench --bench histories` prints the shares; a result that is not valid fails it.

#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../tests/common/histories.rs"]
mod histories;
#[path = "../tests/tools/mod.rs"]
mod tools;

use std::collections::BTreeMap;

use aiden_skills::merge::structural::{Conflict, merge_documents};
use aiden_skills::merge::{MergeInput, validate};
use aiden_skills::skill::{MAX_EDIT_BYTES, SkillDocument};
use aiden_skills::store::Hash;
use aiden_skills::sync::{MergeJob, MergeTexts};
use fastrand::Rng;
use histories::{Edit, History};

/// Edits of each kind of each skill.
const TRIES: usize = 40;
const ROOM_TO_EDIT: usize = 200;

#[derive(Default)]
struct Share {
    settled: usize,
    all: usize,
}

fn main() {
    let release = |version: &str| tools::fetched(&format!("openclaw/{version}/skills"));
    let is_small = |history: &History| {
        history.base.len().max(history.upstream.len()) + ROOM_TO_EDIT < MAX_EDIT_BYTES as usize
    };
    let all = histories::histories(release).into_iter();
    let (histories, too_large): (Vec<History>, Vec<History>) = all.partition(is_small);
    let mut rng = Rng::with_seed(1);
    let mut shares = Vec::new();
    let mut causes = BTreeMap::<&str, usize>::new();
    for edit in Edit::ALL {
        let mut share = Share::default();
        for history in &histories {
            for _ in 0..TRIES {
                let Some(local) = edit.apply(&history.base, &mut rng) else {
                    continue;
                };
                if local == history.base || local == history.upstream {
                    continue;
                }
                share.all += 1;
                match merge_documents(Some(&history.base), &history.upstream, &local) {
                    Ok(merged) => {
                        share.settled += 1;
                        assert_valid(history, &local, &merged);
                    }
                    Err(conflicts) => *causes.entry(cause(&conflicts)).or_default() += 1,
                }
            }
        }
        shares.push((edit, share));
    }
    println!(
        "{} changes of a skill between {:?}; {} more are of skills too large to be merged",
        histories.len(),
        histories::RELEASES,
        too_large.len()
    );
    let mut whole = Share::default();
    for (edit, share) in shares {
        tell(edit.name(), &share);
        whole.settled += share.settled;
        whole.all += share.all;
    }
    tell("all edits", &whole);
    println!("what the rest has in common:");
    for (cause, count) in causes {
        println!("  {count:5} {cause}");
    }
}

fn tell(what: &str, share: &Share) {
    let percent = 100.0 * share.settled as f64 / share.all as f64;
    println!(
        "  {what:24} {:5} of {:5} need no model ({percent:.1} %)",
        share.settled, share.all
    );
}

fn cause(conflicts: &[Conflict]) -> &'static str {
    match conflicts {
        [Conflict::Lines(lines)] if lines.local.is_empty() => {
            "the user deleted a line that the firmware changed"
        }
        [Conflict::Lines(lines)] if lines.upstream.is_empty() => {
            "the user changed or added to lines that the firmware removed"
        }
        [Conflict::Lines(_)] => "both changed the same lines of the body",
        [Conflict::Field(_)] => "both changed the same field of the frontmatter",
        _ => "several of these",
    }
}

/// The same rules as for any merged text, and the user's change is in it.
fn assert_valid(history: &History, local: &str, merged: &str) {
    let name = SkillDocument::parse(local.as_bytes()).map(|document| document.name().to_owned());
    let Ok(name) = name else {
        return;
    };
    let [base, upstream, hash] =
        [&history.base, &history.upstream, local].map(|text| Hash::of(text.as_bytes()));
    let input = MergeInput {
        job: MergeJob::new(&name, Some(base), upstream, hash),
        texts: MergeTexts {
            base: Some(history.base.clone()),
            upstream: history.upstream.clone(),
            local: local.to_owned(),
        },
    };
    if let Err(invalid) = validate(merged, &input, None) {
        panic!("{}: the merged text {invalid}:\n{merged}", history.name);
    }
}
