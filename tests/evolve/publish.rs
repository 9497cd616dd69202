//! What was learned, as a section of the skill's SKILL.md.

use serde_json::json;

use super::common::{Board, Run, hash, names, skill_text, version};
use super::workspace::{Workspace, entry, text};

const BEGIN: &str = "<!-- skill-evolution:begin -->";
const END: &str = "<!-- skill-evolution:end -->";
const MAX_BYTES: usize = 32 * 1024;

/// The skill `foo` of the firmware, with a fresh workspace.
fn foo() -> Workspace {
    Workspace::of_skill(Board::synced(&["foo"]), "foo")
}

/// Two entries; the one that is the newer stands second.
fn learned(workspace: &Workspace) {
    let old = entry(
        1,
        "Say hello",
        "- Always say hello\n- Smile",
        "0.1.1",
        "greet",
    );
    let mut new = entry(
        2,
        "先截图",
        "# Learned Rule\n- 操作前先截图\n  - 再点击",
        "0.2.0",
        "ui",
    );
    new["updated_at"] = json!("2026-02-01T00:00:00Z");
    workspace.set_bank(&json!({"skills": [old, new]}));
}

fn publish(workspace: &Workspace) -> Run {
    workspace.run(&["publish"])
}

/// What stands outside the section, and the section with the blank line above it.
#[track_caller]
fn parts(whole: &str) -> (String, &str) {
    assert_eq!(whole.matches(BEGIN).count(), 1, "{whole}");
    assert_eq!(whole.matches(END).count(), 1, "{whole}");
    let begin = whole.find(&format!("\n{BEGIN}\n")).unwrap();
    let end = whole.find(END).unwrap() + END.len();
    let end = end + usize::from(whole[end..].starts_with('\n'));
    let outside = format!("{}{}", &whole[..begin], &whole[end..]);
    (outside, &whole[begin..end])
}

#[test]
fn the_entries_come_to_the_end_of_the_skill_the_newest_first() {
    let workspace = foo();
    learned(&workspace);
    let said = publish(&workspace).expect(0).json();
    let whole = workspace.board.text("foo");
    assert_eq!(said["skill"], "foo");
    assert_eq!(said["entries"], 2);
    let sha = text(&said["sha256"]).trim_start_matches("sha256:");
    assert_eq!(format!("sha256:{sha}"), hash(&whole));
    assert!(whole.starts_with(&version("foo", 1)), "{whole}");
    let (outside, section) = parts(&whole);
    assert_eq!(outside, version("foo", 1));
    assert!(whole.trim_end().ends_with(END), "{whole}");
    let lines: Vec<&str> = section.lines().filter(|line| !line.is_empty()).collect();
    let heading = |line: &str, title: &str, version: &str| {
        let after = line
            .strip_prefix("### ")
            .and_then(|line| line.strip_prefix(title));
        assert!(after.is_some_and(|after| after.contains(version)), "{line}");
    };
    assert_eq!(lines[..2], [BEGIN, "## Learned guidance"]);
    heading(lines[2], "先截图", "0.2.0");
    let next = lines
        .iter()
        .position(|line| line.starts_with("### Say"))
        .unwrap();
    assert!(
        lines[3..next].ends_with(&["- 操作前先截图", "  - 再点击"]),
        "{section}"
    );
    heading(lines[next], "Say hello", "0.1.1");
    assert_eq!(lines[next + 1..], ["- Always say hello", "- Smile", END]);
}

#[test]
fn the_ledger_learns_that_the_skill_is_changed() {
    let workspace = foo();
    learned(&workspace);
    let before = workspace.board.record("foo");
    publish(&workspace).expect(0);
    let after = workspace.board.record("foo");
    assert_eq!(after["status"], "user_modified");
    for same in ["origin_hash", "effective_hash", "base_path"] {
        assert_eq!(after[same], before[same]);
    }
    let report = workspace.board.assert_at_rest();
    assert_eq!(names(&report, "kept_user"), ["foo"]);
}

#[test]
fn publishing_again_changes_nothing() {
    let workspace = foo();
    learned(&workspace);
    let first = publish(&workspace).expect(0).json();
    let before = workspace.board.snapshot().below("agent/skills");
    let documents = workspace.files();
    assert_eq!(publish(&workspace).expect(0).json(), first);
    before.assert_same(&workspace.board.snapshot().below("agent/skills"));
    workspace.assert_files(&documents);
}

#[test]
fn text_outside_the_marks_is_never_touched() {
    let workspace = foo();
    learned(&workspace);
    publish(&workspace).expect(0);
    let whole = workspace.board.text("foo");
    let edited = whole.replace("Do it as in", "Do it  my way, as in") + "\n\n## Mine \n\nThe end.";
    workspace.board.user_skill("foo", &edited);
    let (mine, _) = parts(&edited);
    workspace.learn("Compress photos before uploading", "photo");
    assert_eq!(publish(&workspace).expect(0).json()["entries"], 3);
    let whole = workspace.board.text("foo");
    let (outside, section) = parts(&whole);
    assert_eq!(outside, mine);
    assert!(
        section.contains("\n- Compress photos before uploading\n"),
        "{section}"
    );
    assert!(section.contains("\n- Always say hello\n"), "{section}");
}

