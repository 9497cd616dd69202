//! "What else must hold" of a sync (contract §4): what is no part of a skill, modes and owners, limits, and
//! that flash is spared.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use common::{Board, assert_outcome, edited, failure, hash, names, skill_text, version};
use serde_json::{Value, json};

const JUNK: [&str; 9] = [
    ".DS_Store",
    "Thumbs.db",
    "__pycache__/check.cpython-311.pyc",
    "scripts/check.pyc",
    "references/.a.md.swp",
    "references/a.md~",
    "SKILL.md~",
    ".aiden-cache",
    "assets/.aiden-x/y",
];

/// Everything beneath a directory, and the directory.
fn all_below(root: &Path) -> Vec<std::path::PathBuf> {
    let mut all = vec![root.to_owned()];
    if root.is_dir() {
        for entry in fs::read_dir(root).unwrap() {
            all.extend(all_below(&entry.unwrap().path()));
        }
    }
    all
}

/// A valid SKILL.md of exactly so many bytes.
fn text_of_size(name: &str, size: usize) -> String {
    let start = skill_text(name, "Large", "");
    let text = format!("{start}{}\n", "x".repeat(size - start.len() - 1));
    assert_eq!(text.len(), size);
    text
}

#[test]
fn junk_in_the_bundle_is_never_copied_and_never_a_problem() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "a");
    for junk in JUNK {
        board.bundle_file(&format!("foo/{junk}"), "junk");
    }
    let report = board.sync().expect(0).json();
    assert_eq!(report["skipped_entries"], json!([]));
    assert_eq!(report["files"]["copied"], 1);
    for junk in JUNK {
        assert!(!board.exists(&format!("foo/{junk}")), "{junk}");
    }
    let files = board.record("foo")["files"].as_object().unwrap().clone();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["references/a.md"]);
    board.assert_at_rest();
}

#[test]
fn junk_in_the_library_is_no_edit_and_is_left_alone() {
    let board = Board::synced(&["foo"]);
    for junk in JUNK {
        board.user_file(&format!("foo/{junk}"), "junk");
    }
    assert_outcome(&board.assert_at_rest(), "foo", "unchanged");
    board.skill("foo", &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "updated");
    for junk in JUNK {
        assert_eq!(board.read(&format!("foo/{junk}")), "junk");
    }
}

#[test]
fn plain_files_in_the_root_of_the_bundle_are_ignored() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("README.md", "about");
    board.bundle_file("SKILL.md", "no skill's");
    let report = board.sync().expect(0).json();
    assert_eq!(names(&report, "copied"), ["foo"]);
    assert!(!board.exists("README.md"));
    assert!(!board.exists("SKILL.md"));
}

#[test]
fn bytes_are_copied_and_hashed_as_they_are() {
    let board = Board::new();
    let crlf = version("crlf", 1).replace('\n', "\r\n");
    let bom = format!("\u{feff}{}", version("bom", 1));
    let fences = "---  \nname: fences\ndescription: d\n--- \nBody.".to_owned();
    for (name, text) in [("bom", &bom), ("crlf", &crlf), ("fences", &fences)] {
        board.skill(name, text);
    }
    let report = board.sync().expect(0).json();
    assert_eq!(names(&report, "copied"), ["bom", "crlf", "fences"]);
    for (name, text) in [("bom", &bom), ("crlf", &crlf), ("fences", &fences)] {
        assert_eq!(board.text(name), *text);
        assert_eq!(board.base(name), *text);
        assert_eq!(board.record(name)["origin_hash"], hash(text));
    }
    board.assert_at_rest();
}

#[test]
fn another_line_end_is_an_edit() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &version("foo", 1).replace('\n', "\r\n"));
    assert_outcome(&board.sync().expect(0).json(), "foo", "kept_user");
}

#[test]
fn a_skill_md_may_have_64_kib_and_not_a_byte_more() {
    let board = Board::new();
    board.skill("exact", &text_of_size("exact", 64 * 1024));
    board.skill("half", &text_of_size("half", 32 * 1024 + 1));
    board.skill("over", &text_of_size("over", 64 * 1024 + 1));
    let report = board.sync().expect(3).json();
    assert_eq!(names(&report, "copied"), ["exact", "half"]);
    assert!(
        failure(&report, "over").contains("65537 bytes > 65536 bytes"),
        "{report:#}"
    );
    assert!(!board.exists("over"));
}

#[test]
fn a_huge_skill_md_is_not_read_whole() {
    let board = Board::new();
    board.skill("good", &version("good", 1));
    for directory in [board.bundle().join("huge"), board.user_path("mine")] {
        fs::create_dir_all(&directory).unwrap();
        let huge = fs::File::create(directory.join("SKILL.md")).unwrap();
        huge.set_len(1 << 40).unwrap();
    }
    let report = board.sync().expect(3).json();
    assert_outcome(&report, "good", "copied");
    assert_outcome(&report, "huge", "failed");
}

#[test]
fn a_users_skill_md_that_is_too_large_stays_as_it_is_and_costs_no_other_skill() {
    let board = Board::synced(&["bar", "foo"]);
    let large = text_of_size("foo", 100_000);
    board.user_skill("foo", &large);
    for n in [1, 2] {
        for name in ["bar", "foo"] {
            board.skill(name, &version(name, n));
        }
        let report = board.sync().json();
        assert_outcome(&report, "bar", if n == 1 { "unchanged" } else { "updated" });
        assert_eq!(board.text("foo"), large);
        assert_eq!(board.record("foo")["origin_hash"], hash(version("foo", 1)));
    }
}

