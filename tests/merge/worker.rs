//! The worker as a program that embeds the library sees it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aiden_skills::merge::structural::Conflict;
use aiden_skills::merge::{
    Answer, Asked, Engine, Event, MergeError, MergeInput, MergeOptions, Merger, Requests,
    SkillMergeModel, Stop, Wanted, merge_bundled_skills,
};
use aiden_skills::store::{LinuxFilesystem, UnsafeFilesystems};
use aiden_skills::sync::{Bundle, SkillSyncOptions};

use super::common::{Board, names};
use super::*;

/// An engine that does what a function says.
struct Scripted<F>(F);

impl<F> SkillMergeModel for Scripted<F>
where
    F: Fn(&MergeInput, &Requests) -> Result<Answer, MergeError> + Send + Sync,
{
    fn merge(
        &self,
        input: &MergeInput,
        _: &[Conflict],
        requests: &Requests,
    ) -> Result<Answer, MergeError> {
        (self.0)(input, requests)
    }
}

fn engine(
    answer: impl Fn(&MergeInput, &Requests) -> Result<Answer, MergeError> + Send + Sync + 'static,
) -> Engine {
    Arc::new(Scripted(answer))
}

fn good(input: &MergeInput) -> Answer {
    Answer {
        text: both(&input.job.name),
        summary: "Both.".into(),
        engine: "llm",
    }
}

fn options(board: &Board, engine: Engine) -> MergeOptions {
    MergeOptions {
        sync: SkillSyncOptions::new(board.agent(), board.bundle()),
        engine,
        tools: None,
        max_attempts: 5,
        asked: Asked::default(),
        minute: Duration::from_millis(1),
        on_applied: None,
    }
}

fn run_with_retries(board: &Board, options: MergeOptions, stop: &Stop) -> Vec<Event> {
    let filesystem =
        LinuxFilesystem::open_to_write(&board.agent(), UnsafeFilesystems::Refuse).unwrap();
    let bundle = Bundle::open(&board.bundle());
    let names: BTreeSet<String> = names(&board.sync().json(), "merge_needed")
        .into_iter()
        .collect();
    let mut events = Vec::new();
    let mut merger = Merger::new(options, stop.clone());
    let mut wait = |at_most| stop.wait(at_most);
    merger.run_with_retries(&filesystem, &bundle, &names, &mut wait, &mut |event| {
        events.push(event)
    });
    events
}

#[test]
fn the_runtime_is_told_of_each_merge_as_soon_as_it_is_applied() {
    let board = diverged(&["bar", "foo"], clashing);
    let told = Arc::new(Mutex::new(Vec::new()));
    let (seen, library) = (Arc::clone(&told), board.library());
    let options = MergeOptions {
        on_applied: Some(Arc::new(move |merged| {
            let text =
                std::fs::read_to_string(library.join(&merged.name).join("SKILL.md")).unwrap();
            assert_eq!(text, both(&merged.name), "it is there to be reloaded");
            seen.lock().unwrap().push(merged.name.clone());
        })),
        ..options(&board, engine(|input, _| Ok(good(input))))
    };
    let report = merge_bundled_skills(&options, &Wanted::default(), &Stop::default(), &mut |_| {});
    assert_eq!(report.unwrap().sync.merged.len(), 2);
    assert_eq!(
        *told.lock().unwrap(),
        ["bar", "foo"],
        "in the order of the names"
    );
}

#[test]
fn the_model_is_asked_without_the_lock() {
    let board = diverged(&["foo"], clashing);
    let (agent, bundle) = (board.agent(), board.bundle());
    let options = options(
        &board,
        engine(move |input, _| {
            // Another process syncs meanwhile.
            let sync = SkillSyncOptions {
                lock_timeout: Duration::ZERO,
                ..SkillSyncOptions::new(&agent, &bundle)
            };
            aiden_skills::sync_bundled_skills(&sync).expect("the lock is free");
            Ok(good(input))
        }),
    );
    let report = merge_bundled_skills(&options, &Wanted::default(), &Stop::default(), &mut |_| {});
    assert_eq!(report.unwrap().sync.merged.len(), 1);
}

#[test]
fn an_edit_while_the_model_thinks_wins() {
    let board = diverged(&["foo"], clashing);
    let path = board.user_path("foo/SKILL.md");
    let edited = clashing("foo").replace("Second, think.", "Second, wait.");
    let text = edited.clone();
    let options = options(
        &board,
        engine(move |input, _| {
            std::fs::write(&path, &text).unwrap();
            Ok(good(input))
        }),
    );
    let report =
        merge_bundled_skills(&options, &Wanted::default(), &Stop::default(), &mut |_| {}).unwrap();
    assert_eq!(report.merge_failed[0].error, "local changed before apply");
    assert_eq!(board.text("foo"), edited);
    assert_eq!(board.base("foo"), base("foo"));
    assert_eq!(
        record(&board, "foo"),
        failed_record(
            "foo",
            &clashing("foo"),
            "auto",
            "local changed before apply",
            false
        )
    );
    // With the new text it is another merge.
    assert_eq!(
        names(&board.sync().expect(0).json(), "merge_needed"),
        ["foo"]
    );
}

