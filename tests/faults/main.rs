//! Every operation in a simulated file system: power cut at each of its effects, and each of its calls failed.

#![allow(clippy::disallowed_methods)]

mod aftermath;
mod board;
#[path = "../common/chance.rs"]
mod chance;
mod cuts;
mod errors;
mod evolve;
#[path = "../common/evolved.rs"]
mod evolved;
mod faulty;
mod firmwares;
#[path = "../common/judge.rs"]
mod judge;
#[cfg(feature = "mutants")]
mod mutants;
mod parity;
mod random;
mod scenario;
mod simulated;
#[path = "../common/table.rs"]
mod table;
