use super::common::{Board, assert_outcome, edited, hash, skill_text, version};
use super::*;

fn sha(text: &str) -> String {
    hash(text).trim_start_matches("sha256:").to_owned()
}

fn own(body: &str) -> String {
    skill_text("own", "My own skill.", body)
}

#[test]
fn create_makes_a_skill_of_the_agents_and_tells_its_measures() {
    let board = Board::synced(&["foo"]);
    let said = manage(&board, "create", "own", json!({"content": own("Do it.")}));
    let text = "---\nname: own\ndescription: My own skill.\nsource: agent\ncreated_by: agent\n---\n\nDo it.\n";
    assert_eq!(board.text("own"), text);
    assert_eq!(
        said,
        format!(
            "Created skill \"own\" (bytes={}, lines=8, sha256={})",
            text.len(),
            sha(text)
        )
    );
    assert_eq!(usage(&board)["own"]["modify_count"], 1);
    assert_eq!(list(&board, json!({})), ["foo", "own"]);
    assert_eq!(board.record("own"), Value::Null);
    board.assert_at_rest();
}

#[test]
fn create_keeps_the_origin_that_a_skill_has() {
    let board = Board::new();
    let text = own("Do it.").replace("---\n\n", "metadata:\n  source: human\n---\n\n");
    manage(&board, "create", "own", json!({"content": text}));
    assert!(
        board
            .text("own")
            .contains("source: human\ncreated_by: agent\n---")
    );
}

#[test]
fn create_refuses_what_is_no_new_valid_skill() {
    let board = Board::synced(&["foo"]);
    board.user_skill("deep/inside", &skill_text("taken", "Taken.", "x"));
    for (name, content, error) in [
        (
            "foo",
            version("foo", 1),
            "skill \"foo\" already exists: read it with skill_read, then use action=patch",
        ),
        ("taken", skill_text("taken", "Mine.", "x"), "already exists"),
        (
            "own",
            skill_text("other", "Mine.", "x"),
            "the new SKILL.md has the name \"other\": its frontmatter must say name: own",
        ),
        (
            "own",
            "no frontmatter".into(),
            "the new SKILL.md has no frontmatter",
        ),
        ("own", own(" "), "has no text below its frontmatter"),
        (
            "own",
            "---\nname: own\n---\nx\n".into(),
            "has no `description`",
        ),
        (
            "own",
            "---\nname: 123\ndescription: true\n---\nx\n".into(),
            "has a number as `name`",
        ),
        ("own", own(&"x".repeat(33_000)), "is too large ("),
        (
            "own",
            own("x").replace("---\n\n", "device_types: [fridge]\n---\n\n"),
            "supported are iOS, Android, macOS, windows, linux",
        ),
        ("Own", own("x"), "upper case"),
        ("../own", own("x"), "name"),
        ("a/b", own("x"), "name"),
        ("", own("x"), "name"),
    ] {
        let said = refused(&board, "create", name, json!({"content": content}));
        assert!(said.contains(error), "{name}: {said}");
    }
    let said = refused(&board, "create", "own", json!({}));
    assert!(said.starts_with("the field `content` is missing"), "{said}");
}

