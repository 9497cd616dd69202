//! The workspace of a skill that learns: power cut at every effect of every change of it, and each of its calls failed. The
//! library's part of `publish` is that of a skill that a tool edits.

mod cuts;
mod errors;
mod flushes;
#[cfg(feature = "mutants")]
mod mutants;
mod operations;
mod verdict;
