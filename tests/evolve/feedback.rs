//! What a run and the user's words tell: status, lesson, source and confidence.

use serde_json::{Value, json};

use super::workspace::{Counts, NO_INSIGHT, Workspace, said, text};

#[track_caller]
fn assert_feedback(feedback: &Value, status: &str, source: &str, confidence: f64) {
    assert_eq!(feedback["status"], status, "{feedback:#}");
    assert_eq!(feedback["source"], source, "{feedback:#}");
    assert_eq!(feedback["confidence"], confidence, "{feedback:#}");
}

#[track_caller]
fn assert_default(feedback: &Value) {
    assert_feedback(feedback, "positive", "default", 0.2);
    assert_eq!(feedback["lesson"], NO_INSIGHT);
}

/// A run failed, and its lesson says how.
#[track_caller]
fn assert_failure(feedback: &Value, reason: &str) {
    assert_feedback(feedback, "negative", "execution_result", 0.7);
    assert!(text(&feedback["lesson"]).contains(reason), "{feedback:#}");
}

fn after(result: &Value) -> Value {
    Workspace::new().feedback(&["--result", &result.to_string()])
}

#[test]
fn a_failure_that_the_user_explains_is_a_pattern_to_avoid() {
    let words = "This failed. The problem was that the selector changed after login.";
    let feedback = Workspace::new().feedback(&["--feedback", words]);
    assert_feedback(&feedback, "negative", "explicit", 0.9);
    assert_eq!(
        feedback["lesson"],
        "Avoid this failure pattern: The selector changed after login"
    );
}

#[test]
fn praise_in_chinese_gives_the_insight_that_comes_with_it() {
    let words = "这个有效，先关闭蓝牙再配对成功率更高。";
    let feedback = Workspace::new().feedback(&["--feedback", words]);
    assert_feedback(&feedback, "positive", "explicit", 0.9);
    assert_eq!(feedback["lesson"], "先关闭蓝牙再配对成功率更高");
}

#[test]
fn a_reason_of_failure_in_chinese_is_in_the_lesson() {
    let words = "这个有问题，失败原因是没有等待页面加载完成";
    let feedback = Workspace::new().feedback(&["--feedback", words]);
    assert_feedback(&feedback, "negative", "explicit", 0.9);
    let lesson = text(&feedback["lesson"]);
    assert!(lesson.contains("没有等待页面加载完成"), "{lesson}");
}

#[test]
fn praise_without_an_insight_is_no_feedback_at_all() {
    let feedback = Workspace::new().feedback(&["--feedback", "This worked!"]);
    assert_default(&feedback);
    let feedback = Workspace::new().feedback(&[
        "--feedback",
        "This worked!",
        "--task",
        "Always back up the config first.",
    ]);
    assert_feedback(&feedback, "positive", "user_input", 0.8);
    assert_eq!(feedback["lesson"], "Always back up the config first");
}

#[test]
fn of_praise_and_blame_in_one_breath_blame_counts() {
    let words = "This worked at first. The problem was that the token expired overnight.";
    let feedback = Workspace::new().feedback(&["--feedback", words]);
    assert_feedback(&feedback, "negative", "explicit", 0.9);
    let lesson = text(&feedback["lesson"]).to_lowercase();
    assert!(lesson.contains("token expired overnight"), "{lesson}");
}

#[test]
fn the_users_word_counts_more_than_the_result() {
    let feedback = Workspace::new().feedback(&[
        "--feedback",
        "This failed. The problem was that the selector changed after login.",
        "--result",
        r#"{"error":"connection timeout"}"#,
    ]);
    assert_feedback(&feedback, "negative", "explicit", 0.9);
}

#[test]
fn an_error_is_a_failure() {
    assert_failure(
        &after(&json!({"error": "connection timeout"})),
        "connection timeout",
    );
    assert_failure(
        &after(&json!({"exit_code": 2, "text": "disk full"})),
        "disk full",
    );
    for status in ["fail", "failed", "error"] {
        assert_failure(
            &after(&json!({"status": status, "text": "disk full"})),
            "disk full",
        );
    }
}

#[test]
fn the_words_of_a_result_count_only_in_the_shape_of_an_error_and_without_a_status() {
    for words in [
        "Error: disk full",
        "Exception: disk full",
        "Traceback (most recent call last):\n  disk full",
        "错误：disk full",
        "异常: disk full",
        "失败：disk full",
    ] {
        assert_failure(&after(&json!({ "text": words })), "disk full");
    }
    for no_failure in [
        json!({"text": "Finished with 0 errors"}),
        json!({"text": "The failed test was removed as wrong"}),
        json!({"text": "没有错误"}),
        json!({"status": "success", "text": "Error: disk full, but retried"}),
        json!({"exit_code": 0, "text": "exception: was ignored"}),
        json!({"status": "success", "exit_code": 0, "error": ""}),
        json!({"exit_code": null}),
        json!({}),
    ] {
        assert_default(&after(&no_failure));
    }
}

#[test]
fn a_failure_comes_before_a_preference_which_is_not_lost() {
    let workspace = Workspace::new();
    let feedback = workspace.feedback(&[
        "--task",
        "Always include a summary.",
        "--result",
        r#"{"error":"disk full"}"#,
    ]);
    assert_failure(&feedback, "disk full");
    let experience = workspace.experiences().remove(0);
    let reasoning = text(&experience["reasoning"]);
    assert!(reasoning.contains("include a summary"), "{reasoning}");
}

