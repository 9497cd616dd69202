//! Every mutating call answers with an error once: files are old or new, the program says what and where, and
//! the next sync completes it.

use crate::board::{Allowed, Board, Cases, Workshop};
use crate::firmware::small;
use crate::tracer::{Blow, Call, mutating_calls, strike};

fn assert_survives(start: &Board<'_>, firmware: usize, errno: &'static str, cause: &str) {
    let calls = mutating_calls(&start.fork("recorded"), firmware, &["sync"]);
    println!("{} calls to fail with {errno}", calls.len());
    let mut cases = Cases::default();
    for call in calls {
        // A mkdir of what is there answers otherwise on a file system that has become read-only, but only there.
        if !call.fails || errno == "EROFS" {
            cases.check(|| assert_survives_one(start, firmware, errno, cause, &call));
        }
    }
    cases.assert_all_held();
}

fn assert_survives_one(
    start: &Board<'_>,
    firmware: usize,
    errno: &'static str,
    cause: &str,
    call: &Call,
) {
    let board = start.fork("failed");
    let output = strike(&board, firmware, &["sync"], call, Blow::Fail(errno));
    let said = String::from_utf8_lossy(&output.stderr);
    let end = output.status.code();
    let case = format!("{errno} of {call:?}, which ended with {end:?}: {said}");
    board.assert_nothing_torn(&[].into(), &case);
    // What goes wrong while the temporary directory is swept costs nothing: all is done by then. And what is
    // there already is there, whatever the error of making it again.
    let sweeping = call.name.starts_with("unlink") || call.name == "rmdir";
    match end {
        Some(1 | 3) => {
            let named = said.contains(cause) && said.contains(&*board.agent.to_string_lossy());
            assert!(named, "cause and path are not named after {case}");
        }
        Some(0) => assert!(sweeping || call.fails, "it is taken for a success: {case}"),
        _ => panic!("a wrong exit code after {case}"),
    }
    // Intents that stand need what is staged, and after a failed flush nobody knows whether they do. Otherwise
    // nothing may be left but what can't be removed.
    let flushing = call.name.ends_with("sync") || call.name == "syncfs";
    let ledger = board.ledger_path().exists().then(|| board.ledger());
    let intents = ledger.is_some_and(|ledger| ledger.to_string().contains("\"pending\""));
    if !intents && !sweeping && !flushing {
        let staged = board.staged();
        assert_eq!(staged, Vec::<String>::new(), "left in tmp after {case}");
    }
    board.assert_sync_completes(firmware, &Allowed::default(), &case);
}

fn updated_in_spite_of(errno: &'static str, cause: &str) {
    let workshop = Workshop::new(vec![small(1), small(2)]);
    let start = workshop.board("start");
    start.run(1, &["sync"]).expect(0);
    assert_survives(&start, 2, errno, cause);
}

fn seeded_in_spite_of(errno: &'static str, cause: &str) {
    let workshop = Workshop::new(vec![small(1)]);
    let start = workshop.board("start");
    // The config dir itself is the image's business.
    std::fs::create_dir(&start.agent).unwrap();
    assert_survives(&start, 1, errno, cause);
}

#[test]
fn an_update_survives_a_full_disk_at_any_call() {
    updated_in_spite_of("ENOSPC", "No space left on device");
}

#[test]
fn an_update_survives_an_input_output_error_at_any_call() {
    updated_in_spite_of("EIO", "Input/output error");
}

#[test]
fn an_update_survives_a_file_system_that_became_read_only_at_any_call() {
    updated_in_spite_of("EROFS", "Read-only file system");
}

#[test]
fn an_update_survives_an_exceeded_quota_at_any_call() {
    updated_in_spite_of("EDQUOT", "Disk quota exceeded");
}

#[test]
fn a_first_seed_survives_a_full_disk_at_any_call() {
    seeded_in_spite_of("ENOSPC", "No space left on device");
}

#[test]
fn a_first_seed_survives_an_input_output_error_at_any_call() {
    seeded_in_spite_of("EIO", "Input/output error");
}
