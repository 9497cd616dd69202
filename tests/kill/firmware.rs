//! Bundles as values, to write them down and to compare a library with them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shipped {
    pub bytes: Vec<u8>,
    pub executable: bool,
}

/// The files of one skill, by their path in it.
pub type Skill = BTreeMap<String, Shipped>;

#[derive(Debug, Clone, Default)]
pub struct Firmware {
    pub skills: BTreeMap<String, Skill>,
}

impl Firmware {
    /// The same with one more file.
    pub fn file(self, skill: &str, path: &str, text: &str) -> Self {
        self.with(skill, path, text, false)
    }

    pub fn executable(self, skill: &str, path: &str, text: &str) -> Self {
        self.with(skill, path, text, true)
    }

    /// The same with one more SKILL.md.
    pub fn skill(self, skill: &str, version: u32) -> Self {
        let text = common::version(skill, version);
        self.with(skill, "SKILL.md", &text, false)
    }

    fn with(mut self, skill: &str, path: &str, text: &str, executable: bool) -> Self {
        let shipped = Shipped {
            bytes: text.into(),
            executable,
        };
        let files = self.skills.entry(skill.into()).or_default();
        files.insert(path.into(), shipped);
        self
    }

    pub fn text(&self, skill: &str) -> &[u8] {
        &self.skills[skill]["SKILL.md"].bytes
    }

    /// As a read-only partition has it.
    pub fn write_to(&self, root: &Path) {
        for (name, files) in &self.skills {
            for (path, shipped) in files {
                let path = root.join(name).join(path);
                common::write(&path, &shipped.bytes);
                let mode = if shipped.executable { 0o555 } else { 0o444 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}

/// The three versions of a small firmware. From 1 to 2: texts change, a file changes and becomes executable, a
/// file goes, one comes, a skill comes. In 3 a skill is gone.
pub fn small(version: u32) -> Firmware {
    let one = Firmware::default()
        .skill("alpha", version)
        .skill("beta", 1)
        .skill("gamma", version);
    match version {
        1 => one
            .file("alpha", "references/a.md", "a of 1\n")
            .file("beta", "scripts/run.sh", "echo 1\n")
            .file("gamma", "templates/t.md", "t of 1\n"),
        2 => one
            .file("alpha", "references/a.md", "a of 1\n")
            .executable("beta", "scripts/run.sh", "echo 2\n")
            .file("gamma", "assets/n.md", "n of 2\n")
            .skill("delta", 2)
            .file("delta", "references/d.md", "d of 2\n"),
        _ => Firmware::default()
            .skill("alpha", version)
            .file("alpha", "references/a.md", "a of 3\n")
            .skill("beta", 1)
            .file("beta", "scripts/run.sh", "echo 3\n")
            .skill("delta", 2)
            .file("delta", "references/d.md", "d of 3\n"),
    }
}

/// 150 skills of two files each; in 3 every seventh is gone.
pub fn large(version: u32) -> Firmware {
    let mut firmware = Firmware::default();
    for number in 0..150 {
        if version == 3 && number % 7 == 0 {
            continue;
        }
        let name = format!("skill-{number:03}");
        let file = format!(
            "# Details of {name}, version {version}\n{}",
            "More.\n".repeat(number)
        );
        firmware = firmware
            .skill(&name, version)
            .file(&name, "references/details.md", &file);
    }
    firmware
}
