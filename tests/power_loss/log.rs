//! A recorded disk: what lay on it when the board started, and every write and flush since, in order, as QEMU's
//! blklogwrites logs them (the format of the kernel's dm-log-writes). From that, what a cut leaves on the medium.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

pub const SECTOR: usize = 512;
pub const BLOCK: usize = 4096;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;

/// One write, flush or discard.
pub struct Entry {
    sector: u64,
    sectors: usize,
    flags: u64,
    data: Vec<u8>,
}

impl Entry {
    /// How many sectors of the medium it changes.
    pub fn sectors(&self) -> usize {
        self.sectors
    }

    /// All that was written before it is on the medium.
    fn is_flush(&self) -> bool {
        self.flags & FLUSH != 0
    }

    /// It can't be lost once it was sent: a flush has nothing of its own, and some writes wait for the medium.
    fn is_safe(&self) -> bool {
        self.sectors == 0 || self.flags & FUA != 0
    }

    /// The number that `board-mark` wrote.
    fn mark(&self, mark_sector: u64) -> Option<u64> {
        if self.sector != mark_sector || self.sectors == 0 {
            return None;
        }
        let text = std::str::from_utf8(&self.data).ok()?;
        text.strip_prefix("mark ")?.lines().next()?.parse().ok()
    }
}

/// What lies on a medium: the blocks that are not all zeros. A clone shares them.
#[derive(Clone)]
pub struct Disk {
    length: u64,
    blocks: BTreeMap<u64, Rc<Block>>,
}

struct Block {
    bytes: [u8; BLOCK],
    digest: u64,
}

impl Disk {
    pub fn read(image: &Path) -> Self {
        let bytes = fs::read(image).unwrap();
        let mut disk = Self {
            length: bytes.len() as u64,
            blocks: BTreeMap::new(),
        };
        for (number, block) in (0..).zip(bytes.chunks_exact(BLOCK)) {
            disk.put(number, block.try_into().unwrap());
        }
        disk
    }

    /// Makes an image of it.
    pub fn write(&self, image: &Path) {
        let file = File::create(image).unwrap();
        file.set_len(self.length).unwrap();
        self.write_at(&file, 0);
    }

    /// Puts it into a larger image, where there is nothing yet.
    pub fn write_at(&self, file: &File, offset: u64) {
        for (number, block) in &self.blocks {
            let at = offset + number * BLOCK as u64;
            file.write_all_at(&block.bytes, at).unwrap();
        }
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Equal for equal file systems: the last block, which is the marks', does not count.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (number, block) in self.blocks.range(..self.mark_block()) {
            (number, block.digest).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn mark_block(&self) -> u64 {
        self.length / BLOCK as u64 - 1
    }

    fn put(&mut self, number: u64, bytes: [u8; BLOCK]) {
        if bytes == [0; BLOCK] {
            self.blocks.remove(&number);
            return;
        }
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let digest = hasher.finish();
        self.blocks.insert(number, Rc::new(Block { bytes, digest }));
    }

    /// Brings some of an entry's sectors to the medium. What was discarded reads as zeros.
    fn apply(&mut self, entry: &Entry, sectors: Range<usize>) {
        const IN_BLOCK: usize = BLOCK / SECTOR;
        let mut at = sectors.start;
        while at < sectors.end {
            let absolute = usize::try_from(entry.sector).unwrap() + at;
            let (number, first) = (absolute / IN_BLOCK, absolute % IN_BLOCK);
            let count = (IN_BLOCK - first).min(sectors.end - at);
            let number = number as u64;
            let mut bytes = self
                .blocks
                .get(&number)
                .map_or([0; BLOCK], |block| block.bytes);
            let place = &mut bytes[first * SECTOR..(first + count) * SECTOR];
            if entry.flags & DISCARD != 0 {
                place.fill(0);
            } else {
                place.copy_from_slice(&entry.data[at * SECTOR..(at + count) * SECTOR]);
            }
            self.put(number, bytes);
            at += count;
        }
    }
}

/// What a cut made of entries that it found on their way: nothing of them reached the medium, or these sectors.
pub type Losses = BTreeMap<usize, Range<usize>>;

/// A moment, and what was lost at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// So many entries had been sent.
    pub sent: usize,
    pub losses: Losses,
}