#[test]
fn tools_that_there_are_not_are_not_added_but_old_ones_block_nothing() {
    let board = Board::new();
    let tools = board.root().join("tools.json");
    common::write(&tools, r#"["screenshot"]"#);
    let with = |tools: &str| {
        own("Do it.").replace("---\n\n", &format!("allowed_tools: [{tools}]\n---\n\n"))
    };
    let run = |action: &str, more: Value| {
        let input = request(action, "own", more).to_string();
        board.run(&[
            "--tools-file",
            tools.to_str().unwrap(),
            "tool",
            "skill_manage",
            &input,
        ])
    };
    let said = run("create", json!({"content": with("screenshot, gone")}))
        .expect(1)
        .stderr;
    assert!(
        said.contains("allows tools that do not exist: gone"),
        "{said}"
    );
    board.user_skill("own", &with("screenshot, gone"));
    run(
        "patch",
        json!({"old_string": "Do it.", "new_string": "Do it twice."}),
    )
    .expect(0);
    let said = run(
        "patch",
        json!({"old_string": "gone]", "new_string": "gone, more]"}),
    )
    .expect(1)
    .stderr;
    assert!(said.contains("do not exist: more"), "{said}");
    run(
        "patch",
        json!({"old_string": "gone]", "new_string": "gone, delegate_coder]"}),
    )
    .expect(0);
}

#[test]
fn edit_and_patch_make_a_shipped_skill_the_users() {
    let board = Board::synced(&["foo", "bar"]);
    board.change_record("foo", |record| {
        record["last_failed_merge_key"] = json!("sha256:x");
        record["last_merge_error"] = json!("conflict");
    });
    let before = board.record("foo");
    let said = manage(
        &board,
        "patch",
        "foo",
        json!({"old_string": "as in", "new_string": "my way, as in"}),
    );
    let text = version("foo", 1).replace("as in", "my way, as in");
    assert_eq!(board.text("foo"), text);
    assert_eq!(
        said,
        format!(
            "Patched skill \"foo\" (bytes={}, lines=6, sha256={}, previous_bytes={}, changed_lines=6-6)",
            text.len(),
            sha(&text),
            version("foo", 1).len()
        )
    );
    let record = board.record("foo");
    assert_eq!(record["status"], "user_modified");
    for same in ["origin_hash", "effective_hash", "base_path"] {
        assert_eq!(record[same], before[same]);
    }
    for cleared in ["last_failed_merge_key", "last_merge_error"] {
        assert!(record.get(cleared).is_none());
    }
    assert_outcome(&board.assert_at_rest(), "foo", "kept_user");
    let said = manage(&board, "edit", "bar", json!({"content": edited("bar")}));
    assert!(said.starts_with("Edited skill \"bar\" (bytes="), "{said}");
    assert_eq!(board.text("bar"), edited("bar"));
    assert!(
        !board.text("bar").contains("source: agent"),
        "whose it is does not change"
    );
    assert_eq!(usage(&board)["bar"]["modify_count"], 1);
}

#[test]
fn a_patch_that_misses_says_how_near_it_was() {
    let board = Board::synced(&["foo"]);
    let said = refused(
        &board,
        "patch",
        "foo",
        json!({"old_string": "DO IT as in version 1.", "new_string": "x"}),
    );
    let nearest = "nearest: line 6 \"Do it as in version 1.\"";
    assert!(
        said.contains("without regard to case: 1, to white space: 0") && said.contains(nearest),
        "{said}"
    );
    let said = refused(
        &board,
        "patch",
        "foo",
        json!({"old_string": "version 1", "new_string": "x"}),
    );
    assert_eq!(
        said,
        "old_string stands 2 times, in lines 3, 6: make it longer, so that it stands once"
    );
    let said = refused(&board, "patch", "foo", json!({"new_string": "x"}));
    assert!(
        said.starts_with("the field `old_string` is missing: patch needs the passage"),
        "{said}"
    );
    let said = refused(
        &board,
        "patch",
        "foo",
        json!({"old_string": "name: foo", "new_string": "name: bar"}),
    );
    assert!(said.contains("has the name \"bar\""), "{said}");
}

#[test]
fn a_skill_that_is_too_large_can_be_made_smaller_but_not_larger() {
    let board = Board::new();
    let large = own(&("Keep this.\n".to_owned() + &"A line.\n".repeat(5000)));
    board.user_skill("own", &large);
    answer(&board, "skill_list", json!({}));
    let said = refused(
        &board,
        "patch",
        "own",
        json!({"old_string": "Keep this.", "new_string": "Keep this, too."}),
    );
    assert!(said.contains("is too large ("), "{said}");
    manage(
        &board,
        "patch",
        "own",
        json!({"old_string": "Keep this.", "new_string": "Keep."}),
    );
    assert_eq!(board.text("own").len(), large.len() - 5);
}

#[test]
fn bytes_land_as_they_are() {
    let board = Board::new();
    board.user_skill("own", &own("C:\\run").replace('\n', "\r\n"));
    manage(
        &board,
        "patch",
        "own",
        json!({"old_string": "run", "new_string": "\\r$1\r\nmore"}),
    );
    assert_eq!(
        board.text("own"),
        own("C:\\\\r$1\nmore").replace('\n', "\r\n")
    );
}

#[test]
fn a_hash_that_is_expected_must_be_the_one_that_is_there() {
    let board = Board::synced(&["foo"]);
    let change =
        |sha: &str| json!({"old_string": "Do it", "new_string": "Do this", "expect_sha256": sha});
    let said = refused(&board, "patch", "foo", change(&sha("another text")));
    assert!(
        said.contains(&format!("its sha256 is {}", sha(&version("foo", 1)))),
        "{said}"
    );
    manage(&board, "patch", "foo", change(&sha(&version("foo", 1))));
    manage(
        &board,
        "edit",
        "foo",
        json!({"content": edited("foo"), "expect_sha256": hash(board.text("foo"))}),
    );
    manage(
        &board,
        "patch",
        "foo",
        json!({"old_string": "name: foo", "new_string": "name:  foo", "expect_sha256": ""}),
    );
    let write = |sha: &str| json!({"file_path": "references/a.md", "file_content": "a", "expect_sha256": sha});
    let said = refused(&board, "write_file", "foo", write(&sha("a")));
    assert!(said.contains("is not there, so it has no sha256"), "{said}");
    manage(&board, "write_file", "foo", write(""));
    let wrong = json!({"file_path": "references/a.md", "expect_sha256": sha("b")});
    refused(&board, "remove_file", "foo", wrong);
    refused(&board, "write_file", "foo", write(&sha("b")));
    manage(&board, "write_file", "foo", write(&sha("a")));
    refused(&board, "delete", "foo", json!({"expect_sha256": sha("b")}));
    let now = hash(board.text("foo"));
    manage(&board, "delete", "foo", json!({"expect_sha256": now}));
}

#[test]
fn delete_takes_the_whole_skill_and_a_shipped_one_stays_away() {
    let board = Board::synced(&["foo", "bar"]);
    board.user_file("foo/references/own.md", "mine");
    answer(&board, "skill_read", json!({"name": "foo"}));
    assert_eq!(
        manage(&board, "delete", "foo", json!({})),
        "Deleted skill \"foo\""
    );
    assert!(!board.exists("foo"));
    assert_eq!(board.record("foo")["status"], "deleted_by_user");
    assert!(board.base_path("foo").exists(), "the base stays");
    assert!(usage(&board).get("foo").is_none());
    board.skill("foo", &version("foo", 2));
    assert_outcome(&board.sync().expect(0).json(), "foo", "deleted_by_user");
    assert_eq!(
        refused(&board, "delete", "foo", json!({})),
        "there is no skill \"foo\" in the library: skill_list shows which there are"
    );
}

#[test]
fn delete_takes_no_file_and_no_other_skill() {
    let board = Board::synced(&["foo"]);
    let said = refused(
        &board,
        "delete",
        "foo",
        json!({"file_path": "references/a.md"}),
    );
    assert!(said.contains("use action=remove_file"), "{said}");
    let patch = json!({"file_path": "references/a.md", "old_string": "Do it", "new_string": "Do"});
    let said = refused(&board, "patch", "foo", patch);
    assert!(said.contains("patch takes no file_path"), "{said}");
    board.user_skill("group", &skill_text("group", "A group.", "x"));
    board.user_skill("group/inner", &skill_text("inner", "Inner.", "x"));
    let said = refused(&board, "delete", "group", json!({}));
    assert!(said.contains("holds another skill, group/inner"), "{said}");
    manage(&board, "delete", "inner", json!({}));
    manage(&board, "delete", "group", json!({}));
    assert!(!board.exists("group"));
}

#[test]
fn files_are_written_replaced_and_removed() {
    let board = Board::synced(&["foo"]);
    let file = json!({"file_path": "references/deep/api.md", "file_content": "a\nb\n"});
    let said = manage(&board, "write_file", "foo", file);
    assert_eq!(
        said,
        format!(
            "Wrote references/deep/api.md of skill \"foo\" (bytes=4, lines=2, sha256={})",
            sha("a\nb\n")
        )
    );
    let file = json!({"file_path": "references/deep/api.md", "file_content": "c"});
    assert!(
        manage(&board, "write_file", "foo", file).starts_with("Replaced references/deep/api.md")
    );
    assert_eq!(board.read("foo/references/deep/api.md"), "c");
    let said = manage(
        &board,
        "remove_file",
        "foo",
        json!({"file_path": "references/deep/api.md"}),
    );
    assert_eq!(said, "Removed references/deep/api.md of skill \"foo\"");
    assert!(
        !board.exists("foo/references"),
        "nor do empty directories stay"
    );
    assert_eq!(usage(&board)["foo"]["modify_count"], 3);
    assert_eq!(
        board.record("foo")["status"],
        "synced",
        "the text is the firmware's"
    );
    let said = refused(
        &board,
        "remove_file",
        "foo",
        json!({"file_path": "references/deep/api.md"}),
    );
    assert!(
        said.starts_with("there is no file references/deep/api.md"),
        "{said}"
    );
    let large = json!({"file_path": "assets/a.txt", "file_content": "x".repeat(65_537)});
    assert!(
        refused(&board, "write_file", "foo", large)
            .contains("too large (65537 bytes > 65536 bytes)")
    );
}

#[test]
fn a_file_of_the_firmware_that_was_changed_or_removed_stays_so() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "1");
    board.bundle_file("foo/references/b.md", "1");
    board.sync().expect(0);
    manage(
        &board,
        "write_file",
        "foo",
        json!({"file_path": "references/a.md", "file_content": "mine"}),
    );
    manage(
        &board,
        "remove_file",
        "foo",
        json!({"file_path": "references/b.md"}),
    );
    board.bundle_file("foo/references/a.md", "2");
    board.bundle_file("foo/references/b.md", "2");
    board.sync().expect(0);
    assert_eq!(board.read("foo/references/a.md"), "mine");
    assert!(!board.exists("foo/references/b.md"));
}

