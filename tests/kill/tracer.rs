//! `strace` as the power cut and as the broken flash: it stops or fails the n-th call of a kind.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::board::Board;

/// Every call by which a program can change a file system; those that a machine does not have are left out.
pub const MUTATING: &str = "?mkdir,?mkdirat,?open,?openat,?openat2,?creat,?write,?pwrite64,?writev,?pwritev,?pwritev2,\
    ?chmod,?fchmod,?fchmodat,?fchmodat2,?chown,?lchown,?fchown,?fchownat,?rename,?renameat,?renameat2,?link,?linkat,\
    ?symlink,?symlinkat,?unlink,?unlinkat,?rmdir,?truncate,?ftruncate,?fallocate,?copy_file_range,?sendfile,?splice,\
    ?utimensat,?sync,?syncfs,?fsync,?fdatasync,?sync_file_range,?setxattr,?fsetxattr,?mknod,?mknodat";

/// The `number`-th call of this name since the program's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    pub number: usize,
    /// As the tracer shows it, for messages.
    pub text: String,
    /// It failed when nothing was done to it, as a mkdir of what is there.
    pub fails: bool,
}

impl Call {
    /// Where the output goes, not a file.
    fn is_output(&self) -> bool {
        let start = |fd| format!("{}({fd}, ", self.name);
        self.name.starts_with("write") && [1, 2].map(start).iter().any(|s| self.text.starts_with(s))
    }

    fn changes_files(&self) -> bool {
        let opens = matches!(self.name.as_str(), "open" | "openat" | "openat2");
        let creates = ["O_CREAT", "O_TRUNC"]
            .iter()
            .any(|flag| self.text.contains(flag));
        (!opens || creates) && !self.is_output()
    }
}

/// What happens to a call.
#[derive(Debug, Clone, Copy)]
pub enum Blow {
    /// The process dies before it.
    Kill,
    /// It answers with this error and does nothing.
    Fail(&'static str),
}

/// All mutating calls of a command on a board, in their order; the board is changed by them.
pub fn mutating_calls(board: &Board<'_>, firmware: usize, arguments: &[&str]) -> Vec<Call> {
    let log = log_file(board);
    let mut command = strace(board, &[&format!("trace={MUTATING}")]);
    board.arguments(&mut command, firmware, arguments);
    let output = run(&mut command);
    assert!(
        output.status.success() || output.status.code() == Some(3),
        "{command:?}: {output:?}"
    );
    let mut calls = calls_in(&fs::read_to_string(&log).unwrap());
    calls.retain(Call::changes_files);
    assert!(!calls.is_empty(), "no calls were seen: {command:?}");
    calls
}

/// The calls of a log, in their order.
pub fn calls_in(log: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for line in log.lines() {
        // "1234  mkdirat(6, …) = 0"; signals and the end begin with signs.
        let text = line.split_once(' ').unwrap_or_default().1.trim_start();
        let Some((name, _)) = text.split_once('(') else {
            continue;
        };
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        let count = counts.entry(name.into()).or_default();
        *count += 1;
        calls.push(Call {
            name: name.into(),
            number: *count,
            text: text.into(),
            fails: text.contains(" = -1 "),
        });
    }
    calls
}

/// Runs the command and strikes at `call`.
pub fn strike(
    board: &Board<'_>,
    firmware: usize,
    arguments: &[&str],
    call: &Call,
    blow: Blow,
) -> Output {
    let deed = match blow {
        Blow::Kill => "signal=SIGKILL".to_owned(),
        Blow::Fail(errno) => format!("error={errno}"),
    };
    let inject = format!("inject={}:{deed}:when={}", call.name, call.number);
    let mut command = strace(board, &[&format!("trace={}", call.name), &inject]);
    board.arguments(&mut command, firmware, arguments);
    let output = run(&mut command);
    let log = fs::read_to_string(log_file(board)).unwrap();
    match blow {
        Blow::Kill => {
            // The tracer dies as its child did. A call that was not executed has no result.
            assert_eq!(
                output.status.signal(),
                Some(9),
                "it did not come to {call:?}: {output:?}"
            );
            // Nor, where another thread was told of meanwhile, an end.
            let last = log.lines().rev().find(|line| line.contains('('));
            assert!(
                last.is_some_and(|line| line.ends_with("= ?") || line.ends_with("<unfinished ...>")),
                "{call:?} was executed: {last:?}"
            );
        }
        Blow::Fail(_) => assert!(
            log.contains("(INJECTED)"),
            "it did not come to {call:?}: {output:?}"
        ),
    }
    output
}

pub fn log_file(board: &Board<'_>) -> PathBuf {
    board.agent.with_extension("strace")
}

fn strace(board: &Board<'_>, expressions: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(log_file(board));
    for expression in expressions {
        command.args(["-e", expression]);
    }
    command.args(["--", env!("CARGO_BIN_EXE_aiden-skills")]);
    command
}

pub fn run(command: &mut Command) -> Output {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AIDEN_") {
            command.env_remove(name);
        }
    }
    command.env_remove("NO_COLOR").stdin(Stdio::null());
    let output = command.output();
    output.unwrap_or_else(|e| panic!("strace can't be started ({e}); run `make install-tools`"))
}
