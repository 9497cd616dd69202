//! What goes wrong in one place ends there: immovable files, odd things in the state dir, writers that take no
//! lock.

#![allow(clippy::disallowed_methods)]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use common::{Board, assert_outcome, failure, version};
use serde_json::{Value, json};

/// Sets or clears the immutable attribute, so that not even root may replace a file.
fn immutable(board: &Board, path: &str, on: bool) -> bool {
    let flag = if on { "+i" } else { "-i" };
    let mut chattr = Command::new("chattr");
    chattr.arg(flag).arg(board.user_path(path));
    chattr
        .output()
        .expect("chattr, of the Debian package e2fsprogs")
        .status
        .success()
}

#[test]
fn a_skill_that_cannot_be_written_costs_no_other_skill() {
    // tmpfs knows no such attribute before Linux 6.6: the board's directory must lie on the disk.
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let board = Board::in_dir(disk);
    for name in ["a", "b", "c"] {
        board.skill(name, &version(name, 1));
    }
    board.sync().expect(0);
    for name in ["a", "b", "c"] {
        board.skill(name, &version(name, 2));
    }
    assert!(
        immutable(&board, "b/SKILL.md", true),
        "the file system has no attributes"
    );
    let report = board.sync();
    immutable(&board, "b/SKILL.md", false);
    let report = report.expect(3).json();
    assert_outcome(&report, "a", "updated");
    assert_outcome(&report, "c", "updated");
    assert!(failure(&report, "b").contains("b/SKILL.md"), "{report}");
    assert_eq!(board.text("b"), version("b", 1));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "b", "updated");
    board.assert_at_rest();
}

/// Runs a sync whose first syncfs takes long, and does something meanwhile.
fn during_a_sync(board: &Board, doing: impl FnOnce() + Send) -> Value {
    thread::scope(|scope| {
        let sync = scope.spawn(|| {
            let mut strace = Command::new("strace");
            strace.args(["-f", "-o", "/dev/null", "-e", "trace=syncfs", "-e"]);
            strace.arg("inject=syncfs:delay_enter=2000000:when=1");
            strace.arg(env!("CARGO_BIN_EXE_aiden-skills"));
            strace.arg("--config-dir").arg(board.agent());
            strace.arg("--bundled-dir").arg(board.bundle());
            strace
                .args(["--json", "sync"])
                .output()
                .expect("strace, of the Debian package strace")
        });
        // The last thing that is staged before the first flush.
        let staged = board.state().join("tmp/v1/ledger-settled.json");
        let started = Instant::now();
        while !staged.exists() {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "nothing was staged"
            );
            thread::sleep(Duration::from_millis(20));
        }
        doing();
        let output = sync.join().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    })
}

#[test]
fn a_deletion_while_a_sync_runs_stays_one() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "1");
    board.sync().expect(0);
    board.skill("foo", &version("foo", 2));
    board.bundle_file("foo/new.md", "new");
    let report = during_a_sync(&board, || board.user_removes("foo"));
    assert!(
        failure(&report, "foo").contains("changed while the sync ran"),
        "{report}"
    );
    assert!(!board.exists("foo"));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "deleted_by_user");
    board.assert_at_rest();
}

#[test]
fn an_edit_while_a_sync_runs_is_neither_replaced_nor_removed() {
    let board = Board::new();
    for name in ["text", "replaced", "removed"] {
        board.skill(name, &version(name, 1));
        board.bundle_file(&format!("{name}/references/a.md"), "1");
    }
    board.sync().expect(0);
    board.skill("text", &version("text", 2));
    board.bundle_file("replaced/references/a.md", "2");
    board.unship("removed/references/a.md");
    let report = during_a_sync(&board, || {
        board.user_skill("text", &version("text", 9));
        board.user_file("replaced/references/a.md", "mine");
        board.user_file("removed/references/a.md", "mine");
    });
    for name in ["text", "replaced", "removed"] {
        let reason = failure(&report, name);
        assert!(
            reason.contains("changed while the sync ran"),
            "{name}: {reason}"
        );
    }
    board.sync().expect(0);
    assert_eq!(board.text("text"), version("text", 9));
    assert_eq!(board.read("replaced/references/a.md"), "mine");
    assert_eq!(board.read("removed/references/a.md"), "mine");
    board.assert_at_rest();
}

