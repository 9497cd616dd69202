//! Every way a merge can fail, with the exact ledger afterwards (seeds §8.6 and §12, contract §5 "Failures").

use serde_json::{Value, json};

use super::common::{Board, assert_outcome, hash, names};
use super::stand_in::{Reply, StandIn, configure, merged, openai, openai_ended, result};
use super::*;

/// A merge failed: the library is as it was, and nothing is left of the try.
#[track_caller]
fn assert_failed(board: &Board, run: &common::Run, engine: &str, error: &str, transient: bool) {
    let report = run.json();
    let local = clashing("foo");
    let failed = json!([{
        "name": "foo", "mode": "three_way", "engine": engine, "merge_key": key("foo", &local),
        "error": error, "transient": transient
    }]);
    assert_eq!(report["merge_failed"], failed);
    assert_eq!(board.text("foo"), local);
    assert_eq!(board.base("foo"), base("foo"));
    let mut found = record(board, "foo");
    found.as_object_mut().unwrap().remove("merge_attempts");
    assert_eq!(
        found,
        failed_record("foo", &local, engine, error, transient)
    );
    assert!(board.record("foo")["last_merge_failed_at"].is_string());
    let left: Vec<_> = std::fs::read_dir(board.state().join("tmp"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    // It is not tried again where that would be of no use.
    let next = if transient {
        "merge_needed"
    } else {
        "merge_skipped"
    };
    assert_outcome(&board.assert_at_rest(), "foo", next);
}

/// A model that gives this reply.
#[track_caller]
fn assert_reply_fails(reply: Reply, error: &str, transient: bool) {
    let board = diverged(&["foo"], clashing);
    let model = StandIn::new([reply]);
    model.configure(&board, "kimi", "timeout_s = 1");
    let run = merge(&board, &[]).expect(0);
    let error = error.replace("SERVER", &format!("the model's server {}", model.address()));
    assert_failed(&board, &run, "auto", &error, transient);
    // Kimi has two ways of asking.
    let asked = model.requests().len();
    assert!((1..=2).contains(&asked), "{asked} requests");
    assert_eq!(board.record("foo")["merge_attempts"], asked);
}

fn merged_with(changes: &[(&str, &str)]) -> Reply {
    let mut text = both("foo");
    for (from, to) in changes {
        text = text.replace(from, to);
    }
    Reply::Says(200, merged(&text))
}

#[test]
fn a_conflict_without_a_model_is_tried_again_once_there_is_one() {
    let board = diverged(&["foo"], clashing);
    let run = merge(&board, &[]).expect(0);
    let error = "conflict: both sides changed line 8; no model to ask: agent.toml names no provider, in [model] or in [skills.merge]";
    assert_failed(&board, &run, "auto", error, true);
    let model = StandIn::new([Reply::Says(200, merged(&both("foo")))]);
    model.configure(&board, "kimi", "");
    assert_eq!(
        names(&merge(&board, &[]).expect(0).json(), "merged"),
        ["foo"]
    );
}

#[test]
fn a_conflict_under_the_structural_engine_is_not_tried_again_under_it() {
    let board = diverged(&["foo"], clashing);
    let run = merge(&board, &["--engine", "structural"]).expect(0);
    let error = "conflict: both sides changed line 8";
    let report = run.json();
    assert_eq!(report["merge_failed"][0]["error"], error);
    assert_eq!(
        record(&board, "foo"),
        failed_record("foo", &clashing("foo"), "structural", error, false)
    );
    let again = merge(&board, &["--engine", "structural"]).expect(0).json();
    assert_outcome(&again, "foo", "merge_skipped");
    // The setting has changed: it may go well now.
    assert_outcome(&board.sync().expect(0).json(), "foo", "merge_needed");
    let retried = merge(&board, &["--engine", "structural", "--retry-failed"])
        .expect(0)
        .json();
    assert_eq!(names(&retried, "merge_failed"), ["foo"]);
}

#[test]
fn no_model_is_configured_for_the_llm_engine() {
    let board = diverged(&["foo"], clashing);
    let run = merge(&board, &["--engine", "llm"]).expect(0);
    let error = "no model to ask: agent.toml names no provider, in [model] or in [skills.merge]";
    assert_failed_under(&board, &run, error);
}

#[track_caller]
fn assert_failed_under(board: &Board, run: &common::Run, error: &str) {
    assert_eq!(run.json()["merge_failed"][0]["error"], error);
    assert_eq!(
        record(board, "foo"),
        failed_record("foo", &clashing("foo"), "llm", error, true)
    );
}

#[test]
fn a_server_that_is_not_there_is_not_reached() {
    let board = diverged(&["foo"], clashing);
    // A port that was just given back.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    configure(&board, "kimi", &format!("http://{free}/v1"), "");
    let run = merge(&board, &[]).expect(0);
    let error = format!("the model's server {free} was not reached (connection refused)");
    assert_failed(&board, &run, "auto", &error, true);
    assert_eq!(board.record("foo")["merge_attempts"], Value::Null);
}

#[test]
fn a_name_that_is_not_found_is_no_answer() {
    let board = diverged(&["foo"], clashing);
    configure(&board, "kimi", "http://model.invalid/v1", "");
    let run = merge(&board, &[]).expect(0);
    let report = run.json();
    let error = report["merge_failed"][0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("the model's server model.invalid was not "),
        "{error}"
    );
    assert_failed(&board, &run, "auto", error, true);
}

#[test]
fn a_server_without_tls_is_no_answer() {
    let board = diverged(&["foo"], clashing);
    let model = StandIn::new([Reply::Says(200, merged(&both("foo")))]);
    configure(
        &board,
        "kimi",
        &model.url().replace("http:", "https:"),
        "timeout_s = 5",
    );
    let run = merge(&board, &[]).expect(0);
    let report = run.json();
    let error = report["merge_failed"][0]["error"].as_str().unwrap();
    assert_failed(&board, &run, "auto", error, true);
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn a_silent_or_slow_server_is_given_up_after_the_timeout() {
    for reply in [Reply::IsSilent, Reply::Drips] {
        assert_reply_fails(reply, "SERVER took too long to answer", true);
    }
}

#[test]
fn a_server_that_hangs_up_is_no_answer() {
    let board = diverged(&["foo"], clashing);
    let model = StandIn::new([Reply::HangsUp]);
    model.configure(&board, "kimi", "");
    let run = merge(&board, &[]).expect(0);
    let error = run.json()["merge_failed"][0]["error"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_failed(&board, &run, "auto", &error, true);
}

#[test]
fn a_reply_that_breaks_off_is_no_answer() {
    assert_reply_fails(
        Reply::BreaksOff(merged(&both("foo"))),
        "SERVER broke off its answer",
        true,
    );
}

#[test]
fn every_error_status_is_no_answer_and_says_what_to_look_at() {
    for (status, advice) in [
        (401, ": check the API key"),
        (403, ": check the API key"),
        (404, ": check base_url and model"),
        (429, ": it is asked too often"),
        (302, ": it redirects, which is not followed; check base_url"),
        (400, ""),
        (500, ""),
        (503, ""),
    ] {
        let error = format!("SERVER answered with HTTP status {status}{advice}");
        let body = br#"{"error": {"message": "sk-secret of the server"}}"#;
        assert_reply_fails(Reply::Says(status, body.to_vec()), &error, true);
    }
}

#[test]
fn what_is_no_models_reply_is_no_answer() {
    let portal = b"<html>Log in to the network</html>".to_vec();
    for reply in [
        portal,
        b"{}".to_vec(),
        b"{\"choices\":[]}".to_vec(),
        Vec::new(),
    ] {
        assert_reply_fails(
            Reply::Says(200, reply),
            "SERVER did not reply as a model does: check base_url",
            true,
        );
    }
}

#[test]
fn a_reply_without_end_is_read_to_a_bound_only() {
    assert_reply_fails(
        Reply::Floods,
        "the model's answer is larger than 1048576 bytes",
        false,
    );
}

#[test]
fn the_model_says_that_it_cannot() {
    let error = "the model answered that these texts can't be merged reliably";
    let words = result("failed", "", "All is well, merged perfectly.");
    assert_reply_fails(Reply::Says(200, openai(&words)), error, false);
    assert_reply_fails(
        Reply::Says(200, openai_ended("", "content_filter")),
        error,
        false,
    );
}

#[test]
fn an_answer_that_was_cut_off_is_a_bad_one() {
    let words = openai_ended("{\"status\":\"merged\",\"merged", "length");
    let room = (upstream("foo").len() + clashing("foo").len()) / 2 + 1024;
    let error = format!("the model's answer was cut off at {room} tokens");
    assert_reply_fails(Reply::Says(200, words), &error, false);
}

#[test]
fn an_answer_in_prose_is_a_bad_one() {
    let error = "the model's answer is not the JSON object that was asked for";
    for words in ["I have merged it for you!", "", "{\"status\": 1}"] {
        assert_reply_fails(Reply::Says(200, openai(words)), error, false);
    }
    let error = "the model's answer has a status that is neither merged nor failed";
    assert_reply_fails(
        Reply::Says(200, openai(&result("done", "", ""))),
        error,
        false,
    );
}

#[test]
fn an_input_given_back_is_no_merge() {
    for (given, error) in [
        (
            upstream("foo"),
            "the model's answer is the firmware's text as it was",
        ),
        (
            clashing("foo"),
            "the model's answer is the user's text as it was",
        ),
        (
            base("foo"),
            "the model's answer is the text before both changes as it was",
        ),
    ] {
        assert_reply_fails(Reply::Says(200, merged(&given)), error, false);
    }
}

#[test]
fn a_merged_text_that_is_not_valid_is_never_applied() {
    let long = "x".repeat(33_000);
    let too_large = both("foo").len() - "Third, act gently.".len() + long.len();
    let too_large = format!("is too large ({too_large} bytes > 32768 bytes)");
    for (changes, error) in [
        (
            vec![("name: foo", "name: bar")],
            "has the name \"bar\" instead of \"foo\"",
        ),
        (
            vec![("description: What foo does\n", "")],
            "has no `description` in its frontmatter: add a line `description: …`",
        ),
        (
            vec![("Third, act gently.", "<<<<<<< local\nThird, act gently.")],
            "has a conflict marker in line 12",
        ),
        (
            vec![("---\n\n", "allowed_tools: [root]\n---\n\n")],
            "allows the tool \"root\", which neither side does",
        ),
        (vec![("Third, act gently.", &long)], &too_large),
    ] {
        assert_reply_fails(
            merged_with(&changes),
            &format!("the merged text {error}"),
            false,
        );
    }
    let concatenated = format!(
        "{}\n{}",
        upstream("foo"),
        clashing("foo").split("---\n").last().unwrap()
    );
    let error = "the merged text is both texts one after the other";
    assert_reply_fails(Reply::Says(200, merged(&concatenated)), error, false);
    let error = "the merged text is empty";
    assert_reply_fails(Reply::Says(200, merged(" \n")), error, false);
    let error = "the merged text has no frontmatter: the very first line must be `---`, then `name:` and `description:`, then `---`";
    assert_reply_fails(
        Reply::Says(200, merged("# Steps\n\nFirst, look.")),
        error,
        false,
    );
}

#[test]
fn a_tool_that_the_board_does_not_have_is_not_added() {
    let board = diverged(&["foo"], clashing);
    let with_tools =
        |text: String| text.replace("---\n\n", "allowed_tools: [screenshot, gone]\n---\n\n");
    board.skill("foo", &with_tools(upstream("foo")));
    let tools = board.root().join("tools.json");
    common::write(&tools, r#"["screenshot"]"#);
    let model = StandIn::new([Reply::Says(200, merged(&with_tools(both("foo"))))]);
    model.configure(&board, "kimi", "");
    let run = merge(&board, &["--tools-file", tools.to_str().unwrap()]).expect(0);
    let error = "the merged text allows the tool \"gone\", which is not in the tools file";
    assert_eq!(run.json()["merge_failed"][0]["error"], error);
    assert_eq!(board.text("foo"), clashing("foo"));
}

#[test]
fn a_skill_that_is_too_large_or_no_text_is_not_handed_to_anybody() {
    let large = |name: &str| local(name) + &"x".repeat(33_000);
    for (mine, error) in [
        (
            large("foo").into_bytes(),
            "the library's SKILL.md is too large to merge",
        ),
        (
            b"---\nname: foo\n---\n\xff\xfe\n".to_vec(),
            "the library's SKILL.md is not valid UTF-8 text",
        ),
    ] {
        let board = diverged(&["foo"], local);
        board.user_file("foo/SKILL.md", &mine);
        let report = merge(&board, &[]).expect(0).json();
        let failed = &report["merge_failed"][0];
        assert!(
            failed["error"].as_str().unwrap().starts_with(error),
            "{failed}"
        );
        assert_eq!(failed["transient"], false);
        assert_eq!(
            std::fs::read(board.user_path("foo/SKILL.md")).unwrap(),
            mine
        );
    }
}

#[test]
fn a_name_that_both_have_leaves_a_record_without_hashes() {
    let board = Board::new();
    board.user_skill("foo", &clashing("foo"));
    board.skill("foo", &upstream("foo"));
    let report = merge(&board, &["--engine", "structural"]).expect(0).json();
    let key = merge_key(
        "two_way_no_base",
        "foo",
        "",
        &hash(upstream("foo")),
        &hash(clashing("foo")),
    );
    assert_eq!(report["merge_failed"][0]["mode"], "two_way_no_base");
    let expected = json!({
        "status": "user_modified",
        "last_failed_merge_key": key,
        "last_merge_error": "conflict: both sides changed the text, with no common base known",
        "last_merge_engine": "structural",
    });
    assert_eq!(record(&board, "foo"), expected);
    let report = board
        .run(&["--json", "--engine", "structural", "sync"])
        .expect(0)
        .json();
    assert_outcome(&report, "foo", "merge_skipped");
    // Either side's change makes it another merge.
    board.user_skill("foo", &upstream("foo"));
    assert_outcome(&board.sync().expect(0).json(), "foo", "adopted");
}

#[test]
fn one_failure_does_not_stop_the_next() {
    let board = diverged(&["bar", "foo", "zoo"], local);
    board.user_skill("foo", &clashing("foo"));
    let report = merge(&board, &[]).expect(0).json();
    assert_eq!(names(&report, "merged"), ["bar", "zoo"]);
    assert_eq!(names(&report, "merge_failed"), ["foo"]);
}

#[test]
fn the_same_failure_again_writes_nothing() {
    let board = diverged(&["foo"], clashing);
    merge(&board, &[]).expect(0);
    let before = board.snapshot();
    let report = merge(&board, &[]).expect(0).json();
    assert_eq!(report["flushes"], 0);
    before.assert_same(&board.snapshot());
}

#[test]
fn a_success_clears_what_a_failure_left() {
    let board = diverged(&["foo"], clashing);
    merge(&board, &[]).expect(0);
    board.user_skill("foo", &local("foo"));
    merge(&board, &[]).expect(0);
    let record = board.record("foo");
    for field in [
        "last_failed_merge_key",
        "last_merge_failed_at",
        "last_merge_error",
        "last_merge_transient",
        "merge_attempts",
    ] {
        assert!(record.get(field).is_none(), "{field} in {record:#}");
    }
}
