//! `--log syslog` writes to the system log, as on a board at boot. Each test makes its own `/dev` in a mount namespace
//! of its own, for which it needs root and `unshare`.

#![allow(clippy::disallowed_methods)]

mod common;

use std::fs;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{Board, Run, edited, version};

/// `<PRI>` is facility × 8 + severity (RFC 3164); daemon is facility 3.
const DAEMON: u32 = 3 << 3;
const ERROR: u32 = DAEMON + 3;
const WARNING: u32 = DAEMON + 4;
const INFO: u32 = DAEMON + 6;

/// A `/dev` that has nothing but what the test puts there.
fn empty_dev(board: &Board) -> PathBuf {
    let dev = board.root().join("dev");
    fs::create_dir(&dev).unwrap();
    dev
}

/// Runs `sync --log syslog` with this `/dev`.
fn boot(board: &Board, dev: &Path, flags: &[&str]) -> Run {
    let program = board.command(&[&["--log", "syslog", "sync"], flags].concat());
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]);
    command.arg("mount --bind \"$1\" /dev && shift && exec \"$@\"");
    command.arg("sh").arg(dev);
    command.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    common::run(&mut command)
}

fn received(log: &UnixDatagram) -> Vec<String> {
    log.set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut messages = Vec::new();
    let mut buffer = [0; 65536];
    while let Ok(length) = log.recv(&mut buffer) {
        messages.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
    }
    messages
}

/// Exactly one message says this, with this priority and by our name.
#[track_caller]
fn assert_logged(messages: &[String], priority: u32, sentence: &str) {
    let said: Vec<&String> = messages
        .iter()
        .filter(|message| message.contains(sentence))
        .collect();
    assert_eq!(said.len(), 1, "{sentence:?} in {messages:#?}");
    assert!(
        said[0].starts_with(&format!("<{priority}>")),
        "<{priority}> before {:?}",
        said[0]
    );
    assert!(
        said[0].contains(" aiden-skills["),
        "the program's name and process id in {:?}",
        said[0]
    );
}

fn board() -> Board {
    let board = Board::synced(&["plain", "mine", "both", "gone"]);
    board.user_skill("mine", &edited("mine"));
    board.user_skill("both", &edited("both"));
    board.user_removes("gone");
    board.skill("plain", &version("plain", 2));
    board.skill("both", &version("both", 2));
    board
}

#[test]
fn a_boot_is_told_to_the_system_log() {
    let board = board();
    let dev = empty_dev(&board);
    let log = UnixDatagram::bind(dev.join("log")).unwrap();
    let run = boot(&board, &dev, &[]).expect(0);
    let messages = received(&log);
    assert_logged(&messages, INFO, "Synced 1 built-in skill.");
    assert_logged(
        &messages,
        INFO,
        "mine has been modified by user, continuing with user version.",
    );
    assert_logged(
        &messages,
        INFO,
        "both has both built-in updates and user modifications, added to background merge tasks.",
    );
    assert_logged(&messages, INFO, "gone was deleted by user");
    assert_eq!(
        run.stderr, "",
        "what is in the system log is not on standard error"
    );
    // People at a terminal see it as without the system log.
    assert!(run.stdout.contains("Synced 1 built-in skill."), "{run:#?}");
}

#[test]
fn what_goes_wrong_is_told_with_its_severity() {
    let board = board();
    board.skill("broken", "# No frontmatter\n");
    fs::write(board.agent().join("agent.toml"), "bundled_skills_dir = [").unwrap();
    let dev = empty_dev(&board);
    let log = UnixDatagram::bind(dev.join("log")).unwrap();
    boot(&board, &dev, &["--json"]).expect(3).json();
    let messages = received(&log);
    assert_logged(&messages, ERROR, "broken failed: ");
    assert_logged(&messages, WARNING, "agent.toml");
}

/// Some system logs listen on a stream socket.
#[test]
fn a_system_log_with_a_stream_socket_is_reached_too() {
    let board = board();
    let dev = empty_dev(&board);
    let listener = UnixListener::bind(dev.join("log")).unwrap();
    let reader = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        text
    });
    boot(&board, &dev, &[]).expect(0);
    let text = reader.join().unwrap();
    assert!(text.contains(&format!("<{INFO}>")), "{text}");
    assert!(text.contains("Synced 1 built-in skill."), "{text}");
}

#[test]
fn without_a_system_log_the_boot_goes_on_with_standard_error() {
    let board = board();
    let dev = empty_dev(&board);
    let run = boot(&board, &dev, &[]).expect(0);
    assert!(
        run.stderr.contains("the system log can't be reached"),
        "{run:#?}"
    );
    assert!(
        run.stderr.contains("continuing with user version"),
        "{run:#?}"
    );
    // The exit code is that of the sync: here of one that was done in part.
    board.skill("broken", "# No frontmatter\n");
    let run = boot(&board, &dev, &[]).expect(3);
    assert!(run.stderr.contains("broken failed: "), "{run:#?}");
}

/// The daemon has died and left its socket: a boot must not wait for it or end otherwise.
#[test]
fn a_system_log_that_nobody_reads_changes_nothing() {
    let board = board();
    let dev = empty_dev(&board);
    drop(UnixDatagram::bind(dev.join("log")).unwrap());
    boot(&board, &dev, &[]).expect(0);
}

/// The daemon lives but does not read, for its own disk is full, say. The kernel takes this many messages for it and
/// then lets the writer wait, for ever if it lets itself.
#[test]
fn a_system_log_that_hangs_does_not_hang_the_boot() {
    let taken = fs::read_to_string("/proc/sys/net/unix/max_dgram_qlen").unwrap();
    let taken: usize = taken.trim().parse().unwrap();
    let names: Vec<String> = (0..taken + 20)
        .map(|number| format!("skill-{number}"))
        .collect();
    let board = Board::synced(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        board.user_skill(name, &edited(name));
    }
    let dev = empty_dev(&board);
    let _log = UnixDatagram::bind(dev.join("log")).unwrap();
    boot(&board, &dev, &[]).expect(0);
}
