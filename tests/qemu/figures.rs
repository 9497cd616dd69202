//! What a no-op sync of the shipped bundle costs on a board. The figures are printed (`make hil` shows them).

use crate::board::{Board, Machine, Running, Slot};

const RUNS: u32 = 20;
const STRACE: &str = "board-tool strace";

pub fn a_no_op_sync_is_measured(machine: Machine) {
    let board = Board::seeded(machine);
    let mut running = board.boot(Slot::A).start();
    let sync = seconds(&mut running, "aiden-skills -q sync");
    let nothing = seconds(&mut running, "/bin/true");
    let peak_kib = peak_kib(&mut running);
    let calls = running.must(
        &format!("{STRACE} -f -o /tmp/calls aiden-skills -q sync >/dev/null; grep -c '^[0-9 ]*[a-z_0-9]*(' /tmp/calls"),
    );
    let calls: u32 = calls.trim().parse().unwrap();
    assert!(calls > 50, "{calls} system calls can't be all");
    println!(
        "figures {}: a no-op sync of the shipped bundle takes {:.1} ms from execve to exit under emulation \
         (mean of {RUNS}; an empty process takes {:.1} ms), {peak_kib} KiB of memory at its peak, {calls} system calls",
        machine.name(),
        sync * 1000.0,
        nothing * 1000.0,
    );
    running.power_off();
}

/// The most memory that was ever resident (VmHWM), read while strace holds the process at its end.
fn peak_kib(running: &mut Running) -> u32 {
    let text = running.must(&format!(
        "{STRACE} -o /dev/null -e trace=exit_group -e inject=exit_group:delay_enter=3000000 \
         aiden-skills -q sync >/dev/null & sleep 2; grep VmHWM /proc/$(pidof aiden-skills)/status; wait"
    ));
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| *word == "VmHWM:")
        .expect("VmHWM");
    words[at + 1].parse().unwrap()
}

/// Mean time of a command that BusyBox does not have built in.
fn seconds(running: &mut Running, command: &str) -> f64 {
    let text = running.must(&format!(
        "cat /proc/uptime; i=0; while [ $i -lt {RUNS} ]; do {command} >/dev/null; i=$((i + 1)); done; cat /proc/uptime"
    ));
    let times: Vec<f64> = text
        .lines()
        .filter_map(|line| line.split(' ').next()?.parse().ok())
        .collect();
    (times[1] - times[0]) / f64::from(RUNS)
}
