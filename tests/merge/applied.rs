//! Merges that go well without a model.

use serde_json::json;

use super::common::{Board, assert_outcome, hash, names, version};
use super::*;

#[test]
fn both_sides_changes_are_in_the_library_and_the_ledger_says_so() {
    let board = diverged(&["foo"], local);
    let report = merge(&board, &[]).expect(0).json();
    let merged = json!([{
        "name": "foo", "mode": "three_way", "engine": "structural", "merge_key": key("foo", &local("foo")),
        "summary": "the changes of both sides were put together"
    }]);
    assert_eq!(report["merged"], merged);
    assert_eq!(report["merge_failed"], json!([]));
    assert_eq!(board.text("foo"), both("foo"));
    assert_eq!(board.base("foo"), upstream("foo"));
    let expected = json!({
        "origin_hash": hash(upstream("foo")),
        "effective_hash": hash(both("foo")),
        "status": "merged",
        "base_path": "skill-state/bases/foo/SKILL.md",
        "files": {},
        "last_merged_key": key("foo", &local("foo")),
        "last_merge_engine": "structural",
    });
    assert_eq!(record(&board, "foo"), expected);
    assert!(board.record("foo")["last_merged_at"].is_string());
    assert_outcome(&board.assert_at_rest(), "foo", "unchanged");
}

#[test]
fn people_are_told_in_the_seeds_words() {
    let board = diverged(&["bar", "foo"], local);
    board.user_skill("foo", &clashing("foo"));
    let run = board.run(&["merge"]).expect(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "bar background merge completed, built-in updates applied."
    );
    assert!(
        lines[1].starts_with("foo merge failed, continuing with user old version."),
        "{run:?}"
    );
    assert_eq!(lines.len(), 2, "{run:?}");
    assert_eq!(run.stderr, "");
    let quiet = board.run(&["-q", "merge", "--retry-failed"]).expect(0);
    assert!(quiet.stderr.contains("foo merge failed"), "{quiet:?}");
}

#[test]
fn a_merged_skill_follows_the_next_firmware_by_another_merge() {
    let board = diverged(&["foo"], local);
    merge(&board, &[]).expect(0);
    let next = upstream("foo").replace("Second, think.", "Second, think hard.");
    board.skill("foo", &next);
    merge(&board, &[]).expect(0);
    let expected = both("foo").replace("Second, think.", "Second, think hard.");
    assert_eq!(board.text("foo"), expected);
    board.assert_record("foo", "merged", &next, &expected);
}

#[test]
fn a_user_who_had_the_firmwares_change_already_is_as_synced_after_it() {
    let board = diverged(&["foo"], |name| {
        upstream(name).replace("First, look twice.", "First, look twice. ")
    });
    merge(&board, &[]).expect(0);
    board.assert_record("foo", "merged", &upstream("foo"), &board.text("foo"));
    assert_outcome(&board.assert_at_rest(), "foo", "unchanged");
}

#[test]
fn a_name_that_both_have_without_a_common_base_is_merged_if_the_users_text_has_all_of_the_firmwares()
 {
    let board = Board::new();
    let mine = text("foo", &[("Third, act.", "Third, act.\n\nFourth, rest.")]);
    board.user_skill("foo", &mine);
    board.user_file("foo/references/own.md", "own");
    board.user_file("foo/references/both.md", "mine");
    board.skill("foo", &base("foo"));
    board.bundle_file("foo/references/both.md", "theirs");
    board.bundle_file("foo/references/new.md", "new");
    let report = merge(&board, &[]).expect(0).json();
    assert_eq!(report["merged"][0]["mode"], "two_way_no_base");
    assert_eq!(board.text("foo"), mine);
    board.assert_record("foo", "merged", &base("foo"), &mine);
    let files = [
        ("references/own.md", "own"),
        ("references/both.md", "mine"),
        ("references/new.md", "new"),
    ];
    for (path, content) in files {
        assert_eq!(board.read(&format!("foo/{path}")), content);
    }
    let recorded = board.record("foo")["files"].clone();
    let recorded: Vec<&String> = recorded.as_object().unwrap().keys().collect();
    assert_eq!(recorded, ["references/new.md"]);
    let rest = board.assert_at_rest();
    assert_eq!(
        rest["files"]["kept_user"],
        json!(["foo/references/both.md"])
    );
}

#[test]
fn only_the_skills_that_are_named_are_merged() {
    let board = diverged(&["bar", "foo"], local);
    board.skill("quiet", &version("quiet", 1));
    let report = merge(&board, &["foo", "quiet"]).expect(0).json();
    assert_eq!(names(&report, "merged"), ["foo"]);
    assert_eq!(names(&report, "merge_needed"), ["bar"]);
    assert_eq!(names(&report, "copied"), ["quiet"]);
    assert_eq!(board.text("bar"), local("bar"));
}

#[test]
fn a_name_that_there_is_not_is_told() {
    let board = diverged(&["foo"], local);
    let before = board.snapshot();
    let run = board.run(&["--json", "merge", "nothing"]).expect(1);
    let error = "there is no skill nothing; 'status' lists all skills";
    assert_eq!(run.json()["error"], error);
    assert!(run.stderr.contains(error), "{run:?}");
    before.assert_same(&board.snapshot());
    let run = merge(&board, &["nothing", "foo"]).expect(3);
    assert_eq!(names(&run.json(), "merged"), ["foo"]);
}

#[test]
fn with_the_engine_off_nothing_is_merged() {
    let board = diverged(&["foo"], local);
    let before = board.snapshot();
    let report = merge(&board, &["--engine", "off"]).expect(0).json();
    assert_eq!(names(&report, "merge_needed"), ["foo"]);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_merge_writes_nothing_beside_the_skill_and_keeps_owner_and_mode() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let board = diverged(&["foo"], local);
    let path = board.user_path("foo/SKILL.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o664)).unwrap();
    std::os::unix::fs::chown(&path, Some(1234), Some(1234)).unwrap();
    merge(&board, &[]).expect(0);
    let metadata = std::fs::metadata(&path).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o664);
    assert_eq!((metadata.uid(), metadata.gid()), (1234, 1234));
    let staged: Vec<_> = std::fs::read_dir(board.state().join("tmp"))
        .unwrap()
        .collect();
    assert!(staged.is_empty(), "{staged:?}");
}

#[test]
fn files_of_the_firmware_come_with_the_merge_of_the_text() {
    let board = diverged(&["foo"], local);
    board.bundle_file("foo/scripts/run.sh", "echo 1\n");
    let report = merge(&board, &[]).expect(0).json();
    assert_eq!(names(&report, "merged"), ["foo"]);
    assert_eq!(board.read("foo/scripts/run.sh"), "echo 1\n");
}

#[test]
fn crlf_of_the_user_stays() {
    let board = diverged(&["foo"], |name| local(name).replace('\n', "\r\n"));
    merge(&board, &[]).expect(0);
    assert_eq!(board.text("foo"), both("foo").replace('\n', "\r\n"));
}

#[test]
fn what_was_learned_stays_as_it_is() {
    let section = "\n<!-- skill-evolution:begin -->\n## Learned guidance\n\n- Wait.\n<!-- skill-evolution:end -->\n";
    let board = diverged(&["foo"], |name| {
        format!(
            "{}{}",
            base(name),
            "\n<!-- skill-evolution:begin -->\n## Learned guidance\n\n- Wait.\n<!-- skill-evolution:end -->\n"
        )
    });
    merge(&board, &[]).expect(0);
    assert_eq!(board.text("foo"), format!("{}{section}", upstream("foo")));
}
