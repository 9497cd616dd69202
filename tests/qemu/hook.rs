//! The boot hook: its limit, and the mount that it needs.

use crate::board::{Board, Machine, Running, Slot, image};

/// Seconds that the hook took by the board's own clock.
fn timed_start(running: &mut Running) -> u64 {
    let text = running.must(
        "read from _ </proc/uptime; /etc/init.d/S38aiden-skills start 2>/dev/null; code=$?; \
         read to _ </proc/uptime; echo; echo $((${to%.*} - ${from%.*})); (exit $code)",
    );
    text.trim().lines().last().unwrap().trim().parse().unwrap()
}

pub fn a_stuck_disk_holds_up_a_boot_no_longer_than_the_limit(machine: Machine) {
    let board = Board::seeded(machine);
    let mut running = board.boot(Slot::A).default("BOOT_LIMIT=3").start();
    running.must("mkdir /tmp/next && mount -t squashfs -o ro $(board-disk oem_b) /tmp/next");
    running.must("echo AIDEN_BUNDLED_SKILLS_DIR=/tmp/next/usr/share/aiden/skills >>/etc/default/aiden-skills");
    // Whoever writes now can't even be killed.
    running.must("fsfreeze --freeze /userdata");
    let seconds = timed_start(&mut running);
    assert!((3..=6).contains(&seconds), "the hook took {seconds} s");
    let log = running.log();
    assert!(
        log.contains("sync: not done after 3 s and stopped"),
        "{log}"
    );
    running.must("fsfreeze --unfreeze /userdata");
    timed_start(&mut running);
    let log = running.log();
    assert!(log.contains("aiden-skills: sync: done"), "{log}");
    running.power_off();
    let (library, next) = (board.library(), board.bundle(Slot::B));
    for (path, file) in &next.0 {
        assert_eq!(library.0.get(path), Some(file), "{path}");
    }
    assert!(board.files().below("agent/skill-state/tmp").0.is_empty());
}

pub fn without_a_system_log_the_kernels_has_what_happened(machine: Machine) {
    let board = Board::new(machine);
    let mut running = board.boot(Slot::A).word("board.syslog=none").start();
    assert_eq!(running.sh("test -e /dev/log").code, 1);
    let log = running.must("dmesg");
    assert!(log.contains("aiden-skills: sync: done"), "{log}");
    running.power_off();
    assert_eq!(board.library().differences(&board.bundle(Slot::A)), [""; 0]);
}

pub fn a_mount_that_comes_late_is_waited_for(machine: Machine) {
    let board = Board::new(machine);
    let mut running = board.boot(Slot::A).word("board.userdata=late").start();
    assert_eq!(running.agent().1, 7);
    running.power_off();
    assert_eq!(board.library().differences(&board.bundle(Slot::A)), [""; 0]);
}

pub fn a_mount_that_never_comes_leaves_its_directory_empty(machine: Machine) {
    let board = Board::new(machine);
    let before = image(&board);
    let mut running = board
        .boot(Slot::A)
        .word("board.userdata=none")
        .default("BOOT_LIMIT=2")
        .start();
    assert_eq!(running.agent().1, 0);
    assert_eq!(running.must("ls -A /userdata"), "");
    let log = running.log();
    assert!(log.contains("/userdata is not mounted after 2 s"), "{log}");
    running.power_off();
    assert!(image(&board) == before, "the disk has changed");
}

pub fn a_plain_directory_is_seeded_where_the_image_says_so(machine: Machine) {
    let board = Board::new(machine);
    let before = image(&board);
    let mut running = board
        .boot(Slot::A)
        .word("board.userdata=none")
        .default("USERDATA_IS_MOUNT=no")
        .start();
    assert_eq!(running.agent().1, 7);
    running.must(
        "cmp /userdata/agent/skills/planner/SKILL.md /oem/usr/share/aiden/skills/planner/SKILL.md",
    );
    running.power_off();
    assert!(image(&board) == before, "the disk has changed");
}

pub fn started_again_or_twice_at_once_it_changes_nothing(machine: Machine) {
    let board = Board::new(machine);
    let mut running = board.boot(Slot::A).start();
    running.must("rm -r /userdata/agent/skills /userdata/agent/skill-state");
    let hook = "/etc/init.d/S38aiden-skills start";
    running.must(&format!(
        "{hook} & {hook} & {hook}; code=$?; wait; (exit $code)"
    ));
    running.must(hook);
    let log = running.log();
    assert!(!log.contains("(exit 4)"), "they wait for each other: {log}");
    running.power_off();
    assert_eq!(board.library().differences(&board.bundle(Slot::A)), [""; 0]);
}
