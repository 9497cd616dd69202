//! The words by which a user's preference is known: the kit's list, and the longer one.

use serde_json::Value;

use super::common;
use super::workspace::{NO_INSIGHT, Workspace};

#[track_caller]
fn assert_preference(feedback: &Value, part: &str) {
    assert_eq!(feedback["source"], "user_input", "{feedback:#}");
    assert_eq!(feedback["status"], "positive", "{feedback:#}");
    assert_eq!(feedback["confidence"], 0.8, "{feedback:#}");
    let lesson = feedback["lesson"].as_str().unwrap().to_lowercase();
    assert!(lesson.contains(part), "{feedback:#}");
}

#[track_caller]
fn assert_none(feedback: &Value) {
    assert_eq!(feedback["source"], "default", "{feedback:#}");
    assert_eq!(feedback["lesson"], NO_INSIGHT);
}

/// With the longer list.
fn extended() -> Workspace {
    let workspace = Workspace::new();
    let toml = "[skills.evolution]\nmarkers = \"extended\"\n";
    common::write(&workspace.board.agent().join("agent.toml"), toml);
    workspace
}

#[test]
fn each_marker_of_the_kit_shows_a_preference() {
    let workspace = Workspace::new();
    for (task, part) in [
        ("Always close the menu first.", "close the menu"),
        ("Never retry the upload twice.", "retry the upload twice"),
        ("You should dim the screen at night.", "dim the screen"),
        ("Avoid pop-up windows.", "pop-up windows"),
        ("Prefer metric units.", "metric units"),
        ("Make sure the cable is plugged in.", "cable is plugged in"),
        ("Don't open two tabs.", "open two tabs"),
        ("Don’t delete my photos.", "delete my photos"),
        ("MAKE SURE the door is locked.", "door is locked"),
        ("每次都先截图。", "先截图"),
        ("必须先登录。", "先登录"),
        ("不要打开广告。", "打开广告"),
        ("避免重复点击。", "重复点击"),
        ("优先使用缓存。", "使用缓存"),
        ("一定要先备份。", "先备份"),
        ("千万别删除照片。", "删除照片"),
    ] {
        assert_preference(&workspace.feedback(&["--task", task]), part);
    }
}

#[test]
fn a_word_that_only_has_a_marker_in_it_shows_none() {
    let workspace = Workspace::new();
    for task in [
        "Carry it on your shoulder",
        "Show the preferences of the nevermore page",
        "Book a table at the unavoidable restaurant",
    ] {
        assert_none(&workspace.feedback(&["--task", task]));
    }
}

#[test]
fn a_question_or_a_guess_is_no_directive() {
    let workspace = Workspace::new();
    for task in [
        "I'm not sure what I should do",
        "What should I do?",
        "Should I always use tabs?",
        "要不要用缓存？",
        "This should work.",
    ] {
        assert_none(&workspace.feedback(&["--task", task]));
    }
}

#[test]
fn the_longer_list_is_asked_for_in_agent_toml() {
    let (strict, extended) = (Workspace::new(), extended());
    for (task, part) in [
        ("You must log in before the upload.", "log in"),
        ("From now on reply in French.", "reply in french"),
        ("Ensure that the door is locked.", "door is locked"),
        ("Remember to save the draft.", "save the draft"),
        ("Keep answers short.", "short"),
        ("Use at most three pictures.", "three pictures"),
        ("总是先截图。", "先截图"),
        ("绝不删除照片。", "删除照片"),
        ("务必先关闭应用。", "先关闭应用"),
        ("尽量用简短的句子。", "简短的句子"),
        ("禁止打开广告。", "打开广告"),
        ("以后用法语回答。", "用法语回答"),
        ("标题要求居中。", "居中"),
    ] {
        assert_none(&strict.feedback(&["--task", task]));
        assert_preference(&extended.feedback(&["--task", task]), part);
    }
}

#[test]
fn the_longer_list_does_not_take_questions_or_plain_tasks_either() {
    let workspace = extended();
    for task in [
        "Carry it on your shoulder",
        "要不要用缓存？",
        "What must I do?",
        "Play some jazz music in the kitchen",
        "今天天气怎么样",
    ] {
        assert_none(&workspace.feedback(&["--task", task]));
    }
}
