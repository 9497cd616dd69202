//! The tests of cuts can fail: each step left out of a batch on purpose is noticed.

use aiden_skills::store::mutant::{Mutant, switch};

use crate::cuts::{Examined, SAMPLE};
use crate::firmwares::Firmwares;
use crate::scenario::scenarios;
use crate::simulated::{Effort, MEDIA, Medium};

impl Examined<'_> {
    /// How many states it takes until one is not as it should be.
    fn caught_after(&self, medium: Medium, effort: Effort) -> Option<usize> {
        let (mut states, mut caught) = (0, false);
        self.states(medium, effort, |_, left, reported| {
            states += 1;
            caught = !self.judge(left, reported).is_empty();
            !caught
        });
        caught.then_some(states)
    }
}

/// On which media an update with a fault in it, recovered without, is noticed.
fn noticed(mutant: Mutant, per_file: bool) -> Vec<Medium> {
    let firmwares = Firmwares::new();
    let all = scenarios();
    let update = all
        .iter()
        .find(|scenario| scenario.name == "update")
        .unwrap();
    let mut examined = Examined::undisturbed(update, &firmwares, per_file);
    switch(Some(mutant));
    examined.run();
    switch(None);
    let way = if per_file { ", file by file" } else { "" };
    let mut noticed = Vec::new();
    for medium in MEDIA {
        let caught = examined.caught_after(medium, SAMPLE);
        println!("mutant {mutant:?}{way} on simulated {medium:?}: caught after {caught:?} states");
        noticed.extend(caught.map(|_| medium));
    }
    noticed
}

#[test]
fn a_missing_flush_of_data_is_caught() {
    assert_eq!(noticed(Mutant::NoDataFlush, false), MEDIA);
    assert_eq!(noticed(Mutant::NoDataFlush, true), MEDIA);
}

#[test]
fn a_missing_flush_of_names_is_caught_where_no_journal_orders_them() {
    assert!(noticed(Mutant::NoNamesFlush, false).contains(&Medium::Posix));
    assert!(noticed(Mutant::NoNamesFlush, true).contains(&Medium::Posix));
}

#[test]
fn a_missing_flush_after_the_ledger_is_caught() {
    assert_eq!(noticed(Mutant::NoLastFlush, false), MEDIA);
    assert_eq!(noticed(Mutant::NoLastFlush, true), MEDIA);
}

#[test]
fn a_ledger_before_what_it_tells_of_is_caught() {
    assert_eq!(noticed(Mutant::LedgerFirst, false), MEDIA);
    assert_eq!(noticed(Mutant::LedgerFirst, true), MEDIA);
}

#[test]
fn missing_intents_are_caught() {
    assert_eq!(noticed(Mutant::NoIntent, false), MEDIA);
    assert_eq!(noticed(Mutant::NoIntent, true), MEDIA);
}
