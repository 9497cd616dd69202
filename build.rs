//! Tells the program its target and revision, for `--version`.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
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
