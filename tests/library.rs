//! Scanning the library: what loads, what does not and why, and that it is bounded.

#![allow(clippy::disallowed_methods)]

use std::fs;
use std::os::unix::fs::symlink;

use aiden_skills::library::{Library, scan};
use aiden_skills::store::LinuxFilesystem;
use tempfile::TempDir;

fn library(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = directory.path().join("skills").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

fn scanned(directory: &TempDir) -> Library {
    scan(&LinuxFilesystem::open(directory.path()).unwrap()).unwrap()
}

fn text(name: &str) -> String {
    format!("---\nname: {name}\ndescription: d\n---\nbody\n")
}

fn loaded(library: &Library) -> Vec<&str> {
    let skills = library.skills.iter().filter(|skill| skill.document.is_ok());
    skills.map(|skill| skill.directory.as_str()).collect()
}

#[test]
fn one_bad_skill_never_affects_another_and_is_listed_as_invalid() {
    let directory = library(&[
        ("a/SKILL.md", &text("a")),
        ("bad/SKILL.md", "no frontmatter"),
        ("c/SKILL.md", &text("c")),
    ]);
    let library = scanned(&directory);
    assert_eq!(loaded(&library), ["a", "c"]);
    let bad = library
        .skills
        .iter()
        .find(|skill| skill.document.is_err())
        .unwrap();
    assert_eq!(bad.directory.as_str(), "bad");
}

#[test]
fn a_skill_in_a_category_is_found_and_a_text_inside_a_skills_own_directories_is_none() {
    let directory = library(&[
        ("category/deep/SKILL.md", &text("deep")),
        ("a/SKILL.md", &text("a")),
        ("a/references/SKILL.md", &text("reference")),
        ("a/templates/x/SKILL.md", &text("template")),
        ("a/nested/SKILL.md", &text("nested")),
    ]);
    assert_eq!(
        loaded(&scanned(&directory)),
        ["a", "a/nested", "category/deep"]
    );
}

#[test]
fn of_two_skills_with_one_name_the_first_in_byte_order_wins_and_the_other_is_named() {
    let directory = library(&[("b/SKILL.md", &text("same")), ("a/SKILL.md", &text("same"))]);
    let library = scanned(&directory);
    assert_eq!(library.find("same").unwrap().directory.as_str(), "a");
    assert_eq!(library.problems.len(), 1);
    let problem = &library.problems[0];
    assert_eq!(problem.path, "b");
    assert!(
        problem.message.contains("held by a already"),
        "{}",
        problem.message
    );
}

#[test]
fn a_near_miss_is_named() {
    let directory = library(&[("a/skill.md", &text("a"))]);
    let library = scanned(&directory);
    assert!(library.skills.is_empty());
    assert_eq!(library.problems[0].path, "a/skill.md");
    assert!(
        library.problems[0]
            .message
            .contains("must be called SKILL.md")
    );
}

#[test]
fn a_link_is_named_and_never_followed() {
    let directory = library(&[("a/SKILL.md", &text("a"))]);
    let outside = library(&[("x/SKILL.md", &text("x"))]);
    let skills = directory.path().join("skills");
    symlink(outside.path().join("skills"), skills.join("linked")).unwrap();
    symlink("/", skills.join("root")).unwrap();
    fs::create_dir(skills.join("texted")).unwrap();
    symlink("../a/SKILL.md", skills.join("texted/SKILL.md")).unwrap();
    let library = scanned(&directory);
    assert_eq!(loaded(&library), ["a"]);
    let named: Vec<&str> = library.problems.iter().map(|p| p.path.as_str()).collect();
    assert_eq!(named, ["linked", "root"]);
    let texted = library
        .skills
        .iter()
        .find(|s| s.directory.as_str() == "texted")
        .unwrap();
    assert!(
        texted
            .document
            .as_ref()
            .unwrap_err()
            .contains("symbolic link")
    );
}

#[test]
fn a_deep_tree_and_a_large_file_are_bounded_and_named() {
    let deep = "d/".repeat(20) + "SKILL.md";
    let directory = library(&[(&deep, &text("deep")), ("a/SKILL.md", &text("a"))]);
    let large = directory.path().join("skills/large/SKILL.md");
    fs::create_dir(large.parent().unwrap()).unwrap();
    fs::File::create(&large)
        .unwrap()
        .set_len(300 * 1024 * 1024)
        .unwrap();
    let library = scanned(&directory);
    assert_eq!(loaded(&library), ["a"]);
    assert!(
        library.problems[0].message.contains("deeper than"),
        "{:?}",
        library.problems
    );
    let large = library
        .skills
        .iter()
        .find(|s| s.directory.as_str() == "large")
        .unwrap();
    assert!(
        large
            .document
            .as_ref()
            .unwrap_err()
            .contains("is too large")
    );
}

#[test]
fn a_missing_library_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    assert!(scanned(&directory).skills.is_empty());
}
