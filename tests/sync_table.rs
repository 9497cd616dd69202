//! The decision table of a sync (contract §4), row by row: what is reported, what the ledger says afterwards,
//! which files are on disk, and that another sync does nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use common::{Board, assert_outcome, edited, failure, hash, merge_key, names, skill_text, version};
use serde_json::{Value, json};

/// A board whose `foo` was merged: E is the merged text, O and B are version 1.
fn merged_board() -> (Board, String) {
    let board = Board::synced(&["foo"]);
    let merged = skill_text("foo", "Merged", "Both ways.");
    board.user_skill("foo", &merged);
    board.change_record("foo", |record| {
        record["status"] = json!("merged");
        record["effective_hash"] = json!(hash(&merged));
    });
    (board, merged)
}

#[test]
fn row_1_a_skill_that_is_not_bundled_any_more_stays_as_it_is_and_becomes_stale() {
    let board = Board::synced(&["bar", "foo"]);
    board.unship("bar");
    let library = board.snapshot().below("agent/skills");
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "bar", "stale");
    assert_outcome(&report, "foo", "unchanged");
    library.assert_same(&board.snapshot().below("agent/skills"));
    board.assert_record("bar", "synced", &version("bar", 1), &version("bar", 1));
    assert_eq!(board.record("bar")["stale"], true);
    assert_eq!(board.base("bar"), version("bar", 1));
    assert_outcome(&board.assert_at_rest(), "bar", "stale");
}

#[test]
fn row_1_a_stale_skill_that_is_bundled_again_takes_up_where_it_was() {
    let board = Board::synced(&["bar", "edited", "foo", "gone"]);
    board.user_skill("edited", &edited("edited"));
    board.user_removes("gone");
    board.sync().expect(0);
    for name in ["bar", "edited", "gone"] {
        board.unship(name);
    }
    let report = board.sync().expect(0).json();
    assert_eq!(names(&report, "stale"), ["bar", "edited", "gone"]);
    board.assert_at_rest();

    board.skill("bar", &version("bar", 2));
    board.skill("edited", &version("edited", 1));
    board.skill("gone", &version("gone", 2));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "bar", "updated");
    assert_outcome(&report, "edited", "kept_user");
    assert_outcome(&report, "gone", "deleted_by_user");
    assert_eq!(board.text("edited"), edited("edited"));
    assert!(!board.exists("gone"));
    for name in ["bar", "edited", "gone"] {
        assert_ne!(board.record(name)["stale"], true, "{name}");
    }
    board.assert_at_rest();
}

#[test]
fn row_7_a_stale_skill_that_is_bundled_again_with_the_same_text_is_adopted() {
    let board = Board::synced(&["bar", "foo"]);
    board.unship("bar");
    board.sync().expect(0);
    board.skill("bar", &version("bar", 1));
    assert_outcome(&board.sync().expect(0).json(), "bar", "adopted");
    assert_ne!(board.record("bar")["stale"], true);
    board.assert_record("bar", "synced", &version("bar", 1), &version("bar", 1));
    board.assert_at_rest();
}

#[test]
fn row_2_a_bundled_skill_that_is_invalid_fails_alone() {
    let invalid = [
        ("blank", " \n\0\n".to_owned()),
        (
            "bodyless",
            "---\nname: bodyless\ndescription: d\n---\n".to_owned(),
        ),
        (
            "mismatch",
            skill_text("other", "Its directory has another name", "Body."),
        ),
        ("nameless", "---\ndescription: d\n---\n\nBody.\n".to_owned()),
        (
            "no-description",
            "---\nname: no-description\n---\n\nBody.\n".to_owned(),
        ),
        (
            "number",
            "---\nname: 123\ndescription: d\n---\n\nBody.\n".to_owned(),
        ),
        (
            "open",
            "---\nname: open\ndescription: d\n\nBody.\n".to_owned(),
        ),
        ("plain", "No frontmatter.\n".to_owned()),
        (
            "toaster",
            "---\nname: toaster\ndescription: d\nmetadata:\n  device_types: [toaster]\n---\n\nB.\n"
                .to_owned(),
        ),
        (
            "truth",
            "---\nname: truth\ndescription: true\n---\n\nBody.\n".to_owned(),
        ),
    ];
    let board = Board::new();
    board.skill("good", &version("good", 1));
    for (name, text) in &invalid {
        board.skill(name, text);
    }
    let report = board.sync().expect(3).json();
    assert_eq!(names(&report, "copied"), ["good"]);
    assert_eq!(
        names(&report, "failed"),
        invalid.each_ref().map(|(name, _)| *name)
    );
    for (name, _) in &invalid {
        assert!(!failure(&report, name).is_empty());
        assert!(!board.exists(name), "{name}");
        assert_eq!(board.record(name), Value::Null, "{name}");
    }
}

