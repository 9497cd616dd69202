//! Writes the man pages and the shell completions, made from the same definition as the program's own help.
//!
//! `cargo run --example generate -- DIR` fills `DIR/man/man1` (one page for the command, one for each
//! subcommand) and `DIR/completions`, by the names under which the shells look for them.
#![allow(clippy::disallowed_methods)] // A tool of the build; the store's rules are for boards.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap_complete::{Shell, generate_to};

const COMMAND: &str = "aiden-skills";

fn main() -> Result<(), Box<dyn Error>> {
    let Some(target) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err("name the directory to write to: cargo run --example generate -- DIR".into());
    };
    man_pages(&target.join("man/man1"))?;
    completions(&target.join("completions"))
}

/// One page for the command and one for each subcommand: `man aiden-skills-sync`.
fn man_pages(directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    let command = aiden_skills::cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, directory)?;
    Ok(())
}

fn completions(directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    let mut command = aiden_skills::cli::command();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut command, COMMAND, directory)?;
    }
    // bash-completion looks for the command's own name.
    fs::rename(
        directory.join(format!("{COMMAND}.bash")),
        directory.join(COMMAND),
    )?;
    Ok(())
}
