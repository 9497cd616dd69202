//! Power cuts where it counts: on the medium. What a board's disk may hold after a cut is made from a record of all
//! that was written to it, or comes about by switching boards off; and media that answer with errors. All is judged
//! against the same operation undisturbed, which this machine's program goes through first.
//! `board/qemu/power-loss.sh` builds the boards and runs these; a plain `cargo test` does not.

#![allow(missing_docs, clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../qemu/board.rs"]
mod board;
#[path = "../common/chance.rs"]
mod chance;
#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code)]
#[path = "../qemu/disk.rs"]
mod disk;
#[path = "../common/judge.rs"]
mod judge;
#[path = "../common/table.rs"]
mod table;

mod cycle;
mod guest;
mod kills;
mod log;
mod looked_at;
mod media;
mod mutants;
mod operations;
mod recorded;
mod recording;
mod rehearsal;
mod state;
mod ubifs;
mod verdict;
mod vfat;
