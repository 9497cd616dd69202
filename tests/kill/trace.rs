//! What a run did to its config dir, read from `strace`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::board::Board;
use crate::tracer::{Call, MUTATING, calls_in, log_file, run};

/// One step of a run. Paths are relative to the config dir, which is `.` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Made(String),
    Created(String),
    Wrote(String),
    /// Emptied or cut off in place.
    Truncated(String),
    /// Its owner or mode was set.
    Marked(String),
    Renamed {
        from: String,
        to: String,
    },
    Linked {
        from: String,
        to: String,
    },
    Unlinked(String),
    /// An empty directory was removed.
    RemovedDir(String),
    /// `fsync` or `fdatasync`.
    Flushed(String),
    /// `syncfs` of the config dir's file system, on which the workspaces lie too.
    FlushedAll,
    /// Something was said on standard output.
    Reported,
}

/// How a run is made to force things to flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushing {
    /// By `syncfs`, as on this machine's kernel.
    Whole,
    /// File by file: the kernel says that it is older than 5.8.
    PerFile,
}

pub const BOTH_WAYS: [Flushing; 2] = [Flushing::Whole, Flushing::PerFile];

/// A run that came to its end.
#[derive(Debug)]
pub struct Trace {
    pub events: Vec<Event>,
    pub calls: Vec<Call>,
    output: Output,
}

impl Trace {
    #[track_caller]
    pub fn expect(self, codes: &[i32]) -> Self {
        let code = self.output.status.code();
        let expected = code.is_some_and(|code| codes.contains(&code));
        assert!(expected, "it ended so: {:?}", self.output);
        self
    }

    /// The JSON document on standard output.
    pub fn report(&self) -> Value {
        let output = &self.output;
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
    }

    pub fn flushes(&self) -> usize {
        let flushes = |event: &&Event| matches!(event, Event::Flushed(_) | Event::FlushedAll);
        self.events.iter().filter(flushes).count()
    }
}

/// Runs the program on the board.
pub fn trace(board: &Board<'_>, flushing: Flushing, firmware: usize, arguments: &[&str]) -> Trace {
    let mut command = strace(board, flushing, &[&format!("trace={MUTATING}")]);
    board.arguments(&mut command, firmware, arguments);
    let output = run(&mut command);
    let (calls, events) = read_log(board);
    if flushing == Flushing::PerFile {
        let whole = events.contains(&Event::FlushedAll);
        assert!(
            !whole,
            "it took this kernel for one whose syncfs is trusted"
        );
    }
    Trace {
        events,
        calls,
        output,
    }
}

/// What was done before the run was killed at `call`.
pub fn trace_until_killed(
    board: &Board<'_>,
    flushing: Flushing,
    firmware: usize,
    arguments: &[&str],
    call: &Call,
) -> Vec<Event> {
    let (events, output) = struck(board, flushing, firmware, arguments, call, "signal=SIGKILL");
    let signal = output.status.signal();
    assert_eq!(signal, Some(9), "it did not come to {call:?}: {output:?}");
    events
}

/// What was done by a run for which `call` failed.
pub fn trace_with_failure(
    board: &Board<'_>,
    flushing: Flushing,
    firmware: usize,
    arguments: &[&str],
    call: &Call,
    errno: &str,
) -> Vec<Event> {
    let error = format!("error={errno}");
    let (events, output) = struck(board, flushing, firmware, arguments, call, &error);
    let log = fs::read_to_string(log_file(board)).unwrap();
    assert!(
        log.contains("(INJECTED)"),
        "it did not come to {call:?}: {output:?}"
    );
    events
}

fn struck(
    board: &Board<'_>,
    flushing: Flushing,
    firmware: usize,
    arguments: &[&str],
    call: &Call,
    deed: &str,
) -> (Vec<Event>, Output) {
    let inject = format!("inject={}:{deed}:when={}", call.name, call.number);
    let mut command = strace(board, flushing, &[&format!("trace={MUTATING}"), &inject]);
    board.arguments(&mut command, firmware, arguments);
    let output = run(&mut command);
    (read_log(board).1, output)
}

fn strace(board: &Board<'_>, flushing: Flushing, expressions: &[&str]) -> Command {
    let mut command = match flushing {
        Flushing::Whole => Command::new("strace"),
        Flushing::PerFile => {
            let mut command = Command::new("setarch");
            command.args(["--uname-2.6", "strace"]);
            command
        }
    };
    // Data is of no interest; names are shown in full in any case.
    command.args(["-f", "-qq", "-y", "-s", "0", "-o"]);
    command.arg(log_file(board));
    for expression in expressions {
        command.args(["-e", expression]);
    }
    command.args(["--", env!("CARGO_BIN_EXE_aiden-skills")]);
    command
}

fn read_log(board: &Board<'_>) -> (Vec<Call>, Vec<Event>) {
    let log = fs::read_to_string(log_file(board)).unwrap();
    let above = board.agent.parent().unwrap().canonicalize().unwrap();
    let root = above.join(board.agent.file_name().unwrap());
    let calls = calls_in(&log);
    let events = calls.iter().filter_map(|call| event(call, &root));
    (calls.clone(), events.collect())
}

