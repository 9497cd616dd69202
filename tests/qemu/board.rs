//! A virtual board: its disk of `/userdata`, and a run of it under QEMU with a shell on the serial console.

// tests/power_loss takes this file too, and neither uses all of it.
#![allow(dead_code)]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::disk::{self, Files};

/// Emulation on a busy machine is slow; a board that hangs fails its test all the same.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    Armv7,
    Aarch64,
    /// The aarch64 board with Debian's systemd in place of BusyBox.
    Systemd,
}

impl Machine {
    pub fn name(self) -> &'static str {
        match self {
            Self::Armv7 => "armv7",
            Self::Aarch64 => "aarch64",
            Self::Systemd => "systemd",
        }
    }
}

/// What `next_firmware` adds to the files that it changes.
pub const NEXT: &str = "This line came with the next firmware.";

/// Which firmware: `a` is this tree's bundle, `b` the next one's (`next_firmware` in `board/qemu/image.sh`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    A,
    B,
}

impl Slot {
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// Whether a board may write to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// A board that is switched off.
pub struct Board {
    machine: Machine,
    images: PathBuf,
    scratch: TempDir,
}

impl Board {
    /// With an empty `/userdata`.
    pub fn new(machine: Machine) -> Self {
        let images = PathBuf::from(
            std::env::var_os("AIDEN_BOARDS")
                .expect("AIDEN_BOARDS names the boards; run `make hil`"),
        )
        .join(machine.name());
        let scratch = tempfile::tempdir().unwrap();
        disk::copy_sparse(
            &images.join("userdata.img"),
            &scratch.path().join("userdata.img"),
        );
        Self {
            machine,
            images,
            scratch,
        }
    }

    /// With a `/userdata` that slot A has seeded.
    pub fn seeded(machine: Machine) -> Self {
        let board = Self::new(machine);
        board.boot(Slot::A).start().power_off();
        board
    }

    /// The same disk in the other board.
    pub fn move_disk_to(self, machine: Machine) -> Self {
        let moved = Self::new(machine);
        disk::copy_sparse(&self.userdata(), &moved.userdata());
        moved
    }

    pub fn userdata(&self) -> PathBuf {
        self.scratch.path().join("userdata.img")
    }

    /// The skills that a slot ships.
    pub fn bundle(&self, slot: Slot) -> Files {
        Files::of(&self.bundle_directory(slot))
    }

    pub fn bundle_directory(&self, slot: Slot) -> PathBuf {
        let oem = self.images.join(format!("oem_{}", slot.letter()));
        oem.join("usr/share/aiden/skills")
    }

    /// What is on the disk of `/userdata`.
    pub fn files(&self) -> Files {
        disk::read_back(&self.userdata())
    }

    /// The library on the disk.
    pub fn library(&self) -> Files {
        self.files().below("agent/skills")
    }

    pub fn ledger(&self) -> serde_json::Value {
        let files = self.files();
        let ledger = files.text("agent/skill-state/.bundled_manifest.json");
        serde_json::from_str(&ledger).expect("the ledger is JSON")
    }

    pub fn boot(&self, slot: Slot) -> Boot<'_> {
        Boot {
            board: self,
            options: vec!["--slot".into(), slot.letter().into()],
            words: Vec::new(),
            disks: Vec::new(),
        }
    }
}

/// How a board is to be started.
pub struct Boot<'a> {
    board: &'a Board,
    options: Vec<String>,
    words: Vec<String>,
    disks: Vec<String>,
}

