//! Disks of virtual boards, read back without mounting them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The regular files of a tree: path to mode and content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files(pub BTreeMap<String, (u32, Vec<u8>)>);

impl Files {
    pub fn of(root: &Path) -> Self {
        let mut files = Self::default();
        files.gather(root, "");
        files
    }

    fn gather(&mut self, directory: &Path, prefix: &str) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{prefix}{}", entry.file_name().into_string().unwrap());
            let found = entry.metadata().unwrap();
            if found.is_dir() {
                self.gather(&entry.path(), &format!("{path}/"));
            } else {
                let mode = found.permissions().mode() & 0o7777;
                self.0.insert(path, (mode, fs::read(entry.path()).unwrap()));
            }
        }
    }

    /// The files below a directory, by their paths in it.
    pub fn below(&self, directory: &str) -> Self {
        let prefix = format!("{directory}/");
        let inside = |(path, file): (&String, &(u32, Vec<u8>))| {
            path.strip_prefix(&prefix)
                .map(|rest| (rest.to_owned(), file.clone()))
        };
        Self(self.0.iter().filter_map(inside).collect())
    }

    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let (_, content) = self
            .0
            .get(path)
            .unwrap_or_else(|| panic!("there is no {path}, but {:?}", self.paths()));
        String::from_utf8(content.clone()).unwrap()
    }

    pub fn paths(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Paths whose file differs between the two, or that only one has.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let all = self.0.keys().chain(other.0.keys());
        let mut different: Vec<String> = all
            .filter(|path| self.0.get(*path) != other.0.get(*path))
            .cloned()
            .collect();
        different.sort();
        different.dedup();
        different
    }
}

/// All files on a disk that was unmounted cleanly; the file system must be without fault.
pub fn read_back(image: &Path) -> Files {
    let check = Command::new("e2fsck")
        .arg("-fn")
        .arg(image)
        .output()
        .expect("e2fsck runs");
    assert!(
        check.status.success(),
        "the file system has faults: {}",
        String::from_utf8_lossy(&check.stdout)
    );
    read_back_as_it_is(image)
}

/// As `read_back`, for a disk that a test has damaged.
pub fn read_back_as_it_is(image: &Path) -> Files {
    let to = tempfile::tempdir().unwrap();
    unpack(image, to.path());
    let mut files = Files::of(to.path());
    files.0.retain(|path, _| !path.starts_with("lost+found/"));
    files
}

/// Copies all that is on a disk into a directory.
pub fn unpack(image: &Path, to: &Path) {
    debugfs(image, &["-R", &format!("rdump / {}", to.display())]);
}

/// Runs debugfs on a disk.
pub fn debugfs(image: &Path, arguments: &[&str]) -> String {
    let output = Command::new("debugfs")
        .args(arguments)
        .arg(image)
        .output()
        .expect("debugfs runs");
    assert!(output.status.success(), "debugfs {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn copy_sparse(from: &Path, to: &Path) {
    let copied = Command::new("cp")
        .args(["--sparse=always", "--reflink=auto"])
        .args([from, to])
        .status()
        .expect("cp runs");
    assert!(copied.success());
}