#[test]
fn row_2_a_name_that_is_no_identifier_fails() {
    let bad = [
        "-lead",
        "Big",
        "dot.ted",
        "double--hyphen",
        "trail-",
        "under_score",
        &"x".repeat(65),
    ]
    .map(str::to_owned);
    let board = Board::new();
    board.skill("good", &version("good", 1));
    for name in &bad {
        board.skill(name, &version(name, 1));
    }
    let report = board.sync().expect(3).json();
    assert_eq!(names(&report, "copied"), ["good"]);
    let mut sorted = bad.to_vec();
    sorted.sort();
    assert_eq!(names(&report, "failed"), sorted);
    for name in &bad {
        assert!(!board.exists(name), "{name}");
    }
}

#[test]
fn row_2_an_invalid_update_leaves_the_old_version_and_its_record() {
    let board = Board::synced(&["foo", "other"]);
    board.skill("foo", "torn");
    let before = board.snapshot();
    let report = board.sync().expect(3).json();
    assert_outcome(&report, "foo", "failed");
    before.assert_same(&board.snapshot());
}

#[test]
fn row_2_a_directory_of_that_name_with_other_things_in_it_fails_and_is_left_alone() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.user_file("foo/notes.txt", "mine");
    let before = board.snapshot().below("agent/skills");
    let report = board.sync().expect(3).json();
    assert_outcome(&report, "foo", "failed");
    before.assert_same(&board.snapshot().below("agent/skills"));
}

#[test]
fn row_2_another_library_path_with_this_name_fails_and_both_are_named() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.user_file("group/mine/SKILL.md", edited("foo"));
    let report = board.sync().expect(3).json();
    assert!(failure(&report, "foo").contains("group/mine"), "{report:#}");
    assert!(!board.exists("foo"));
}

#[test]
fn row_3_a_deleted_skill_stays_deleted_whatever_the_firmware_does() {
    let board = Board::synced(&["foo"]);
    board.user_removes("foo");
    board.sync().expect(0);
    board.skill("foo", &version("foo", 2));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "deleted_by_user");
    assert!(!board.exists("foo"));
    assert_eq!(board.record("foo")["status"], "deleted_by_user");
    assert_outcome(&board.assert_at_rest(), "foo", "deleted_by_user");
}

#[test]
fn row_3_a_blank_file_does_not_lift_a_deletion() {
    let board = Board::synced(&["foo"]);
    board.user_removes("foo");
    board.sync().expect(0);
    board.user_skill("foo", "\0\0 \n");
    assert_outcome(&board.sync().expect(0).json(), "foo", "deleted_by_user");
    assert_eq!(board.text("foo"), "\0\0 \n");
    board.assert_at_rest();
}

#[test]
fn row_4_a_new_skill_is_copied_with_its_base() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    let report = board.sync().expect(0).json();
    assert_eq!(report["ledger"], "new");
    assert_eq!(report["bundle"], "ok");
    assert_eq!(report["dry_run"], false);
    assert_outcome(&report, "foo", "copied");
    assert_eq!(board.text("foo"), version("foo", 1));
    assert_eq!(board.base("foo"), version("foo", 1));
    board.assert_record("foo", "synced", &version("foo", 1), &version("foo", 1));
    let report = board.assert_at_rest();
    assert_eq!(report["ledger"], "ok");
    assert_outcome(&report, "foo", "unchanged");
}

#[test]
fn row_4_an_empty_directory_is_no_obstacle() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    std::fs::create_dir_all(board.user_path("foo")).unwrap();
    assert_outcome(&board.sync().expect(0).json(), "foo", "copied");
    assert_eq!(board.text("foo"), version("foo", 1));
    board.assert_at_rest();
}

#[test]
fn row_5_a_skill_that_the_user_removed_is_deleted_by_user_and_its_files_are_forgotten() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "a");
    board.sync().expect(0);
    board.user_removes("foo");
    board.skill("foo", &version("foo", 2));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "deleted_by_user");
    assert!(!board.exists("foo"));
    let record = board.record("foo");
    assert_eq!(record["status"], "deleted_by_user");
    assert!(
        matches!(record.get("files"), None | Some(Value::Null)) || record["files"] == json!({}),
        "{record:#}"
    );
    board.assert_at_rest();
}