#[test]
fn what_the_program_did_not_place_is_never_touched() {
    let board = Board::new();
    board.user_file("foo.bak/SKILL.md", version("foo", 9));
    board.user_file("foo.bak/references/a.md", "mine");
    board.user_file("notes/todo.txt", "no skill");
    board.user_file("group/inner/SKILL.md", edited("inner"));
    board.user_file("own/SKILL.md", edited("own"));
    board.user_file("torn/SKILL.md", "");
    board.user_file("stray.txt", "a file");
    let before = board.snapshot().below("agent/skills");
    for n in [1, 2] {
        board.skill("bar", &version("bar", n));
        board.sync().expect(0);
    }
    let after = board.snapshot();
    for path in ["foo.bak", "notes", "group", "own", "torn", "stray.txt"] {
        let path = format!("agent/skills/{path}");
        before.below(&path).assert_same(&after.below(&path));
    }
}

#[test]
fn a_group_of_nested_skills_is_not_overwritten_by_a_bundled_skill_of_its_name() {
    let board = Board::new();
    board.user_file("group/inner/SKILL.md", edited("inner"));
    board.skill("group", &version("group", 1));
    let before = board.snapshot().below("agent/skills/group");
    assert_outcome(&board.sync().expect(3).json(), "group", "failed");
    before.assert_same(&board.snapshot().below("agent/skills/group"));
}

#[test]
fn a_near_miss_of_skill_md_is_no_skill_and_is_named() {
    for near in ["skill.md", "SKILL.MD", "Skill.md"] {
        let board = Board::new();
        board.skill("good", &version("good", 1));
        board.bundle_file(&format!("foo/{near}"), version("foo", 1));
        let run = board.sync();
        assert_eq!(names(&run.json(), "copied"), ["good"]);
        assert!(!board.exists("foo"));
        let told = format!("{}{}", run.stdout, run.stderr);
        assert!(told.contains(near), "{near} is not named in {run:#?}");
    }
}

#[test]
fn names_that_are_not_utf8_cost_only_themselves() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "a");
    let bad = OsStr::from_bytes(b"b\xff\xfe.md");
    common::write(&board.bundle().join("foo/references").join(bad), "bad");
    common::write(
        &board
            .bundle()
            .join(OsStr::from_bytes(b"bar\xff"))
            .join("SKILL.md"),
        version("bar", 1),
    );
    let report = board.sync().expect(3).json();
    assert_eq!(names(&report, "copied"), ["foo"]);
    assert_eq!(board.read("foo/references/a.md"), "a");
    assert!(!board.user_path("foo/references").join(bad).exists());
    let skipped = report["skipped_entries"].as_array().unwrap();
    assert!(
        skipped.iter().any(|entry| entry["path"]
            .as_str()
            .unwrap()
            .starts_with("foo/references/b")),
        "{report:#}"
    );
}

#[test]
fn names_that_are_not_utf8_in_the_library_are_left_alone() {
    let board = Board::synced(&["foo"]);
    common::write(
        &board
            .user_path("foo/references")
            .join(OsStr::from_bytes(b"\xff.md")),
        "mine",
    );
    common::write(
        &board
            .library()
            .join(OsStr::from_bytes(b"mine\xff"))
            .join("SKILL.md"),
        edited("mine"),
    );
    let before = board.snapshot();
    assert_outcome(&board.sync().json(), "foo", "unchanged");
    before.assert_same(&board.snapshot());
}

#[test]
fn the_number_of_flushes_does_not_grow_with_the_number_of_skills() {
    let flushes = |skills: u32| {
        let board = Board::new();
        for n in 0..skills {
            board.skill(&format!("skill-{n}"), &version(&format!("skill-{n}"), 1));
            board.bundle_file(&format!("skill-{n}/references/a.md"), "a");
        }
        let seeded = board.sync().expect(0).json()["flushes"].as_u64().unwrap();
        for n in 0..skills {
            board.skill(&format!("skill-{n}"), &version(&format!("skill-{n}"), 2));
        }
        let updated = board.sync().expect(0).json()["flushes"].as_u64().unwrap();
        (seeded, updated)
    };
    let (seeded, updated) = flushes(2);
    assert!(
        (1..=6).contains(&seeded) && (1..=4).contains(&updated),
        "{seeded}, {updated}"
    );
    assert_eq!(flushes(40), (seeded, updated));
}

#[test]
fn a_sync_leaves_no_temporary_files() {
    let board = Board::synced(&["bar", "foo"]);
    board.skill("foo", &version("foo", 2));
    board.sync().expect(0);
    let left: Vec<_> = all_below(&board.state().join("tmp"))
        .into_iter()
        .filter(|path| path.is_file())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_entry_that_is_skipped_is_reported_by_its_path_in_the_bundle() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    fs::create_dir(board.bundle().join("foo/references")).unwrap();
    std::os::unix::fs::symlink(
        "/etc/hostname",
        board.bundle().join("foo/references/link.md"),
    )
    .unwrap();
    let report = board.sync().expect(3).json();
    let entry: &Value = &report["skipped_entries"][0];
    assert_eq!(entry["path"], "foo/references/link.md");
    assert!(!entry["error"].as_str().unwrap().is_empty());
}