#[test]
fn a_skill_that_is_deleted_while_the_model_thinks_stays_deleted() {
    let board = diverged(&["foo"], clashing);
    let path = board.user_path("foo");
    let options = options(
        &board,
        engine(move |input, _| {
            std::fs::remove_dir_all(&path).unwrap();
            Ok(good(input))
        }),
    );
    let report =
        merge_bundled_skills(&options, &Wanted::default(), &Stop::default(), &mut |_| {}).unwrap();
    assert_eq!(report.merge_failed[0].error, "local changed before apply");
    assert!(!board.exists("foo"));
    let report = board.sync().expect(0).json();
    common::assert_outcome(&report, "foo", "deleted_by_user");
}

#[test]
fn a_firmware_that_changes_while_the_model_thinks_is_not_taken_for_the_one_that_was_merged() {
    let board = diverged(&["foo"], clashing);
    let path = board.bundle().join("foo/SKILL.md");
    let options = options(
        &board,
        engine(move |input, _| {
            std::fs::write(&path, upstream("foo").replace("twice", "thrice")).unwrap();
            Ok(good(input))
        }),
    );
    let report =
        merge_bundled_skills(&options, &Wanted::default(), &Stop::default(), &mut |_| {}).unwrap();
    let error = "the firmware's text or the base changed before apply";
    assert_eq!(report.merge_failed[0].error, error);
    assert_eq!(board.text("foo"), clashing("foo"));
    assert_eq!(
        names(&board.sync().expect(0).json(), "merge_needed"),
        ["foo"]
    );
}

#[test]
fn what_two_processes_merge_at_once_is_applied_once_and_is_no_failure() {
    let board = diverged(&["foo"], clashing);
    let inner = options(&board, engine(|input, _| Ok(good(input))));
    let options = options(
        &board,
        engine(move |input, _| {
            // Another process is faster.
            let report =
                merge_bundled_skills(&inner, &Wanted::default(), &Stop::default(), &mut |_| {});
            assert_eq!(report.unwrap().sync.merged.len(), 1);
            Ok(good(input))
        }),
    );
    let report =
        merge_bundled_skills(&options, &Wanted::default(), &Stop::default(), &mut |_| {}).unwrap();
    assert_eq!(report.merge_failed, []);
    assert_eq!(report.sync.unchanged, ["foo"]);
    board.assert_record("foo", "merged", &upstream("foo"), &both("foo"));
}

#[test]
fn want_of_an_answer_is_tried_again_until_there_is_one() {
    let board = diverged(&["bar", "foo"], clashing);
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let options = options(
        &board,
        engine(move |input, _| {
            let no_network = || MergeError::NoAnswer("the model's server was not reached".into());
            match counted.fetch_add(1, Ordering::Relaxed) {
                0..=3 => Err(no_network()),
                _ => Ok(good(input)),
            }
        }),
    );
    let events = run_with_retries(&board, options, &Stop::default());
    let applied = events
        .iter()
        .filter(|event| matches!(event, Event::Applied { .. }))
        .count();
    assert_eq!(applied, 2, "{events:#?}");
    assert_eq!(asked.load(Ordering::Relaxed), 6);
    board.assert_record("foo", "merged", &upstream("foo"), &both("foo"));
}

#[test]
fn a_server_gets_so_many_requests_for_one_key_and_no_more() {
    let board = diverged(&["foo"], clashing);
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let options = MergeOptions {
        max_attempts: 3,
        ..options(
            &board,
            engine(move |_, requests| {
                if requests.are_left() {
                    requests.count();
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                Err(MergeError::NoAnswer("busy".into()))
            }),
        )
    };
    run_with_retries(&board, options.clone(), &Stop::default());
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    // Nor where another merge of the same program wishes it.
    run_with_retries(&board, options, &Stop::default());
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    assert_eq!(board.record("foo")["merge_attempts"], 3);
}

#[test]
fn a_bad_answer_is_not_asked_for_again() {
    let board = diverged(&["foo"], clashing);
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let options = options(
        &board,
        engine(move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            Err(MergeError::Refused)
        }),
    );
    run_with_retries(&board, options, &Stop::default());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn a_stop_ends_the_waiting_for_the_next_try() {
    let board = diverged(&["foo"], clashing);
    let stop = Stop::default();
    let wanted = stop.clone();
    let options = MergeOptions {
        minute: Duration::from_secs(3600),
        ..options(
            &board,
            engine(move |_, _| {
                let stop = wanted.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(100));
                    stop.stop();
                });
                Err(MergeError::NoAnswer("busy".into()))
            }),
        )
    };
    let events = run_with_retries(&board, options, &stop);
    assert_eq!(events.len(), 2, "{events:?}");
}

#[test]
fn an_engine_that_panics_is_a_failed_merge_and_no_more() {
    let board = diverged(&["bar", "foo"], clashing);
    let options = options(
        &board,
        engine(|input, _| {
            assert_ne!(input.job.name, "bar", "as an engine may");
            Ok(good(input))
        }),
    );
    let report =
        merge_bundled_skills(&options, &Wanted::default(), &Stop::default(), &mut |_| {}).unwrap();
    assert_eq!(report.merge_failed[0].name, "bar");
    assert!(report.merge_failed[0].transient);
    assert_eq!(report.sync.merged[0].name, "foo");
}
