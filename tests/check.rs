//! `lint` and `doctor` (contract §3): each names what is wrong and what repairs it.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use common::{Board, Run, edited, hash, skill_text, version};
use serde_json::{Value, json};

fn lint(board: &Board, flags: &[&str]) -> Run {
    let bundle = board.bundle();
    board.run(&[&["lint", bundle.to_str().unwrap()], flags].concat())
}

#[test]
fn lint_passes_a_good_bundle() {
    let board = Board::new();
    board.skill("bar", &version("bar", 1));
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "a");
    let before = board.snapshot();
    lint(&board, &[]).expect(0);
    before.assert_same(&board.snapshot());
}

#[test]
fn lint_passes_the_bundle_that_ships() {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("oem-skills");
    let board = Board::new();
    board.run(&["lint", bundle.to_str().unwrap()]).expect(0);
}

#[test]
fn lint_names_each_refusal_with_its_file_and_reason() {
    let refusals = [
        ("blank", String::new(), ""),
        (
            "bodyless",
            "---\nname: bodyless\ndescription: d\n---\n".to_owned(),
            "body",
        ),
        (
            "broken-yaml",
            "---\nname: [\ndescription: d\n---\n\nB\n".to_owned(),
            "",
        ),
        ("mismatch", skill_text("other", "d", "Body."), "other"),
        (
            "no-description",
            "---\nname: no-description\n---\n\nB\n".to_owned(),
            "description",
        ),
        ("no-frontmatter", "Body.\n".to_owned(), "frontmatter"),
        (
            "no-name",
            "---\ndescription: d\n---\n\nB\n".to_owned(),
            "name",
        ),
        (
            "number",
            "---\nname: 123\ndescription: d\n---\n\nB\n".to_owned(),
            "name",
        ),
        (
            "toaster",
            "---\nname: toaster\ndescription: d\nmetadata:\n  device_types: [toaster]\n---\n\nB\n"
                .to_owned(),
            "iOS",
        ),
        (
            "too-large",
            skill_text("too-large", "d", &"x".repeat(65536)),
            "is too large",
        ),
        (
            "truth",
            "---\nname: truth\ndescription: true\n---\n\nB\n".to_owned(),
            "description",
        ),
        (
            "under_score",
            skill_text("under_score", "d", "Body."),
            "name",
        ),
    ];
    for (name, text, reason) in refusals {
        let board = Board::new();
        board.skill("good", &version("good", 1));
        board.skill(name, &text);
        let run = lint(&board, &[]).expect(3);
        let line = run
            .stdout
            .lines()
            .find(|line| line.contains(&format!("/{name}/")));
        let line = line.unwrap_or_else(|| panic!("{name} is not named in {run:#?}"));
        assert!(line.contains(reason), "{reason:?} is not in {line:?}");
        assert!(!run.stdout.contains("/good/"), "{run:#?}");
    }
}

#[test]
fn lint_refuses_bytes_that_are_not_utf8() {
    let board = Board::new();
    board.bundle_file(
        "foo/SKILL.md",
        b"---\nname: foo\ndescription: \xff\n---\n\nB\n",
    );
    let run = lint(&board, &[]).expect(3);
    assert!(run.stdout.contains("is not valid UTF-8 text"), "{run:#?}");
}

#[test]
fn lint_refuses_links_and_near_misses() {
    let board = Board::new();
    board.skill("good", &version("good", 1));
    fs::create_dir(board.bundle().join("good/references")).unwrap();
    symlink(
        "/etc/hostname",
        board.bundle().join("good/references/link.md"),
    )
    .unwrap();
    let run = lint(&board, &[]).expect(3);
    assert!(run.stdout.contains("references/link.md"), "{run:#?}");

    let board = Board::new();
    board.skill("good", &version("good", 1));
    board.bundle_file("near/skill.md", version("near", 1));
    let run = lint(&board, &[]).expect(3);
    assert!(run.stdout.contains("skill.md"), "{run:#?}");
}

