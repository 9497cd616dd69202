//! A board in a directory: bundles, a library with its user's doings, and what must hold after any accident.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use aiden_skills::SkillSyncReport;
use aiden_skills::store::LinuxFilesystem;
use aiden_skills::sync::ledger::Loaded;
use aiden_skills::sync::{Bundle, SkillSyncOptions, SyncError, sync_tree};
use tempfile::TempDir;

use crate::faulty::{Fault, Faulty};

/// Files by path: content and whether executable.
pub type Tree = BTreeMap<String, (Vec<u8>, bool)>;

pub struct Board {
    directory: TempDir,
    pub per_file: bool,
}

/// Skills as text: name → path → content; a content that starts with `#!` is executable.
pub type Skills = BTreeMap<&'static str, BTreeMap<&'static str, String>>;

pub fn text(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: The skill {name}\n---\n\n{body}\n")
}

impl Board {
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let board = Self {
            directory: directory.unwrap(),
            per_file: false,
        };
        fs::create_dir(board.agent()).unwrap();
        board
    }

    pub fn agent(&self) -> PathBuf {
        self.directory.path().join("agent")
    }

    pub fn library(&self, path: &str) -> PathBuf {
        self.agent().join("skills").join(path)
    }

    pub fn state(&self, path: &str) -> PathBuf {
        self.agent().join("skill-state").join(path)
    }

    pub fn ship(&self, bundle: &str, skills: &Skills) -> PathBuf {
        let root = self.directory.path().join(bundle);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir(&root).unwrap();
        for (skill, files) in skills {
            for (path, content) in files {
                let path = root.join(skill).join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, content).unwrap();
                // One file differs between the bundles in nothing but this bit.
                let executable =
                    content.starts_with("#!") || (path.ends_with("bit.sh") && bundle == "newer");
                let mode = if executable { 0o755 } else { 0o644 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        root
    }

    pub fn filesystem(&self, fault: Fault) -> Faulty {
        let inner = LinuxFilesystem::open(&self.agent()).unwrap();
        let inner = if self.per_file {
            inner.without_syncfs()
        } else {
            inner
        };
        Faulty::new(inner, fault)
    }

    pub fn options(&self, bundle: &Path) -> SkillSyncOptions {
        SkillSyncOptions::new(self.agent(), bundle)
    }

    pub fn sync_with(
        &self,
        filesystem: &Faulty,
        bundle: &Path,
    ) -> Result<SkillSyncReport, SyncError> {
        sync_tree(filesystem, &Bundle::open(bundle), &self.options(bundle))
    }

    pub fn sync(&self, bundle: &Path) -> SkillSyncReport {
        self.sync_with(&self.filesystem(Fault::None), bundle)
            .unwrap()
    }

    pub fn ledger(&self) -> Loaded {
        let filesystem = LinuxFilesystem::open(&self.agent()).unwrap();
        aiden_skills::sync::ledger::load(&filesystem).unwrap()
    }

    pub fn tree(root: &Path) -> Tree {
        let mut tree = Tree::new();
        collect(root, root, &mut tree);
        tree
    }

    /// What must hold after any accident, once a sync has gone through without a fault.
    pub fn check_at_rest(&self, bundle: &Path, case: &str) {
        let left: Vec<_> = match fs::read_dir(self.state("tmp")) {
            Ok(entries) => entries.map(|entry| entry.unwrap().file_name()).collect(),
            Err(_) => Vec::new(),
        };
        assert!(left.is_empty(), "{case}: left behind: {left:?}");
        assert!(
            !self.ledger().ledger.has_pending(),
            "{case}: intents are left"
        );
        let before = Self::tree(&self.agent());
        let again = self.sync(bundle);
        assert_eq!(
            again.flushes, 0,
            "{case}: the next sync is no no-op: {again:?}"
        );
        assert_eq!(
            Self::tree(&self.agent()),
            before,
            "{case}: the next sync changed something"
        );
    }
}

fn collect(root: &Path, directory: &Path, tree: &mut Tree) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let shown = path.strip_prefix(root).unwrap().display().to_string();
            tree.insert(format!("{shown}/"), (Vec::new(), false));
            collect(root, &path, tree);
        } else {
            let executable = path.metadata().unwrap().permissions().mode() & 0o111 != 0;
            let shown = path.strip_prefix(root).unwrap().display().to_string();
            tree.insert(shown, (fs::read(&path).unwrap(), executable));
        }
    }
}