#[test]
fn a_directory_deleted_while_a_sync_runs_does_not_come_back_in_part() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "1");
    board.sync().expect(0);
    board.bundle_file("foo/references/a.md", "2");
    board.bundle_file("foo/references/b.md", "new");
    during_a_sync(&board, || board.user_removes("foo/references"));
    assert!(
        !board.exists("foo/references"),
        "a deleted directory came back"
    );
    board.sync().expect(0);
    assert!(
        !board.exists("foo/references/a.md"),
        "a deleted file came back"
    );
    assert_eq!(board.read("foo/references/b.md"), "new");
    board.assert_at_rest();
}

#[test]
fn a_skill_made_while_a_sync_seeds_one_of_its_name_is_the_users() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "1");
    let report = during_a_sync(&board, || board.user_skill("foo", &version("foo", 9)));
    assert!(
        failure(&report, "foo").contains("changed while the sync ran"),
        "{report}"
    );
    assert_eq!(board.text("foo"), version("foo", 9));
    assert!(!board.exists("foo/references"));
    let report = board.sync().expect(0).json();
    assert_outcome(&report, "foo", "merge_needed");
}

#[test]
fn an_obstacle_at_a_base_is_named_and_wears_no_flash() {
    for obstacle in ["file", "directory", "link"] {
        let board = Board::synced(&["foo", "bar"]);
        let base = board.base_path("foo");
        match obstacle {
            "file" => {
                fs::remove_dir_all(base.parent().unwrap()).unwrap();
                fs::write(base.parent().unwrap(), "hi").unwrap();
            }
            "directory" => {
                fs::remove_file(&base).unwrap();
                fs::create_dir(&base).unwrap();
            }
            _ => {
                fs::remove_file(&base).unwrap();
                symlink("/etc/hostname", &base).unwrap();
            }
        }
        let report = board.sync().expect(3).json();
        assert!(
            failure(&report, "foo").contains("bases/foo"),
            "{obstacle}: {report}"
        );
        assert_outcome(&report, "bar", "unchanged");
        assert_eq!(report["flushes"], 0, "{obstacle}");
    }
}

#[test]
fn a_directory_in_the_place_of_the_ledger_before_costs_no_record() {
    let board = Board::synced(&["foo", "bar"]);
    let previous = board.state().join(".bundled_manifest.json.prev");
    fs::remove_file(&previous).unwrap();
    fs::create_dir(&previous).unwrap();
    board.user_removes("foo");
    board.sync().expect(0);
    assert_eq!(board.record("foo")["status"], "deleted_by_user");
    board.assert_at_rest();
}

#[test]
fn a_broken_record_is_taken_from_the_ledger_before() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "1");
    board.skill("bar", &version("bar", 1));
    board.sync().expect(0);
    board.user_removes("foo/references/a.md");
    board.user_removes("bar");
    board.sync().expect(0);
    // One more rewrite, so that the ledger before knows of both deletions.
    board.skill("baz", &version("baz", 1));
    board.sync().expect(0);
    fs::remove_dir_all(board.base_path("bar").parent().unwrap()).unwrap();
    for name in ["foo", "bar"] {
        board.change_record(name, |record| record["origin_hash"] = json!(5));
    }
    let report = board.sync().expect(3).json();
    assert_eq!(report["ledger"], "rebuilt");
    assert!(
        !board.exists("foo/references/a.md") && !board.exists("bar"),
        "{report}"
    );
    board.assert_at_rest();
}

#[test]
fn an_optional_field_of_a_wrong_type_costs_only_itself() {
    let board = Board::synced(&["foo"]);
    for (field, value) in [
        ("stale", json!(null)),
        ("stale", json!("yes")),
        ("merge_attempts", json!(-1)),
        ("last_merge_transient", json!([])),
        ("last_merge_error", json!(1.5)),
    ] {
        board.change_record("foo", |record| record[field] = value);
        let report = board.sync().expect(0).json();
        assert_eq!(report["ledger"], "ok", "{field}");
        assert_outcome(&report, "foo", "unchanged");
    }
}

#[test]
fn a_later_version_is_one_however_it_is_spelled() {
    for text in ["2", "2.0", "1e1", "18446744073709551616"] {
        let board = Board::synced(&["foo"]);
        let ledger = board
            .ledger_text()
            .replace("\"version\": 1", &format!("\"version\": {text}"));
        fs::write(board.ledger_path(), &ledger).unwrap();
        board.sync().expect(1);
        assert_eq!(board.ledger_text(), ledger);
    }
}

