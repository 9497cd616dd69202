//! The real program, killed, failed and run at once: whatever happens, the next sync ends in the whole new
//! state, and nothing is ever torn, taken for an edit or for a deletion.
//!
//! Needs root, Linux and `strace`; a missing one is a failure. `AIDEN_KILL_SEED` repeats the random moments of
//! an earlier run.

#![allow(clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;

mod agents;
mod at_once;
mod board;
mod calls;
mod errors;
mod evolve;
mod evolve_order;
#[path = "../common/evolved.rs"]
mod evolved;
mod firmware;
mod full_disk;
mod merges;
mod moments;
mod operations;
mod order;
mod rules;
mod rules_tests;
mod settling;
#[path = "../merge/stand_in.rs"]
mod stand_in;
mod trace;
mod tracer;
