//! The component on the virtual boards, as a pipeline puts it into an image: booted under QEMU, spoken to over the
//! serial console, and judged by the files read back from the disk's image. `make hil` builds the boards and runs
//! these; a plain `cargo test` does not.

#![allow(missing_docs, clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod board;
mod daemon;
mod disk;
mod figures;
mod firmware;
mod hook;
mod systemd;
mod trouble;

/// Makes each scenario a test on both boards.
macro_rules! on_both_boards {
    ($($room:ident::$name:ident,)*) => {
        mod armv7 {
            $(#[test] fn $name() { super::$room::$name(super::board::Machine::Armv7); })*
        }
        mod aarch64 {
            $(#[test] fn $name() { super::$room::$name(super::board::Machine::Aarch64); })*
        }
    };
}

on_both_boards! {
    firmware::the_first_boot_seeds_and_the_second_writes_nothing,
    firmware::another_slot_updates_and_a_rollback_keeps_edits_and_deletions,
    firmware::a_clock_at_1970_changes_nothing,
    trouble::without_oem_nothing_changes,
    trouble::a_full_disk_keeps_old_files_until_there_is_space,
    trouble::a_write_protected_disk_is_left_as_it_is,
    trouble::a_file_system_that_cannot_be_mounted_is_left_alone,
    trouble::a_damaged_directory_costs_one_skill,
    trouble::a_torn_ledger_is_made_again,
    hook::a_stuck_disk_holds_up_a_boot_no_longer_than_the_limit,
    hook::without_a_system_log_the_kernels_has_what_happened,
    hook::a_mount_that_comes_late_is_waited_for,
    hook::a_mount_that_never_comes_leaves_its_directory_empty,
    hook::a_plain_directory_is_seeded_where_the_image_says_so,
    hook::started_again_or_twice_at_once_it_changes_nothing,
    daemon::it_serves_and_a_shutdown_has_its_counts_on_disk,
    daemon::it_answers_within_a_second_of_its_start,
    figures::a_no_op_sync_is_measured,
}

mod with_systemd {
    #[test]
    fn the_sync_runs_after_the_mount_and_before_the_agent() {
        super::systemd::the_sync_runs_after_the_mount_and_before_the_agent();
    }
    #[test]
    fn a_mount_that_is_not_there_leaves_its_directory_empty() {
        super::systemd::a_mount_that_is_not_there_leaves_its_directory_empty();
    }
    #[test]
    fn the_defaults_file_switches_the_daemon_on() {
        super::systemd::the_defaults_file_switches_the_daemon_on();
    }
}

#[test]
fn a_disk_moves_between_the_boards() {
    firmware::a_disk_moves_between_the_boards();
}
