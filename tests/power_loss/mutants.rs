//! Programs with a fault on purpose: the judge must find what it does. What none of these tests would notice, the
//! others might let through as well.
//!
//! `no-names-flush` is not here: a journal of ext4 brings names to the medium in their order, with the next flush.

use crate::chance::rng;
use crate::operations;
use crate::recorded::Trial;
use crate::recording::{Recording, Step};
use crate::state::EXT4_NO_AUTO_ALLOC;

/// What is left out or done in the wrong order.
const MUTANTS: [&str; 4] = [
    "no-data-flush",
    "no-last-flush",
    "ledger-first",
    "no-intent",
];

/// On ext4 without its help for programs that forget to flush a file.
#[test]
fn a_fault_on_purpose_is_found() {
    let mut rng = rng("mutants");
    let mut operations = operations::ALL.iter();
    let update = operations.find(|one| one.name == "update").unwrap();
    let steps = MUTANTS.map(|mutant| Step {
        operation: update,
        mutant: Some(mutant),
    });
    let recording = Recording::of("mutants", EXT4_NO_AUTO_ALLOC, &steps);
    let trial = Trial::new(&recording);
    let missed = recording
        .steps
        .iter()
        .filter(|step| trial.run(step, &mut rng).violations == 0);
    let missed: Vec<String> = missed.map(|step| step.step.name()).collect();
    assert_eq!(missed, [""; 0], "these faults were not found");
}
