use super::common::{Board, skill_text, version, write};
use super::*;

#[test]
fn a_skill_is_its_text_and_below_it_its_files() {
    let board = Board::synced(&["foo"]);
    board.user_file("foo/references/b.md", "b");
    board.user_file("foo/references/deep/a.md", "a");
    board.user_file("foo/scripts/run.sh", "x");
    board.user_file("foo/notes.md", "not handed out");
    board.user_file("foo/references/.DS_Store", "junk");
    let text = answer(&board, "skill_read", json!({"name": "foo"}));
    let expected = format!(
        "{}\n---\n\nLinked files available via skill_read {{\"name\":\"foo\",\"file_path\":...}}:\n\n\
         - references/b.md\n- references/deep/a.md\n- scripts/run.sh",
        version("foo", 1)
    );
    assert_eq!(text, expected);
    assert_eq!(
        answer(
            &board,
            "skill_read",
            json!({"name": "foo", "file_path": "SKILL.md"})
        ),
        text
    );
}

#[test]
fn a_file_is_its_text_byte_for_byte() {
    let board = Board::synced(&["foo"]);
    board.user_file("foo/references/b.md", "\u{feff}a\r\nb\u{1b}[31m\n");
    let run = tool(
        &board,
        "skill_read",
        json!({"name": "foo", "file_path": "references/b.md"}),
    )
    .expect(0);
    assert_eq!(run.stdout, "\u{feff}a\r\nb\u{1b}[31m\n");
}

#[test]
fn a_read_is_counted() {
    let board = Board::synced(&["foo"]);
    answer(&board, "skill_read", json!({"name": "foo"}));
    answer(&board, "skill_read", json!({"name": "foo"}));
    let usage = usage(&board);
    assert_eq!(usage["foo"]["view_count"], 2);
    assert!(usage["foo"]["last_viewed_at"].is_string());
}

#[test]
fn what_is_not_there_says_what_to_do() {
    let board = Board::synced(&["foo"]);
    for (input, error) in [
        (
            json!({}),
            "the field `name` is missing: say which skill to read",
        ),
        (
            json!({"name": "bar"}),
            "there is no skill \"bar\" in the library: skill_list shows which there are",
        ),
        (
            json!({"name": "../x"}),
            "there is no skill \"../x\" in the library: skill_list shows which there are",
        ),
        (
            json!({"name": "foo", "file_path": "references/none.md"}),
            "there is no file references/none.md of skill \"foo\": skill_read without file_path lists its files",
        ),
        (
            json!({"name": 3}),
            "skill_read: the field `name` must be a text in quotes, not 3",
        ),
        (
            json!([]),
            "the input of skill_read must be a JSON object, such as {\"name\": \"…\"}",
        ),
    ] {
        assert_eq!(refusal(&board, "skill_read", input), error);
    }
}

#[test]
fn only_texts_of_a_size_are_handed_out() {
    let board = Board::synced(&["foo"]);
    board.user_file("foo/assets/a.bin", b"\xff\xfe\x00");
    board.user_file("foo/assets/large.txt", "x".repeat(65_537));
    board.user_file("foo/assets/limit.txt", "x".repeat(65_536));
    let read = |path: &str| json!({"name": "foo", "file_path": path});
    let error = refusal(&board, "skill_read", read("assets/a.bin"));
    assert!(error.contains("is not valid UTF-8 text"), "{error}");
    let error = refusal(&board, "skill_read", read("assets/large.txt"));
    assert!(
        error.contains("is too large (65537 bytes > 65536 bytes)"),
        "{error}"
    );
    assert_eq!(
        answer(&board, "skill_read", read("assets/limit.txt")).len(),
        65_536
    );
}

#[test]
fn a_broken_skill_can_be_read_to_be_repaired() {
    let board = Board::synced(&["foo"]);
    board.user_file("foo/SKILL.md", "---\nname: foo\ndescription: [\n---\nx\n");
    let text = answer(&board, "skill_read", json!({"name": "foo"}));
    assert_eq!(text, "---\nname: foo\ndescription: [\n---\nx");
}

#[test]
fn a_skill_whose_directory_has_another_name_is_read_by_its_own() {
    let board = Board::new();
    board.user_skill("some/where", &skill_text("Odd Name", "An odd one.", "Odd."));
    assert!(answer(&board, "skill_read", json!({"name": "Odd Name"})).contains("Odd."));
    refusal(&board, "skill_read", json!({"name": "some/where"}));
}

#[test]
fn a_skill_for_another_device_is_read_only_if_asked_for() {
    let board = Board::new();
    let text = skill_text("phone", "For phones.", "Tap.")
        .replace("---\n\n", "device_types: [iOS, Android]\n---\n\n");
    board.user_skill("phone", &text);
    let read = |more: &str| board.run(&["--device-type", "linux", "tool", "skill_read", more]);
    let error = read(r#"{"name": "phone"}"#).expect(1).stderr;
    assert!(
        error.contains("is for iOS, Android, and this device is linux"),
        "{error}"
    );
    read(r#"{"name": "phone", "include_incompatible": true}"#).expect(0);
}

#[test]
fn a_read_goes_well_where_nothing_can_be_counted() {
    let board = Board::synced(&["foo"]);
    write(&board.state().join("usage.json"), "{ torn");
    let run = tool(&board, "skill_read", json!({"name": "foo"})).expect(0);
    assert!(run.stdout.starts_with(&version("foo", 1)));
    assert_eq!(
        usage(&board)["foo"]["view_count"],
        1,
        "the torn one is kept aside"
    );
    assert!(board.state().join("usage.json.corrupt-1").exists());
}

#[test]
fn input_comes_from_standard_input_too() {
    use std::io::Write;
    use std::process::Stdio;
    let board = Board::synced(&["foo"]);
    let mut command = board.command(&["tool", "skill_read", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(br#"{"name": "foo"}"#)
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), version("foo", 1));
}

#[test]
fn with_json_the_answer_is_in_a_document() {
    let board = Board::synced(&["foo"]);
    let run = board
        .run(&["--json", "tool", "skill_read", r#"{"name":"foo"}"#])
        .expect(0)
        .json();
    assert_eq!(
        run,
        json!({"tool": "skill_read", "output": version("foo", 1), "is_error": false})
    );
    let run = board
        .run(&["--json", "tool", "skill_read", r#"{"name":"bar"}"#])
        .expect(1)
        .json();
    assert_eq!(run["is_error"], true);
    let run = board.run(&["tool", "skill_eat", "{}"]).expect(1);
    assert_eq!(
        run.stderr,
        "there is no tool \"skill_eat\": there are skill_list, skill_read, skill_manage, skill_mark_used\n"
    );
    let run = board.run(&["tool", "skill_list", "{"]).expect(1);
    assert!(
        run.stderr.starts_with("the input is not valid JSON ("),
        "{run:?}"
    );
}
