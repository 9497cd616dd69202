//! The tests of cuts can fail: each step left out of a change on purpose is noticed.

use aiden_skills::store::mutant::{Mutant, switch};

use super::cuts::{history_of, try_all};
use super::operations::operations;
use super::verdict::Verdict;
use crate::simulated::{MEDIA, Medium};

/// On which media a lesson that is added with a fault in it, and finished without, is noticed.
fn noticed(mutant: Mutant, per_file: bool) -> Vec<Medium> {
    let all = operations();
    let added = all.iter().find(|one| one.name == "lesson added").unwrap();
    let verdict = Verdict::of(added);
    switch(Some(mutant));
    let history = history_of(added, per_file);
    switch(None);
    let mut noticed = Vec::new();
    for medium in MEDIA {
        let (states, wrong) = try_all(&verdict, &history, medium);
        let caught = wrong.is_some();
        println!(
            "mutant {mutant:?} of a lesson on simulated {medium:?}: caught {caught} after {states} states"
        );
        noticed.extend(wrong.map(|_| medium));
    }
    noticed
}

#[test]
fn a_missing_flush_of_what_is_staged_is_caught() {
    assert_eq!(noticed(Mutant::NoDataFlush, false), MEDIA);
    assert_eq!(noticed(Mutant::NoDataFlush, true), MEDIA);
}

#[test]
fn a_missing_flush_of_the_list_is_caught_where_no_journal_orders_names() {
    assert!(noticed(Mutant::NoLastFlush, false).contains(&Medium::Posix));
    assert!(noticed(Mutant::NoLastFlush, true).contains(&Medium::Posix));
}

#[test]
fn a_missing_flush_of_names_is_caught_where_no_journal_orders_them() {
    assert!(noticed(Mutant::NoNamesFlush, false).contains(&Medium::Posix));
    assert!(noticed(Mutant::NoNamesFlush, true).contains(&Medium::Posix));
}

#[test]
fn a_missing_list_is_caught() {
    assert_eq!(noticed(Mutant::NoIntent, false), MEDIA);
    assert_eq!(noticed(Mutant::NoIntent, true), MEDIA);
}
