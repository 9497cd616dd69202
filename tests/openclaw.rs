//! Real input: three releases of the npm package openclaw (MIT), whose bundled skills stand for three firmwares in
//! a row. `make install-tools` fetches them; without them these tests fail.

#![allow(clippy::disallowed_methods)]

mod common;
#[path = "tools/mod.rs"]
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{Run, assert_outcome, bare_command, names};
use serde_json::{Value, json};
use tempfile::TempDir;

const RELEASES: [&str; 3] = ["2026.3.1", "2026.5.2", "2026.7.1"];

/// The only skill that no release ships in a form that loads: its SKILL.md has no frontmatter, so that neither its
/// name nor its description is known. 2026.7.1 has it no more.
const INVALID: &str = "canvas";

/// A release: its skills, as npm unpacked them.
#[track_caller]
fn release(version: &str) -> PathBuf {
    tools::fetched(&format!("openclaw/{version}/skills"))
}

/// The files of a tree by path: bytes, and whether they are executable.
type Tree = BTreeMap<String, (Vec<u8>, bool)>;

fn tree(root: &Path) -> Tree {
    fn walk(directory: &Path, below: &str, tree: &mut Tree) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{below}{}", entry.file_name().to_str().unwrap());
            let found = fs::symlink_metadata(entry.path()).unwrap();
            if found.is_dir() {
                walk(&entry.path(), &format!("{path}/"), tree);
            } else {
                let executable = found.permissions().mode() & 0o111 != 0;
                tree.insert(path, (fs::read(entry.path()).unwrap(), executable));
            }
        }
    }
    let mut tree = Tree::new();
    walk(root, "", &mut tree);
    tree
}

/// The directories of a release that are skills. There may be files beside them.
fn skills(version: &str) -> Vec<String> {
    let root = release(version);
    let mut names: Vec<String> = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| root.join(name).join("SKILL.md").is_file())
        .collect();
    names.sort();
    names
}

fn valid_skills(version: &str) -> Vec<String> {
    let mut names = skills(version);
    names.retain(|name| name != INVALID);
    names
}

struct Board {
    directory: TempDir,
}

impl Board {
    fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
        }
    }

    fn library(&self) -> PathBuf {
        self.directory.path().join("agent/skills")
    }

    fn run(&self, version: &str, arguments: &[&str]) -> Run {
        let mut command = bare_command();
        command
            .arg("--config-dir")
            .arg(self.directory.path().join("agent"));
        command.arg("--bundled-dir").arg(release(version));
        common::run(command.arg("--json").args(arguments))
    }

    /// Exit code 3 exactly where the release has the skill that can't be loaded.
    #[track_caller]
    fn sync(&self, version: &str) -> Value {
        let invalid = skills(version).contains(&INVALID.to_owned());
        let report = self
            .run(version, &["sync"])
            .expect(if invalid { 3 } else { 0 })
            .json();
        common::check_report(&report);
        let failed: &[&str] = if invalid { &[INVALID] } else { &[] };
        assert_eq!(names(&report, "failed"), failed, "{report:#}");
        assert_eq!(report["skipped_entries"], json!([]), "{report:#}");
        report
    }

    /// A skill's files as the library has them.
    fn skill(&self, name: &str) -> Tree {
        tree(&self.library().join(name))
    }

    fn edit(&self, path: &str, change: impl FnOnce(String) -> String) {
        let path = self.library().join(path);
        let text = fs::read_to_string(&path).unwrap();
        let changed = change(text.clone());
        assert_ne!(
            text,
            changed,
            "the edit of {} changes nothing",
            path.display()
        );
        fs::write(&path, changed).unwrap();
    }
}

/// Every one of these skills has exactly the release's files.
#[track_caller]
fn assert_as_released(board: &Board, version: &str, names: &[String]) {
    for name in names {
        let shipped = tree(&release(version).join(name));
        let found = board.skill(name);
        for (path, file) in &shipped {
            let same = found.get(path) == Some(file);
            assert!(
                same,
                "{name}/{path} is not that of {version}, or its mode is not"
            );
        }
        let paths = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            paths(&found),
            paths(&shipped),
            "the files of {name} in {version}"
        );
    }
}

