//! In how many flushes something is learned.

use aiden_skills::store::Filesystem;

use super::operations::{ACTS, Desk, LONG, NEXT, with_bank};
use crate::simulated::Simulated;

fn flushes(filesystem: &Simulated, what: impl FnOnce()) -> u64 {
    let before = filesystem.flushes();
    what();
    filesystem.flushes() - before
}

/// Of a lesson that is added, and of one that is merged into an entry that is made shorter.
fn flushes_of_learning(entries: u64, per_file: bool) -> [u64; 2] {
    let mut filesystem = with_bank(entries);
    if per_file {
        filesystem = filesystem.without_syncfs();
    }
    let desk = |turn| Desk::new(&filesystem, turn);
    let added = flushes(&filesystem, || {
        desk(ACTS).add("Dim lamps after sunset").unwrap();
    });
    let merged = flushes(&filesystem, || {
        let shorter = desk(NEXT).merge("Charge the vacuum cleaner", LONG);
        assert_eq!(shorter, Ok(true));
    });
    [added, merged]
}

#[test]
fn what_is_learned_takes_no_more_flushes_in_a_large_bank_and_three_at_most() {
    for per_file in [false, true] {
        let small = flushes_of_learning(1, per_file);
        println!("flushes of learning, file by file {per_file}: {small:?}");
        for entries in [40, 1500] {
            let large = flushes_of_learning(entries, per_file);
            assert_eq!(large, small, "of {entries} entries");
        }
        if !per_file {
            assert!(small.iter().all(|flushes| *flushes <= 3), "{small:?}");
        }
    }
}