#[test]
fn lint_warns_over_32_kib_and_ends_with_0() {
    let board = Board::new();
    board.skill("half", &skill_text("half", "d", &"x".repeat(32 * 1024)));
    let run = lint(&board, &[]).expect(0);
    assert!(
        run.stdout.contains("/half/") && run.stdout.contains("merge"),
        "{run:#?}"
    );
}

#[test]
fn lint_checks_allowed_tools_against_the_tools_file() {
    let board = Board::new();
    let text = |tools: &str| format!("---\nname: foo\ndescription: d\n{tools}---\n\nB\n");
    let spellings = [
        "metadata:\n  allowed_tools: [tap, fly]\n",
        "allowed_tools: [tap, fly]\n",
        "allowed-tools: tap fly\n",
    ];
    let names = board.root().join("names.json");
    common::write(&names, "[\"tap\"]");
    let listed = board.root().join("listed.json");
    common::write(
        &listed,
        "{\"tools\": [{\"name\": \"tap\", \"category\": \"x\"}]}",
    );
    for tools in spellings {
        board.skill("foo", &text(tools));
        lint(&board, &[]).expect(0);
        for file in [&names, &listed] {
            let run = lint(&board, &["--tools-file", file.to_str().unwrap()]).expect(3);
            assert!(
                run.stdout.contains("fly") && !run.stdout.contains("\"tap\""),
                "{run:#?}"
            );
        }
    }
    board.skill(
        "foo",
        &text("metadata:\n  allowed_tools: [tap, delegate_helper]\n"),
    );
    lint(&board, &["--tools-file", names.to_str().unwrap()]).expect(0);
}

#[test]
fn lint_cannot_check_against_a_tools_file_that_is_not_there() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    let run = lint(&board, &["--tools-file", "/nowhere/tools.json"]).expect(1);
    assert!(run.stderr.contains("/nowhere/tools.json"), "{run:#?}");
}

#[test]
fn lint_of_nothing_ends_with_1() {
    let board = Board::new();
    lint(&board, &[]).expect(1);
    board.run(&["lint", "/nowhere/at/all"]).expect(1);
}

/// What doctor finds, as `subject: problem` with a repair.
fn findings(board: &Board) -> Vec<String> {
    let run = board.run(&["--json", "doctor"]);
    let document: Value = run.json();
    let findings = document["findings"].as_array().unwrap();
    assert_eq!(
        run.code,
        if findings.is_empty() { 0 } else { 3 },
        "{run:#?}"
    );
    let text = |finding: &Value| {
        assert!(
            !finding["repair"].as_str().unwrap().is_empty(),
            "{finding:#}"
        );
        format!(
            "{}: {}",
            finding["subject"].as_str().unwrap(),
            finding["problem"].as_str().unwrap()
        )
    };
    findings.iter().map(text).collect()
}

#[test]
fn doctor_finds_nothing_on_a_board_that_is_well() {
    let board = Board::synced(&["bar", "foo"]);
    board.user_skill("foo", &edited("foo"));
    board.user_removes("bar");
    board.user_skill("own", &edited("own"));
    board.sync().expect(0);
    assert_eq!(findings(&board), [] as [&str; 0]);
}

