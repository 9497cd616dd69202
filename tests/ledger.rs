//! The ledger's format (contract §5): what the existing agent and later versions write is read, and what is
//! not ours survives.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs;

use common::{Board, assert_outcome, edited, hash, merge_key, version};
use serde_json::{Value, json};

const LOCAL_ZONE: &str = "2026-05-25T10:30:00+08:00";

/// A record as the existing agent writes it: absolute `base_path`, local times, no `files`.
fn old_record(board: &Board, name: &str, text: &str) -> Value {
    json!({
        "origin_hash": hash(text), "effective_hash": hash(text), "status": "synced",
        "base_path": board.base_path(name), "last_synced_at": LOCAL_ZONE
    })
}

/// A board as the existing agent left it, with these skills.
fn old_board(names: &[&str]) -> Board {
    let board = Board::new();
    let mut records = json!({});
    for name in names {
        let text = version(name, 1);
        board.skill(name, &text);
        board.user_skill(name, &text);
        common::write(&board.base_path(name), &text);
        records[*name] = old_record(&board, name, &text);
    }
    board.set_records(records);
    board
}

/// Whether a text is a time as RFC 3339 has it.
fn is_time(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let pattern = "dddd-dd-ddTdd:dd:dd";
    let fits = |(c, p): (char, char)| if p == 'd' { c.is_ascii_digit() } else { c == p };
    text.len() > pattern.len()
        && text.chars().zip(pattern.chars()).all(fits)
        && (text.ends_with('Z') || text[pattern.len()..].contains(['+', '-']))
}

#[test]
fn it_is_json_of_version_1_with_two_spaces_and_sorted_keys() {
    let board = Board::synced(&["bar", "foo"]);
    let text = board.ledger_text();
    let sorted = serde_json::to_string_pretty(&board.ledger()).unwrap();
    assert_eq!(text.trim_end(), sorted);
    let ledger = board.ledger();
    assert_eq!(ledger["version"], 1);
    assert!(is_time(&ledger["updated_at"]), "{ledger:#}");
    for name in ["bar", "foo"] {
        let record = board.record(name);
        assert_eq!(
            record["base_path"],
            format!("skill-state/bases/{name}/SKILL.md")
        );
        assert!(is_time(&record["last_synced_at"]), "{record:#}");
    }
}

#[test]
fn an_absolute_base_path_of_the_existing_agent_is_read() {
    let board = old_board(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.skill("foo", &version("foo", 2));
    let report = board.sync().expect(0).json();
    assert_eq!(report["ledger"], "ok");
    assert_eq!(report["merge_needed"][0]["mode"], "three_way");
    assert_eq!(
        report["merge_needed"][0]["base_hash"],
        hash(version("foo", 1))
    );
}

#[test]
fn a_board_of_the_existing_agent_is_taken_over_without_touching_a_skill() {
    let board = old_board(&["bar", "foo"]);
    let before = board.snapshot().below("agent/skills");
    let report = board.sync().expect(0).json();
    for name in ["bar", "foo"] {
        assert_outcome(&report, name, "unchanged");
        board.assert_record(name, "synced", &version(name, 1), &version(name, 1));
    }
    before.assert_same(&board.snapshot().below("agent/skills"));
    board.assert_at_rest();
}

#[test]
fn an_updated_record_has_a_relative_base_path() {
    let board = old_board(&["foo"]);
    board.skill("foo", &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "updated");
    assert_eq!(
        board.record("foo")["base_path"],
        "skill-state/bases/foo/SKILL.md"
    );
}

#[test]
fn a_missing_effective_hash_is_the_origin_hash() {
    for missing in [json!(null), json!("")] {
        let board = old_board(&["foo"]);
        board.change_record("foo", |record| record["effective_hash"] = missing);
        assert_outcome(&board.sync().expect(0).json(), "foo", "unchanged");
        board.user_skill("foo", &edited("foo"));
        assert_outcome(&board.sync().expect(0).json(), "foo", "kept_user");
        board.assert_at_rest();
    }
}

#[test]
fn keys_that_the_existing_agent_omits_are_not_missed() {
    let board = old_board(&["foo", "gone"]);
    board.user_removes("gone");
    board.set_records(json!({
        "foo": {"origin_hash": hash(version("foo", 1)), "status": "synced"},
        "gone": {"origin_hash": hash(version("gone", 1)), "status": "deleted_by_user", "last_synced_at": LOCAL_ZONE}
    }));
    let report = board.sync().expect(0).json();
    assert_eq!(report["ledger"], "ok");
    assert_outcome(&report, "foo", "unchanged");
    assert_outcome(&report, "gone", "deleted_by_user");
    board.assert_at_rest();
}

#[test]
fn a_conflict_record_without_an_origin_is_a_two_way_merge() {
    for empty in [json!(null), json!("")] {
        let board = old_board(&["foo"]);
        board.user_skill("foo", &edited("foo"));
        board.set_records(json!({"foo": {
            "origin_hash": empty, "status": "user_modified", "last_failed_merge_key": "sha256:0123456789abcdef"
        }}));
        let report = board.sync().expect(0).json();
        assert_eq!(report["merge_needed"][0]["mode"], "two_way_no_base");
        assert_eq!(board.text("foo"), edited("foo"));
    }
}

#[test]
fn skills_null_is_a_ledger_without_records() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.set_records(Value::Null);
    let report = board.sync().expect(0).json();
    assert_eq!(report["ledger"], "ok");
    assert_outcome(&report, "foo", "copied");
    board.assert_at_rest();
}

