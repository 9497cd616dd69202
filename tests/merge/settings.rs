//! `agent.toml` as the existing agent writes it, and what can be wrong with it.

use super::stand_in::{Reply, StandIn, merged};
use super::*;

fn error_of(toml: &str) -> String {
    let board = diverged(&["foo"], clashing);
    common::write(&board.agent().join("agent.toml"), toml);
    let report = merge(&board, &["--engine", "llm"]).expect(0).json();
    report["merge_failed"][0]["error"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn what_is_missing_is_named() {
    for (toml, error) in [
        (
            "",
            "agent.toml names no provider, in [model] or in [skills.merge]",
        ),
        (
            "[model]\nprovider = \"openai\"\n",
            "agent.toml names no model",
        ),
        (
            "[model]\nprovider = \"openai\"\nmodel = \"m\"\n",
            "openai wants an api_key, and agent.toml has none",
        ),
        (
            "[model]\nprovider = \"fake\"\nmodel = \"m\"\n",
            "\"fake\" is no provider that can merge; there are openai, anthropic, kimi, kimi-cn, volcengine, openrouter, ollama",
        ),
        (
            "[model]\nprovider = \"ollama\"\nmodel = \"m\"\n[skills.merge]\nbase_url = \"here\"\n",
            "base_url is no http:// or https:// address",
        ),
    ] {
        assert_eq!(error_of(toml), format!("no model to ask: {error}"));
    }
    let error = error_of(
        "[model]\nprovider = \"ollama\"\nmodel = \"m\"\n[skills.merge]\nca_file = \"/no/such/file\"\n",
    );
    assert_eq!(error, "no model to ask: there is no ca_file /no/such/file");
}

#[test]
fn doctor_says_what_is_wrong_with_the_model() {
    let board = diverged(&["foo"], clashing);
    let find = |toml: &str| {
        common::write(&board.agent().join("agent.toml"), toml);
        board.run(&["doctor"])
    };
    let run = find(
        "[model]\nprovider = \"main\"\nmodel = \"m\"\n[model_providers.main]\napi_key = \"k\"\n",
    )
    .expect(3);
    assert!(
        run.stdout.contains("[model_providers.main] has no type"),
        "{run:?}"
    );
    find("[model]\nprovider = \"ollama\"\nmodel = \"m\"\n").expect(0);
    find("[model]\nprovider = \"nobody\"\nmodel = \"m\"\n[skills.merge]\nengine = \"off\"\n")
        .expect(0);
}

#[test]
fn a_value_of_another_type_is_named_with_its_line() {
    let board = diverged(&["foo"], local);
    common::write(
        &board.agent().join("agent.toml"),
        "[skills.merge]\ntimeout_s = \"soon\"\n",
    );
    let run = merge(&board, &[]).expect(1);
    assert!(
        run.stderr
            .contains("line 2: skills.merge.timeout_s must be a whole number above zero"),
        "{run:?}"
    );
}

#[test]
fn the_providers_section_and_the_override_are_followed() {
    let board = diverged(&["foo"], clashing);
    let [agents, own] = [0, 1].map(|_| StandIn::new([Reply::Says(200, merged(&both("foo")))]));
    let toml = format!(
        "[model]\nprovider = \"house\"\nmodel = \"big\"\n[model_providers.house]\ntype = \"openai\"\napi_key = \"k\"\n\
         base_url = \"{}\"\n[skills.merge]\nmodel = \"small\"\nbase_url = \"{}/\"\n",
        agents.url(),
        own.url()
    );
    common::write(&board.agent().join("agent.toml"), toml);
    merge(&board, &[]).expect(0);
    assert_eq!(agents.requests().len(), 0);
    let requests = own.requests();
    assert_eq!(requests[0].line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(requests[0].body["model"], "small");
    assert_eq!(requests[0].header("authorization"), Some("Bearer k"));
}
