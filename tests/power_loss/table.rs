//! What was tried, as lines that another program can make a table of.

use std::fs::OpenOptions;
use std::io::Write;

/// Prints a line, and appends it to the file that `AIDEN_POWER_LOSS_TABLE` names.
pub fn line(operation: &str, file_system: &str, states: usize, violations: usize) {
    let line = format!("power-loss: {operation} | {file_system} | {states} | {violations}");
    println!("{line}");
    if let Some(table) = std::env::var_os("AIDEN_POWER_LOSS_TABLE") {
        let table = OpenOptions::new().create(true).append(true).open(table);
        // One write, for several tests append at once.
        table
            .and_then(|mut table| table.write_all(format!("{line}\n").as_bytes()))
            .expect("the file that AIDEN_POWER_LOSS_TABLE names can be written");
    }
}
