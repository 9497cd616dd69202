//! SIGTERM while a model is waited for.

use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::common::names;
use super::stand_in::{Reply, StandIn};
use super::*;

#[test]
fn a_stop_ends_within_seconds_and_nothing_is_recorded_as_a_bad_answer() {
    let board = diverged(&["bar", "foo"], clashing);
    let model = StandIn::new([Reply::IsSilent]);
    model.configure(&board, "kimi", "timeout_s = 600");
    let mut command = board.command(&["--json", "merge"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while model.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let asked = Instant::now();
    kill(
        Pid::from_raw(i32::try_from(child.id()).unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(5));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(names(&report, "merge_failed"), ["bar"]);
    assert_eq!(names(&report, "merge_needed"), ["foo"], "it was not begun");
    let mut record = record(&board, "bar");
    // It had been sent; the server may have got it.
    record.as_object_mut().unwrap().remove("merge_attempts");
    let error = "stopped before an answer was there";
    assert_eq!(
        record,
        failed_record("bar", &clashing("bar"), "auto", error, true)
    );
    assert_eq!(board.text("bar"), clashing("bar"));
    assert_eq!(
        names(&board.sync().expect(0).json(), "merge_needed"),
        ["bar", "foo"]
    );
}
