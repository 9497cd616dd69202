//! File systems, and how the state that a cut left of one is opened on this machine: its journal replayed, its files
//! in a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::log::{BLOCK, Disk};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    pub name: &'static str,
    pub kind: Kind,
    /// Of the mount, beside noatime.
    pub options: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ext4,
    Ext2,
    F2fs,
}

pub const EXT4: FileSystem = FileSystem {
    name: "ext4",
    kind: Kind::Ext4,
    options: "",
};
/// Without what ext4 does for programs that forget to flush a file that replaces another.
pub const EXT4_NO_AUTO_ALLOC: FileSystem = FileSystem {
    name: "ext4 noauto_da_alloc",
    kind: Kind::Ext4,
    options: "noauto_da_alloc",
};
pub const EXT4_WRITEBACK: FileSystem = FileSystem {
    name: "ext4 data=writeback",
    kind: Kind::Ext4,
    options: "data=writeback",
};
pub const EXT2: FileSystem = FileSystem {
    name: "ext2",
    kind: Kind::Ext2,
    options: "",
};
pub const F2FS: FileSystem = FileSystem {
    name: "f2fs",
    kind: Kind::F2fs,
    options: "",
};

impl FileSystem {
    /// The driver that mounts it; ext2's is ext4's.
    pub fn driver(&self) -> &'static str {
        match self.kind {
            Kind::Ext4 | Kind::Ext2 => "ext4",
            Kind::F2fs => "f2fs",
        }
    }

    /// Only a journal (or a log) lets a program survive a cache that brings writes to the medium in another order.
    pub fn has_journal(&self) -> bool {
        self.kind != Kind::Ext2
    }

    /// Makes an empty one that leaves the end of its disk to the marks. With 4 KiB blocks, as on a large disk: 1 KiB
    /// blocks hide torn files.
    pub fn make(&self, image: &Path) {
        const MIB: u64 = 1024 * 1024;
        let size = match self.kind {
            Kind::Ext4 | Kind::Ext2 => 32 * MIB,
            Kind::F2fs => 64 * MIB,
        };
        fs::File::create(image)
            .unwrap()
            .set_len(size + MIB)
            .unwrap();
        let mut command = match self.kind {
            Kind::Ext4 | Kind::Ext2 => {
                let kind = if self.kind == Kind::Ext4 {
                    "ext4"
                } else {
                    "ext2"
                };
                let mut command = Command::new("mke2fs");
                command.args(["-q", "-t", kind, "-b", "4096", "-m", "0"]);
                command.args([
                    "-E",
                    "lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0",
                ]);
                command.arg(image).arg((size / BLOCK as u64).to_string());
                command
            }
            Kind::F2fs => {
                let mut command = Command::new("mkfs.f2fs");
                command.arg("-q").arg(image).arg((size / 512).to_string());
                command
            }
        };
        let output = run(&mut command);
        assert!(output.status.success(), "{command:?}: {output:?}");
    }
}

/// How the files of a state come into a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Mounted by the kernel through a loop device.
    Loop,
    /// Journal replayed by e2fsck, files taken out by debugfs: needs no root.
    Debugfs,
}

impl Way {
    /// The one that this machine has; said once.
    pub fn of_this_machine() -> Self {
        static WAY: OnceLock<Way> = OnceLock::new();
        *WAY.get_or_init(|| {
            let bench = Bench::new();
            let image = bench.place.path().join("try");
            EXT4.make(&image);
            let way = match bench.mount(&image, &EXT4) {
                Ok(_) => Self::Loop,
                Err(why) => {
                    println!("power-loss: nothing can be mounted here: {why}");
                    Self::Debugfs
                }
            };
            println!("power-loss: states are opened by {way:?}");
            way
        })
    }
}

/// Memory where there is some, for flushing flash would only make the tests slow.
pub fn scratch() -> TempDir {
    TempDir::new_in("/dev/shm").unwrap_or_else(|_| TempDir::new().unwrap())
}

/// Where states are opened, one at a time.
pub struct Bench {
    pub place: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let place = scratch();
        Self { place }
    }

    /// Opens what lies on a disk; says why where it is no file system any more.
    pub fn open(&self, disk: &Disk, file_system: &FileSystem, way: Way) -> Result<Opened, String> {
        let image = self.place.path().join("image");
        // Not the file of the one before, which a loop device may still hold.
        let _ = fs::remove_file(&image);
        disk.write(&image);
        self.open_image(&image, file_system, way)
    }

    /// Opens an image, which is changed by it.
    pub fn open_image(
        &self,
        image: &Path,
        file_system: &FileSystem,
        way: Way,
    ) -> Result<Opened, String> {
        match way {
            Way::Loop => {
                if !file_system.has_journal() {
                    check(image)?;
                }
                self.mount(image, file_system)
            }
            Way::Debugfs => {
                check(image)?;
                self.extract(image)
            }
        }
    }

    fn mount(&self, image: &Path, file_system: &FileSystem) -> Result<Opened, String> {
        let root = TempDir::new_in(self.place.path()).unwrap();
        let mut command = Command::new("mount");
        let options = ["loop,noatime", file_system.options].join(",");
        command.args([
            "-t",
            file_system.driver(),
            "-o",
            options.trim_end_matches(','),
        ]);
        succeeds(command.arg(image).arg(root.path()))?;
        Ok(Opened {
            root,
            mounted: true,
        })
    }

    fn extract(&self, image: &Path) -> Result<Opened, String> {
        let root = TempDir::new_in(self.place.path()).unwrap();
        let request = format!("rdump / {}", root.path().display());
        succeeds(Command::new("debugfs").args(["-R", &request]).arg(image))?;
        Ok(Opened {
            root,
            mounted: false,
        })
    }
}

/// The files of a state. Dropped, they are gone.
pub struct Opened {
    root: TempDir,
    mounted: bool,
}

impl Opened {
    pub fn directory(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.mounted {
            return;
        }
        // Another thread's child holds what it was born with until it is another program.
        for _ in 0..200 {
            if succeeds(Command::new("umount").arg(self.root.path())).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let detached = succeeds(Command::new("umount").arg("-l").arg(self.root.path()));
        // A second panic would end the process before the other tests' file systems are unmounted.
        assert!(thread::panicking(), "it can't be unmounted; {detached:?}");
    }
}

/// Replays the journal, and repairs what needs it.
fn check(image: &Path) -> Result<(), String> {
    let output = run(Command::new("e2fsck").arg("-fy").arg(image));
    // 1: repaired.
    match output.status.code() {
        Some(0 | 1) => Ok(()),
        _ => Err(format!("e2fsck can't repair it: {output:?}")),
    }
}

fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = run(command);
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{command:?}: {} {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}