#[test]
fn unknown_fields_of_document_and_record_survive_a_rewrite() {
    let board = Board::synced(&["bar", "foo"]);
    let foreign = json!({"deep": [1, {"x": null}], "number": 12345678901234567890_u64});
    board.change_ledger(|ledger| {
        ledger["of_the_other_slot"] = foreign.clone();
        for name in ["bar", "foo"] {
            ledger["skills"][name]["of_the_other_slot"] = foreign.clone();
        }
    });
    board.assert_at_rest();
    board.skill("foo", &version("foo", 2));
    board.user_skill("bar", &edited("bar"));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "updated");
    assert_outcome(&report, "bar", "kept_user");
    assert_eq!(board.ledger()["of_the_other_slot"], foreign);
    for name in ["bar", "foo"] {
        assert_eq!(board.record(name)["of_the_other_slot"], foreign, "{name}");
    }
    board.run(&["reset", "--all", "--restore"]).expect(0);
    assert_eq!(board.ledger()["of_the_other_slot"], foreign);
    for name in ["bar", "foo"] {
        assert_eq!(board.record(name)["of_the_other_slot"], foreign, "{name}");
    }
}

#[test]
fn unknown_fields_survive_a_deletion_and_a_return() {
    let board = Board::synced(&["bar", "foo"]);
    board.change_record("foo", |record| record["ours_later"] = json!(7));
    board.user_removes("foo");
    board.sync().expect(0);
    assert_eq!(board.record("foo")["ours_later"], 7);
    board.unship("foo");
    board.sync().expect(0);
    assert_eq!(board.record("foo")["ours_later"], 7);
}

#[test]
fn a_later_version_is_an_error_and_nothing_is_written() {
    for shape in [
        json!({"version": 2, "skills": {}}),
        json!({"version": 3, "records": [1, 2]}),
    ] {
        let board = Board::synced(&["foo"]);
        board.skill("foo", &version("foo", 2));
        board.set_ledger(&shape);
        common::write(&board.staged_path("skills/foo/SKILL.md"), "of that version");
        let before = board.snapshot();
        for arguments in [
            &["sync"][..],
            &["sync", "--dry-run"],
            &["status"],
            &["reset", "foo", "--restore"],
        ] {
            let run = board.run(arguments).expect(1);
            assert!(run.stderr.contains("version"), "{run:#?}");
        }
        before.assert_same(&board.snapshot());
    }
}

#[test]
fn a_later_version_in_prev_does_not_matter_while_the_ledger_is_good() {
    let board = Board::synced(&["foo"]);
    common::write(
        &board.state().join(".bundled_manifest.json.prev"),
        "{\"version\": 2, \"skills\": {}}",
    );
    board.sync().expect(0);
}

#[test]
fn every_rewrite_leaves_the_one_before_as_prev() {
    let board = Board::synced(&["foo"]);
    let prev = board.state().join(".bundled_manifest.json.prev");
    let before = board.ledger_text();
    board.user_skill("foo", &edited("foo"));
    board.sync().expect(0);
    assert_eq!(
        fs::read_to_string(&prev).unwrap(),
        before,
        "only the status changed, there was one rewrite"
    );
    board.skill("bar", &version("bar", 1));
    board.sync().expect(0);
    let kept: Value = serde_json::from_slice(&fs::read(&prev).unwrap()).unwrap();
    assert_eq!(kept["skills"]["foo"], board.record("foo"));
}

