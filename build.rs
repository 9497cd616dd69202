//! Tells the program its target and revision, for `--version`, and makes its schemas small.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

const SCHEMAS: &str = "src/evolve/schemas";

fn main() {
    write_schemas();
    let target = env::var("TARGET").unwrap_or_else(|_| "unknown target".into());
    println!("cargo::rustc-env=AIDEN_TARGET={target}");
    println!("cargo::rustc-env=AIDEN_REVISION={}", revision());
    println!("cargo::rerun-if-env-changed=AIDEN_REVISION");
    println!("cargo::rerun-if-changed=build.rs");
    // One that is not there would have everything built again each time.
    for path in [".git/HEAD", ".git/refs/heads"] {
        if Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// The commit: told by a build that has no checkout, else asked of git.
fn revision() -> String {
    if let Ok(told) = env::var("AIDEN_REVISION") {
        return told;
    }
    let git = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    match git {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "no revision".into(),
    }
}

/// Copies of the JSON Schemas without the blanks that people read them by.
#[allow(
    clippy::disallowed_methods,
    reason = "it writes into cargo's directory, on no board"
)]
fn write_schemas() {
    println!("cargo::rerun-if-changed={SCHEMAS}");
    let out = env::var("OUT_DIR").expect("cargo names a directory");
    for entry in fs::read_dir(SCHEMAS).expect("the schemas are there") {
        let path = entry.expect("the schemas can be listed").path();
        let text = fs::read_to_string(&path).expect("a schema can be read");
        let name = path.file_name().expect("a file has a name");
        fs::write(Path::new(&out).join(name), without_blanks(&text)).expect("there is room");
    }
}

fn without_blanks(json: &str) -> String {
    let mut in_string = false;
    let mut is_escaped = false;
    let kept = json.chars().filter(|c| {
        if *c == '"' && !is_escaped {
            in_string = !in_string;
        }
        is_escaped = in_string && *c == '\\' && !is_escaped;
        in_string || !c.is_whitespace()
    });
    kept.collect()
}
