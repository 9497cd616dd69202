//! Media that answer with an error: QEMU fails single sectors of a board's disks. The boot goes on and says so, nothing is
//! torn or lost, and without the fault all is well again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::board::{Board, Machine, Running, Slot};
use crate::disk::{copy_sparse, debugfs, unpack};
use crate::judge::{Next, Tree, Undisturbed};
use crate::rehearsal::{Operation, Rehearsal, UPDATE, UPDATE_OF_EDITED, tell};

const SECTORS_A_BLOCK: u64 = 8;

/// ext4 gives up with the first error in its journal; `/proc/mounts` may say `rw` all the same.
#[test]
fn an_error_in_the_journal_is_told_and_mended_by_the_next_boot() {
    let operation = UPDATE_OF_EDITED;
    let board = Board::new(Machine::Aarch64);
    let rehearsal = Rehearsal::of(&operation, &board);
    rehearsal.lay_out(&board);
    let journal = blocks(&board.userdata(), "<8>");
    let mut seen = Seen::default();
    for (turn, block) in [1, 12, 24, 32, 40, 48].into_iter().enumerate() {
        let fault = format!("userdata:write:{}", journal[block] * SECTORS_A_BLOCK);
        let name = format!("journal block {block}");
        let next = if turn % 2 == 0 { Slot::B } else { Slot::A };
        seen.look(&name, &operation, &rehearsal, &fault, next, false);
    }
    seen.tell(&operation, "EIO on the journal");
}

/// `fsync` tells of a lost write once; in one state the next sync comes in the same boot.
#[test]
fn an_error_in_a_files_data_keeps_the_old_file_until_the_next_sync() {
    let operation = UPDATE_OF_EDITED;
    let board = Board::new(Machine::Aarch64);
    let rehearsal = Rehearsal::of(&operation, &board);
    rehearsal.lay_out(&board);
    // Where an undisturbed boot of the same disk puts the files.
    board.boot(operation.slot).start().power_off();
    let mut seen = Seen::default();
    for (turn, path) in [
        "agent/skills/battery-care/SKILL.md",
        "agent/skills/research/templates/report.md",
        "agent/skill-state/bases/battery-care/SKILL.md",
        "agent/skill-state/.bundled_manifest.json",
        "agent/skill-state/.bundled_manifest.json.prev",
    ]
    .into_iter()
    .enumerate()
    {
        let block = blocks(&board.userdata(), path)[0];
        let fault = format!("userdata:write:{}:once", block * SECTORS_A_BLOCK);
        let next = if turn % 2 == 0 { Slot::B } else { Slot::A };
        seen.look(path, &operation, &rehearsal, &fault, next, turn == 4);
    }
    seen.tell(&operation, "EIO on data");
}

