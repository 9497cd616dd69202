//! A run keeps what it began with (seed §8.5).

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use aiden_skills::live::LiveLibrary;
use aiden_skills::merge::{
    Answer as Merged, Asked, MergeError, MergeInput, MergeOptions, Requests, SkillMergeModel, Stop,
    Wanted, merge_bundled_skills,
};
use aiden_skills::sync::SkillSyncOptions;
use aiden_skills::tools::{Counting, SkillTools};

use super::*;

/// Merges when it is told to.
struct Held {
    go: (Mutex<bool>, Condvar),
}

impl SkillMergeModel for Held {
    fn merge(
        &self,
        input: &MergeInput,
        _: &[aiden_skills::merge::structural::Conflict],
        _: &Requests,
    ) -> Result<Merged, MergeError> {
        let go = self.go.0.lock().unwrap();
        drop(self.go.1.wait_while(go, |go| !*go).unwrap());
        let text = input.texts.upstream.replace("Do it", "Do it, as merged,");
        Ok(Merged {
            text,
            summary: "held".into(),
            engine: "structural",
        })
    }
}

#[test]
fn a_merge_that_lands_while_a_run_is_in_progress_is_for_the_next_run() {
    let board = Board::synced(&["foo"]);
    board.user_skill("foo", &edited("foo"));
    board.skill("foo", &version("foo", 2));
    let options = SkillSyncOptions::new(board.agent(), board.bundle());
    let live = Arc::new(LiveLibrary::new(SkillTools {
        options: options.clone(),
        device: None,
        catalog: None,
        counting: Counting::AtOnce,
        evolution: None,
    }));
    let held = Arc::new(Held {
        go: (Mutex::new(false), Condvar::new()),
    });
    let merge = MergeOptions {
        sync: options,
        engine: Arc::clone(&held) as _,
        tools: None,
        max_attempts: 1,
        asked: Asked::default(),
        minute: Duration::from_secs(60),
        on_applied: None,
    };
    let merging = std::thread::spawn(move || {
        merge_bundled_skills(&merge, &Wanted::default(), &Stop::default(), &mut |_| {}).unwrap()
    });
    let wanted = aiden_skills::profile::Wanted {
        active: vec!["foo".into()],
        ..Default::default()
    };
    let run = live.begin_run().unwrap();
    let before = run.profile(&wanted).text;
    assert!(before.contains(edited("foo").lines().last().unwrap()));
    *held.go.0.lock().unwrap() = true;
    held.go.1.notify_all();
    assert_eq!(merging.join().unwrap().sync.merged.len(), 1);
    assert!(board.text("foo").contains("as merged"));
    assert_eq!(
        run.profile(&wanted).text,
        before,
        "the run's skills do not change"
    );
    let next = live.begin_run().unwrap();
    assert!(next.profile(&wanted).text.contains("as merged"));
    assert!(next.generation > run.generation);
}

fn live(board: &Board) -> Arc<LiveLibrary> {
    Arc::new(LiveLibrary::new(SkillTools {
        options: SkillSyncOptions::new(board.agent(), board.bundle()),
        device: None,
        catalog: None,
        counting: Counting::AtOnce,
        evolution: None,
    }))
}

/// Whether the next run has a skill.
fn has(live: &LiveLibrary, name: &str) -> bool {
    let run = live.begin_run().unwrap();
    run.documents()
        .iter()
        .any(|document| document.name() == name)
}

#[test]
fn a_run_has_what_was_changed_before_it_however_many_begin_at_once() {
    let board = Board::new();
    for n in 0..1500 {
        let name = format!("s{n}");
        board.user_skill(&name, &version(&name, 1));
    }
    let live = live(&board);
    assert!(has(&live, "s1"));
    for turn in 0..4 {
        let name = format!("new-{turn}");
        board.user_skill(&name, &version(&name, 1));
        std::thread::scope(|scope| {
            for delay in [0, 2, 5, 10, 20] {
                let (live, name) = (&live, &name);
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(delay));
                    assert!(has(live, name), "{name} after {delay} ms");
                });
            }
        });
    }
}

#[test]
fn a_config_dir_that_comes_after_the_daemon_is_watched() {
    let board = Board::new();
    std::fs::remove_dir(board.agent()).unwrap();
    let live = live(&board);
    assert!(!has(&live, "foo"));
    board.user_skill("foo", &version("foo", 1));
    assert!(has(&live, "foo"));
    board.user_skill("bar", &version("bar", 1));
    assert!(has(&live, "bar"));
}

#[test]
fn other_settings_hold_for_every_run_that_begins_after_them() {
    let board = Board::new();
    for n in 0..1500 {
        let name = format!("s{n}");
        board.user_skill(&name, &version(&name, 1));
    }
    let phone = version("phone", 1).replace("---\n\n", "device_types: [iOS]\n---\n\n");
    board.user_skill("phone", &phone);
    let live = live(&board);
    let wanted = aiden_skills::profile::Wanted {
        active: vec!["phone".into()],
        ..Default::default()
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            board.user_skill("s1", &edited("s1"));
            scope.spawn(|| live.begin_run().unwrap());
        }
        let tools = SkillTools {
            device: Some(aiden_skills::skill::DeviceType::Linux),
            ..(*live.tools()).clone()
        };
        live.replace(tools);
    });
    let run = live.begin_run().unwrap();
    assert_eq!(run.profile(&wanted).missing, ["phone"]);
}
