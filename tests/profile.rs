//! The prompt section, through the binary; and runs that keep what they began with.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs;
use std::sync::Arc;

use aiden_skills::merge::{
    Asked, Auto, MergeOptions, NoModel, Stop, Wanted as Merges, merge_bundled_skills,
};
use aiden_skills::profile::{SkillRuntime, Wanted};
use aiden_skills::sync::{EngineSetting, SkillSyncOptions};
use aiden_skills::tools::{Format, Tool, schemas};
use common::{Board, skill_text, version};
use serde_json::{Value, json};

#[test]
fn the_same_library_gives_the_same_bytes_and_writes_nothing() {
    let board = Board::synced(&["a", "b"]);
    let before = board.snapshot();
    let first = board.run(&["profile"]).expect(0).stdout;
    assert_eq!(board.run(&["profile"]).expect(0).stdout, first);
    before.assert_same(&board.snapshot());
    assert!(first.starts_with("## Skills\n"), "{first}");
    assert!(first.ends_with(
        "\n## Available skills\n\n- a: What a does, version 1\n- b: What b does, version 1\n"
    ));
}

#[test]
fn what_is_archived_or_for_another_device_is_left_out() {
    let board = Board::synced(&["a", "b"]);
    let phone = skill_text("phone", "For phones.", "Tap.")
        .replace("---\n\n", "device_types: [iOS]\n---\n\n");
    board.user_skill("phone", &phone);
    board
        .run(&["tool", "skill_manage", r#"{"action":"archive","name":"b"}"#])
        .expect(0);
    let profile = board
        .run(&["--device-type", "linux", "profile"])
        .expect(0)
        .stdout;
    assert!(
        profile.ends_with("## Available skills\n\n- a: What a does, version 1\n"),
        "{profile}"
    );
}

#[test]
fn active_skills_follow_and_missing_ones_are_told() {
    let board = Board::synced(&["a", "b"]);
    let run = board
        .run(&["profile", "--active", "b,none", "--lang", "zh"])
        .expect(3);
    assert!(
        run.stdout
            .ends_with("\n## Active skills\n\n[b] Do it as in version 1.\n"),
        "{run:?}"
    );
    assert!(run.stderr.contains("\"none\""), "{run:?}");
    let json = board
        .run(&["--json", "profile", "--active", "a"])
        .expect(0)
        .json();
    assert!(json["profile"].as_str().unwrap().contains("[a] Do it"));
    board.run(&["profile", "--lang", "fr"]).expect(2);
}

#[test]
fn an_empty_library_says_so() {
    let board = Board::new();
    let profile = board.run(&["profile"]).expect(0).stdout;
    assert!(
        profile.ends_with("## Available skills\n\nNo skills available.\n"),
        "{profile}"
    );
}

#[test]
fn a_run_keeps_what_it_began_with_and_the_next_one_sees_the_merged_text() {
    let board = Board::new();
    let text = |a: &str, b: &str| skill_text("foo", "A foo.", &format!("{a}\n\nMiddle.\n\n{b}"));
    board.skill("foo", &text("One.", "Two."));
    board.sync().expect(0);
    board.user_skill("foo", &text("One.", "Two, mine."));
    board.sync().expect(0);
    board.skill("foo", &text("One, better.", "Two."));
    let options = SkillSyncOptions::new(board.agent(), board.bundle());
    let runtime = SkillRuntime::new(options.clone(), None);
    let active = Wanted {
        active: vec!["foo".into()],
        ..Wanted::default()
    };
    let run = runtime.begin_run().unwrap();
    let before = run.profile(&active).text;
    let told = runtime.clone();
    let engine = Auto::new(EngineSetting::Structural, Err(NoModel("none".into())), None);
    let merge = MergeOptions {
        sync: options,
        engine: Arc::new(engine),
        tools: None,
        max_attempts: 1,
        asked: Asked::default(),
        minute: std::time::Duration::ZERO,
        on_applied: Some(Arc::new(move |_| told.mark_dirty())),
    };
    let report = merge_bundled_skills(&merge, &Merges::default(), &Stop::default(), &mut |_| {});
    assert_eq!(report.unwrap().sync.merged.len(), 1);
    assert_eq!(
        run.profile(&active).text,
        before,
        "in the middle of a run nothing changes"
    );
    assert!(before.contains("One.") && !before.contains("better"));
    let next = runtime.begin_run().unwrap();
    let after = next.profile(&active).text;
    assert!(
        after.contains("One, better.") && after.contains("Two, mine."),
        "{after}"
    );
    let same = runtime.begin_run().unwrap();
    assert!(
        Arc::ptr_eq(&next, &same),
        "what did not change is not read again"
    );
}

#[test]
fn a_run_begins_again_once_the_library_can_be_listed() {
    let board = Board::synced(&["foo"]);
    let runtime = SkillRuntime::new(SkillSyncOptions::new(board.agent(), board.bundle()), None);
    let away = board.root().join("away");
    std::fs::rename(board.library(), &away).unwrap();
    std::fs::write(board.library(), "no directory").unwrap();
    runtime.begin_run().unwrap_err();
    std::fs::remove_file(board.library()).unwrap();
    std::fs::rename(&away, board.library()).unwrap();
    let run = runtime.begin_run().unwrap();
    assert_eq!(run.documents().len(), 1);
    assert_eq!(board.text("foo"), version("foo", 1));
}

#[test]
fn schemas_are_the_same_tools_in_every_form() {
    let board = Board::new();
    let of = |format: &str| board.run(&["tools", "--format", format]).expect(0).json();
    let names = |tools: &Value| -> Vec<String> {
        let tools = tools.as_array().unwrap().iter();
        let names = tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    let skills = [
        "skill_list",
        "skill_read",
        "skill_manage",
        "skill_mark_used",
    ];
    assert_eq!(names(&of("openai")), skills);
    fs::write(
        board.agent().join("agent.toml"),
        "[skills.evolution]\nenabled = true\n",
    )
    .unwrap();
    assert_eq!(
        names(&of("openai")),
        [&skills[..], &["skill_guide", "skill_learn"]].concat()
    );
    let openai = of("openai");
    let anthropic = of("anthropic");
    let mcp = of("mcp");
    assert_eq!(openai, board.run(&["tools"]).expect(0).json());
    assert_eq!(mcp, schemas(Tool::ALL.into_iter(), Format::Mcp));
    for (at, tool) in Tool::ALL.into_iter().enumerate() {
        let schema = tool.parameters();
        assert_eq!(openai[at]["function"]["name"], tool.name());
        assert_eq!(openai[at]["function"]["parameters"], schema);
        assert_eq!(anthropic[at]["input_schema"], schema);
        assert_eq!(mcp["tools"][at]["inputSchema"], schema);
        for required in schema["required"].as_array().unwrap() {
            assert!(
                schema["properties"]
                    .get(required.as_str().unwrap())
                    .is_some()
            );
        }
        for (field, property) in schema["properties"].as_object().unwrap() {
            assert!(
                property["description"].is_string(),
                "{field} says what it is"
            );
        }
    }
    let actions: &Value = &openai[2]["function"]["parameters"]["properties"]["action"]["enum"];
    assert_eq!(actions.as_array().unwrap().len(), 9);
    assert_eq!(
        openai[2]["function"]["parameters"]["required"],
        json!(["action", "name", "reason"])
    );
}
