//! Keeps the skills of an agent on a board: seeds and updates them from the firmware's bundle, never losing
//! an edit, never bringing a deletion back, never leaving a torn file.
//!
//! The way of data: bundle and library are looked at, a pure decision makes a plan of that, the store
//! applies it durably, a report tells it. See [`sync::sync_bundled_skills`].

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod cli;
pub mod clock;
pub mod config;
pub mod doctor;
pub mod evolve;
pub mod library;
pub mod live;
pub mod mcp;
pub mod merge;
pub mod profile;
pub mod serve;
pub mod skill;
pub mod store;
pub mod sync;
pub mod text;
pub mod tools;
pub mod usage;

pub use sync::{SkillSyncOptions, SkillSyncReport, SyncError, sync_bundled_skills};