/// What a call did; none if it failed, was not executed, or only looked. A call that is not known here fails
/// the test: nothing may go unseen.
fn event(call: &Call, root: &Path) -> Option<Event> {
    let text = call.text.as_str();
    assert!(!text.contains("unfinished"), "two threads: {text}");
    let (arguments, result) = text.rsplit_once(" = ").unwrap();
    let arguments = arguments.trim_end().strip_suffix(')').unwrap();
    let arguments = arguments.strip_prefix(&format!("{}(", call.name)).unwrap();
    let arguments: Vec<&str> = arguments.split(", ").collect();
    if result.starts_with("-1 ") || result.starts_with('?') {
        return None;
    }
    let path = |path: &str| relative(path, root, text);
    let of = |number: usize| path(opened(arguments[number], text));
    let named = |number: usize| path(quoted(arguments[number], text));
    let beneath = |number: usize| {
        let name = quoted(arguments[number + 1], text);
        let directory = Path::new(opened(arguments[number], text));
        path(directory.join(name).to_str().unwrap())
    };
    Some(match call.name.as_str() {
        "open" | "openat" | "openat2" if text.contains("O_CREAT") => {
            Event::Created(path(opened(result, text)))
        }
        "open" | "openat" | "openat2" if text.contains("O_TRUNC") => {
            Event::Truncated(path(opened(result, text)))
        }
        "open" | "openat" | "openat2" => return None,
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2"
            if arguments[0].starts_with("1<") =>
        {
            Event::Reported
        }
        "write" | "writev" if arguments[0].starts_with("2<") => return None,
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => Event::Wrote(of(0)),
        "ftruncate" => Event::Truncated(of(0)),
        "truncate" => Event::Truncated(named(0)),
        "fchmod" | "fchown" => Event::Marked(of(0)),
        "chmod" | "chown" | "lchown" => Event::Marked(named(0)),
        "fchmodat" | "fchmodat2" | "fchownat" => Event::Marked(beneath(0)),
        "mkdir" => Event::Made(named(0)),
        "mkdirat" => Event::Made(beneath(0)),
        "rename" => Event::Renamed {
            from: named(0),
            to: named(1),
        },
        "renameat" | "renameat2" => Event::Renamed {
            from: beneath(0),
            to: beneath(2),
        },
        "link" => Event::Linked {
            from: named(0),
            to: named(1),
        },
        "linkat" => Event::Linked {
            from: beneath(0),
            to: beneath(2),
        },
        "rmdir" => Event::RemovedDir(named(0)),
        "unlinkat" if arguments[2] == "AT_REMOVEDIR" => Event::RemovedDir(beneath(0)),
        "unlinkat" => Event::Unlinked(beneath(0)),
        "unlink" => Event::Unlinked(named(0)),
        "fsync" | "fdatasync" => Event::Flushed(of(0)),
        "syncfs" => {
            let root = of(0);
            let is_ours = root == "." || root.starts_with("skill-state/evolution/");
            assert!(is_ours, "another file system: {text}");
            Event::FlushedAll
        }
        _ => panic!("what does this do? {text}"),
    })
}

/// The path of `6</path>`.
fn opened<'t>(descriptor: &'t str, text: &str) -> &'t str {
    let path = descriptor.split_once('<').map(|(_, path)| path);
    let path = path.and_then(|path| path.strip_suffix('>'));
    path.unwrap_or_else(|| panic!("no path in {descriptor}: {text}"))
}

fn quoted<'t>(argument: &'t str, text: &str) -> &'t str {
    let path = argument.strip_prefix('"').and_then(|a| a.strip_suffix('"'));
    let path = path.filter(|path| !path.contains('\\'));
    path.unwrap_or_else(|| panic!("no plain name in {argument}: {text}"))
}

/// The program has nothing to change outside of its config dir.
fn relative(path: &str, root: &Path, text: &str) -> String {
    let path = Path::new(path);
    if Some(path) == root.parent() {
        return "..".into();
    }
    let beneath = path.strip_prefix(root);
    let beneath = beneath.unwrap_or_else(|_| panic!("outside of the config dir: {text}"));
    let beneath = beneath.to_str().unwrap();
    let beneath = if beneath.is_empty() { "." } else { beneath };
    beneath.into()
}

#[test]
fn calls_are_read_as_what_they_did() {
    let log = r#"71 mkdir("/b/agent", 0777) = 0
71 mkdirat(6</b/agent/skill-state>, "tmp", 0755) = -1 EEXIST (File exists)
71 openat2(4</b/agent>, "skill-state/x", {flags=O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, mode=0644, resolve=RESOLVE_BENEATH}, 24) = 6</b/agent/skill-state/x>
71 write(6</b/agent/skill-state/x>, ""..., 43) = 43
71 openat(4</b/agent>, ".", O_RDONLY|O_CLOEXEC|O_PATH|O_DIRECTORY) = 7</b/agent>
71 renameat2(6</b/agent/skill-state>, "x", 7</b/agent>, "y", RENAME_NOREPLACE) = 0
71 fsync(7</b>) = 0
71 unlinkat(7</b/agent>, "y", 0)   = 0
71 unlinkat(7</b/agent>, "z", AT_REMOVEDIR) = 0
71 syncfs(4</b/agent>) = 0
71 write(2<pipe:[9]>, ""..., 4) = 4
71 write(1<pipe:[8]>, ""..., 4) = 4
71 renameat(6</b/agent>, "a", 7</b/agent>, "b") = ?
"#;
    let events = calls_in(log);
    let events = events
        .iter()
        .filter_map(|call| event(call, Path::new("/b/agent")));
    let x = || "skill-state/x".to_owned();
    assert_eq!(
        events.collect::<Vec<_>>(),
        [
            Event::Made(".".into()),
            Event::Created(x()),
            Event::Wrote(x()),
            Event::Renamed {
                from: x(),
                to: "y".into()
            },
            Event::Flushed("..".into()),
            Event::Unlinked("y".into()),
            Event::RemovedDir("z".into()),
            Event::FlushedAll,
            Event::Reported,
        ]
    );
}
