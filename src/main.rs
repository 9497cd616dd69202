//! The command `aiden-skills`.

use std::process::ExitCode;

fn main() -> ExitCode {
    aiden_skills::cli::run(std::env::args_os()).into()
}
