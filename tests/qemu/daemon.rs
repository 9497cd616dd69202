//! The daemon, as the init hook starts it.

use serde_json::Value;

use crate::board::{Board, Machine, Running, Slot};

/// A call of a tool over a socket, with what the board has for that.
pub fn call(socket: &str, tool: &str, input: &str) -> String {
    let body = format!("{{\"input\": {input}}}");
    let head = format!(
        "POST /api/tools/{tool} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nContent-Length: {}\\r\\n\\r\\n",
        body.len()
    );
    format!("printf '{head}{body}' | board-tool nc.openbsd -U {socket}")
}

pub fn uses(files: &crate::disk::Files) -> Value {
    let usage = files.text("agent/skill-state/usage.json");
    serde_json::from_str::<Value>(&usage).unwrap()["planner"]["use_count"].clone()
}

/// Hundredths of a second since the boot.
fn now(running: &mut Running) -> u64 {
    let text = running.must("cut -d' ' -f1 /proc/uptime");
    text.trim().replace('.', "").parse().unwrap()
}

pub fn it_serves_and_a_shutdown_has_its_counts_on_disk(machine: Machine) {
    let board = Board::seeded(machine);
    let mut running = board.boot(Slot::A).default("SERVE=yes").start();
    let said = running.boot_messages();
    assert!(said.contains("Starting aiden-skills: OK"), "{said}");
    let socket = "/run/aiden-skills.sock";
    let listed = running.must(&call(socket, "skill_list", "{\"query\": \"plan\"}"));
    assert!(
        listed.starts_with("HTTP/1.1 200") && listed.contains("planner"),
        "{listed}"
    );
    let used = call(socket, "skill_mark_used", "{\"name\": \"planner\"}");
    assert!(running.must(&used).contains("use_count=1"));
    let tcp = "ifconfig lo 127.0.0.1 up; wget -q -O - http://127.0.0.1:8791/api/tools";
    let tools = running.must(tcp);
    assert!(
        tools.contains("skill_read") && !tools.contains("skill_manage"),
        "{tools}"
    );
    assert!(
        running
            .must("/etc/init.d/S38aiden-skills status")
            .contains("The daemon runs")
    );
    let before = now(&mut running);
    running.must("/etc/init.d/S38aiden-skills stop");
    let took = now(&mut running) - before;
    assert!(took < 500, "{took} hundredths of a second");
    let usage = running.must("cat /userdata/agent/skill-state/usage.json");
    assert!(usage.contains("\"use_count\": 1"), "{usage}");
    running.must("/etc/init.d/S38aiden-skills start");
    running.must(&used);
    // The last call is a moment old when the board goes off.
    running.power_off();
    assert_eq!(uses(&board.files()), 2);
}

pub fn it_answers_within_a_second_of_its_start(machine: Machine) {
    let board = Board::seeded(machine);
    let mut running = board.boot(Slot::A).start();
    let listed = call("/tmp/s", "skill_list", "{}");
    // The best of some: the machine below may be busy with other things.
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let text = running.must(&format!(
            "read from _ </proc/uptime; aiden-skills serve --http off --socket /tmp/s & daemon=$!; \
             until {listed} 2>/dev/null | grep -q planner; do :; done; read to _ </proc/uptime; \
             kill $daemon; wait $daemon; code=$?; echo; echo $from $to; (exit $code)"
        ));
        // The shell tells of its jobs besides.
        let times = text.lines().rev().find_map(|line| {
            let (from, to) = line.trim().split_once(' ')?;
            Some([from.parse::<f64>().ok()?, to.parse().ok()?])
        });
        let times = times.unwrap_or_else(|| panic!("no times: {text}"));
        best = best.min(times[1] - times[0]);
    }
    println!("answered {best:.2} s after its start");
    assert!(best < 1.0, "{best} s");
    let idle = running.must(
        "aiden-skills serve --http off --socket /tmp/s & daemon=$!; sleep 2; \
         grep -E 'VmRSS|VmHWM' /proc/$daemon/status; kill $daemon; wait $daemon",
    );
    println!("{idle}");
}
