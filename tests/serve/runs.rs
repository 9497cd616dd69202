//! A run keeps what it began with (seed §8.5).

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use aiden_skills::live::LiveLibrary;
use aiden_skills::merge::{
    Answer as Merged, MergeError, MergeInput, MergeOptions, Requests, SkillMergeModel, Stop,
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
    }));
    let held = Arc::new(Held {
        go: (Mutex::new(false), Condvar::new()),
    });
    let merge = MergeOptions {
        sync: options,
        engine: Arc::clone(&held) as _,
        tools: None,
        max_attempts: 1,
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
