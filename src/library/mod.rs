//! Directories of skills: which there are, and what is wrong with those that do not load.

mod lint;
mod scan;

pub use lint::{LintError, LintedSkill, lint_directory};
pub use scan::{Library, LibrarySkill, Problem, scan};
