//! Settings (contract §2): flag before environment before `agent.toml`, and none of them stops a boot.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use common::{Board, assert_outcome, bare_command, run, version};

#[test]
fn a_flag_wins_over_the_environment_and_that_over_agent_toml() {
    let board = Board::new();
    board.skill("by-flag", &version("by-flag", 1));
    let other = |name: &str| {
        let directory = board.root().join(name);
        common::write(&directory.join(name).join("SKILL.md"), version(name, 1));
        directory
    };
    let (environment, file) = (other("by-environment"), other("by-file"));
    let toml = format!("bundled_skills_dir = \"{}\"\n", file.display());
    common::write(&board.agent().join("agent.toml"), toml);
    let command = |flag: bool, variable: bool| {
        let mut command = bare_command();
        command
            .args(["--json", "sync", "--dry-run"])
            .env("AIDEN_CONFIG_DIR", board.agent());
        if flag {
            command.arg("--bundled-dir").arg(board.bundle());
        }
        if variable {
            command.env("AIDEN_BUNDLED_SKILLS_DIR", &environment);
        }
        common::names(&run(&mut command).expect(0).json(), "copied")
    };
    assert_eq!(command(true, true), ["by-flag"]);
    assert_eq!(command(false, true), ["by-environment"]);
    assert_eq!(command(false, false), ["by-file"]);
}

#[test]
fn the_config_dir_of_the_flag_wins() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    let mut command = board.command(&["sync"]);
    command.env("AIDEN_CONFIG_DIR", board.root().join("elsewhere"));
    run(&mut command).expect(0);
    assert!(board.exists("foo"));
    assert!(!board.root().join("elsewhere").exists());
}

#[test]
fn a_torn_agent_toml_does_not_stop_a_sync() {
    for torn in [
        "[device\ndevice_type = \"iOS\"\n",
        "a = = b",
        "\0\0\0",
        "x = \"\u{7}",
    ] {
        let board = Board::new();
        board.skill("foo", &version("foo", 1));
        common::write(&board.agent().join("agent.toml"), torn);
        let run = board.sync().expect(3);
        assert_outcome(&run.json(), "foo", "copied");
        assert!(
            run.stderr.contains("agent.toml") && run.stderr.contains("line"),
            "{run:#?}"
        );
    }
}

#[test]
fn an_agent_toml_that_is_not_utf8_does_not_stop_a_sync() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    common::write(&board.agent().join("agent.toml"), b"x = \"\xff\xfe\"");
    assert_outcome(&board.sync().expect(3).json(), "foo", "copied");
}

#[test]
fn a_wrong_value_in_agent_toml_is_named_by_file_line_and_key() {
    for (toml, key) in [
        ("# agent\ndevice = \"iOS\"\n", "device"),
        ("[device]\ndevice_type = [\"iOS\"]\n", "device_type"),
        ("[skills.merge]\nengine = true\n", "engine"),
    ] {
        let board = Board::new();
        board.skill("foo", &version("foo", 1));
        common::write(&board.agent().join("agent.toml"), toml);
        let run = board.sync().expect(3);
        assert_outcome(&run.json(), "foo", "copied");
        assert_names(&run.stderr, key);
    }
    let board = Board::new();
    common::write(
        &board.agent().join("agent.toml"),
        "# agent\nbundled_skills_dir = 7\n",
    );
    let found = run(bare_command()
        .arg("sync")
        .arg("--config-dir")
        .arg(board.agent()));
    assert_names(&found.expect(3).stderr, "bundled_skills_dir");
}

#[track_caller]
fn assert_names(stderr: &str, key: &str) {
    for word in ["agent.toml", "line 2", key] {
        assert!(stderr.contains(word), "{word} is not in {stderr}");
    }
}

#[test]
fn other_commands_end_with_1_when_agent_toml_is_torn() {
    let board = Board::synced(&["foo"]);
    common::write(&board.agent().join("agent.toml"), "[torn");
    let before = board.snapshot();
    for arguments in [
        &["status"][..],
        &["diff", "foo"],
        &["reset", "foo", "--restore"],
    ] {
        let run = board.run(arguments);
        assert_eq!(run.code, 1, "{arguments:?}: {run:#?}");
        assert!(run.stderr.contains("agent.toml"), "{run:#?}");
    }
    before.assert_same(&board.snapshot());
}

#[test]
fn keys_of_the_agent_are_ignored() {
    let board = Board::synced(&["foo"]);
    let toml = "default_platform = \"x\"\n[model]\nprovider = \"kimi\"\nmodel = \"k2\"\ntemperature = 7\n[model_providers.kimi]\napi_key = \"$K\"\n\
        [device]\ndevice_type = \"ios\"\nother = 1\n[skills]\nunheard_of = []\n[something.else]\na = 1979-05-27\n";
    common::write(&board.agent().join("agent.toml"), toml);
    let run = board.sync().expect(0);
    assert_eq!(run.stderr, "");
}

#[test]
fn an_unknown_device_type_or_engine_elsewhere_is_a_warning() {
    for (variable, toml) in [
        ("AIDEN_DEVICE_TYPE", "[device]\ndevice_type = \"toaster\"\n"),
        (
            "AIDEN_MERGE_ENGINE",
            "[skills.merge]\nengine = \"toaster\"\n",
        ),
    ] {
        let board = Board::synced(&["foo"]);
        let by_environment = run(board.command(&["--json", "sync"]).env(variable, "toaster"));
        common::write(&board.agent().join("agent.toml"), toml);
        for run in [by_environment, board.sync()] {
            assert!(matches!(run.code, 0 | 3), "{run:#?}");
            assert!(run.stderr.contains("toaster"), "{run:#?}");
            assert_outcome(&run.json(), "foo", "unchanged");
        }
    }
}

#[test]
fn aliases_of_device_types_are_taken() {
    let board = Board::synced(&["foo"]);
    for alias in [
        "iOS", "ios", "Android", "ANDROID", "macos", "mac", "darwin", "windows", "win", "linux",
    ] {
        assert_eq!(
            board.run(&["sync", "--device-type", alias]).code,
            0,
            "{alias}"
        );
    }
}

#[test]
fn skills_of_another_device_type_are_synced_all_the_same() {
    let board = Board::new();
    let text =
        "---\nname: foo\ndescription: d\nmetadata:\n  device_types: [Android]\n---\n\nBody.\n";
    board.skill("foo", text);
    assert_outcome(
        &board.sync_with(&["--device-type", "iOS"]).expect(0).json(),
        "foo",
        "copied",
    );
}
