//! What the packaging files say of versions, targets and settings agrees with Cargo.toml and with the tools.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const TARGETS: [&str; 2] = [
    "aarch64-unknown-linux-musl",
    "armv7-unknown-linux-musleabihf",
];

// All that cross 0.2.5 reads; other keys it ignores with a warning.
const CROSS_BUILD_KEYS: &[&str] = &[
    "env",
    "xargo",
    "build-std",
    "default-target",
    "pre-build",
    "dockerfile",
];
const CROSS_TARGET_KEYS: &[&str] = &[
    "xargo",
    "build-std",
    "image",
    "dockerfile",
    "pre-build",
    "runner",
    "env",
];
const CROSS_ENV_KEYS: &[&str] = &["volumes", "passthrough"];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn parsed(path: &str) -> Table {
    text(path)
        .parse()
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn table<'a>(value: &'a Value, name: &str) -> &'a Table {
    value
        .as_table()
        .unwrap_or_else(|| panic!("{name} is no table"))
}

fn assert_keys(table: &Table, known: &[&str], name: &str) {
    for key in table.keys() {
        assert!(
            known.contains(&key.as_str()),
            "{name} has {key}, known are {known:?}"
        );
    }
}

fn assert_cross_section(section: &Table, known: &[&str], name: &str) {
    assert_keys(section, known, name);
    if let Some(env) = section.get("env") {
        assert_keys(table(env, "env"), CROSS_ENV_KEYS, &format!("{name}.env"));
    }
}

#[test]
fn cross_is_told_of_the_boards_with_keys_it_knows() {
    let cross = parsed("Cross.toml");
    assert_keys(&cross, &["build", "target"], "Cross.toml");
    assert_cross_section(table(&cross["build"], "build"), CROSS_BUILD_KEYS, "build");
    let targets = table(&cross["target"], "target");
    assert_eq!(targets.keys().collect::<Vec<_>>(), TARGETS);
    for (name, section) in targets {
        assert_cross_section(table(section, name), CROSS_TARGET_KEYS, name);
    }
}

#[test]
fn cross_passes_what_the_build_script_reads() {
    let cross = parsed("Cross.toml");
    let passed = cross["build"]["env"]["passthrough"].as_array().unwrap();
    for name in ["AIDEN_REVISION", "SOURCE_DATE_EPOCH"] {
        assert!(passed.contains(&Value::from(name)), "{name}");
    }
    assert!(text("build.rs").contains("\"AIDEN_REVISION\""));
}

#[test]
fn the_boards_are_the_same_everywhere() {
    let graph = parsed("deny.toml")["graph"]["targets"].clone();
    let makefile = text("Makefile");
    let image = text("packaging/cross/Containerfile");
    for target in TARGETS {
        assert!(graph.as_array().unwrap().contains(&Value::from(target)));
        assert!(makefile.contains(target), "Makefile: {target}");
        assert!(image.contains(target), "Containerfile: {target}");
    }
}

#[test]
fn versions_are_that_of_cargo_toml() {
    let changelog = text("CHANGELOG.md");
    let newest = changelog
        .lines()
        .find_map(|line| line.strip_prefix("## "))
        .unwrap();
    assert_eq!(newest.split(' ').next(), Some(VERSION), "CHANGELOG.md");

    let debian = text("packaging/deb/changelog");
    assert!(
        debian.starts_with(&format!("aiden-skills ({VERSION}-")),
        "packaging/deb/changelog begins {:?}",
        debian.lines().next()
    );

    let recipes: Vec<_> = files_below(&repository().join("packaging/yocto"))
        .into_iter()
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
        .filter(|name| name.starts_with("aiden-skills") && name.contains('_'))
        .filter(|name| name.ends_with(".bb"))
        .collect();
    assert!(!recipes.is_empty(), "no Yocto recipe has a version");
    for recipe in recipes {
        assert!(recipe.ends_with(&format!("_{VERSION}.bb")), "{recipe}");
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{directory:?}: {error}")) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}
