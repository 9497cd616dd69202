//! States looked at by a board: its kernel knows file systems that this machine's may not.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::board::{Access, Board, Running, Slot};
use crate::judge::Tree;
use crate::log::Disk;
use crate::recording::{MACHINE, introduction};
use crate::state::{FileSystem, scratch};

/// So many states lie on one disk, for they are many MiB each where no holes are kept.
const STATES_OF_A_BOOT: usize = 120;
/// Room for the files of a config dir.
const ROOM: u64 = 1024 * 1024;

/// A state, and the firmware that it is synced with.
pub struct Job {
    pub disk: Disk,
    pub directory: String,
    pub firmware: Slot,
}

/// What a board saw of it: the files as they lay there, and after each of two syncs.
pub struct Seen {
    pub trees: [Tree; 3],
    pub codes: [i32; 2],
    /// Of the second sync.
    pub flushes: u64,
    files: TempDir,
}

impl Seen {
    /// The files as they lay there.
    pub fn left(&self) -> &Tree {
        &self.trees[0]
    }

    /// The config dir as it lay there.
    pub fn config(&self, job: &Job) -> std::path::PathBuf {
        self.files.path().join("0").join(&job.directory)
    }
}

/// For each of two syncs, and before them, the files go to the next place on the disk `seen`.
const LOOK: &str = r#"
keep() { [ ! -e "/run/s/$2" ] || tar -C /run/s -cf - "$2" | dd of=$SEEN bs=1M seek=$1 conv=notrunc 2>/dev/null; }
look() {
C=/run/s/$2
losetup -o $(($1 * LENGTH)) /dev/loop0 $STATES && mount -t $TYPE -o noatime /dev/loop0 /run/s || return
keep $(($1 * 3)) $2
"$P" --config-dir $C --bundled-dir $3 --json sync >/dev/null 2>&1; first=$?
keep $(($1 * 3 + 1)) $2
"$P" --config-dir $C --bundled-dir $3 --json sync >/run/report 2>&1; second=$?
keep $(($1 * 3 + 2)) $2
echo "seen $first $second $(sed -n 's/.*"flushes": *\([0-9]*\).*/\1/p' /run/report)"
umount /run/s && losetup -d /dev/loop0
}
"#;

/// Looks at all of them, in as many boots as it takes. Where the file system can't be mounted, it says so.
pub fn look<'j>(
    file_system: &FileSystem,
    jobs: impl IntoIterator<Item = &'j Job>,
) -> Vec<Result<Seen, String>> {
    let jobs: Vec<&Job> = jobs.into_iter().collect();
    jobs.chunks(STATES_OF_A_BOOT)
        .flat_map(|jobs| look_in_one_boot(file_system, jobs))
        .collect()
}

fn look_in_one_boot(file_system: &FileSystem, jobs: &[&Job]) -> Vec<Result<Seen, String>> {
    let place = scratch();
    let [states, seen] = ["states", "seen"].map(|name| place.path().join(name));
    let length = jobs[0].disk.length();
    let file = File::create(&states).unwrap();
    file.set_len(length * jobs.len() as u64).unwrap();
    for (number, job) in (0..).zip(jobs) {
        job.disk.write_at(&file, number * length);
    }
    let room = File::create(&seen).unwrap();
    room.set_len(ROOM * 3 * jobs.len() as u64).unwrap();

    let board = Board::new(MACHINE);
    let mut running = board
        .boot(Slot::A)
        .disk("states", &states, Access::ReadWrite)
        .disk("seen", &seen, Access::ReadWrite)
        .start();
    let kind = file_system.driver();
    running.must(&introduction());
    running.must("board-modules loop; mkdir -p /run/s");
    if kind != "ext4" {
        running.must(&format!("board-modules {kind}"));
    }
    running.must(&format!(
        "LENGTH={length} TYPE={kind} STATES=$(board-disk states) SEEN=$(board-disk seen)\n{}",
        LOOK.trim()
    ));
    let told: Vec<Result<([i32; 2], u64), String>> = (0..)
        .zip(jobs)
        .map(|(number, job)| look_at(&mut running, number, job))
        .collect();
    running.must("sync");
    drop(running);
    let mut file = File::open(&seen).unwrap();
    (0..)
        .zip(jobs)
        .zip(told)
        .map(|((number, job), told)| told.map(|told| read(&mut file, number, job, told)))
        .collect()
}

fn look_at(running: &mut Running, number: usize, job: &Job) -> Result<([i32; 2], u64), String> {
    let bundle = match job.firmware {
        Slot::A => "$A",
        Slot::B => "$B",
    };
    let answer = running.sh(&format!("look {number} {} {bundle}", job.directory));
    let line = answer
        .text
        .lines()
        .find_map(|line| line.strip_prefix("seen "));
    let Some(line) = line else {
        return Err(format!("the board can't look at it: {answer:?}"));
    };
    let numbers: Vec<i32> = line
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    assert_eq!(answer.code, 0, "it can't be unmounted: {answer:?}");
    match numbers[..] {
        [first, second, flushes] => Ok(([first, second], u64::try_from(flushes).unwrap())),
        [first, second] => Ok(([first, second], u64::MAX)),
        _ => panic!("{answer:?}"),
    }
}

fn read(seen: &mut File, number: u64, job: &Job, (codes, flushes): ([i32; 2], u64)) -> Seen {
    let files = scratch();
    let trees = [0, 1, 2].map(|which| {
        let mut archive = vec![0; usize::try_from(ROOM).unwrap()];
        seen.seek(SeekFrom::Start((number * 3 + which) * ROOM))
            .unwrap();
        seen.read_exact(&mut archive).unwrap();
        let directory = files.path().join(which.to_string());
        fs::create_dir(&directory).unwrap();
        unpack(&archive, &directory);
        Tree::of(&directory.join(&job.directory))
    });
    Seen {
        trees,
        codes,
        flushes,
        files,
    }
}

fn unpack(archive: &[u8], directory: &Path) {
    let mut tar = Command::new("tar")
        .args(["-x", "-C"])
        .arg(directory)
        .stdin(Stdio::piped())
        .spawn()
        .expect("tar runs");
    // It stops reading at the archive's end, before that of the room.
    let _ = tar.stdin.take().unwrap().write_all(archive);
    assert!(tar.wait().unwrap().success(), "an archive of the board");
}
