//! A board in memory: bundles, a config dir, and its user's doings.

use std::collections::BTreeMap;

use aiden_skills::SkillSyncReport;
use aiden_skills::store::{Attributes, Filesystem, Kind, Owner, RelPath};
use aiden_skills::sync::ledger::{self, Loaded};
use aiden_skills::sync::{Bundle, SkillSyncOptions, SyncError, sync_tree};

use crate::judge::Tree;
use crate::simulated::{Disk, Simulated};

/// Skills as text: name → path → content; a content that starts with `#!` is executable.
pub type Skills = BTreeMap<&'static str, BTreeMap<&'static str, String>>;

pub fn text(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: The skill {name}\n---\n\n{body}\n")
}

pub fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub fn options() -> SkillSyncOptions {
    SkillSyncOptions::new("/simulated", "/simulated")
}

/// A directory as its user has it at hand.
pub struct Board {
    pub filesystem: Simulated,
}

impl Board {
    pub fn new() -> Self {
        Self::on(Disk::empty())
    }

    pub fn on(disk: Disk) -> Self {
        let filesystem = Simulated::new(disk);
        Self { filesystem }
    }

    pub fn without_syncfs(self) -> Self {
        let filesystem = self.filesystem.without_syncfs();
        Self { filesystem }
    }

    /// Writes a file in place, as `cp` does: nothing is flushed.
    pub fn write(&self, file: &str, content: &str) {
        self.write_as(file, content, 0o644);
    }

    pub fn write_as(&self, file: &str, content: &str, mode: u32) {
        let file = path(file);
        let owner = Owner { uid: 0, gid: 0 };
        for directory in file.ancestors_from_top() {
            let attributes = Attributes { owner, mode: 0o755 };
            let _ = self.filesystem.create_dir(&directory, attributes);
        }
        if self.filesystem.metadata(&file).is_ok() {
            self.filesystem
                .overwrite(&file, content.as_bytes())
                .unwrap();
            return;
        }
        let attributes = Attributes { owner, mode };
        let mut new = self.filesystem.create(&file, attributes).unwrap();
        new.write_all(content.as_bytes()).unwrap();
    }

    /// `rm -rf`.
    pub fn remove(&self, gone: &str) {
        let gone = path(gone);
        match self.filesystem.metadata(&gone).map(|found| found.kind) {
            Err(_) => {}
            Ok(Kind::Directory) => {
                for entry in self.filesystem.read_dir(&gone).unwrap() {
                    self.remove(&format!("{gone}/{}", entry.name.to_str().unwrap()));
                }
                self.filesystem.remove_dir(&gone).unwrap();
            }
            Ok(_) => self.filesystem.remove_file(&gone).unwrap(),
        }
    }

    pub fn read(&self, file: &str) -> Option<Vec<u8>> {
        let node = self.tree().0.remove(file)?;
        Some(node.bytes)
    }

    pub fn tree(&self) -> Tree {
        self.filesystem.live().tree()
    }

    pub fn sync(&self, firmware: &Disk) -> Result<SkillSyncReport, SyncError> {
        sync(&self.filesystem, firmware)
    }

    pub fn ledger(&self) -> Loaded {
        ledger::load(&self.filesystem).unwrap()
    }
}

pub fn sync(filesystem: &dyn Filesystem, firmware: &Disk) -> Result<SkillSyncReport, SyncError> {
    sync_tree(filesystem, &bundle(firmware), &options())
}

pub fn bundle(firmware: &Disk) -> Bundle {
    Bundle::list(Box::new(Simulated::new(firmware.clone())))
}

/// What a firmware ships. Between the newer firmware and the others, one file differs in nothing but its executable bit.
pub fn ship(skills: &Skills, is_newer: bool) -> Disk {
    let board = Board::new();
    for (skill, files) in skills {
        for (file, content) in files {
            let executable = content.starts_with("#!") || (file.ends_with("bit.sh") && is_newer);
            let mode = if executable { 0o755 } else { 0o644 };
            board.write_as(&format!("{skill}/{file}"), content, mode);
        }
    }
    board.filesystem.live()
}
