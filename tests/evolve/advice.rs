//! A model that is asked for what rules can't tell, through the binary; it is a stand-in that answers as it is told.

use serde_json::{Value, json};

use super::common;
use super::stand_in::{Reply, StandIn, openai};
use super::workspace::{Workspace, bullets, text};

const NEIGHBOUR: &str = "Take a photo of the meter reading";

/// A workspace whose skill has this entry, and a model that replies so.
fn asked(engine: &str, content: &str, replies: Vec<Reply>) -> (Workspace, StandIn) {
    let workspace = Workspace::with_entry(content, "0.1.0", "meter");
    let model = StandIn::new(replies);
    model.configure(&workspace.board, "openai", "");
    let path = workspace.board.agent().join("agent.toml");
    let toml = std::fs::read_to_string(&path).unwrap();
    common::write(
        &path,
        format!("{toml}\n[skills.evolution]\nengine = \"{engine}\"\n"),
    );
    (workspace, model)
}

fn says(answer: &Value) -> Reply {
    Reply::Says(200, openai(&answer.to_string()))
}

fn many(count: usize) -> String {
    let words = [
        "alpha", "bravo", "charlie", "delta", "echo", "golf", "hotel", "india", "kilo", "lima",
        "mike", "oscar", "papa", "quebec", "romeo", "sierra", "tango",
    ];
    let lines = words
        .iter()
        .take(count)
        .map(|word| format!("- Mind {word} {word}s {word}ness"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_relation_is_asked_for_where_rules_see_none_that_is_certain() {
    let (workspace, model) = asked(
        "auto",
        "- Photograph the meter",
        vec![says(&json!({"relation": "contradict"}))],
    );
    let learned = workspace.learn("The meter is read by camera", "meter");
    assert_eq!(learned["action"], "SUPERSEDE");
    assert_eq!(
        bullets(&workspace.only_entry()),
        ["- The meter is read by camera"]
    );
    let request = &model.requests()[0];
    let question: Value =
        serde_json::from_str(text(&request.body["messages"][1]["content"])).unwrap();
    assert_eq!(question["lesson"], "The meter is read by camera");
    assert_eq!(question["entry"]["content"], "- Photograph the meter");
    assert!(!text(&request.body["messages"][0]["content"]).contains("camera"));
}

#[test]
fn rules_decide_where_they_are_certain_or_the_model_has_no_answer() {
    let (workspace, model) = asked(
        "auto",
        "- Photograph the meter",
        vec![Reply::Says(200, openai("I can't tell."))],
    );
    assert_eq!(
        workspace.learn("Never photograph the meter", "meter")["action"],
        "SUPERSEDE"
    );
    assert_eq!(model.requests().len(), 0, "the rules are certain of it");
    assert_eq!(workspace.learn(NEIGHBOUR, "meter")["action"], "MERGE");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_model_is_never_asked_where_rules_alone_are_wished() {
    let (workspace, model) = asked(
        "local",
        "- Photograph the meter",
        vec![says(&json!({"relation": "contradict"}))],
    );
    assert_eq!(workspace.learn(NEIGHBOUR, "meter")["action"], "MERGE");
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn an_entry_that_rules_can_not_shorten_is_shortened_by_the_model() {
    let rules = json!({"bullets": ["Mind them all", "Take a photo"]});
    let replies = vec![says(&json!({"relation": "compatible"})), says(&rules)];
    let (workspace, model) = asked("auto", &many(15), replies);
    let learned = workspace.learn(NEIGHBOUR, "meter");
    assert_eq!(learned["synthesized"], true);
    assert_eq!(learned["version"], "0.1.2");
    let entry = workspace.only_entry();
    assert_eq!(bullets(&entry), ["- Mind them all", "- Take a photo"]);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_model_that_goes_first_is_asked_though_rules_could_and_rules_stand_in_for_it() {
    let content = format!("{}\n- Mind alpha alphas alphaness", many(15));
    let replies = vec![
        says(&json!({"relation": "compatible"})),
        Reply::Says(200, openai("no")),
    ];
    let (workspace, model) = asked("llm", &content, replies);
    let learned = workspace.learn(NEIGHBOUR, "meter");
    assert_eq!(model.requests().len(), 2);
    assert_eq!(learned["synthesized"], true);
    assert_eq!(bullets(&workspace.only_entry()).len(), 16);
}
