//! What `git merge-file` merges cleanly, the merge by lines merges to the same bytes.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[path = "common/histories.rs"]
mod histories;
#[path = "tools/mod.rs"]
mod tools;

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::Command;

use aiden_skills::merge::structural::merge_lines;
use aiden_skills::skill::frontmatter::split;
use fastrand::Rng;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

/// What git makes of it, if it finds no conflict.
fn git(place: &Path, base: &str, upstream: &str, local: &str) -> Option<String> {
    let [base, upstream, local] =
        [("base", base), ("upstream", upstream), ("local", local)].map(|(name, text)| {
            let file = place.join(name);
            fs::write(&file, text).unwrap();
            file
        });
    let output = Command::new("git")
        .args(["merge-file", "--stdout", "--quiet"])
        .args([local, base, upstream])
        .output()
        .expect("git runs");
    let code = output.status.code().unwrap();
    assert!(code < 128, "{}", String::from_utf8_lossy(&output.stderr));
    (code == 0).then(|| String::from_utf8(output.stdout).unwrap())
}

#[derive(Debug, Clone)]
enum Edit {
    Insert(usize, String),
    Delete(usize),
    Reword(usize, String),
    Move(usize, usize),
    Repeat(usize),
}

impl Edit {
    fn apply(&self, lines: &mut Vec<String>) {
        let within = |at: &usize, lines: &Vec<String>| at % lines.len().max(1);
        match self {
            Self::Insert(at, line) => lines.insert(at % (lines.len() + 1), line.clone()),
            _ if lines.is_empty() => {}
            Self::Delete(at) => {
                lines.remove(within(at, lines));
            }
            Self::Reword(at, line) => {
                let at = within(at, lines);
                lines[at].clone_from(line);
            }
            Self::Move(from, to) => {
                let line = lines.remove(within(from, lines));
                lines.insert(to % (lines.len() + 1), line);
            }
            Self::Repeat(at) => {
                let at = within(at, lines);
                lines.insert(at, lines[at].clone());
            }
        }
    }
}

/// Few different lines, so that a change could often be in more than one place.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec!["", "}", "- tap", "1. open", "2. wait", "text", "text "]).prop_map(str::to_owned),
        2 => "[a-f]{1,2}",
    ]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        4 => (any::<usize>(), line()).prop_map(|(at, line)| Edit::Insert(at, line)),
        3 => any::<usize>().prop_map(Edit::Delete),
        4 => (any::<usize>(), line()).prop_map(|(at, line)| Edit::Reword(at, line)),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Edit::Move(from, to)),
        1 => any::<usize>().prop_map(Edit::Repeat),
    ];
    prop::collection::vec(edit, 0..6)
}

fn text(lines: &[String], ends: bool) -> String {
    let mut text = lines.join("\n");
    if ends && !lines.is_empty() {
        text.push('\n');
    }
    text
}

#[test]
fn what_git_merges_cleanly_is_merged_to_the_same_bytes() {
    const CASES: u32 = 4000;
    let place = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    };
    let sides = (
        prop::collection::vec(line(), 0..30),
        edits(),
        edits(),
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.9),
    );
    let (clean, more) = (Cell::new(0), Cell::new(0));
    let run = TestRunner::new(config).run(&sides, |(base, upstream, local, a, b, c)| {
        let edited = |edits: &[Edit]| {
            let mut lines = base.clone();
            edits.iter().for_each(|edit| edit.apply(&mut lines));
            lines
        };
        let upstream = text(&edited(&upstream), b);
        let local = text(&edited(&local), c);
        let base = text(&base, a);
        let ours = merge_lines(&base, &upstream, &local).ok();
        match git(place.path(), &base, &upstream, &local) {
            Some(theirs) => {
                clean.set(clean.get() + 1);
                prop_assert_eq!(
                    ours,
                    Some(theirs),
                    "of {:?}, {:?}, {:?}",
                    base,
                    upstream,
                    local
                );
            }
            None => more.set(more.get() + usize::from(ours.is_some())),
        }
        Ok(())
    });
    if let Err(e) = run {
        panic!("{e}");
    }
    println!(
        "git merges {} of {CASES} cleanly; {} of the others are settled too",
        clean.get(),
        more.get()
    );
    assert!(clean.get() > CASES as usize / 4, "hardly any case is clean");
    assert!(more.get() > 0, "neighbouring changes are settled");
}

/// The bodies of the skills of real releases, edited a few times.
#[test]
fn what_git_merges_cleanly_of_real_skills_is_merged_to_the_same_bytes() {
    let place = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let release = |version: &str| tools::fetched(&format!("openclaw/{version}/skills"));
    let mut rng = Rng::with_seed(3);
    let (mut clean, mut more, mut all) = (0, 0, 0);
    for history in histories::histories(release) {
        for _ in 0..30 {
            let mut local = history.base.clone();
            for _ in 0..rng.usize(1..5) {
                let edit = histories::Edit::ALL[rng.usize(..3)];
                local = edit.apply(&local, &mut rng).unwrap_or(local);
            }
            let body = |text: &str| split(text).unwrap().body.to_owned();
            let [base, upstream, local] =
                [&history.base, &history.upstream, &local].map(|text| body(text));
            let ours = merge_lines(&base, &upstream, &local).ok();
            all += 1;
            match git(place.path(), &base, &upstream, &local) {
                Some(theirs) => {
                    clean += 1;
                    assert_eq!(ours, Some(theirs), "{}", history.name);
                }
                None => more += usize::from(ours.is_some()),
            }
        }
    }
    println!("git merges {clean} of {all} cleanly; {more} of the others are settled too");
    assert!(clean > 100 && more > 0);
}
