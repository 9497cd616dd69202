//! What the slots of a board hold.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use aiden_skills::sync::Bundle;

use crate::board::{Skills, ship, text};
use crate::faulty::{Fault, Faulty};
use crate::simulated::{Disk, Simulated};

/// What the slots hold: the firmware before, the one of the operation, and one with hardly any of the skills.
pub struct Firmwares {
    pub older: Disk,
    pub newer: Disk,
    pub stripped: Disk,
    /// What is wrong with the newer one's medium while the operation runs.
    pub fault: Cell<Fault>,
    opened: RefCell<Option<Faulty>>,
}

impl Firmwares {
    pub fn new() -> Self {
        Self::of(&older(), &newer())
    }

    pub fn of(older: &Skills, newer: &Skills) -> Self {
        Self {
            older: ship(older, false),
            newer: ship(newer, true),
            stripped: ship(&stripped(), false),
            fault: Cell::new(Fault::None),
            opened: RefCell::default(),
        }
    }

    /// As the operation finds it.
    pub fn open_newer(&self) -> Bundle {
        let newer = Faulty::new(Simulated::new(self.newer.clone()), self.fault.get());
        *self.opened.borrow_mut() = Some(newer.clone());
        Bundle::list(Box::new(newer))
    }

    /// The newer one's medium as the operation opened it.
    pub fn opened(&self) -> Faulty {
        self.opened
            .borrow()
            .clone()
            .expect("an operation has opened it")
    }

    /// What the next start may find.
    pub fn all(&self) -> [(&'static str, &Disk); 3] {
        [
            ("newer", &self.newer),
            ("older", &self.older),
            ("stripped", &self.stripped),
        ]
    }
}

/// Files by their paths.
pub fn files(entries: &[(&'static str, &str)]) -> BTreeMap<&'static str, String> {
    entries
        .iter()
        .map(|(path, content)| (*path, (*content).to_owned()))
        .collect()
}

fn older() -> Skills {
    let skill = |name: &str, more: &[(&'static str, &str)]| {
        let mut all = files(more);
        all.insert("SKILL.md", text(name, "Old."));
        all
    };
    Skills::from([
        (
            "alpha",
            skill(
                "alpha",
                &[
                    ("references/a.md", "a1"),
                    ("references/gone.md", "g1"),
                    ("LICENSE.txt", "before SKILL.md in byte order"),
                    ("references/deep/er/d.md", "d1"),
                ],
            ),
        ),
        (
            "beta",
            skill(
                "beta",
                &[
                    ("scripts/run.sh", "#!/bin/sh\necho 1\n"),
                    ("assets/x", "x"),
                    ("references/shape", "a file"),
                    ("scripts/bit.sh", "echo\n"),
                    ("assets/shape/in.md", "in a directory"),
                ],
            ),
        ),
        ("edited", skill("edited", &[("references/a.md", "e1")])),
        ("deleted", skill("deleted", &[])),
        ("dropped", skill("dropped", &[("references/d.md", "d")])),
    ])
}

fn newer() -> Skills {
    let mut skills = older();
    let set = |skills: &mut Skills, name: &'static str, path: &'static str, content: String| {
        skills.entry(name).or_default().insert(path, content);
    };
    set(&mut skills, "alpha", "SKILL.md", text("alpha", "New."));
    set(&mut skills, "alpha", "references/a.md", "a2, longer".into());
    set(&mut skills, "alpha", "templates/deep/t.md", "t".into());
    skills
        .entry("alpha")
        .or_default()
        .remove("references/gone.md");
    set(
        &mut skills,
        "beta",
        "scripts/run.sh",
        "echo not executable any more\n".into(),
    );
    set(&mut skills, "beta", "assets/x", "#!/bin/sh\n".into());
    // A file turns into a directory, a directory into a file.
    for path in ["references/shape", "assets/shape/in.md"] {
        skills.entry("beta").or_default().remove(path);
    }
    set(
        &mut skills,
        "beta",
        "references/shape/in.md",
        "in a directory".into(),
    );
    set(&mut skills, "beta", "assets/shape", "a file".into());
    set(&mut skills, "deleted", "SKILL.md", text("deleted", "New."));
    skills.remove("dropped");
    set(&mut skills, "fresh", "SKILL.md", text("fresh", "New."));
    set(&mut skills, "fresh", "references/f.md", "f".into());
    skills
}

/// What a slot may also hold at the next start: none of the skills but one, and that with another text.
fn stripped() -> Skills {
    Skills::from([("alpha", files(&[("SKILL.md", &text("alpha", "Third."))]))])
}