#[test]
fn a_status_of_another_version_is_no_obstacle() {
    let board = Board::synced(&["foo"]);
    board.change_record("foo", |record| record["status"] = json!("frozen"));
    board.skill("foo", &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "updated");
}

#[test]
fn values_of_wrong_types_cost_at_most_their_own_record() {
    let wrong = [
        ("origin_hash", json!(5)),
        ("origin_hash", json!("md5:xyz")),
        ("effective_hash", json!([1])),
        ("status", json!(1)),
        ("base_path", json!({"a": 1})),
        ("last_synced_at", json!(1_764_000_000.5)),
        ("last_merge_error", json!(["x"])),
        ("merge_attempts", json!("many")),
        ("merge_attempts", json!(-1)),
        ("stale", json!("no")),
        ("files", json!([1])),
        ("files", json!({"../../escape": {"hash": "x"}})),
        ("pending", json!("soon")),
        ("pending", json!({"paths": {"/etc/passwd": {"hash": null}}})),
    ];
    for (field, value) in wrong {
        let board = Board::synced(&["bar", "foo", "gone"]);
        board.user_removes("gone");
        board.sync().expect(0);
        board.change_record("foo", |record| record[field] = value.clone());
        let run = board.sync();
        let report = run.json();
        assert_outcome(&report, "bar", "unchanged");
        assert_outcome(&report, "gone", "deleted_by_user");
        assert_eq!(board.text("foo"), version("foo", 1), "{field}: {value}");
        assert!(!board.exists("gone"), "{field}: {value}");
        assert_eq!(
            names_in_trouble(&report),
            Vec::<String>::new(),
            "{field}: {value}"
        );
    }
}

/// Neither a text of the firmware's nor one that nobody touched needs a merge or fails.
fn names_in_trouble(report: &Value) -> Vec<String> {
    let arrays = ["failed", "merge_needed", "merge_skipped", "kept_user"];
    arrays
        .into_iter()
        .flat_map(|array| common::names(report, array))
        .collect()
}

#[test]
fn a_record_with_an_impossible_name_is_never_made_a_path() {
    for name in ["../outside", "/etc", "a/b", "", "x\u{0}y"] {
        let board = Board::synced(&["foo"]);
        common::write(
            &board.agent().join("outside/SKILL.md"),
            version("outside", 1),
        );
        board.change_ledger(|ledger| {
            ledger["skills"][name] = json!({
                "origin_hash": hash(version("outside", 1)), "effective_hash": hash(version("outside", 1)),
                "status": "synced", "pending": {"paths": {"SKILL.md": {"hash": null}}}
            });
        });
        let before = board.snapshot().below("agent/outside");
        let run = board.sync();
        assert_outcome(&run.json(), "foo", "unchanged");
        before.assert_same(&board.snapshot().below("agent/outside"));
    }
}

#[test]
fn merge_keys_of_the_existing_agent_are_prefixes_of_ours() {
    let [v1, v2, user] = [
        "Alpha skill|Do alpha things.",
        "Alpha skill v2|Do alpha things better.",
        "custom|Custom.",
    ]
    .map(|text| {
        let (description, body) = text.split_once('|').unwrap();
        format!("---\nname: alpha\ndescription: {description}\n---\n\n{body}\n")
    });
    let key = merge_key("three_way", "alpha", &hash(&v1), &hash(&v2), &hash(&user));
    assert!(
        key.starts_with("sha256:9df6c6bfb93ffe1a"),
        "the vector of the existing agent"
    );
    for (old_key, skipped) in [
        ("sha256:9df6c6bfb93ffe1a", true),
        ("sha256:9df6c6bfb93ffe1b", false),
    ] {
        let board = Board::new();
        board.skill("alpha", &v2);
        board.user_skill("alpha", &user);
        common::write(&board.base_path("alpha"), &v1);
        let mut record = old_record(&board, "alpha", &v1);
        record["status"] = json!("user_modified");
        record["last_failed_merge_key"] = json!(old_key);
        record["last_merge_failed_at"] = json!(LOCAL_ZONE);
        record["last_merge_error"] = json!("cannot reliably merge");
        board.set_records(json!({"alpha": record}));
        let report = board.sync().expect(0).json();
        assert_outcome(
            &report,
            "alpha",
            if skipped {
                "merge_skipped"
            } else {
                "merge_needed"
            },
        );
        let array = if skipped {
            "merge_skipped"
        } else {
            "merge_needed"
        };
        assert_eq!(report[array][0]["merge_key"], key);
    }
}
