//! A skill that learns, over the socket.

use std::fs;

use super::*;

fn board() -> Board {
    let board = Board::synced(&["foo"]);
    let toml = "[skills.evolution]\nenabled = true\n";
    fs::write(board.agent().join("agent.toml"), toml).unwrap();
    board
}

#[test]
fn the_agent_learns_and_is_guided_over_the_socket_and_outside_agents_are_not() {
    let board = board();
    let daemon = Daemon::start(&board);
    let tools = daemon.socket().get("/api/tools").json();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 6);
    assert_eq!(
        daemon.tcp().get("/api/tools").json()["tools"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    for tool in ["skill_guide", "skill_learn"] {
        let input = json!({"input": {"skill": "foo", "task": "x"}});
        let answer = daemon.tcp().post(&format!("/api/tools/{tool}"), &input);
        assert_eq!(answer.status, 404);
    }
    let task = json!({"skill": "foo", "signature": "change_config", "task": "Always back up the config first."});
    let learned: Value = serde_json::from_str(&output(&daemon, "skill_learn", task)).unwrap();
    assert_eq!(learned["action"], "ADD");
    let asked = json!({"skill": "foo", "task": "Change the config"});
    let block = output(&daemon, "skill_guide", asked);
    assert!(
        block.contains("- Always back up the config first\n"),
        "{block}"
    );
    let profile = daemon
        .socket()
        .get("/api/profile?active=foo&task=Change%20the%20config");
    assert!(
        profile.text().contains("Guidance from experience"),
        "{}",
        profile.text()
    );
}

#[test]
fn guidance_that_is_given_is_counted_together_and_at_the_end() {
    let board = board();
    let daemon = Daemon::start(&board);
    let task = json!({"skill": "foo", "signature": "change_config", "task": "Always back up the config first."});
    output(&daemon, "skill_learn", task);
    let counts = board.state().join("evolution/foo/.aiden-counts.json");
    for _ in 0..3 {
        let asked = json!({"skill": "foo", "task": "Change the config"});
        assert_ne!(output(&daemon, "skill_guide", asked), "");
    }
    assert!(!counts.exists(), "no flush on the path of a call");
    assert_eq!(daemon.stop().code, Some(0));
    let counts = fs::read_to_string(counts).unwrap();
    assert!(counts.contains("\"retrievals\": 3"), "{counts}");
}

#[test]
fn sixteen_lessons_at_once_are_all_learned() {
    let board = board();
    let daemon = Daemon::start(&board);
    std::thread::scope(|scope| {
        for n in 0..16 {
            let daemon = &daemon;
            scope.spawn(move || {
                let judgement = json!({"feedback": {
                    "status": "positive", "lesson": format!("Thing number{n} wants care{n}"), "source": "user_input"
                }});
                let task = json!({"skill": "foo", "signature": format!("kind{n}"), "judgement": judgement});
                output(daemon, "skill_learn", task);
            });
        }
    });
    assert_eq!(daemon.stop().code, Some(0));
    let bank = board
        .run(&["--json", "evolve", "bank", "--skill", "foo"])
        .expect(0)
        .json();
    let entries = bank["skills"].as_array().unwrap().iter();
    let learned_from =
        entries.map(|entry| entry["source_experience_ids"].as_array().unwrap().len());
    assert_eq!(learned_from.sum::<usize>(), 16, "{bank:#}");
    board
        .run(&["evolve", "validate", "--skill", "foo"])
        .expect(0);
}

#[test]
fn counts_of_guidance_that_cannot_be_written_are_written_when_they_can() {
    let board = board();
    let daemon = Daemon::start(&board);
    let task = json!({"skill": "foo", "signature": "change_config", "task": "Always back up the config first."});
    output(&daemon, "skill_learn", task);
    // A directory in the place of the file of counts stands for a disk that takes nothing.
    let counts = board.state().join("evolution/foo/.aiden-counts.json");
    fs::create_dir(&counts).unwrap();
    let asked = json!({"skill": "foo", "task": "Change the config"});
    assert_ne!(output(&daemon, "skill_guide", asked), "");
    daemon.says("counts are kept for the next time");
    fs::remove_dir(&counts).unwrap();
    let text = || fs::read_to_string(&counts).unwrap_or_default();
    daemon.until("they are written", || text().contains("\"retrievals\": 1"));
}
