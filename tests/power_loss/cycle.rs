//! What a user and the program do in turns, on a board and, to know what is right, on this machine.

use std::path::Path;
use std::process::Command;

use crate::board::Slot;
use crate::operations::PRELUDE;
use crate::verdict;

/// What a user does, then what the program does, and with which firmware.
struct Work {
    user: &'static str,
    command: &'static str,
    firmware: Slot,
}

/// So much work until it begins again.
pub const LENGTH: usize = CYCLE.len();

/// Done again and again.
const CYCLE: &[Work] = &[
    Work {
        user: "true",
        command: "sync",
        firmware: Slot::B,
    },
    Work {
        user: "edit research/SKILL.md; own planner/SKILL.md",
        command: "sync",
        firmware: Slot::A,
    },
    Work {
        user: "true",
        command: "--engine structural merge",
        firmware: Slot::A,
    },
    Work {
        user: "true",
        command: r#"tool skill_manage '{"action": "create", "name": "made", "reason": "A test.", "content": "---\nname: made\ndescription: Made by an agent.\n---\nDo.\n"}'"#,
        firmware: Slot::A,
    },
    Work {
        user: "true",
        command: r#"tool skill_manage '{"action": "write_file", "name": "made", "reason": "A test.", "file_path": "references/a.md", "file_content": "More."}'"#,
        firmware: Slot::A,
    },
    Work {
        user: "true",
        command: r#"tool skill_manage '{"action": "delete", "name": "made", "reason": "A test."}'"#,
        firmware: Slot::A,
    },
    Work {
        user: "delete ui-operator/SKILL.md",
        command: "sync",
        firmware: Slot::B,
    },
    Work {
        user: "delete planner/templates/plan.md",
        command: "reset research ui-operator planner --restore",
        firmware: Slot::B,
    },
    Work {
        user: "true",
        command: "sync",
        firmware: Slot::A,
    },
];

/// A user's program that knows how to replace a file, so that a file that is torn was not its doing. On this machine
/// `flush` does nothing.
const USER: &str = r#"
edit() {
[ ! -e "$C/skills/$1" ] || { cp "$C/skills/$1" "$C/../new" && echo "The user's own words." >>"$C/../new" && flush &&
mv "$C/../new" "$C/skills/$1"; }
}
own() {
[ ! -e "$C/skills/$1" ] || { { echo ---; echo "source: me"; tail -n +2 "$C/skills/$1"; } >"$C/../new" && flush &&
mv "$C/../new" "$C/skills/$1"; }
}
delete() { rm -f "$C/skills/$1"; }
"#;

/// The cycle as words for a board's shell. It says what begins and what is done.
pub fn words() -> String {
    let mut words = format!(
        "flush() {{ sync; }}\n{}\nC=/userdata/agent n=0\n",
        USER.trim()
    );
    words += "while :; do\n";
    for work in CYCLE {
        let bundle = match work.firmware {
            Slot::A => "$A",
            Slot::B => "$B",
        };
        let Work { user, command, .. } = work;
        words += &format!("echo \"user $n\"; {user}; flush; echo \"begin $n\"\n");
        words +=
            &format!("skills {bundle} {command} 2>/run/said; echo \"done $n $?\"; n=$((n + 1))\n");
    }
    words + "done"
}

/// The user's part of a work, on this machine.
pub fn user(config: &Path, number: usize) -> i32 {
    let words = CYCLE[number % LENGTH].user;
    let mut shell = Command::new("sh");
    shell.env("C", config);
    shell
        .arg("-c")
        .arg(format!("{PRELUDE}\nflush() {{ :; }}\n{USER}\n{words}"));
    shell.status().unwrap().code().unwrap()
}

/// The program's part.
pub fn program(config: &Path, number: usize) -> i32 {
    let work = &CYCLE[number % LENGTH];
    verdict::run(config, work.firmware, work.command)
}

/// What the program's part is done with.
pub fn firmware(number: usize) -> Slot {
    CYCLE[number % LENGTH].firmware
}