#[test]
fn doctor_finds_what_is_wrong() {
    type Ailment = (&'static str, fn(&Board), &'static [&'static str]);
    let ailments: [Ailment; 17] = [
        (
            "a torn ledger",
            |board| common::write(&board.ledger_path(), "torn"),
            &["bundled_manifest"],
        ),
        (
            "a missing ledger",
            |board| common::remove(&board.ledger_path()),
            &["bundled_manifest"],
        ),
        (
            "a missing base",
            |board| common::remove(&board.base_path("foo")),
            &["foo", "base"],
        ),
        (
            "a wrong base",
            |board| common::write(&board.base_path("foo"), version("foo", 7)),
            &["foo", "base"],
        ),
        (
            "torn usage",
            |board| common::write(&board.state().join("usage.json"), "torn"),
            &["usage.json"],
        ),
        (
            "leftovers",
            |board| common::write(&board.staged_path("skills/x/SKILL.md"), "x"),
            &["tmp"],
        ),
        (
            "an interrupted write",
            |board| {
                board.change_record("foo", |record| {
                    record["pending"] = json!({"paths": {"SKILL.md": {"hash": hash("x")}}})
                });
            },
            &["foo", "interrupted"],
        ),
        (
            "another owner",
            |board| chown(board.ledger_path(), Some(1234), Some(1234)).unwrap(),
            &["bundled_manifest", "1234"],
        ),
        (
            "a ledger for everybody",
            |board| {
                fs::set_permissions(board.ledger_path(), Permissions::from_mode(0o666)).unwrap();
            },
            &["bundled_manifest"],
        ),
        (
            "a skill that does not load",
            |board| board.user_skill("own", "torn"),
            &["own"],
        ),
        (
            "a skill of the wrong name",
            |board| board.user_skill("own", &edited("other")),
            &["own", "other"],
        ),
        (
            "a near miss",
            |board| board.user_file("own/skill.md", edited("own")),
            &["own", "skill.md"],
        ),
        (
            "a link",
            |board| symlink("foo", board.user_path("linked")).unwrap(),
            &["linked"],
        ),
        (
            "a duplicate",
            |board| board.user_file("group/again/SKILL.md", edited("foo")),
            &["foo", "group/again"],
        ),
        (
            "a lost library",
            |board| common::remove(&board.library()),
            &["skills"],
        ),
        ("a missing bundle", |board| board.unship(""), &["bundle"]),
        (
            "the existing agent's sync",
            |board| {
                let base = board.base_path("foo");
                board.change_record("foo", |record| {
                    record["base_path"] = json!(base);
                    record.as_object_mut().unwrap().remove("files");
                });
            },
            &["foo", "another program"],
        ),
    ];
    for (what, harm, words) in ailments {
        let board = Board::synced(&["foo"]);
        harm(&board);
        let before = board.snapshot();
        let found = findings(&board);
        let named = found
            .iter()
            .any(|finding| words.iter().all(|word| finding.contains(word)));
        assert!(named, "{what}: {words:?} is not in {found:#?}");
        before.assert_same(&board.snapshot());
    }
}

#[test]
fn doctor_finds_unknown_tools() {
    let board = Board::new();
    board.skill(
        "foo",
        "---\nname: foo\ndescription: d\nmetadata:\n  allowed_tools: [fly]\n---\n\nB\n",
    );
    board.sync().expect(0);
    let tools = board.root().join("tools.json");
    common::write(&tools, "[\"tap\"]");
    let run = board
        .run(&["doctor", "--tools-file", tools.to_str().unwrap()])
        .expect(3);
    assert!(run.stdout.contains("fly"), "{run:#?}");
}

#[test]
fn doctor_finds_misleading_and_unstable_skills() {
    let board = Board::synced(&["foo", "good", "wild"]);
    let usage = json!({
        "foo": {"view_count": 500, "use_count": 0},
        "good": {"view_count": 20, "use_count": 18, "modify_count": 1},
        "wild": {"view_count": 60, "use_count": 50, "modify_count": 500}
    });
    common::write(&board.state().join("usage.json"), usage.to_string());
    let found = findings(&board);
    assert!(
        found.iter().any(|finding| finding.contains("foo")),
        "{found:#?}"
    );
    assert!(
        found.iter().any(|finding| finding.contains("wild")),
        "{found:#?}"
    );
    assert!(
        !found.iter().any(|finding| finding.contains("good")),
        "{found:#?}"
    );
}

#[test]
fn what_doctor_says_a_sync_repairs_is_repaired_by_a_sync() {
    let board = Board::synced(&["foo"]);
    common::write(&board.staged_path("skills/x/SKILL.md"), "x");
    common::remove(&board.base_path("foo"));
    assert!(!findings(&board).is_empty());
    board.sync().expect(0);
    assert_eq!(findings(&board), [] as [&str; 0]);
}