/// What of the firmware can't be read costs the skills it belongs to, and no other.
#[test]
fn an_error_in_the_bundle_costs_the_skills_that_cannot_be_read() {
    let operation = UPDATE;
    let board = Board::new(Machine::Aarch64);
    let rehearsal = Rehearsal::of(&operation, &board);
    rehearsal.lay_out(&board);
    let scratch = tempfile::tempdir().unwrap();
    let oem = scratch.path().join("oem.img");
    let unreadable = ["planner/SKILL.md", "research/references/source-quality.md"];
    let sectors = plain_squashfs(&board.bundle_directory(operation.slot), &oem, &unreadable);
    let fault = format!("oem_b:read:{sectors}");
    let oem = ["--oem", oem.to_str().unwrap()];
    let mut running = board
        .boot(operation.slot)
        .option(&oem)
        .option(&["--fault", &fault])
        .start();
    let told = Told::by(&mut running);
    // Else the kernel's complaints come in between.
    running.must("dmesg -n 1");
    let answer = running.sh("aiden-skills --json sync 2>/dev/null");
    running.power_off();
    let left = tree_of_repaired(&board.userdata());
    let mut wrong = Vec::new();
    if told.code != 3 || answer.code != 3 {
        let codes = [told.code, answer.code];
        wrong.push(format!("the syncs exit with {codes:?}, not 3"));
    }
    let report: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
    let names = crate::common::names(&report, "failed");
    if names != ["planner", "research"] {
        wrong.push(format!("these failed: {names:?}"));
    }
    for path in unreadable {
        let skill = path.split('/').next().unwrap();
        let error = crate::common::failure(&report, skill);
        if !(error.contains(path) && told.log.contains(path)) {
            wrong.push(format!("{path} is not named: {error}; {}", told.log));
        }
    }
    let Undisturbed { before, after, .. } = &rehearsal.undisturbed;
    let mixed = Undisturbed {
        before: before.clone(),
        after: after.clone(),
        next: vec![Next {
            of_before: before.clone(),
            of_after: after.clone(),
        }],
        ..Undisturbed::default()
    };
    wrong.extend(mixed.judge_left(&left, false));
    wrong.extend(mixed.judge_settled(0, &left, false));
    let skill_of = |path: &str| {
        path.strip_prefix("skills/")?
            .split('/')
            .next()
            .map(str::to_owned)
    };
    for path in after.0.keys() {
        let failed = skill_of(path).is_some_and(|skill| names.contains(&skill));
        let expected = if failed { before } else { after };
        if path.starts_with("skills/") && left.0.get(path) != expected.0.get(path) {
            wrong.push(format!("{path} is {:?}", left.0.get(path)));
        }
    }

    let mut running = board.boot(operation.slot).start();
    Told::by(&mut running);
    running.must("cp -a /userdata/agent /userdata/settled");
    let again = running.must("aiden-skills --json sync");
    running.power_off();
    let [settled, again_tree] = trees(&board.userdata());
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    wrong.extend(
        rehearsal
            .undisturbed
            .judge_settled(operation.slot as usize, &settled, true),
    );
    let flushes = again["flushes"].as_u64().unwrap();
    wrong.extend(Undisturbed::judge_rest(&settled, &again_tree, flushes));
    tell(
        &format!("{}, EIO on the bundle", operation.name),
        "ext4",
        1,
        &wrong,
    );
    assert!(wrong.is_empty());
}

/// What was seen of an operation under one kind of fault.
#[derive(Default)]
struct Seen {
    states: usize,
    violations: Vec<String>,
}

impl Seen {
    /// Boots into the operation with a fault, after which it may be tried again, then without one.
    fn look(
        &mut self,
        name: &str,
        operation: &Operation,
        rehearsal: &Rehearsal,
        fault: &str,
        next: Slot,
        again_at_once: bool,
    ) {
        let board = Board::new(Machine::Aarch64);
        rehearsal.lay_out(&board);
        let mut running = board
            .boot(operation.slot)
            .option(&["--fault", fault])
            .start();
        let told = Told::by(&mut running);
        if again_at_once {
            running.must("aiden-skills sync");
        }
        let kernel = running.must("dmesg");
        let mounts = running.must("grep ' /userdata ' /proc/mounts");
        running.power_off();
        let left = tree_of_repaired(&board.userdata());

        let mut running = board.boot(next).start();
        let next_told = Told::by(&mut running);
        running.must("cp -a /userdata/agent /userdata/settled");
        let again = running.must("aiden-skills --json sync");
        running.power_off();
        let [settled, after] = trees(&board.userdata());

        let undisturbed = &rehearsal.undisturbed;
        let reported = told.code == 0 || again_at_once;
        let again: serde_json::Value = serde_json::from_str(&again).unwrap();
        let flushes = again["flushes"].as_u64().unwrap();
        let mut wrong = undisturbed.judge_left(&left, reported);
        wrong.extend(undisturbed.judge_settled(next as usize, &settled, reported));
        wrong.extend(Undisturbed::judge_rest(&settled, &after, flushes));
        if !kernel.contains("I/O error") {
            wrong.push("the fault did not come".into());
        }
        if !matches!(told.code, 0 | 1 | 3) {
            wrong.push(format!("it exits with {}: {}", told.code, told.log));
        }
        let is_named = |error: &&str| told.log.contains(error);
        if told.code != 0 && !["I/O error", "Read-only file system"].iter().any(is_named) {
            wrong.push(format!("it does not say what is wrong: {}", told.log));
        }
        if next_told.code != 0 {
            wrong.push(format!("the next boot: {}", next_told.log));
        }
        println!("{name}: exit {}, mounted as {mounts}", told.code);
        self.states += 1;
        let of = |wrong| format!("{name}: {wrong}");
        self.violations.extend(wrong.into_iter().map(of));
    }

