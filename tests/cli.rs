//! The command line (contract §2 and §3): settings, exit codes, and what goes where.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::process::Command;

use common::{Board, assert_outcome, bare_command, edited, run, skill_text, version};
use serde_json::Value;

#[test]
fn version_names_version_target_and_revision() {
    let run = run(bare_command().arg("--version")).expect(0);
    assert!(run.stdout.contains(env!("CARGO_PKG_VERSION")), "{run:#?}");
    let target = format!("{}-", std::env::consts::ARCH);
    assert!(
        run.stdout.contains(&target) && run.stdout.contains("linux"),
        "no target in {run:#?}"
    );
}

#[test]
fn help_names_every_exit_code_and_command() {
    let run = run(bare_command().arg("--help")).expect(0);
    for word in [
        "sync",
        "status",
        "diff",
        "reset",
        "lint",
        "doctor",
        "--lock-timeout",
        "--json",
        "0 ",
        "1 ",
        "2 ",
        "3 ",
        "4 ",
    ] {
        assert!(run.stdout.contains(word), "{word} is not in the help");
    }
}

#[test]
fn exit_2_is_wrong_usage() {
    let board = Board::synced(&["foo"]);
    let before = board.snapshot();
    for arguments in [
        &[][..],
        &["nonsense"],
        &["sync", "--nonsense"],
        &["sync", "--lock-timeout", "soon"],
        &["sync", "--lock-timeout", "-1"],
        &["sync", "--engine", "magic"],
        &["sync", "--device-type", "toaster"],
        &["sync", "--log", "nowhere"],
        &["sync", "-q", "-v"],
        &["diff"],
        &["reset", "--restore"],
        &["lint"],
    ] {
        let run = board.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {run:#?}");
        assert_eq!(run.stdout, "", "{arguments:?}");
        assert_ne!(run.stderr, "", "{arguments:?}");
    }
    before.assert_same(&board.snapshot());
}

#[test]
fn exit_1_is_nothing_could_be_done() {
    let board = Board::synced(&["foo"]);
    common::remove(&board.library());
    common::write(&board.library(), "a file");
    for arguments in [&["sync"][..], &["reset", "foo", "--restore"]] {
        let run = board.run(arguments).expect(1);
        assert_ne!(run.stderr, "");
    }
}

#[test]
fn flags_are_taken_before_and_after_the_command() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    let (config, bundle) = (board.agent(), board.bundle());
    let mut before = bare_command();
    before
        .arg("--config-dir")
        .arg(&config)
        .arg("--bundled-dir")
        .arg(&bundle);
    before.args([
        "--json",
        "--engine",
        "off",
        "--device-type",
        "iOS",
        "--lock-timeout",
        "1",
        "sync",
    ]);
    assert_outcome(&run(&mut before).expect(0).json(), "foo", "copied");
    let mut after = bare_command();
    after.args([
        "sync",
        "--json",
        "--engine",
        "off",
        "--device-type",
        "iOS",
        "--lock-timeout",
        "1",
    ]);
    after
        .arg("--config-dir")
        .arg(&config)
        .arg("--bundled-dir")
        .arg(&bundle);
    assert_outcome(&run(&mut after).expect(0).json(), "foo", "unchanged");
}

#[test]
fn json_prints_one_document_and_diagnostics_go_to_standard_error() {
    let board = Board::synced(&["foo"]);
    board.skill("bad", "torn");
    board.user_skill("foo", &edited("foo"));
    for arguments in [
        &["--json", "sync"][..],
        &["--json", "-v", "sync"],
        &["--json", "-q", "sync"],
        &["--json", "-vv", "status"],
        &["--json", "diff", "foo"],
        &["--json", "doctor"],
        &["--json", "reset", "foo", "bad", "--restore"],
    ] {
        let run = board.run(arguments);
        let document: Value = run.json();
        assert!(document.is_object() || document.is_array(), "{arguments:?}");
    }
    let linted = board
        .run(&["--json", "lint", board.bundle().to_str().unwrap()])
        .expect(3);
    assert!(linted.json().is_object());
}

#[test]
fn quiet_says_only_what_went_wrong() {
    let board = Board::synced(&["foo"]);
    board.skill("new", &version("new", 1));
    let run = board.run(&["-q", "sync"]).expect(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    board.skill("bad", "torn");
    let run = board.run(&["-q", "sync"]).expect(3);
    assert!(run.stderr.contains("bad"), "{run:#?}");
}

#[test]
fn people_are_told_in_the_seeds_words() {
    let board = Board::new();
    for name in ["bar", "foo"] {
        board.skill(name, &version(name, 1));
    }
    let says = |sentence: &str| {
        let run = board.run(&["sync"]).expect(0);
        assert!(
            run.stdout.lines().any(|line| line == sentence),
            "{sentence:?} is not in {run:#?}"
        );
    };
    says("Synced 2 built-in skills.");
    board.user_skill("foo", &edited("foo"));
    says("foo has been modified by user, continuing with user version.");
    board.skill("foo", &version("foo", 2));
    says("foo has both built-in updates and user modifications, added to background merge tasks.");
}

/// Runs the program on a terminal, through `script`.
fn on_terminal(board: &Board, arguments: &str, no_color: Option<&str>) -> String {
    let line = format!(
        "{} --config-dir {} --bundled-dir {} {arguments}",
        env!("CARGO_BIN_EXE_aiden-skills"),
        board.agent().display(),
        board.bundle().display()
    );
    let mut script = Command::new("script");
    script
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    if let Some(value) = no_color {
        script.env("NO_COLOR", value);
    }
    run(&mut script).stdout
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    const ESCAPE: char = '\u{1b}';
    assert!(
        !board.run(&["diff", "foo"]).stdout.contains(ESCAPE),
        "not a terminal"
    );
    assert!(
        on_terminal(&board, "diff foo", None).contains(ESCAPE),
        "a terminal"
    );
    assert!(
        on_terminal(&board, "diff foo", Some("")).contains(ESCAPE),
        "an empty NO_COLOR does not count"
    );
    assert!(
        !on_terminal(&board, "diff foo", Some("1")).contains(ESCAPE),
        "NO_COLOR"
    );
    assert!(
        !on_terminal(&board, "--json diff foo", None).contains(ESCAPE),
        "JSON"
    );
}

#[test]
fn a_skills_text_cannot_give_orders_to_the_terminal() {
    let board = Board::synced(&["foo"]);
    board.user_skill(
        "foo",
        &skill_text("foo", "d", "\u{1b}]0;owned\u{7} \u{1b}[2J"),
    );
    let shown = on_terminal(&board, "diff foo", Some("1"));
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{7}'),
        "{shown:?}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let board = Board::synced(&["foo"]);
    let line = format!(
        "{} --config-dir {} --bundled-dir {} status | true",
        env!("CARGO_BIN_EXE_aiden-skills"),
        board.agent().display(),
        board.bundle().display()
    );
    let run = run(Command::new("sh").args(["-c", &line]));
    assert!(!run.stderr.contains("panic"), "{run:#?}");
}

#[test]
fn a_system_log_that_is_not_there_does_not_stop_a_boot() {
    let board = Board::synced(&["foo"]);
    assert_outcome(
        &board
            .run(&["--json", "--log", "syslog", "sync"])
            .expect(0)
            .json(),
        "foo",
        "unchanged",
    );
}
