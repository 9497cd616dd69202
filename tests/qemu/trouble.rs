//! Boots on which something is missing, full, read-only or broken: they go on, and say so.

use std::fs;
use std::os::unix::fs::FileExt;

use crate::board::{Board, Machine, NEXT, Running, Slot, image};
use crate::disk::{debugfs, read_back_as_it_is};

/// The agent was started soon, whatever became of the sync.
#[track_caller]
fn assert_boot_went_on(running: &mut Running) -> usize {
    let (second, skills) = running.agent();
    assert!(second < 60, "the agent was started after {second} s");
    skills
}

pub fn without_oem_nothing_changes(machine: Machine) {
    let board = Board::seeded(machine);
    let seeded = board.files();
    let mut running = board.boot(Slot::A).option(&["--no-oem"]).start();
    assert_eq!(assert_boot_went_on(&mut running), 7);
    assert!(running.boot_messages().contains("there is no /oem"));
    let log = running.log();
    assert!(log.contains("/oem/usr/share/aiden/skills"), "{log}");
    assert!(log.contains("(exit 3)"), "{log}");
    running.assert_hook_wrote_nothing();
    running.power_off();
    assert_eq!(board.files(), seeded);
}

pub fn a_full_disk_keeps_old_files_until_there_is_space(machine: Machine) {
    let board = Board::seeded(machine);
    let old = board.library();
    let next = board.bundle(Slot::B);
    let mut running = board.boot(Slot::A).start();
    running.sh(
        "dd if=/dev/zero of=/userdata/filler bs=64k; dd if=/dev/zero of=/userdata/filler2 bs=1",
    );
    assert!(running.must("df /userdata").contains("100%"));
    running.power_off();

    let mut running = board.boot(Slot::B).start();
    assert_eq!(assert_boot_went_on(&mut running), 7);
    let log = running.log();
    assert!(log.contains("No space left on device"), "{log}");
    running.power_off();
    let library = board.library();
    assert_eq!(library.paths(), old.paths());
    for (path, file) in &library.0 {
        let whole = Some(file) == old.0.get(path) || Some(file) == next.0.get(path);
        assert!(whole, "{path} is neither the old nor the new one");
    }
    for (name, record) in board.ledger()["skills"].as_object().unwrap() {
        assert_eq!(record["status"], "synced", "{name}");
    }

    let mut running = board.boot(Slot::B).start();
    running.must("rm /userdata/filler /userdata/filler2; /etc/init.d/S38aiden-skills start");
    running.power_off();
    let library = board.library();
    for (path, file) in &next.0 {
        assert_eq!(library.0.get(path), Some(file), "{path}");
    }
    assert!(board.files().below("agent/skill-state/tmp").0.is_empty());
}

pub fn a_write_protected_disk_is_left_as_it_is(machine: Machine) {
    let board = Board::seeded(machine);
    let before = image(&board);
    let mut running = board.boot(Slot::B).option(&["--write-protected"]).start();
    assert_eq!(assert_boot_went_on(&mut running), 7);
    let log = running.log();
    assert!(log.contains("Read-only file system"), "{log}");
    running.power_off();
    assert!(image(&board) == before, "the disk has changed");

    // With the firmware that it was seeded by there is nothing to write, and nothing to complain of.
    let mut running = board.boot(Slot::A).option(&["--write-protected"]).start();
    let log = running.log();
    assert!(log.contains("aiden-skills: sync: done"), "{log}");
    running.power_off();
    assert!(image(&board) == before, "the disk has changed");
}

pub fn a_file_system_that_cannot_be_mounted_is_left_alone(machine: Machine) {
    let board = Board::seeded(machine);
    // The superblock.
    let disk = fs::OpenOptions::new()
        .write(true)
        .open(board.userdata())
        .unwrap();
    disk.write_all_at(&[0; 4096], 0).unwrap();
    drop(disk);
    let before = image(&board);
    let mut running = board.boot(Slot::A).default("BOOT_LIMIT=3").start();
    assert_eq!(assert_boot_went_on(&mut running), 0);
    assert!(
        running
            .boot_messages()
            .contains("/userdata can't be mounted")
    );
    let log = running.log();
    assert!(log.contains("/userdata is not mounted after 3 s"), "{log}");
    assert_eq!(
        running.must("ls -A /userdata"),
        "",
        "nothing that a later mount would hide"
    );
    running.power_off();
    assert!(image(&board) == before, "the disk has changed");
}

pub fn a_damaged_directory_costs_one_skill(machine: Machine) {
    let board = Board::seeded(machine);
    debugfs_write(&board, "clri /agent/skills/planner");
    let mut running = board.boot(Slot::B).start();
    assert_boot_went_on(&mut running);
    let log = running.log();
    assert!(log.contains("planner"), "{log}");
    assert!(log.contains("(exit 3)"), "{log}");
    running.power_off();
    // Only e2fsck may repair what debugfs broke, so the files are read as they are.
    let files = read_back_as_it_is(&board.userdata());
    let library = files.below("agent/skills");
    assert!(
        library.text("research/templates/report.md").contains(NEXT),
        "the others go on"
    );
    assert!(library.has("battery-care/SKILL.md"));
    let ledger: serde_json::Value =
        serde_json::from_str(&files.text("agent/skill-state/.bundled_manifest.json")).unwrap();
    assert_eq!(
        ledger["skills"]["planner"]["status"], "synced",
        "no deletion"
    );
}

pub fn a_torn_ledger_is_made_again(machine: Machine) {
    let board = Board::seeded(machine);
    let seeded = board.library();
    let mut running = board.boot(Slot::A).start();
    running.must("rm -r /userdata/agent/skills/ui-operator && /etc/init.d/S38aiden-skills start");
    running.must("cd /userdata/agent/skill-state && dd if=/dev/zero of=.bundled_manifest.json bs=100 count=1");
    running.must("rm -f .bundled_manifest.json.prev; cd /");
    running.power_off();

    let mut running = board.boot(Slot::A).start();
    assert_eq!(assert_boot_went_on(&mut running), 6);
    let log = running.log();
    assert!(log.contains("(exit 3)"), "{log}");
    running.power_off();
    let mut expected = seeded;
    expected
        .0
        .retain(|path, _| !path.starts_with("ui-operator/"));
    assert_eq!(board.library().differences(&expected), [""; 0]);
    assert_eq!(
        board.ledger()["skills"]["ui-operator"]["status"],
        "deleted_by_user"
    );
}

/// Damages a disk that is switched off.
fn debugfs_write(board: &Board, command: &str) {
    debugfs(&board.userdata(), &["-w", "-R", command]);
}
