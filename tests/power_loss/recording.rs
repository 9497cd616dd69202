//! Operations run on a board whose disk is recorded.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::board::{Access, Board, Machine, Slot};
use crate::log::Log;
use crate::operations::{Operation, PRELUDE};
use crate::state::{FileSystem, scratch};

/// The board on which all is recorded.
pub const MACHINE: Machine = Machine::Aarch64;

/// An operation in a config dir of its own.
#[derive(Clone, Copy)]
pub struct Step {
    pub operation: &'static Operation,
    /// A fault that is built into the program.
    pub mutant: Option<&'static str>,
}

impl Step {
    pub fn directory(&self) -> String {
        let directory = self.operation.directory();
        match self.mutant {
            Some(mutant) => format!("{mutant}-{directory}"),
            None => directory,
        }
    }

    pub fn name(&self) -> String {
        match self.mutant {
            Some(mutant) => format!("mutant {mutant}: {}", self.operation.name),
            None => self.operation.name.into(),
        }
    }
}

/// A step, and where it lies in the log.
pub struct Recorded {
    pub step: Step,
    /// The mark before it.
    pub begin: usize,
    /// The mark after it, and so what it reported is to last.
    pub end: usize,
    /// The entry with which something else begins.
    pub over: usize,
    /// Its exit code.
    pub code: i32,
}

pub struct Recording {
    name: &'static str,
    pub file_system: FileSystem,
    pub log: Log,
    pub steps: Vec<Recorded>,
    place: TempDir,
}

/// Where `board/qemu/power-loss.sh` left the boards.
pub fn boards() -> PathBuf {
    let boards = std::env::var_os("AIDEN_BOARDS");
    PathBuf::from(boards.expect("AIDEN_BOARDS names the boards; run board/qemu/power-loss.sh"))
}

/// A slot's bundle, as a directory of this machine.
pub fn bundle(slot: Slot) -> PathBuf {
    let oem = match slot {
        Slot::A => "oem_a",
        Slot::B => "oem_b",
    };
    boards()
        .join(MACHINE.name())
        .join(oem)
        .join("usr/share/aiden/skills")
}

/// Words for the board's shell, after which it knows the operations' words.
pub fn introduction() -> String {
    format!(
        "mkdir -p /run/a /run/b && mount -t squashfs -o ro $(board-disk oem_a) /run/a && \
         mount -t squashfs -o ro $(board-disk oem_b) /run/b && \
         A=/run/a/usr/share/aiden/skills B=/run/b/usr/share/aiden/skills P=/usr/bin/aiden-skills\n{}",
        PRELUDE.trim()
    )
}

impl Recording {
    /// Records the steps, or takes the recording of that name that an earlier run has kept in `AIDEN_POWER_LOSS_KEPT`:
    /// no two recordings are alike.
    pub fn of(name: &'static str, file_system: FileSystem, steps: &[Step]) -> Self {
        let place = scratch();
        let [start, log] = ["start", "log"].map(|file| place.path().join(file));
        let kept = std::env::var_os("AIDEN_POWER_LOSS_KEPT");
        let kept = kept.map(|kept| PathBuf::from(kept).join(name));
        let codes = if let Some(kept) = kept.filter(|kept| kept.exists()) {
            println!("power-loss: the recording in {} is taken", kept.display());
            fs::copy(kept.join("start"), &start).unwrap();
            fs::copy(kept.join("log"), &log).unwrap();
            serde_json::from_slice(&fs::read(kept.join("codes")).unwrap()).unwrap()
        } else {
            file_system.make(&start);
            run(&file_system, steps, &start, &log)
        };
        let kept = serde_json::to_vec(&codes).unwrap();
        fs::write(place.path().join("codes"), kept).unwrap();
        let log = Log::read(&start, &log);
        let marks = |number: usize| log.mark(number as u64);
        let recorded = steps.iter().zip(codes).enumerate();
        let recorded = recorded.map(|(number, (step, code))| {
            let mark = |number| {
                marks(number).unwrap_or_else(|| panic!("mark {number} of {}", step.name()))
            };
            Recorded {
                step: *step,
                begin: mark(2 * number),
                end: mark(2 * number + 1),
                over: marks(2 * number + 2).unwrap_or(log.entries.len()),
                code,
            }
        });
        let steps = recorded.collect();
        Self {
            name,
            file_system,
            log,
            steps,
            place,
        }
    }

    /// Keeps it for a person.
    pub fn keep(&self) {
        let kept = boards().join("kept");
        let place = kept.join(self.name);
        fs::create_dir_all(&place).unwrap();
        for name in ["start", "log", "codes"] {
            fs::copy(self.place.path().join(name), place.join(name)).unwrap();
        }
        println!(
            "power-loss: AIDEN_POWER_LOSS_KEPT={} takes this recording again",
            kept.display()
        );
    }
}

/// Runs them on a board, and answers their exit codes.
fn run(file_system: &FileSystem, steps: &[Step], start: &Path, log: &Path) -> Vec<i32> {
    let board = Board::new(MACHINE);
    fs::copy(start, board.userdata()).unwrap();
    let mut boot = board
        .boot(Slot::A)
        .word(&format!("board.fs={}", file_system.driver()))
        .option(&["--record", log.to_str().unwrap()]);
    if !file_system.options.is_empty() {
        boot = boot.word(&format!("board.mount={}", file_system.options));
    }
    let mutants = boards().join("mutants.img");
    let with_mutants = steps.iter().any(|step| step.mutant.is_some());
    if with_mutants {
        boot = boot.disk("mutants", &mutants, Access::ReadOnly);
    }
    let mut running = boot.start();
    running.must(&introduction());
    if with_mutants {
        running.must("mkdir -p /run/m && mount -t squashfs -o ro $(board-disk mutants) /run/m");
    }
    let mut codes = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let Operation {
            prepare,
            command,
            firmware,
            ..
        } = step.operation;
        let bundle = match firmware {
            Slot::A => "$A",
            Slot::B => "$B",
        };
        running.must(&format!("C=/userdata/{}; {prepare}", step.directory()));
        let program = match step.mutant {
            Some(mutant) => format!("export AIDEN_MUTANT={mutant}; P=/run/m/aiden-skills;"),
            None => String::new(),
        };
        let (begin, end) = (2 * number, 2 * number + 1);
        let answer = running.sh(&format!(
            "sync; board-mark {begin}; ({program} skills {bundle} {command} 2>/run/said); code=$?; \
             case $code in 0 | 3) board-mark {end} ;; *) cat /run/said ;; esac; (exit $code)"
        ));
        assert!(
            matches!(answer.code, 0 | 3),
            "{} on the board: {answer:?}",
            step.name()
        );
        codes.push(answer.code);
    }
    // Whatever the last one left unwritten comes after its end.
    running.must("sync");
    codes
}