#[test]
fn row_5_removing_only_the_skill_md_is_a_deletion_too_and_leaves_the_rest_alone() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "a");
    board.sync().expect(0);
    board.user_removes("foo/SKILL.md");
    board.bundle_file("foo/references/a.md", "a2");
    board.bundle_file("foo/references/b.md", "b");
    assert_outcome(&board.sync().expect(0).json(), "foo", "deleted_by_user");
    assert_eq!(board.read("foo/references/a.md"), "a");
    assert!(!board.exists("foo/references/b.md"));
    board.assert_at_rest();
}

#[test]
fn row_6_a_blank_file_is_what_a_power_cut_left_and_is_repaired() {
    for blank in ["", " \n\t\r\n", "\0\0\0\0", " \0\n"] {
        let board = Board::synced(&["foo"]);
        board.user_skill("foo", blank);
        board.skill("foo", &version("foo", 2));
        let report = board.sync().expect(0).json();
        assert_outcome(&report, "foo", "repaired");
        assert_eq!(board.text("foo"), version("foo", 2));
        assert_eq!(board.base("foo"), version("foo", 2));
        board.assert_record("foo", "synced", &version("foo", 2), &version("foo", 2));
        board.assert_at_rest();
    }
}

#[test]
fn row_6_a_blank_file_without_a_record_is_repaired() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.user_skill("foo", "");
    assert_outcome(&board.sync().expect(0).json(), "foo", "repaired");
    assert_eq!(board.text("foo"), version("foo", 1));
    board.assert_at_rest();
}

#[test]
fn row_7_an_equal_file_without_a_record_is_adopted_and_not_copied() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.user_skill("foo", &version("foo", 1));
    let before = board.snapshot().below("agent/skills/foo/SKILL.md");
    assert_outcome(&board.sync().expect(0).json(), "foo", "adopted");
    before.assert_same(&board.snapshot().below("agent/skills/foo/SKILL.md"));
    assert_eq!(board.base("foo"), version("foo", 1));
    board.assert_record("foo", "synced", &version("foo", 1), &version("foo", 1));
    board.assert_at_rest();
}

#[test]
fn row_7_an_exact_revert_of_an_edit_is_synced_again() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.sync().expect(0);
    assert_eq!(board.record("foo")["status"], "user_modified");
    board.user_skill("foo", &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "adopted");
    board.assert_record("foo", "synced", &version("foo", 1), &version("foo", 1));
    board.assert_at_rest();
}

#[test]
fn row_7_an_edit_that_equals_the_new_version_is_adopted() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &version("foo", 2));
    board.skill("foo", &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "adopted");
    assert_eq!(board.base("foo"), version("foo", 2));
    board.assert_record("foo", "synced", &version("foo", 2), &version("foo", 2));
    board.assert_at_rest();
}

#[test]
fn row_7_a_merged_skill_set_back_to_the_bundled_text_is_synced() {
    let (board, _) = merged_board();
    board.sync().expect(0);
    board.user_skill("foo", &version("foo", 1));
    assert_outcome(&board.sync().expect(0).json(), "foo", "adopted");
    board.assert_record("foo", "synced", &version("foo", 1), &version("foo", 1));
    board.assert_at_rest();
}

#[test]
fn row_8_another_text_without_a_record_is_a_two_way_merge() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.user_skill("foo", &edited("foo"));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "merge_needed");
    assert_eq!(report["merge_needed"][0]["mode"], "two_way_no_base");
    assert_eq!(board.text("foo"), edited("foo"));
    board.assert_at_rest();
}

#[test]
fn row_9_what_was_written_last_is_unchanged() {
    let (board, merged) = merged_board();
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "unchanged");
    assert_eq!(board.text("foo"), merged);
    board.assert_record("foo", "merged", &version("foo", 1), &merged);
    board.assert_at_rest();
}

#[test]
fn row_9_an_edit_of_a_merged_text_that_is_undone_is_merged_again() {
    let (board, merged) = merged_board();
    board.user_skill("foo", &edited("foo"));
    assert_outcome(&board.sync().expect(0).json(), "foo", "kept_user");
    board.assert_record("foo", "user_modified", &version("foo", 1), &merged);
    board.user_skill("foo", &merged);
    assert_outcome(&board.sync().expect(0).json(), "foo", "unchanged");
    board.assert_record("foo", "merged", &version("foo", 1), &merged);
    board.assert_at_rest();
}