    fn tell(self, operation: &Operation, fault: &str) {
        tell(
            &format!("{}, {fault}", operation.name),
            "ext4",
            self.states,
            &self.violations,
        );
        assert!(self.violations.is_empty());
    }
}

/// What a boot said of its sync.
struct Told {
    code: i32,
    log: String,
}

impl Told {
    fn by(running: &mut Running) -> Self {
        let (second, _) = running.agent();
        assert!(second < 60, "the agent was started after {second} s");
        let log = running.log();
        let of_code = |code: &i32| match code {
            0 => log.lines().any(|line| line.ends_with("sync: done")),
            code => log.contains(&format!("(exit {code})")),
        };
        let code = (0..5).find(of_code);
        Self {
            code: code.unwrap_or_else(|| panic!("the boot does not tell: {log}")),
            log,
        }
    }
}

/// The blocks of a file on an ext4 disk, in order.
fn blocks(image: &Path, file: &str) -> Vec<u64> {
    let text = debugfs(image, &["-R", &format!("blocks {file}")]);
    let blocks: Vec<u64> = text
        .split_whitespace()
        .map(|block| block.parse().unwrap())
        .collect();
    assert!(!blocks.is_empty(), "{file} has no block");
    blocks
}

/// The config dir that a test has set aside, and the one of now.
fn trees(image: &Path) -> [Tree; 2] {
    let files = tempfile::tempdir().unwrap();
    unpack(image, files.path());
    ["settled", "agent"].map(|tree| Tree::of(&files.path().join(tree)))
}

/// A firmware's disk without compression, with each file in sectors of its own; a sector of each of these files.
fn plain_squashfs(bundle: &Path, image: &Path, files: &[&str]) -> String {
    let oem = bundle.ancestors().nth(4).expect("usr/share/aiden/skills");
    let made = Command::new("mksquashfs")
        .args([oem, image])
        .args(["-noappend", "-all-root", "-quiet", "-no-progress"])
        .args(["-noDataCompression", "-no-fragments"])
        .stdout(Stdio::null())
        .status();
    assert!(made.expect("mksquashfs runs").success());
    let bytes = fs::read(image).unwrap();
    let sector = |file: &&str| {
        let content = fs::read(bundle.join(file)).unwrap();
        let at = bytes
            .windows(content.len())
            .position(|part| part == content);
        // In its middle, so that no other file is read with it.
        let middle = at.expect("the disk holds it as it is") + content.len() / 2;
        (middle / 512).to_string()
    };
    files.iter().map(sector).collect::<Vec<_>>().join(",")
}

/// What a disk holds after the repair that comes before its next mount.
fn tree_of_repaired(image: &Path) -> Tree {
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("copy.img");
    copy_sparse(image, &copy);
    let repair = Command::new("e2fsck").arg("-fy").arg(&copy).output();
    let code = repair.expect("e2fsck runs").status.code();
    assert!(matches!(code, Some(0 | 1)), "e2fsck exits with {code:?}");
    let files = scratch.path().join("files");
    fs::create_dir(&files).unwrap();
    unpack(&copy, &files);
    Tree::of(&files.join("agent"))
}
