//! A really full file system, from no free page at all to enough of them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::common;
use crate::firmware::{Firmware, small};

const PAGE: usize = 4096;
const PAGES: usize = 128;

/// A small tmpfs, gone when dropped.
struct SmallDisk {
    directory: TempDir,
}

impl SmallDisk {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let size = format!("size={}", PAGE * PAGES);
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(directory.path());
        let output = mount.output().expect("mount, of the Debian package mount");
        assert!(output.status.success(), "mounting needs root: {output:?}");
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Leaves `free` pages.
    fn fill(&self, free: usize) {
        let mut file = File::create(self.path("ballast")).unwrap();
        while file.write_all(&[1; PAGE]).is_ok() {}
        let full = file.metadata().unwrap().len();
        file.set_len(full - (free * PAGE) as u64).unwrap();
    }

    fn free_up(&self) {
        fs::remove_file(self.path("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.directory.path())
            .status();
    }
}

fn sync(agent: &Path, bundle: &Path) -> common::Run {
    let mut command = common::bare_command();
    command
        .arg("--config-dir")
        .arg(agent)
        .arg("--bundled-dir")
        .arg(bundle);
    common::run(command.args(["--json", "sync"]))
}

/// Files that fill several pages, so that the space ends within one.
fn heavy(version: u32) -> Firmware {
    let mut firmware = small(version);
    for name in ["alpha", "beta", "gamma"] {
        let long = format!("{name} of {version}\n").repeat(1000);
        firmware = firmware.file(name, "references/long.md", &long);
    }
    firmware
}

/// A sync of `new` onto `old` with ever more space, until it is enough.
fn assert_every_filling_is_survived(old: Option<&Firmware>, new: &Firmware) {
    let bundles = TempDir::new().unwrap();
    let (old_bundle, new_bundle) = (bundles.path().join("old"), bundles.path().join("new"));
    if let Some(old) = old {
        old.write_to(&old_bundle);
    }
    new.write_to(&new_bundle);
    for free in 0..PAGES {
        let disk = SmallDisk::new();
        let agent = disk.path("agent");
        fs::create_dir(&agent).unwrap();
        if old.is_some() {
            sync(&agent, &old_bundle).expect(0);
        }
        disk.fill(free);
        let run = sync(&agent, &new_bundle);
        let case = format!("{free} free pages: {run:#?}");
        assert_whole(&agent, old, new, &case);
        if run.code == 0 {
            assert!(free > 0, "the disk was never full");
            println!("{free} free pages were enough, every lower number was refused");
            return;
        }
        assert!(matches!(run.code, 1 | 3), "{case}");
        assert!(run.stderr.contains("No space left on device"), "{case}");
        assert!(
            run.stderr.contains(&*agent.to_string_lossy()),
            "no path in {case}"
        );
        let temporary = agent.join("skill-state/tmp/v1");
        assert!(!temporary.exists(), "temporary files are left with {case}");
        disk.free_up();
        sync(&agent, &new_bundle).expect(0);
        assert_whole(&agent, None, new, &case);
        assert_eq!(
            sync(&agent, &new_bundle).expect(0).json()["flushes"],
            0,
            "{case}"
        );
    }
    panic!("it was never enough");
}

/// Every file of the new firmware is as it was or as it shall be, and nothing is missing that was there.
fn assert_whole(agent: &Path, old: Option<&Firmware>, new: &Firmware, case: &str) {
    for (name, files) in &new.skills {
        for (path, wanted) in files {
            let before = old.and_then(|old| Some(&old.skills.get(name)?.get(path)?.bytes));
            match fs::read(agent.join("skills").join(name).join(path)) {
                Ok(found) => {
                    let whole = found == wanted.bytes || Some(&found) == before;
                    assert!(whole, "{name}/{path} is torn with {case}");
                }
                Err(_) => assert!(before.is_none(), "{name}/{path} is gone with {case}"),
            }
        }
    }
}

#[test]
fn a_first_seed_survives_a_full_disk() {
    assert_every_filling_is_survived(None, &heavy(1));
}

#[test]
fn an_update_survives_a_full_disk() {
    assert_every_filling_is_survived(Some(&heavy(1)), &heavy(2));
}