#[test]
fn three_releases_in_a_row_leave_every_valid_skill_as_released() {
    let board = Board::new();
    let mut gone: Vec<(String, &str)> = Vec::new();
    let mut last: Option<&str> = None;
    for version in RELEASES {
        let report = board.sync(version);
        let valid = valid_skills(version);
        assert_as_released(&board, version, &valid);
        for outcome in [
            "kept_user",
            "deleted_by_user",
            "merge_needed",
            "merge_skipped",
        ] {
            assert_eq!(report[outcome], json!([]), "{version}: {report:#}");
        }
        assert_eq!(report["files"]["kept_user"], json!([]), "{version}");
        if let Some(last) = last {
            let before = valid_skills(last);
            gone.extend(
                before
                    .into_iter()
                    .filter(|name| !valid.contains(name))
                    .map(|name| (name, last)),
            );
        }
        // What is not shipped any more stays as it was, is told, and nothing else is there.
        let stale: Vec<String> = names(&report, "stale");
        let mut expected: Vec<String> = gone.iter().map(|(name, _)| name.clone()).collect();
        expected.sort();
        assert_eq!(stale, expected, "{version}");
        for (name, shipped_by) in &gone {
            assert_as_released(&board, shipped_by, std::slice::from_ref(name));
        }
        let mut library: Vec<String> = fs::read_dir(board.library())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        library.sort();
        let mut whole = [valid, expected].concat();
        whole.sort();
        assert_eq!(library, whole, "{version}");
        // As fast as nothing: the second start has nothing to do.
        let again = board.sync(version);
        assert_eq!(again["flushes"], 0, "{version}: {again:#}");
        last = Some(version);
    }
    assert!(!gone.is_empty(), "the releases drop some skills");
}

/// Each release's number of flushes, however many skills it changes.
#[test]
fn a_release_of_fifty_skills_costs_four_flushes() {
    let board = Board::new();
    for version in RELEASES {
        assert_eq!(board.sync(version)["flushes"], 4, "{version}");
    }
}

#[test]
fn edits_between_the_releases_have_the_outcomes_of_the_table() {
    let board = Board::new();
    board.sync(RELEASES[0]);

    // Reworded: weather is changed by the next release too, blucli only by the one after it.
    let reworded = |text: String| text.replacen("# ", "# My own ", 1);
    board.edit("weather/SKILL.md", reworded);
    board.edit("blucli/SKILL.md", reworded);
    let mine = [board.skill("weather"), board.skill("blucli")];
    // A file beside an unedited SKILL.md that the next release changes.
    fs::create_dir(board.library().join("github/references")).unwrap();
    fs::write(
        board.library().join("github/references/team.md"),
        "Ask Kim.\n",
    )
    .unwrap();
    // A supporting file edited, its SKILL.md not; the next release changes the SKILL.md and leaves the file.
    board.edit("1password/references/get-started.md", |text| {
        text + "\nMine.\n"
    });
    // A supporting file edited that the next release changes as well.
    board.edit("tmux/scripts/find-sessions.sh", |text| text + "# mine\n");
    // A skill and a supporting file deleted; the releases go on changing both.
    fs::remove_dir_all(board.library().join("trello")).unwrap();
    fs::remove_file(board.library().join("model-usage/scripts/model_usage.py")).unwrap();
    // The user's own skill.
    let own = "---\nname: my-own\ndescription: Mine.\n---\nDo it.\n";
    common::write(&board.library().join("my-own/SKILL.md"), own);

    let report = board.sync(RELEASES[1]);
    assert_outcome(&report, "weather", "merge_needed");
    assert_outcome(&report, "blucli", "kept_user");
    assert_outcome(&report, "github", "updated");
    assert_outcome(&report, "1password", "updated");
    assert_outcome(&report, "tmux", "updated");
    assert_outcome(&report, "trello", "deleted_by_user");
    assert_outcome(&report, "model-usage", "updated");
    assert_eq!(names(&report, "merge_needed"), ["weather"]);
    assert_eq!(names(&report, "kept_user"), ["blucli"]);
    assert_eq!(names(&report, "deleted_by_user"), ["trello"]);
    let kept = [
        "1password/references/get-started.md",
        "tmux/scripts/find-sessions.sh",
    ];
    assert_eq!(names(&report["files"], "kept_user"), kept);
    let job = &report["merge_needed"][0];
    assert_eq!(job["mode"], "three_way");
    let text = |version: &str| fs::read(release(version).join("weather/SKILL.md")).unwrap();
    assert_eq!(job["base_hash"], common::hash(text(RELEASES[0])));
    assert_eq!(job["upstream_hash"], common::hash(text(RELEASES[1])));
    assert_eq!(job["local_hash"], common::hash(&mine[0]["SKILL.md"].0));

    assert!(
        board.skill("weather") == mine[0],
        "an edited skill waits for its merge"
    );
    assert!(board.skill("blucli") == mine[1]);
    assert!(!board.library().join("trello").exists(), "a deletion stays");
    assert!(
        !board
            .library()
            .join("model-usage/scripts/model_usage.py")
            .exists()
    );
    let github = board.skill("github");
    assert_eq!(
        github["references/team.md"].0, b"Ask Kim.\n",
        "an added file stays"
    );
    assert_eq!(
        github["SKILL.md"].0,
        fs::read(release(RELEASES[1]).join("github/SKILL.md")).unwrap()
    );

    let report = board.sync(RELEASES[2]);
    // This release changes weather again and blucli for the first time.
    assert_eq!(names(&report, "merge_needed"), ["blucli", "weather"]);
    assert_eq!(names(&report, "kept_user"), Vec::<String>::new());
    assert_eq!(names(&report, "deleted_by_user"), ["trello"]);
    // The edited script is as the user has it, though the release dropped its executable bit and changed the
    // reference that the user had edited.
    assert_eq!(names(&report["files"], "kept_user"), kept);
    assert!(board.skill("weather") == mine[0]);
    assert!(board.skill("blucli") == mine[1]);
    assert!(!board.library().join("trello").exists());
    assert!(
        !board
            .library()
            .join("model-usage/scripts/model_usage.py")
            .exists()
    );
    assert_eq!(board.skill("github")["references/team.md"].0, b"Ask Kim.\n");
    assert_eq!(
        board.skill("my-own")["SKILL.md"].0,
        own.as_bytes(),
        "the user's own skill is not touched"
    );
    // An executable bit that went upstream goes here, where the file is not edited.
    assert!(!board.skill("tmux")["scripts/wait-for-text.sh"].1);

    // All that was not edited is the release's.
    let edited = [
        "weather",
        "blucli",
        "github",
        "1password",
        "tmux",
        "trello",
        "model-usage",
    ];
    let mut rest = valid_skills(RELEASES[2]);
    rest.retain(|name| !edited.contains(&name.as_str()));
    assert_as_released(&board, RELEASES[2], &rest);

    // And a reset gives all of it back, but not what the user added.
    board
        .run(RELEASES[2], &["reset", "--all", "--restore"])
        .expect(0);
    let report = board.sync(RELEASES[2]);
    assert_eq!(names(&report, "merge_needed"), Vec::<String>::new());
    assert_eq!(board.skill("github")["references/team.md"].0, b"Ask Kim.\n");
    fs::remove_dir_all(board.library().join("github/references")).unwrap();
    assert_as_released(&board, RELEASES[2], &valid_skills(RELEASES[2]));
}