#[test]
fn row_10_an_unmodified_skill_is_updated_forward_and_back() {
    let board = Board::synced(&["foo"]);
    for n in [2, 1, 3] {
        board.skill("foo", &version("foo", n));
        let report = board.sync().expect(0).json();
        assert_outcome(&report, "foo", "updated");
        assert_eq!(board.text("foo"), version("foo", n));
        assert_eq!(board.base("foo"), version("foo", n));
        board.assert_record("foo", "synced", &version("foo", n), &version("foo", n));
        board.assert_at_rest();
    }
}

#[test]
fn row_10_an_update_leaves_the_other_skills_alone() {
    let board = Board::synced(&["bar", "foo"]);
    board.skill("foo", &version("foo", 2));
    let before = board.snapshot().below("agent/skills/bar");
    assert_outcome(&board.sync().expect(0).json(), "bar", "unchanged");
    before.assert_same(&board.snapshot().below("agent/skills/bar"));
}

#[test]
fn row_11_an_edit_is_kept_and_recorded_once() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    assert_outcome(&board.sync().expect(0).json(), "foo", "kept_user");
    assert_eq!(board.text("foo"), edited("foo"));
    board.assert_record(
        "foo",
        "user_modified",
        &version("foo", 1),
        &version("foo", 1),
    );
    assert_outcome(&board.assert_at_rest(), "foo", "kept_user");
}

#[test]
fn row_12_an_edit_and_an_update_are_a_three_way_merge_and_nothing_is_written() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.skill("foo", &version("foo", 2));
    let before = board.snapshot();
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "merge_needed");
    let [base, upstream, local] = [version("foo", 1), version("foo", 2), edited("foo")].map(hash);
    let key = merge_key("three_way", "foo", &base, &upstream, &local);
    let wanted = json!({
        "name": "foo", "mode": "three_way", "merge_key": key,
        "base_hash": base, "upstream_hash": upstream, "local_hash": local
    });
    assert_eq!(report["merge_needed"], json!([wanted]));
    before.assert_same(&board.snapshot());
}

#[test]
fn a_file_put_back_lifts_the_deletion() {
    let cases = [
        (version("foo", 1), 1, "adopted", version("foo", 1)),
        (edited("foo"), 1, "kept_user", edited("foo")),
        (version("foo", 1), 2, "updated", version("foo", 2)),
        (edited("foo"), 2, "merge_needed", edited("foo")),
        (version("foo", 2), 2, "adopted", version("foo", 2)),
    ];
    for (put_back, bundled, outcome, text) in cases {
        let board = Board::synced(&["foo"]);
        board.user_removes("foo");
        board.sync().expect(0);
        board.skill("foo", &version("foo", bundled));
        board.user_skill("foo", &put_back);
        let report = board.sync().expect(0).json();
        assert_outcome(&report, "foo", outcome);
        assert_eq!(board.text("foo"), text);
        board.assert_at_rest();
    }
}

#[test]
fn a_base_that_is_missing_is_written_again_where_the_bundle_still_has_it() {
    for edit in [false, true] {
        let board = Board::synced(&["foo"]);
        if edit {
            board.user_skill("foo", &edited("foo"));
            board.sync().expect(0);
        }
        common::remove(&board.base_path("foo"));
        board.sync().expect(0);
        assert_eq!(board.base("foo"), version("foo", 1));
        board.assert_at_rest();
    }
}

#[test]
fn a_base_that_is_wrong_is_written_again_where_the_bundle_still_has_it() {
    let board = Board::synced(&["foo"]);
    common::write(&board.base_path("foo"), "of another size");
    board.sync().expect(0);
    assert_eq!(board.base("foo"), version("foo", 1));
    board.user_skill("foo", &edited("foo"));
    common::write(&board.base_path("foo"), version("foo", 7));
    board.sync().expect(0);
    assert_eq!(board.base("foo"), version("foo", 1));
    board.assert_at_rest();
}

#[test]
fn row_2_asks_for_the_name_elsewhere_only_where_there_is_no_record() {
    let board = Board::synced(&["foo"]);
    board.user_file("group/mine/SKILL.md", edited("foo"));
    board.skill("foo", &version("foo", 2));
    assert_outcome(&board.sync().json(), "foo", "updated");
}

#[test]
fn row_2_a_skill_md_among_the_files_of_another_skill_is_not_another_skill() {
    for directory in ["references", "templates", "scripts", "assets"] {
        let board = Board::new();
        board.skill("foo", &version("foo", 1));
        board.user_skill("own", &edited("own"));
        board.user_file(&format!("own/{directory}/SKILL.md"), edited("foo"));
        assert_outcome(&board.sync().expect(0).json(), "foo", "copied");
    }
}
