//! What was tried, as lines that `tests/tools/power_loss_table.sh` makes a table of.

#![allow(dead_code, missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::OpenOptions;
use std::io::Write;

/// Prints a line, and appends it to the file that `AIDEN_POWER_LOSS_TABLE` names.
pub fn line(operation: &str, medium: &str, states: usize, violations: usize) {
    line_with_borne(operation, medium, states, violations, 0);
}

/// As `line`; `borne` of the states break the promise where the medium is known not to keep it.
#[allow(clippy::disallowed_methods)]
pub fn line_with_borne(
    operation: &str,
    medium: &str,
    states: usize,
    violations: usize,
    borne: usize,
) {
    let line = format!("power-loss: {operation} | {medium} | {states} | {violations} | {borne}");
    println!("{line}");
    if let Some(table) = std::env::var_os("AIDEN_POWER_LOSS_TABLE") {
        let table = OpenOptions::new().create(true).append(true).open(table);
        // One write, for several tests append at once.
        table
            .and_then(|mut table| table.write_all(format!("{line}\n").as_bytes()))
            .expect("the file that AIDEN_POWER_LOSS_TABLE names can be written");
    }
}
