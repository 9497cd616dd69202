//! The bundle that we ship: good by our own `lint`, by the reference implementation of Agent Skills (`agentskills` of
//! the PyPI package skills-ref) and, as far as it is shell, by shellcheck. `make install-tools` installs both tools;
//! without them these tests fail.

#![allow(clippy::disallowed_methods)]

mod common;
#[path = "tools/mod.rs"]
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::bare_command;

/// Without these there would be no bundle worth its name.
const EXPECTED: [&str; 5] = [
    "app-login",
    "payment-confirm",
    "planner",
    "research",
    "ui-operator",
];

fn bundle() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oem-skills")
}

fn skills() -> Vec<PathBuf> {
    let mut skills: Vec<PathBuf> = entries(&bundle());
    skills.retain(|path| path.is_dir());
    skills.sort();
    let has = |name: &str| skills.iter().any(|path| path.ends_with(name));
    assert!(EXPECTED.iter().all(|name| has(name)), "{skills:?}");
    skills
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// All files beneath a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    };
    entries(directory).into_iter().flat_map(below).collect()
}

#[test]
fn every_shipped_skill_is_valid_by_our_lint_without_a_warning() {
    let mut command = bare_command();
    command.args(["--json", "lint"]).arg(bundle());
    let document = common::run(&mut command).expect(0).json();
    let linted = document["skills"].as_array().unwrap();
    assert_eq!(linted.len(), skills().len());
    for skill in linted {
        assert_eq!(skill["findings"].as_array().unwrap().len(), 0, "{skill:#}");
    }
}

#[test]
fn every_shipped_skill_is_valid_by_the_reference_implementation_of_agent_skills() {
    let validator = tools::fetched("venv/bin/agentskills");
    for skill in skills() {
        let mut command = Command::new(&validator);
        common::run(command.arg("validate").arg(&skill)).expect(0);
    }
}

/// The reference implementation does refuse what is wrong; else the test above would tell nothing.
#[test]
fn the_reference_implementation_refuses_a_wrong_name() {
    let directory = tempfile::tempdir().unwrap();
    let skill = directory.path().join("right-name");
    let text =
        "---\nname: wrong-name\ndescription: Has another name than its directory.\n---\nText.\n";
    common::write(&skill.join("SKILL.md"), text);
    let mut command = Command::new(tools::fetched("venv/bin/agentskills"));
    assert_ne!(common::run(command.arg("validate").arg(&skill)).code, 0);
}

#[test]
fn shipped_shell_scripts_pass_shellcheck() {
    let is_shell = |path: &PathBuf| {
        let text = fs::read(path).unwrap();
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        first.starts_with("#!") && first.ends_with("sh")
    };
    let scripts: Vec<PathBuf> = files(&bundle()).into_iter().filter(is_shell).collect();
    assert!(!scripts.is_empty(), "at least one skill ships a script");
    let mut command = Command::new("shellcheck");
    let output = command.args(&scripts).output();
    let output = output.unwrap_or_else(|e| panic!("shellcheck ({e}); run `make install-tools`"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    for script in scripts {
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&script).unwrap().permissions());
        assert!(mode & 0o111 != 0, "{} is not executable", script.display());
    }
}