impl Boot<'_> {
    /// A word of the kernel's command line; the scripts in `board/qemu/rootfs` say which they know.
    pub fn word(mut self, word: &str) -> Self {
        self.words.push(word.into());
        self
    }

    /// A line of the hook's defaults file.
    pub fn default(self, line: &str) -> Self {
        self.word(&format!("board.default={line}"))
    }

    pub fn option(mut self, option: &[&str]) -> Self {
        self.options
            .extend(option.iter().map(|word| (*word).to_owned()));
        self
    }

    /// One more disk, which `board-disk` finds by this name.
    pub fn disk(mut self, name: &str, image: &Path, access: Access) -> Self {
        let readonly = match access {
            Access::ReadOnly => "on",
            Access::ReadWrite => "off",
        };
        let image = image.display();
        let drive = format!("if=none,id={name},format=raw,file={image},readonly={readonly}");
        let device = format!("virtio-blk-device,drive={name},serial={name}");
        self.disks
            .extend(["-drive".into(), drive, "-device".into(), device]);
        self
    }

    /// Switches the board on; its serial console is the process's standard input and output.
    pub fn switch_on(self) -> Child {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("board/qemu/run.sh");
        Command::new(script)
            .arg(self.board.machine.name())
            .arg("--images")
            .arg(&self.board.images)
            .arg("--userdata")
            .arg(self.board.userdata())
            .args(self.options)
            .args(["--append", &self.words.join(" "), "--"])
            .args(self.disks)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the board starts")
    }

    /// Starts the board and waits until all boot scripts have run.
    pub fn start(self) -> Running {
        let machine = self.board.machine;
        let mut child = self.switch_on();
        let console = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let mut running = Running {
            machine,
            child,
            console,
            output: receiver,
            seen: String::new(),
            boot: String::new(),
            asked: 0,
        };
        running.boot = running.read_until("board: ready");
        // Without echo, an answer holds nothing but what the command printed.
        running.type_line("stty -echo; PS1=");
        running.sh("true");
        running
    }
}

/// What a command printed, and its exit code.
#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub text: String,
}

/// A board that runs. Dropped, its power is cut.
pub struct Running {
    machine: Machine,
    child: Child,
    console: ChildStdin,
    output: Receiver<Vec<u8>>,
    seen: String,
    boot: String,
    asked: usize,
}

impl Running {
    /// What the boot scripts printed.
    pub fn boot_messages(&self) -> &str {
        &self.boot
    }

    /// Runs a command in the console's shell.
    pub fn sh(&mut self, command: &str) -> Answer {
        self.asked += 1;
        let mark = format!("answer {}: ", self.asked);
        // In two pieces, so that the line as typed does not hold the mark.
        let (head, tail) = mark.split_at(3);
        self.type_line(&format!("{command}\necho \"{head}\"\"{tail}$?.\""));
        let text = self.read_until(&mark);
        let code = self.read_until(".");
        Answer {
            code: code.trim().parse().expect("an exit code"),
            text: text.replace('\r', "").trim().to_owned(),
        }
    }

    /// As `sh`, for a command that must succeed; what it printed.
    pub fn must(&mut self, command: &str) -> String {
        let answer = self.sh(command);
        assert_eq!(answer.code, 0, "{command}: {}", answer.text);
        answer.text
    }

    /// The second at which the agent was started, and the number of skills that it found.
    pub fn agent(&mut self) -> (u32, usize) {
        let text = self.must("cat /run/agent");
        let (second, skills) = text.trim().split_once(' ').expect("two numbers");
        (second.parse().unwrap(), skills.parse().unwrap())
    }

    /// Whether the hook of this boot wrote to the disk, flushed it, or left anything to be written.
    #[track_caller]
    pub fn assert_hook_wrote_nothing(&mut self) {
        let text = self.must("cat /run/writes");
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|words: &Vec<&str>| !words.is_empty())
            .collect();
        let [before, after, synced] = lines.as_slice() else {
            panic!("not three lines: {text}");
        };
        assert_eq!(before, after, "writes, sectors and flushes");
        // The sync(1) of S39writes flushes once, with nothing to write.
        assert_eq!(after[1], synced[1], "sectors");
    }

    /// What the component said to the system log.
    pub fn log(&mut self) -> String {
        match self.machine {
            Machine::Systemd => self.must(
                "journalctl --sync; journalctl --no-pager -o cat -t aiden-skills -t boot-sync",
            ),
            // syslogd may be a little behind.
            _ => self.must("sleep 0.3; cat /var/log/messages"),
        }
    }

    /// Shuts down as a person would.
    pub fn power_off(mut self) {
        self.type_line("poweroff");
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(
                Instant::now() < deadline,
                "the board does not go off: {}",
                self.seen
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.console, "{line}").expect("the console listens");
        self.console.flush().unwrap();
    }

    /// What comes before `mark`, which is taken away too.
    fn read_until(&mut self, mark: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen.find(mark) {
                let before = self.seen[..at].to_owned();
                self.seen.drain(..at + mark.len());
                return before;
            }
            match self
                .output
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no {mark:?} came: {}{}", self.boot, self.seen)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!(
                        "the board ended before {mark:?}: {}{}",
                        self.boot, self.seen
                    )
                }
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of the disk, to tell whether anything was written to it.
pub fn image(board: &Board) -> Vec<u8> {
    fs::read(board.userdata()).unwrap()
}
