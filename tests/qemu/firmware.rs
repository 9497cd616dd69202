//! Boots, slot switches and rollbacks.

use crate::board::{Board, Machine, NEXT, Slot};

const EDIT: &str = "A line that only the user wrote.";

/// Edits research, deletes ui-operator and one file of payment-confirm.
fn edit(board: &Board) {
    let mut running = board.boot(Slot::A).start();
    running.must(&format!(
        "echo '{EDIT}' >>/userdata/agent/skills/research/SKILL.md"
    ));
    running.must("rm -r /userdata/agent/skills/ui-operator");
    running.must("rm /userdata/agent/skills/payment-confirm/templates/confirmation.md");
    running.power_off();
}

#[track_caller]
fn assert_edits_are_kept(board: &Board) {
    let library = board.library();
    assert!(
        library
            .text("research/SKILL.md")
            .ends_with(&format!("{EDIT}\n"))
    );
    assert!(library.below("ui-operator").0.is_empty());
    assert!(!library.has("payment-confirm/templates/confirmation.md"));
    assert_eq!(
        board.ledger()["skills"]["ui-operator"]["status"],
        "deleted_by_user"
    );
}

pub fn the_first_boot_seeds_and_the_second_writes_nothing(machine: Machine) {
    let board = Board::new(machine);
    let mut running = board.boot(Slot::A).start();
    let shipped = board.bundle(Slot::A);
    let skills = shipped
        .paths()
        .iter()
        .filter(|path| path.ends_with("/SKILL.md"))
        .count();
    assert_eq!(
        running.agent().1,
        skills,
        "the agent starts with every skill"
    );
    let log = running.log();
    assert!(log.contains("aiden-skills: sync: done"), "{log}");
    running.power_off();
    assert_eq!(board.library().differences(&shipped), [""; 0]);
    let seeded = board.files();
    for (name, record) in board.ledger()["skills"].as_object().unwrap() {
        assert_eq!(record["status"], "synced", "{name}");
    }
    let leftovers = seeded.below("agent/skill-state/tmp");
    assert!(leftovers.0.is_empty(), "{:?}", leftovers.paths());

    let mut running = board.boot(Slot::A).start();
    running.assert_hook_wrote_nothing();
    running.power_off();
    assert_eq!(board.files(), seeded);
}

pub fn another_slot_updates_and_a_rollback_keeps_edits_and_deletions(machine: Machine) {
    let board = Board::seeded(machine);
    edit(&board);

    board.boot(Slot::B).start().power_off();
    let library = board.library();
    assert!(library.text("planner/SKILL.md").contains(NEXT), "updated");
    assert!(
        library.text("research/templates/report.md").contains(NEXT),
        "its files follow"
    );
    assert!(library.has("battery-care/SKILL.md"), "new");
    assert!(library.has("app-login/SKILL.md"), "dropped upstream: stays");
    assert_edits_are_kept(&board);
    assert_eq!(board.ledger()["skills"]["app-login"]["stale"], true);
    let forward = board.library();

    board.boot(Slot::A).start().power_off();
    let library = board.library();
    assert!(
        !library.text("planner/SKILL.md").contains(NEXT),
        "back to the old firmware's"
    );
    assert!(
        library.has("battery-care/SKILL.md"),
        "stays, for the old firmware does not know it"
    );
    assert_edits_are_kept(&board);

    board.boot(Slot::B).start().power_off();
    assert_eq!(board.library().differences(&forward), [""; 0]);
    assert_edits_are_kept(&board);
}

pub fn a_clock_at_1970_changes_nothing(machine: Machine) {
    let board = Board::new(machine);
    let mut running = board
        .boot(Slot::A)
        .option(&["--clock", "2031-05-06T07:08:09"])
        .start();
    assert!(running.must("date").contains("2031"));
    running.power_off();
    assert!(
        board.ledger()["updated_at"]
            .as_str()
            .unwrap()
            .starts_with("2031-05-06T")
    );

    let mut running = board.boot(Slot::A).start();
    assert!(running.must("date").contains("1970"));
    running.assert_hook_wrote_nothing();
    running.power_off();
    board.boot(Slot::B).start().power_off();
    let (library, shipped) = (board.library(), board.bundle(Slot::B));
    for path in shipped.paths() {
        assert_eq!(library.0[path], shipped.0[path], "{path}");
    }
    assert!(
        board.ledger()["updated_at"]
            .as_str()
            .unwrap()
            .starts_with("1970-01-01T")
    );
}

pub fn a_disk_moves_between_the_boards() {
    let board = Board::seeded(Machine::Armv7);
    edit(&board);
    board.boot(Slot::A).start().power_off();
    let before = board.files();

    let board = board.move_disk_to(Machine::Aarch64);
    let mut running = board.boot(Slot::A).start();
    running.assert_hook_wrote_nothing();
    running.power_off();
    assert_eq!(board.files(), before);
    board.boot(Slot::B).start().power_off();
    assert!(board.library().text("planner/SKILL.md").contains(NEXT));
    assert_edits_are_kept(&board);
    let updated = board.files();

    let board = board.move_disk_to(Machine::Armv7);
    let mut running = board.boot(Slot::B).start();
    running.assert_hook_wrote_nothing();
    running.power_off();
    assert_eq!(board.files(), updated);
}