#[test]
fn states_are_set_and_a_state_that_is_there_already_is_told() {
    let board = Board::synced(&["foo"]);
    let before = board.ledger_text();
    for (action, state, said) in [
        ("mark_stale", "stale", "Marked skill \"foo\" as stale"),
        ("archive", "archived", "Marked skill \"foo\" as archived"),
        (
            "restore_archive",
            "active",
            "Marked skill \"foo\" as active",
        ),
    ] {
        assert_eq!(manage(&board, action, "foo", json!({})), said);
        assert_eq!(usage(&board)["foo"]["state"], state);
        assert!(usage(&board)["foo"]["state_changed_at"].is_string());
        let again = manage(&board, action, "foo", json!({}));
        assert_eq!(
            again,
            format!("Skill \"foo\" is {state} already, nothing was changed")
        );
    }
    assert_eq!(board.ledger_text(), before);
    assert_eq!(board.text("foo"), version("foo", 1));
}

#[test]
fn an_action_that_there_is_not_is_told_with_those_there_are() {
    let board = Board::synced(&["foo"]);
    let said = refused(&board, "update", "foo", json!({}));
    assert!(
        said.starts_with("there is no action \"update\": use one of create, edit, patch, delete,"),
        "{said}"
    );
    let said = refusal(&board, "skill_manage", json!({"name": "foo"}));
    assert!(
        said.starts_with("the field `action` is missing: one of create"),
        "{said}"
    );
}

#[test]
fn a_skill_that_was_deleted_can_be_made_again() {
    let board = Board::synced(&["foo"]);
    manage(&board, "delete", "foo", json!({}));
    manage(&board, "create", "foo", json!({"content": edited("foo")}));
    assert_eq!(board.record("foo")["status"], "user_modified");
    assert_outcome(&board.sync().expect(0).json(), "foo", "kept_user");
}

#[test]
fn an_interrupted_sync_is_settled_before_a_tool_changes_anything() {
    let board = Board::synced(&["foo"]);
    board.change_record("foo", |record| {
        record["pending"] = json!({"paths": {"SKILL.md": {"hash": hash(version("foo", 2)), "upstream_hash": hash(version("foo", 2))}}});
    });
    common::write(&board.staged_path("leftover"), "x");
    manage(
        &board,
        "patch",
        "foo",
        json!({"old_string": "Do it", "new_string": "Do this"}),
    );
    assert!(board.record("foo").get("pending").is_none());
    assert!(!board.staged_path("leftover").exists());
}
