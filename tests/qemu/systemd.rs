//! The units, in a boot of Debian's systemd on the aarch64 board.

use crate::board::{Board, Machine, NEXT, Running, Slot};
use crate::daemon::{call, uses};

#[track_caller]
fn assert_sync_succeeded(running: &mut Running) {
    let shown = running
        .must("systemctl show aiden-skills.service -p Result -p ActiveState -p ExecMainStatus");
    for line in ["Result=success", "ActiveState=active", "ExecMainStatus=0"] {
        assert!(shown.contains(line), "{shown}");
    }
}

pub fn the_sync_runs_after_the_mount_and_before_the_agent() {
    let board = Board::new(Machine::Systemd);
    let mut running = board.boot(Slot::A).start();
    assert_eq!(running.agent().1, 7);
    assert_sync_succeeded(&mut running);
    running.must("echo 'A line of mine' >>/userdata/agent/skills/research/SKILL.md");
    running.power_off();
    let mut library = board.library();
    let (_, edited) = library.0.get_mut("research/SKILL.md").unwrap();
    edited.truncate(edited.len() - "A line of mine\n".len());
    assert_eq!(library.differences(&board.bundle(Slot::A)), [""; 0]);

    let mut running = board.boot(Slot::B).start();
    assert_sync_succeeded(&mut running);
    let log = running.log();
    assert!(log.contains("sync: done"), "{log}");
    running.power_off();
    let library = board.library();
    assert!(library.text("planner/SKILL.md").contains(NEXT));
    assert!(
        library
            .text("research/SKILL.md")
            .ends_with("A line of mine\n")
    );
}

/// The sandbox must not make `/userdata` look like a mount.
pub fn a_mount_that_is_not_there_leaves_its_directory_empty() {
    let board = Board::new(Machine::Systemd);
    let mut running = board
        .boot(Slot::A)
        .word("systemd.mask=userdata.mount")
        .default("BOOT_LIMIT=3")
        .start();
    assert_eq!(running.agent().1, 0);
    assert_sync_succeeded(&mut running);
    assert_eq!(running.must("ls -A /userdata"), "");
    let log = running.log();
    assert!(log.contains("/userdata is not mounted after 3 s"), "{log}");
    running.power_off();
    assert!(board.files().0.is_empty());
}

pub fn the_defaults_file_switches_the_daemon_on() {
    let board = Board::new(Machine::Systemd);
    let mut running = board.boot(Slot::A).start();
    let off = running.sh("systemctl is-active aiden-skills-serve.socket");
    assert_eq!(off.text, "inactive");
    running.power_off();
    let mut running = board.boot(Slot::A).default("SERVE=yes").start();
    assert_sync_succeeded(&mut running);
    assert_eq!(
        running.must("stat -c '%F %a' /run/aiden-skills.sock"),
        "socket 660"
    );
    let is_active = |running: &mut Running| {
        let active = "systemctl is-active -q aiden-skills-serve.service";
        running.must(&format!(
            "for turn in 1 2 3 4 5 6 7 8 9; do {active} && break; sleep 1; done; {active}"
        ));
    };
    // It has told systemd that it is ready.
    is_active(&mut running);
    running.must("systemctl stop aiden-skills-serve.service 2>/dev/null");
    // The first connection starts it, in its sandbox.
    let used = call(
        "/run/aiden-skills.sock",
        "skill_mark_used",
        "{\"name\": \"planner\"}",
    );
    let answer = running.must(&used);
    assert!(answer.contains("use_count=1"), "{answer}");
    is_active(&mut running);
    running.must("systemctl reload aiden-skills-serve.service");
    is_active(&mut running);
    let log = running.log();
    assert!(!log.contains("can't be"), "{log}");
    running.power_off();
    assert_eq!(uses(&board.files()), 1);
}