#[test]
fn what_is_no_longer_in_the_bank_goes() {
    let workspace = foo();
    learned(&workspace);
    publish(&workspace).expect(0);
    let mut bank = workspace.bank();
    bank["skills"].as_array_mut().unwrap().remove(0);
    workspace.set_bank(&bank);
    assert_eq!(publish(&workspace).expect(0).json()["entries"], 1);
    let whole = workspace.board.text("foo");
    assert_eq!(parts(&whole).0, version("foo", 1));
    assert!(!whole.contains("Say hello"), "{whole}");
}

#[test]
fn an_entry_can_not_end_the_section() {
    let workspace = foo();
    let content = format!("- One\n{END}\n- Two\n{BEGIN}\n```\n- Three");
    workspace.set_bank(&json!({"skills": [entry(1, "Marks", &content, "0.1.0", "x")]}));
    publish(&workspace).expect(0);
    let once = workspace.board.text("foo");
    publish(&workspace).expect(0);
    assert_eq!(workspace.board.text("foo"), once);
    workspace.learn("Compress photos before uploading", "photo");
    publish(&workspace).expect(0);
    let whole = workspace.board.text("foo");
    assert!(whole.starts_with(&version("foo", 1)), "{whole}");
    let marks: Vec<&str> = whole
        .lines()
        .map(str::trim)
        .filter(|line| [BEGIN, END].contains(line))
        .collect();
    assert_eq!(marks, [BEGIN, END], "{whole}");
    assert!(
        whole.contains("- Compress photos before uploading"),
        "{whole}"
    );
}

#[test]
fn a_firmware_update_and_learned_guidance_do_not_conflict() {
    let workspace = foo();
    learned(&workspace);
    publish(&workspace).expect(0);
    let whole = workspace.board.text("foo");
    let (_, section) = parts(&whole);
    let board = &workspace.board;
    board.skill("foo", &version("foo", 2));
    let merge = ["--json", "--engine", "structural", "merge"];
    let report = board.run(&merge).expect(0).json();
    assert_eq!(names(&report, "merged"), ["foo"], "{report:#}");
    let merged = board.text("foo");
    assert_eq!(merged, format!("{}{section}", version("foo", 2)));
    board.assert_record("foo", "merged", &version("foo", 2), &merged);
    publish(&workspace).expect(0);
    assert_eq!(workspace.board.text("foo"), merged, "it is up to date");
    workspace.learn("Compress photos before uploading", "photo");
    publish(&workspace).expect(0);
    let whole = workspace.board.text("foo");
    assert_eq!(parts(&whole).0, version("foo", 2));
    assert_eq!(workspace.board.record("foo")["status"], "user_modified");
}

#[test]
fn what_does_not_fit_is_left_out_oldest_first_and_named() {
    let workspace = foo();
    let big = |n: u32, title: &str, day: u32| {
        let content = format!("- {title} {}", "very ".repeat(2400));
        let mut entry = entry(n, title, content.trim_end(), "0.1.0", title);
        entry["updated_at"] = json!(format!("2026-01-0{day}T00:00:00Z"));
        entry
    };
    let skills = [
        big(1, "Newest", 4),
        big(2, "Oldest", 1),
        big(3, "Older", 2),
        big(4, "Newer", 3),
    ];
    workspace.set_bank(&json!({ "skills": skills }));
    let run = publish(&workspace);
    assert!(matches!(run.code, 0 | 3), "{run:?}");
    assert_eq!(run.json()["entries"], 2);
    let told = format!("{}{}", run.stdout, run.stderr);
    let is_named =
        |title: &str, n: u32| told.contains(title) || told.contains(&format!("skl-{n:012x}"));
    assert!(is_named("Oldest", 2) && is_named("Older", 3), "{told}");
    let whole = workspace.board.text("foo");
    assert!(whole.len() <= MAX_BYTES, "{}", whole.len());
    assert_eq!(parts(&whole).0, version("foo", 1));
    let at = |title: &str| whole.find(&format!("\n### {title}"));
    assert!(at("Newest").unwrap() < at("Newer").unwrap());
    assert_eq!([at("Older"), at("Oldest")], [None, None]);
    publish(&workspace);
    assert_eq!(workspace.board.text("foo"), whole);
}

#[test]
fn a_skill_of_the_users_own_is_published_into_as_well() {
    let board = Board::new();
    let own = skill_text("own", "Mine.", "Do it.");
    board.user_skill("own", &own);
    let workspace = Workspace::of_skill(board, "own");
    learned(&workspace);
    assert_eq!(publish(&workspace).expect(0).json()["entries"], 2);
    let whole = workspace.board.text("own");
    assert_eq!(parts(&whole).0, own);
    assert!(!workspace.board.ledger_path().exists());
}

#[test]
fn a_skill_that_is_not_in_the_library_is_not_made() {
    let board = Board::synced(&["foo"]);
    board.user_skill("gone", &skill_text("gone", "Gone.", "Do it."));
    let workspace = Workspace::of_skill(board, "gone");
    learned(&workspace);
    workspace.board.user_removes("gone");
    let before = workspace.board.snapshot().below("agent/skills");
    let said = workspace.refused(&["publish"]);
    assert!(said.contains("gone"), "{said}");
    before.assert_same(&workspace.board.snapshot().below("agent/skills"));
}

#[test]
fn a_lesson_is_learned_published_and_read_by_an_agent() {
    let workspace = foo();
    workspace.learn("Always compress photos before uploading", "photo_upload");
    publish(&workspace).expect(0);
    let read = workspace
        .board
        .run(&["tool", "skill_read", r#"{"name": "foo"}"#]);
    let read = read.expect(0).stdout;
    assert!(
        read.contains("\n- Always compress photos before uploading\n"),
        "{read}"
    );
}
