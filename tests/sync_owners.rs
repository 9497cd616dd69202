//! Modes and owners of what a sync writes (contract §4): an unprivileged agent can edit it, whatever a
//! read-only image says. These tests change owners, so they run as root.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use common::{Board, assert_outcome, version};

const SOMEBODY: u32 = 1234;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn owner(path: &Path) -> (u32, u32) {
    let found = fs::symlink_metadata(path).unwrap();
    (found.uid(), found.gid())
}

/// Everything beneath a directory, and the directory.
fn all_below(root: &Path) -> Vec<std::path::PathBuf> {
    let mut all = vec![root.to_owned()];
    if root.is_dir() {
        for entry in fs::read_dir(root).unwrap() {
            all.extend(all_below(&entry.unwrap().path()));
        }
    }
    all
}

#[test]
fn copies_have_plain_modes_whatever_the_bundles_and_the_umask() {
    let board = Board::new();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "a");
    board.bundle_file("foo/scripts/run.sh", "#!/bin/sh\n");
    board.bundle_file("foo/scripts/wild.sh", "#!/bin/sh\n");
    let bundled = board.bundle().join("foo");
    for (path, bits) in [
        ("SKILL.md", 0o444),
        ("references/a.md", 0o400),
        ("scripts/run.sh", 0o555),
    ] {
        set_mode(&bundled.join(path), bits);
    }
    set_mode(&bundled.join("scripts/wild.sh"), 0o6777);
    set_mode(&bundled.join("scripts"), 0o555);
    set_mode(&bundled, 0o555);
    let mut shell = std::process::Command::new("sh");
    shell.args([
        "-c",
        "umask 0077; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_aiden-skills"),
        "--config-dir",
    ]);
    shell
        .arg(board.agent())
        .arg("--bundled-dir")
        .arg(board.bundle())
        .arg("sync");
    common::run(&mut shell).expect(0);
    let wanted = [
        ("", 0o755),
        ("foo", 0o755),
        ("foo/SKILL.md", 0o644),
        ("foo/references", 0o755),
        ("foo/references/a.md", 0o644),
        ("foo/scripts/run.sh", 0o755),
        ("foo/scripts/wild.sh", 0o755),
    ];
    for (path, bits) in wanted {
        assert_eq!(mode(&board.user_path(path)), bits, "{path}");
    }
    assert_eq!(
        mode(&board.ledger_path()) & 0o444,
        0o444,
        "others of the group read the ledger"
    );
    set_mode(&bundled, 0o755);
}

#[test]
fn replacing_a_file_keeps_its_owner_and_its_other_mode_bits() {
    let board = Board::synced(&["foo"]);
    board.bundle_file("foo/references/a.md", "a1");
    board.sync().expect(0);
    for path in ["foo/SKILL.md", "foo/references/a.md"] {
        chown(board.user_path(path), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        set_mode(&board.user_path(path), 0o660);
    }
    board.skill("foo", &version("foo", 2));
    board.bundle_file("foo/references/a.md", "a2");
    board.sync().expect(0);
    for path in ["foo/SKILL.md", "foo/references/a.md"] {
        assert_eq!(
            owner(&board.user_path(path)),
            (SOMEBODY, SOMEBODY),
            "{path}"
        );
        assert_eq!(mode(&board.user_path(path)), 0o660, "{path}");
    }
    set_mode(&board.bundle().join("foo/references/a.md"), 0o755);
    board.sync().expect(0);
    let bits = mode(&board.user_path("foo/references/a.md"));
    assert_eq!((bits & 0o666, bits & 0o100), (0o660, 0o100), "{bits:o}");
}

#[test]
fn new_files_belong_to_the_owner_of_the_library() {
    let board = Board::synced(&["foo"]);
    chown(board.library(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    board.skill("bar", &version("bar", 1));
    board.bundle_file("bar/references/a.md", "a");
    board.bundle_file("foo/references/new.md", "new");
    board.sync().expect(0);
    let made = [
        all_below(&board.user_path("bar")),
        all_below(&board.user_path("foo/references")),
    ]
    .concat();
    for path in made {
        assert_eq!(owner(&path), (SOMEBODY, SOMEBODY), "{}", path.display());
    }
    assert_eq!(
        owner(&board.user_path("foo/SKILL.md")),
        (0, 0),
        "what was there keeps its owner"
    );
}

#[test]
fn at_first_boot_everything_belongs_to_the_owner_of_the_config_dir() {
    let board = Board::new();
    chown(board.agent(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    board.skill("foo", &version("foo", 1));
    board.bundle_file("foo/references/a.md", "a");
    board.sync().expect(0);
    for path in all_below(&board.agent()) {
        assert_eq!(owner(&path), (SOMEBODY, SOMEBODY), "{}", path.display());
    }
}

#[test]
fn a_file_that_cannot_be_read_makes_its_skill_fail_and_nothing_of_it_changes() {
    use std::os::unix::process::CommandExt;
    let board = Board::synced(&["bar", "foo"]);
    set_mode(board.root(), 0o755);
    let program = board.root().join("aiden-skills");
    fs::copy(env!("CARGO_BIN_EXE_aiden-skills"), &program).unwrap();
    for path in all_below(&board.agent()) {
        chown(path, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    chown(board.user_path("foo/SKILL.md"), Some(0), Some(0)).unwrap();
    set_mode(&board.user_path("foo/SKILL.md"), 0o600);
    for name in ["bar", "foo"] {
        board.skill(name, &version(name, 2));
    }
    let before = board.snapshot().below("agent/skills/foo");
    let mut command = std::process::Command::new(program);
    command
        .arg("--config-dir")
        .arg(board.agent())
        .arg("--bundled-dir")
        .arg(board.bundle());
    command.args(["--json", "sync"]).uid(SOMEBODY).gid(SOMEBODY);
    let report = common::run(&mut command).expect(3).json();
    assert_outcome(&report, "foo", "failed");
    assert_outcome(&report, "bar", "updated");
    before.assert_same(&board.snapshot().below("agent/skills/foo"));
}
