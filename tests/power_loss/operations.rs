//! The operations whose power is cut. A new one is a line in `ALL`.

use crate::board::Slot;

/// What a user does, or a command, on a config dir of its own.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub name: &'static str,
    /// What happens to the config dir before: words of a shell that knows [`PRELUDE`].
    pub prepare: &'static str,
    /// What is cut: the program with these arguments, in a shell's words, and this firmware.
    pub command: &'static str,
    pub firmware: Slot,
}

/// `$C` is the config dir, `$A` and `$B` are bundles, `$P` is the program.
pub const PRELUDE: &str = r#"
skills() { bundle=$1; shift; "$P" --config-dir "$C" --bundled-dir "$bundle" --json "$@" >/dev/null; }
own() { { echo ---; echo "source: me"; tail -n +2 "$C/skills/$1"; } >"$C/own" && cat "$C/own" >"$C/skills/$1" && rm "$C/own"; }
note() { echo "The user's own words." >>"$C/skills/$1"; }
tear() { head -c 300 "$C/skill-state/$1" >"$C/torn" && cat "$C/torn" >"$C/skill-state/$1" && rm "$C/torn"; }
"#;

pub const ALL: &[Operation] = &[
    Operation {
        name: "first seed",
        prepare: "true",
        command: "sync",
        firmware: Slot::A,
    },
    Operation {
        name: "update",
        prepare: "skills $A sync",
        command: "sync",
        firmware: Slot::B,
    },
    Operation {
        name: "rollback",
        prepare: "skills $A sync && skills $B sync",
        command: "sync",
        firmware: Slot::A,
    },
    Operation {
        name: "adoption",
        prepare: "skills $A sync && cp $B/planner/SKILL.md $C/skills/planner/ && \
                  cp $B/research/templates/report.md $C/skills/research/templates/ && cp -r $B/battery-care $C/skills/",
        command: "sync",
        firmware: Slot::B,
    },
    Operation {
        name: "repair",
        prepare: "skills $A sync && : >$C/skills/planner/SKILL.md && : >$C/skills/ui-operator/SKILL.md && \
                  head -c 4773 /dev/zero >$C/skills/research/SKILL.md",
        command: "sync",
        firmware: Slot::A,
    },
    Operation {
        name: "lost library",
        prepare: "skills $A sync && rm -r $C/skills",
        command: "sync",
        firmware: Slot::A,
    },
    Operation {
        name: "update beside edits and deletions",
        prepare: "skills $A sync && note research/SKILL.md && note ui-operator/references/recovery.md && \
                  rm -r $C/skills/skill-authoring && rm $C/skills/device-settings/references/where-to-look.md",
        command: "sync",
        firmware: Slot::B,
    },
    Operation {
        name: "merge",
        prepare: "skills $A sync && own planner/SKILL.md && skills $A sync && skills $B sync",
        command: "--engine structural merge",
        firmware: Slot::B,
    },
    Operation {
        name: "merge without a base",
        prepare: "skills $A sync && mkdir $C/skills/battery-care && \
                  cp $B/battery-care/SKILL.md $C/skills/battery-care/ && note battery-care/SKILL.md && skills $B sync",
        command: "--engine structural merge",
        firmware: Slot::B,
    },
    Operation {
        name: "skill created by a tool",
        prepare: "skills $A sync",
        command: r#"tool skill_manage '{"action": "create", "name": "made", "reason": "A test.", "content": "---\nname: made\ndescription: Made by an agent.\n---\nDo.\n"}'"#,
        firmware: Slot::A,
    },
    Operation {
        name: "skill edited by a tool",
        prepare: "skills $A sync",
        command: r#"tool skill_manage '{"action": "patch", "name": "planner", "reason": "A test.", "old_string": "name: planner", "new_string": "source: me\nname: planner"}'"#,
        firmware: Slot::A,
    },
    Operation {
        name: "skill deleted by a tool",
        prepare: "skills $A sync",
        command: r#"tool skill_manage '{"action": "delete", "name": "research", "reason": "A test."}'"#,
        firmware: Slot::A,
    },
    Operation {
        name: "file written by a tool",
        prepare: "skills $A sync",
        command: r#"tool skill_manage '{"action": "write_file", "name": "research", "reason": "A test.", "file_path": "references/new/a.md", "file_content": "An agent found this out."}'"#,
        firmware: Slot::A,
    },
    Operation {
        name: "file removed by a tool",
        prepare: "skills $A sync",
        command: r#"tool skill_manage '{"action": "remove_file", "name": "research", "reason": "A test.", "file_path": "templates/report.md"}'"#,
        firmware: Slot::A,
    },
    Operation {
        name: "skill archived by a tool",
        prepare: "skills $A sync",
        command: r#"tool skill_manage '{"action": "archive", "name": "research", "reason": "A test."}'"#,
        firmware: Slot::A,
    },
    Operation {
        name: "reset",
        prepare: "skills $A sync && note planner/SKILL.md && note planner/own.md && \
                  rm $C/skills/research/templates/report.md && rm -r $C/skills/ui-operator && skills $A sync",
        command: "reset planner research ui-operator --restore",
        firmware: Slot::A,
    },
    Operation {
        name: "ledger rebuilt from the one before",
        prepare: "skills $A sync && note research/SKILL.md && skills $B sync && tear .bundled_manifest.json",
        command: "sync",
        firmware: Slot::B,
    },
    Operation {
        name: "ledger rebuilt from the bases",
        prepare: "skills $A sync && note research/SKILL.md && skills $B sync && \
                  tear .bundled_manifest.json && tear .bundled_manifest.json.prev",
        command: "sync",
        firmware: Slot::B,
    },
];

impl Operation {
    /// The name of its config dir.
    pub fn directory(&self) -> String {
        self.name.replace(' ', "-")
    }
}

/// The firmwares that the next start may find: this one, or after a switch the other.
pub fn both_from(firmware: Slot) -> [Slot; 2] {
    match firmware {
        Slot::A => [Slot::A, Slot::B],
        Slot::B => [Slot::B, Slot::A],
    }
}