#[test]
fn odd_names_among_the_kept_ledgers_stop_nothing() {
    let board = Board::synced(&["foo"]);
    for name in ["007", "+5", "x", "99999999999999999999999"] {
        fs::write(
            board
                .state()
                .join(format!(".bundled_manifest.json.corrupt-{name}")),
            "",
        )
        .unwrap();
    }
    fs::create_dir(board.state().join(".bundled_manifest.json.corrupt-1")).unwrap();
    fs::write(board.ledger_path(), "{").unwrap();
    board.sync().expect(3);
    board.sync().expect(0);
    board.assert_at_rest();
}

#[test]
fn a_directory_that_turned_into_a_link_by_a_slip_of_the_build_removes_nothing() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/deep/a.md", "text");
    board.sync().expect(0);
    board.unship("foo/references");
    symlink("/", board.bundle().join("foo/references")).unwrap();
    board.sync().expect(3);
    assert_eq!(board.read("foo/references/deep/a.md"), "text");
}

#[test]
fn a_path_that_nothing_is_needed_from_freezes_nothing() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/notes", "n");
    board.sync().expect(0);
    board.user_removes("foo/notes");
    board.sync().expect(0);
    board.user_file("foo/notes/mine.md", "mine");
    board.unship("foo/notes");
    board.skill("foo", &version("foo", 2));
    board.sync().expect(0);
    assert_eq!(board.text("foo"), version("foo", 2));
    assert_eq!(board.read("foo/notes/mine.md"), "mine");
}

#[test]
fn doctor_names_what_stops_the_next_sync() {
    let board = Board::synced(&["foo"]);
    board.user_removes("foo");
    fs::write(board.user_path("foo"), "a file").unwrap();
    let run = board.run(&["doctor", "--json"]).expect(3);
    let findings = run.json()["findings"].to_string();
    assert!(findings.contains("the next sync fails"), "{findings}");
}

#[test]
fn a_library_that_cannot_be_listed_is_not_said_to_be_removed() {
    let board = Board::synced(&["foo"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 4 && exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_aiden-skills"));
    command
        .arg("--config-dir")
        .arg(board.agent())
        .arg("--bundled-dir")
        .arg(board.bundle());
    let output = command.arg("sync").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(!said.contains("remove"), "{said}");
}

#[test]
fn a_name_forges_no_line_and_no_colour() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("new\nline: forged/SKILL.md", "x");
    board.bundle_file("esc\u{1b}[31m/SKILL.md", "x");
    let run = board.run(&["sync"]).expect(3);
    for text in [&run.stdout, &run.stderr] {
        assert!(
            !text.contains('\u{1b}') && !text.contains("\nline: forged"),
            "{text:?}"
        );
    }
    assert!(
        run.stdout.contains("new\\nline: forged failed"),
        "{}",
        run.stdout
    );
}

#[test]
fn with_json_a_failure_is_a_document_too() {
    let board = Board::synced(&["foo"]);
    board.change_ledger(|ledger| ledger["version"] = json!(2));
    let run = board.run(&["--json", "sync"]).expect(1);
    assert!(run.json()["error"].as_str().unwrap().contains("version 2"));
}

#[test]
fn bases_that_are_a_link_make_skills_fail_and_are_never_written_through() {
    let board = Board::synced(&["foo"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let bases = board.state().join("bases");
    fs::remove_dir_all(&bases).unwrap();
    symlink(elsewhere.path(), &bases).unwrap();
    board.skill("foo", &version("foo", 2));
    let report = board.sync().expect(3).json();
    assert!(failure(&report, "foo").contains("bases"), "{report}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn half_a_seed_in_an_empty_directory_is_completed() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/LICENSE.txt", "free");
    fs::create_dir_all(board.user_path("foo")).unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", "trace=renameat2", "-e"]);
    strace.arg("inject=renameat2:signal=SIGKILL:when=2");
    strace.arg(env!("CARGO_BIN_EXE_aiden-skills"));
    strace
        .arg("--config-dir")
        .arg(board.agent())
        .arg("--bundled-dir")
        .arg(board.bundle());
    strace
        .arg("sync")
        .output()
        .expect("strace, of the Debian package strace");
    board.sync().expect(0);
    assert_eq!(board.text("foo"), version("foo", 1));
    assert_eq!(board.read("foo/LICENSE.txt"), "free");
    board.assert_at_rest();
}