#[test]
fn a_skill_that_a_release_drops_is_stale_and_takes_up_where_it_was_when_it_returns() {
    let board = Board::new();
    board.sync(RELEASES[1]);
    let before = board.skill("discord");
    let report = board.sync(RELEASES[2]);
    assert_outcome(&report, "discord", "stale");
    assert!(board.skill("discord") == before);
    // The slot is rolled back: the skill is shipped again, and all others go back with it.
    let report = board.sync(RELEASES[1]);
    assert_outcome(&report, "discord", "adopted");
    assert_outcome(&report, "weather", "updated");
    assert_as_released(&board, RELEASES[1], &valid_skills(RELEASES[1]));
    // Edited while it was not shipped, it is the user's when it returns.
    board.sync(RELEASES[2]);
    board.edit("discord/SKILL.md", |text| text + "\nMine.\n");
    assert_outcome(&board.sync(RELEASES[2]), "discord", "stale");
    assert_outcome(&board.sync(RELEASES[1]), "discord", "kept_user");
}

/// What `lint` refuses is named with a reason, and it refuses exactly what the sync does not copy.
#[test]
fn lint_refuses_only_the_skill_without_frontmatter() {
    for version in RELEASES {
        let mut command = bare_command();
        command.args(["--json", "lint"]).arg(release(version));
        let run = common::run(&mut command);
        let document = run.json();
        let mut refused = Vec::new();
        for skill in document["skills"].as_array().unwrap() {
            for finding in skill["findings"].as_array().unwrap() {
                if finding["severity"] == "error" {
                    refused.push((
                        skill["path"].as_str().unwrap(),
                        finding["message"].as_str().unwrap(),
                    ));
                }
            }
        }
        let has_it = skills(version).contains(&INVALID.to_owned());
        assert_eq!(has_it, version != RELEASES[2], "{version}");
        assert_eq!(run.code, if has_it { 3 } else { 0 }, "{version}: {run:#?}");
        assert_eq!(refused.len(), usize::from(has_it), "{version}: {refused:?}");
        for (path, reason) in refused {
            assert!(path.ends_with("canvas/SKILL.md"), "{path}");
            assert_eq!(
                reason,
                "has no frontmatter: the very first line must be `---`, then `name:` and `description:`, then `---`"
            );
        }
        let count = document["skills"].as_array().unwrap().len();
        assert_eq!(
            count,
            skills(version).len(),
            "{version}: every skill was looked at"
        );
    }
}
