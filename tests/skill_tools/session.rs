//! Read before write, for callers that are agents: through the library, as a daemon uses it.

use aiden_skills::sync::SkillSyncOptions;
use aiden_skills::tools::{Caller, Counting, Session, SkillTools, Tool};

use super::common::{Board, edited, version};
use super::*;

fn tools(board: &Board) -> SkillTools {
    SkillTools {
        options: SkillSyncOptions::new(board.agent(), board.bundle()),
        device: None,
        catalog: None,
        counting: Counting::AtOnce,
        evolution: None,
    }
}

fn patch(board: &Board, session: &mut Session, old: &str, new: &str) -> Result<String, String> {
    let input = request(
        "patch",
        "foo",
        json!({"old_string": old, "new_string": new}),
    );
    let mut caller = Caller::Session(session);
    tools(board)
        .call(Tool::Manage, &input, &mut caller)
        .map_err(|e| e.to_string())
}

fn read(board: &Board, session: &mut Session) {
    let mut caller = Caller::Session(session);
    tools(board)
        .call(Tool::Read, &json!({"name": "foo"}), &mut caller)
        .unwrap();
}

#[test]
fn an_agent_changes_only_what_it_has_read() {
    let board = Board::synced(&["foo"]);
    let mut session = Session::default();
    let refused = patch(&board, &mut session, "Do it", "Do this").unwrap_err();
    assert!(
        refused.starts_with("read skill \"foo\" with skill_read before you change it"),
        "{refused}"
    );
    assert_eq!(board.text("foo"), version("foo", 1));
    read(&board, &mut session);
    patch(&board, &mut session, "Do it", "Do this").unwrap();
    // It knows what it has written.
    patch(&board, &mut session, "Do this", "Do that").unwrap();
}

#[test]
fn a_text_that_changed_since_must_be_read_again() {
    let board = Board::synced(&["foo"]);
    let mut session = Session::default();
    read(&board, &mut session);
    board.user_skill("foo", &edited("foo"));
    let refused = patch(&board, &mut session, "Do it", "Do this").unwrap_err();
    assert!(
        refused.starts_with("skill \"foo\" has changed since you read it"),
        "{refused}"
    );
    read(&board, &mut session);
    patch(&board, &mut session, "Do it", "Do this").unwrap();
}

#[test]
fn what_one_agent_has_read_another_has_not() {
    let board = Board::synced(&["foo"]);
    let [mut one, mut other] = [Session::default(), Session::default()];
    read(&board, &mut one);
    patch(&board, &mut other, "Do it", "Do this").unwrap_err();
    patch(&board, &mut one, "Do it", "Do this").unwrap();
}

#[test]
fn a_file_of_a_skill_is_not_its_text() {
    let board = Board::synced(&["foo"]);
    board.user_file("foo/references/a.md", "a");
    let mut session = Session::default();
    let input = json!({"name": "foo", "file_path": "references/a.md"});
    tools(&board)
        .call(Tool::Read, &input, &mut Caller::Session(&mut session))
        .unwrap();
    patch(&board, &mut session, "Do it", "Do this").unwrap_err();
}

#[test]
fn the_hash_of_the_text_is_as_good_as_having_read_it() {
    let board = Board::synced(&["foo"]);
    let mut session = Session::default();
    let mut input = request("edit", "foo", json!({"content": edited("foo")}));
    input["expect_sha256"] = common::hash(version("foo", 1)).into();
    tools(&board)
        .call(Tool::Manage, &input, &mut Caller::Session(&mut session))
        .unwrap();
    assert_eq!(board.text("foo"), edited("foo"));
}
