//! FAT, where a rename is not atomic: refused, unless somebody takes the risk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::board::{Board, Boot, Machine, Running, Slot, image};
use crate::judge::Tree;
use crate::rehearsal::{FIRST_SEED, Rehearsal, UPDATE_OF_EDITED};
use crate::table;

const SIZE: u64 = 64 << 20;

#[test]
fn it_is_refused_and_nothing_is_written() {
    let board = board();
    let before = image(&board);
    let mut running = boot(&board, Slot::A).start();
    let (second, skills) = running.agent();
    assert!(second < 60, "the agent was started after {second} s");
    assert_eq!(skills, 0);
    let log = running.log();
    for part in [
        "/userdata/agent",
        "FAT",
        "--allow-unsafe-filesystem",
        "(exit 1)",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    for command in ["sync", "reset --all --restore"] {
        let answer = running.sh(&format!("aiden-skills {command} 2>&1"));
        assert_eq!(answer.code, 1, "{command}: {}", answer.text);
        assert!(answer.text.contains("FAT"), "{command}: {}", answer.text);
    }
    assert_eq!(running.must("ls -A /userdata"), "");
    running.must("aiden-skills --json status");
    running.power_off();
    let changed = image(&board)
        .iter()
        .zip(&before)
        .filter(|(now, before)| now != before)
        .count();
    table::line("refused", "FAT", 1, usize::from(changed > 0));
    assert_eq!(changed, 0, "bytes of the disk have changed");
}

/// What does not work there: a cut may leave empty files; and all files count as executable, so the bits of the bundle are
/// not to be seen.
#[test]
fn where_allowed_it_is_seeded_and_updated_and_keeps_edits() {
    let board = board();
    let seed = Rehearsal::of(&FIRST_SEED, &board);
    let mut running = boot(&board, Slot::A).start();
    let report = sync(&mut running, 0);
    assert_eq!(report["copied"], seed.outcome.report["copied"]);
    assert_at_rest(&mut running);
    let others = "find /userdata/agent/skills -type f ! -perm 0755 | wc -l";
    assert_eq!(running.must(others), "0", "FAT has no executable bits");
    running.power_off();
    assert_eq!(content(&tree(&board)), content(&seed.undisturbed.after));

    let update = Rehearsal::of(&UPDATE_OF_EDITED, &board);
    lay_out(&board, update.before.above());
    let mut running = boot(&board, Slot::B).start();
    let report = sync(&mut running, 0);
    for array in ["updated", "kept_user", "deleted_by_user", "merge_needed"] {
        assert_eq!(report[array], update.outcome.report[array], "{array}");
    }
    assert_at_rest(&mut running);
    running.power_off();
    assert_eq!(content(&tree(&board)), content(&update.undisturbed.after));
}

fn board() -> Board {
    let board = Board::new(Machine::Aarch64);
    format(&board.userdata());
    board
}

fn format(image: &Path) {
    fs::remove_file(image).unwrap();
    fs::File::create(image).unwrap().set_len(SIZE).unwrap();
    let made = Command::new("mkfs.vfat").arg(image).output();
    let made = made.expect("mkfs.vfat runs");
    assert!(made.status.success(), "{made:?}");
}

/// Makes the disk hold what a directory does.
fn lay_out(board: &Board, content: &Path) {
    format(&board.userdata());
    mtools(&[
        "-i",
        text(&board.userdata()),
        text(&content.join("agent")),
        "::",
    ]);
}

fn boot(board: &Board, slot: Slot) -> Boot<'_> {
    board.boot(slot).word("board.fs=vfat")
}

#[track_caller]
fn sync(running: &mut Running, code: i32) -> Value {
    let answer = running.sh("aiden-skills --allow-unsafe-filesystem --json sync");
    assert_eq!(answer.code, code, "{}", answer.text);
    serde_json::from_str(&answer.text).expect("one JSON document")
}

#[track_caller]
fn assert_at_rest(running: &mut Running) {
    let report = sync(running, 0);
    assert_eq!(report["flushes"], 0, "{report:#}");
    for array in ["copied", "updated", "adopted", "repaired"] {
        assert_eq!(report[array], json!([]), "{array}");
    }
}

fn tree(board: &Board) -> Tree {
    let files = tempfile::tempdir().unwrap();
    mtools(&[
        "-m",
        "-i",
        text(&board.userdata()),
        "::agent",
        text(files.path()),
    ]);
    Tree::of(&files.path().join("agent"))
}

/// The library and the bases, without the executable bits.
fn content(tree: &Tree) -> BTreeMap<&str, &[u8]> {
    let is_content =
        |path: &str| path.starts_with("skills/") || path.starts_with("skill-state/bases/");
    let all = tree.0.iter().filter(|(path, _)| is_content(path));
    all.map(|(path, node)| (path.as_str(), node.bytes.as_slice()))
        .collect()
}

fn mtools(arguments: &[&str]) {
    let copied = Command::new("mcopy")
        .args(["-s", "-n"])
        .args(arguments)
        .output();
    let copied = copied.expect("mcopy runs");
    assert!(copied.status.success(), "{copied:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
