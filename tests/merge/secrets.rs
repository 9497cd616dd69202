//! Keys: where they come from, and that they come out nowhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::common::Board;
use super::stand_in::{Reply, StandIn, merged};
use super::*;

const KEY: &str = "sk-0123456789-very-secret";

fn settle(board: &Board, more: &str, environment: &[(&str, &str)]) -> (StandIn, common::Run) {
    let model = StandIn::new([Reply::Says(200, merged(&both("foo")))]);
    model.configure(board, "kimi", more);
    let mut command = board.command(&["--json", "-vv", "merge"]);
    command.envs(environment.iter().copied());
    let run = common::run(&mut command);
    (model, run)
}

#[track_caller]
fn assert_key_was_sent(model: &StandIn) {
    let requests = model.requests();
    let expected = format!("Bearer {KEY}");
    assert_eq!(requests[0].header("authorization"), Some(expected.as_str()));
}

#[test]
fn a_key_comes_from_a_variable() {
    let board = diverged(&["foo"], clashing);
    let (model, run) = settle(&board, "api_key = \"$MODEL_KEY\"", &[("MODEL_KEY", KEY)]);
    run.expect(0);
    assert_key_was_sent(&model);
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let board = diverged(&["foo"], clashing);
    let (model, run) = settle(&board, "api_key = \"$MODEL_KEY\"", &[]);
    let report = run.expect(0).json();
    let error = report["merge_failed"][0]["error"].as_str().unwrap();
    assert!(
        error.ends_with("the variable MODEL_KEY, which api_key names, is not set"),
        "{error}"
    );
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn a_key_comes_from_a_file_that_only_its_owner_reads() {
    for (mode, is_read) in [(0o600, true), (0o640, true), (0o644, false)] {
        let board = diverged(&["foo"], clashing);
        let file = board.root().join("key");
        fs::write(&file, format!("{KEY}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let more = format!("api_key_file = \"{}\"", file.display());
        let (model, run) = settle(&board, &more, &[]);
        let report = run.expect(0).json();
        if is_read {
            assert_key_was_sent(&model);
        } else {
            let error = report["merge_failed"][0]["error"].as_str().unwrap();
            assert!(
                error.contains("can be read by everybody; make it 0600"),
                "{error}"
            );
            assert_eq!(model.requests().len(), 0);
        }
    }
}

#[test]
fn a_key_comes_out_nowhere() {
    for reply in [
        Reply::Says(
            401,
            format!("{{\"error\": \"wrong key {KEY}\"}}").into_bytes(),
        ),
        Reply::HangsUp,
        Reply::Says(200, merged(KEY)),
    ] {
        let board = diverged(&["foo"], clashing);
        let model = StandIn::new([reply]);
        let url = model
            .url()
            .replace("http://", &format!("http://user:{KEY}@"));
        stand_in::configure(&board, "kimi", &url, &format!("api_key = \"{KEY}\""));
        let run = common::run(&mut board.command(&["-vv", "merge"]));
        let json = common::run(&mut board.command(&["--json", "-vv", "merge"]));
        let status = common::run(&mut board.command(&["status"]));
        let told = format!("{run:?}{json:?}{status:?}{}", board.ledger_text());
        assert!(!told.contains(KEY), "{told}");
    }
}

#[test]
fn the_agents_key_goes_to_no_other_provider() {
    let board = diverged(&["foo"], clashing);
    let model = StandIn::new([Reply::Says(200, merged(&both("foo")))]);
    let toml = format!(
        "[model]\nprovider = \"openai\"\nmodel = \"m\"\napi_key = \"{KEY}\"\n[skills.merge]\nprovider = \"ollama\"\n\
         base_url = \"{}\"\n",
        model.url()
    );
    common::write(&board.agent().join("agent.toml"), toml);
    merge(&board, &[]).expect(0);
    assert_eq!(model.requests()[0].header("authorization"), None);
}

#[test]
fn a_secret_in_the_wrong_place_comes_out_nowhere_either() {
    for toml in [
        format!("api_key = \"${KEY}\"\nbase_url = \"http://127.0.0.1:1/v1\""),
        format!("base_url = \"http://user:{KEY}/x@127.0.0.1:1/v1\""),
        format!("base_url = \"http://user:{KEY}#x@127.0.0.1:1/v1\""),
        format!("base_url = \"http://127.0.0.1:99999/{KEY}\""),
        format!("base_url = \"http://127.0.0.1:1/v1?key={KEY}\""),
    ] {
        let board = diverged(&["foo"], clashing);
        let toml = format!("[model]\nprovider = \"kimi\"\nmodel = \"m\"\n[skills.merge]\n{toml}\n");
        common::write(&board.agent().join("agent.toml"), toml);
        let run = common::run(&mut board.command(&["-vv", "merge"]));
        let doctor = common::run(&mut board.command(&["doctor"]));
        let told = format!("{run:?}{doctor:?}{}", board.ledger_text());
        assert!(!told.contains(KEY), "{told}");
        assert_eq!(run.code, 0);
        assert!(board.record("foo")["last_merge_error"].is_string());
    }
}