impl Cut {
    pub fn after(sent: usize) -> Self {
        let losses = Losses::new();
        Self { sent, losses }
    }
}

pub struct Log {
    start: Disk,
    pub entries: Vec<Entry>,
    marks: BTreeMap<u64, usize>,
}

impl Log {
    /// `start` is the image before the board ran, `log` what it wrote.
    pub fn read(start: &Path, log: &Path) -> Self {
        let start = Disk::read(start);
        let entries = parse(&fs::read(log).unwrap());
        let mark_sector = start.mark_block() * (BLOCK / SECTOR) as u64;
        let marks = (0..).zip(&entries);
        let marks = marks.filter_map(|(at, entry)| Some((entry.mark(mark_sector)?, at)));
        let marks = marks.collect();
        Self {
            start,
            entries,
            marks,
        }
    }

    /// Where a mark stands.
    pub fn mark(&self, number: u64) -> Option<usize> {
        self.marks.get(&number).copied()
    }

    /// What could be lost at a moment: what was sent since the last flush, marks left out, for they are ours.
    pub fn in_flight(&self, from: usize, sent: usize) -> Vec<usize> {
        let marks: BTreeSet<usize> = self.marks.values().copied().collect();
        let since = (from..sent)
            .rev()
            .take_while(|at| !self.entries[*at].is_flush());
        let mut all: Vec<usize> = since
            .filter(|at| !self.entries[*at].is_safe() && !marks.contains(at))
            .collect();
        all.reverse();
        all
    }

    pub fn player(&self) -> Player<'_> {
        Player {
            log: self,
            disk: self.start.clone(),
            applied: 0,
        }
    }
}

/// Makes the states of ever later cuts, each from one before it.
pub struct Player<'l> {
    log: &'l Log,
    disk: Disk,
    applied: usize,
}

impl Player<'_> {
    /// What a cut leaves on the medium.
    pub fn disk(&mut self, cut: &Cut) -> Disk {
        // What follows a loss is applied to a copy.
        let whole = cut.losses.keys().next().copied().unwrap_or(cut.sent);
        if whole < self.applied {
            *self = self.log.player();
        }
        let entries = &self.log.entries;
        for entry in &entries[self.applied..whole] {
            self.disk.apply(entry, 0..entry.sectors);
        }
        self.applied = whole;
        let mut disk = self.disk.clone();
        for (at, entry) in entries.iter().enumerate().take(cut.sent).skip(whole) {
            let kept = cut.losses.get(&at).cloned();
            disk.apply(entry, kept.unwrap_or(0..entry.sectors));
        }
        disk
    }
}

fn parse(bytes: &[u8]) -> Vec<Entry> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(number(0), MAGIC, "a log of blklogwrites");
    assert_eq!(bytes[24..28], 512_u32.to_le_bytes(), "its sectors");
    let mut entries = Vec::new();
    let mut at = SECTOR;
    // How many there are stands in the log only since the last flush.
    while at + SECTOR <= bytes.len() {
        let [sector, sectors, flags] = [at, at + 8, at + 16].map(number);
        if sectors == 0 && flags == 0 {
            break;
        }
        at += SECTOR;
        let sectors = usize::try_from(sectors).unwrap();
        let length = if flags & DISCARD != 0 {
            0
        } else {
            sectors * SECTOR
        };
        let Some(data) = bytes.get(at..at + length) else {
            break;
        };
        entries.push(Entry {
            sector,
            sectors,
            flags,
            data: data.to_vec(),
        });
        at += length;
    }
    entries
}
