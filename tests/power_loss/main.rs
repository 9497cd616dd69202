//! What a cut of the power, or a medium that fails, leaves of a config dir, on virtual boards: judged against the same
//! operation undisturbed, which this machine's program goes through first. Each operation prints a line
//! `power-loss: OPERATION | MEDIUM OR FAULT | STATES | VIOLATIONS`.
//!
//! `AIDEN_BOARDS` names the boards that `board/qemu/image.sh` has built; `AIDEN_SOAK=N` makes N cuts in place of the
//! usual number; `AIDEN_MUTANT` reaches the board's program, which must then be one with the feature `mutants`.

#![allow(missing_docs, clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../qemu/board.rs"]
mod board;
#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code)]
#[path = "../qemu/disk.rs"]
mod disk;
#[path = "../common/judge.rs"]
mod judge;

mod media;
mod rehearsal;
mod ubifs;
mod vfat;

#[test]
fn ubifs_a_cut_leaves_each_skill_as_before_or_done() {
    ubifs::a_cut_leaves_each_skill_as_before_or_done();
}

#[test]
fn media_an_error_in_the_journal_is_told_and_mended_by_the_next_boot() {
    media::an_error_in_the_journal_is_told_and_mended_by_the_next_boot();
}

#[test]
fn media_an_error_in_a_files_data_keeps_the_old_file_until_the_next_sync() {
    media::an_error_in_a_files_data_keeps_the_old_file_until_the_next_sync();
}

#[test]
fn media_an_error_in_the_bundle_costs_the_skills_that_cannot_be_read() {
    media::an_error_in_the_bundle_costs_the_skills_that_cannot_be_read();
}

#[test]
fn vfat_is_refused_unless_it_is_allowed() {
    vfat::it_is_refused_and_nothing_is_written();
}

#[test]
fn vfat_where_allowed_is_seeded_and_updated_and_keeps_edits() {
    vfat::where_allowed_it_is_seeded_and_updated_and_keeps_edits();
}
