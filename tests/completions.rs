//! The completions that are made from the command line's definition complete.

use std::process::Command;

use clap_complete::{Shell, generate};

/// What bash offers for these words, the last one unfinished.
fn offered(words: &[&str]) -> String {
    let mut script = Vec::new();
    let mut command = aiden_skills::cli::command();
    generate(Shell::Bash, &mut command, "aiden-skills", &mut script);
    let mut script = String::from_utf8(script).unwrap();
    let last = words.len() - 1;
    script.push_str(&format!(
        "\nCOMP_WORDS=({}); COMP_CWORD={last}; COMPREPLY=()\n\
         _aiden-skills aiden-skills \"{}\" \"{}\"\necho \"${{COMPREPLY[*]}}\"\n",
        words.join(" "),
        words[last],
        words[last - 1],
    ));
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn bash_completes_commands_and_their_options() {
    assert_eq!(offered(&["aiden-skills", "st"]), "status");
    assert_eq!(offered(&["aiden-skills", "reset", "--re"]), "--restore");
    assert_eq!(offered(&["aiden-skills", "sync", "--dry"]), "--dry-run");
    assert_eq!(
        offered(&["aiden-skills", "diff", "--base", "--config"]),
        "--config-dir"
    );
}