#[test]
fn a_success_after_a_failure_of_the_same_kind_is_an_improvement() {
    let workspace = Workspace::new();
    let run = |result: Value| {
        workspace.feedback(&["--signature", "load_page", "--result", &result.to_string()])
    };
    assert_failure(&run(json!({"error": "the page timed out"})), "timed out");
    let success = json!({"status": "success", "text": "waiting for network idle fixed it"});
    let feedback = run(success.clone());
    assert_feedback(&feedback, "positive", "execution_result", 0.6);
    assert_ne!(feedback["lesson"], NO_INSIGHT);
    let other = Workspace::new();
    other.feedback(&[
        "--signature",
        "other",
        "--result",
        r#"{"error":"timed out"}"#,
    ]);
    assert_default(&other.feedback(&[
        "--signature",
        "load_page",
        "--result",
        &success.to_string(),
    ]));
}

#[test]
fn a_caller_can_say_that_a_run_was_an_improvement() {
    let feedback = after(&json!({
        "status": "success", "improved": true, "text": "waiting for network idle fixed it"
    }));
    assert_feedback(&feedback, "positive", "execution_result", 0.6);
}

#[test]
fn a_preference_becomes_a_directive() {
    for (task, lesson) in [
        (
            "Write the report. Always include a summary section, please.",
            "Always include a summary section",
        ),
        (
            "写一份周报，每次都要先列风险，不要超过一页。",
            "每次都要先列风险；不要超过一页",
        ),
    ] {
        let feedback = Workspace::new().feedback(&["--task", task]);
        assert_feedback(&feedback, "positive", "user_input", 0.8);
        assert_eq!(feedback["lesson"], lesson);
    }
}

#[test]
fn a_lesson_is_stored_on_one_line_with_straight_quotes() {
    let workspace = Workspace::new();
    let lesson = "Always say “hello”\n  to the\r\n\tuser’s guests ";
    let learned = workspace.learn(lesson, "greet");
    let stored = "Always say \"hello\" to the user's guests";
    assert_eq!(learned["feedback"]["lesson"], stored);
    assert_eq!(workspace.experiences()[0]["lesson"], stored);
    assert_eq!(workspace.only_entry()["content"], format!("- {stored}"));
}

#[test]
fn a_callers_confidence_is_taken_and_else_that_of_its_source() {
    for (status, source, given, taken) in [
        ("positive", "execution_result", Some(0.85), 0.85),
        ("negative", "execution_result", Some(0.75), 0.75),
        ("positive", "explicit", None, 0.9),
        ("negative", "explicit", None, 0.9),
        ("positive", "user_input", None, 0.8),
        ("negative", "execution_result", None, 0.7),
        ("positive", "execution_result", None, 0.6),
        ("positive", "default", None, 0.2),
    ] {
        let workspace = Workspace::new();
        let mut feedback = json!({"status": status, "lesson": "Say hello", "source": source});
        if let Some(given) = given {
            feedback["confidence"] = json!(given);
        }
        let learned = workspace.judged("greet", &json!({ "feedback": feedback }));
        assert_feedback(&learned["feedback"], status, source, taken);
        assert_eq!(workspace.experiences()[0]["feedback_confidence"], taken);
    }
}

#[test]
fn feedback_of_a_caller_that_is_none_changes_nothing() {
    let workspace = Workspace::new();
    let mut wrong = vec![
        json!("Say hello"),
        json!({}),
        json!({"lesson": "Say hello"}),
    ];
    for (key, value) in [
        ("status", json!("neutral")),
        ("lesson", json!("")),
        ("lesson", json!(" \n ")),
        ("source", json!("hearsay")),
        ("confidence", json!(1.5)),
        ("confidence", json!(-0.1)),
        ("confidence", json!("high")),
    ] {
        let mut feedback = said("Say hello");
        feedback[key] = value;
        wrong.push(feedback);
    }
    let before = workspace.files();
    let learn = |flag: &str, text: &str| {
        let run = workspace.run(&["learn", flag, text]);
        assert!(matches!(run.code, 1 | 2), "{flag} {text}: {run:?}");
        assert!(!run.stderr.is_empty(), "{flag} {text}");
        workspace.assert_files(&before);
    };
    for feedback in wrong {
        learn("--judgement", &json!({ "feedback": feedback }).to_string());
    }
    for torn in ["{", "", "[]", "null", "7", "Say hello"] {
        learn("--judgement", torn);
        learn("--result", torn);
    }
    learn("--result", r#"{"exit_code": "two"}"#);
    assert_eq!(workspace.counts(), Counts::NONE);
}

#[test]
fn a_dash_reads_standard_input() {
    let workspace = Workspace::new();
    let result = r#"{"error": "connection timeout"}"#;
    let run = workspace.run_with_input(&["learn", "--result", "-"], result);
    assert_failure(&run.expect(0).json()["feedback"], "connection timeout");
    let judgement = json!({"feedback": said("Always say hello")}).to_string();
    let run = workspace.run_with_input(&["learn", "--judgement", "-"], &judgement);
    let learned = run.expect(0).json();
    assert_eq!(learned["feedback"]["lesson"], "Always say hello");
}

#[test]
fn nothing_to_learn_from_is_no_error() {
    let workspace = Workspace::new();
    let learned = workspace.json(&["learn"]);
    assert_eq!(learned["action"], "GATE_BLOCKED");
    assert_default(&learned["feedback"]);
}
