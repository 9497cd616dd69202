//! Workspaces to try things on, and what lies in them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::common::{self, Board, Run};
pub use super::documents::*;
use super::tools;

const STANDALONE: &str = include_str!("fixtures/standalone.manifest.json");
const GOVERNED: &str = include_str!("fixtures/governed.manifest.json");
const SCRAPER_BANK: &str = include_str!("fixtures/scraper.bank.json");
const CHINESE_BANK: &str = include_str!("fixtures/chinese.bank.json");

pub struct Workspace {
    pub board: Board,
    pub dir: PathBuf,
    /// The flag that names it.
    place: [String; 2],
    valid: Cell<bool>,
}

impl Workspace {
    /// A place for a workspace, where nothing is yet.
    pub fn nowhere() -> Self {
        let board = Board::new();
        let dir = board.root().join("workspace");
        let place = ["--workspace".to_owned(), dir.to_str().unwrap().to_owned()];
        Self {
            board,
            dir,
            place,
            valid: Cell::new(true),
        }
    }

    /// Fixture N: fresh and standalone.
    pub fn new() -> Self {
        let workspace = Self::nowhere();
        workspace.init("demo-skill").expect(0);
        workspace
    }

    /// Fixture E: a scraper of web pages that has learned three things.
    pub fn scraper() -> Self {
        Self::with(STANDALONE, SCRAPER_BANK)
    }

    /// Fixture Z: what was learned in Chinese.
    pub fn chinese() -> Self {
        Self::with(STANDALONE, CHINESE_BANK)
    }

    /// A governor decides on what is learned; the bank is that of fixture E.
    pub fn governed() -> Self {
        Self::with(GOVERNED, SCRAPER_BANK)
    }

    /// A fresh workspace with this one entry.
    pub fn with_entry(content: &str, version: &str, signature: &str) -> Self {
        let workspace = Self::new();
        workspace.set_bank(&json!({"skills": [entry(0, "Habits", content, version, signature)]}));
        workspace
    }

    fn with(manifest: &str, bank: &str) -> Self {
        let workspace = Self::nowhere();
        for directory in ["experience", "audit", "snapshots"] {
            fs::create_dir_all(workspace.path(directory)).unwrap();
        }
        common::write(&workspace.path("manifest.json"), manifest);
        common::write(&workspace.path("skill_bank.json"), bank);
        workspace
    }

    /// The workspace of a skill of a board's library, after `init`.
    pub fn of_skill(board: Board, skill: &str) -> Self {
        let dir = board.state().join("evolution").join(skill);
        let workspace = Self {
            board,
            dir,
            place: ["--skill".to_owned(), skill.to_owned()],
            valid: Cell::new(true),
        };
        workspace.init(skill).expect(0);
        workspace
    }

    pub fn init(&self, id: &str) -> Run {
        let names = ["--name", "Demo Skill", "--description", "Shows how."];
        self.run(&[&["init", "--id", id], &names[..]].concat())
    }

    /// What this case leaves is wrong on purpose.
    pub fn leave_invalid(&self) {
        self.valid.set(false);
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let (command, rest) = arguments.split_first().unwrap();
        let place = self.place.each_ref().map(String::as_str);
        [&["evolve", *command], &place[..], rest].concat()
    }

    /// `aiden-skills --json evolve …`
    pub fn run(&self, arguments: &[&str]) -> Run {
        let arguments = self.arguments(arguments);
        self.board.run(&[&["--json"], &arguments[..]].concat())
    }

    /// What people see.
    pub fn run_for_people(&self, arguments: &[&str]) -> Run {
        self.board.run(&self.arguments(arguments))
    }

    /// With a text on standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Run {
        let arguments = self.arguments(arguments);
        let mut command = self.board.command(&[&["--json"], &arguments[..]].concat());
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        self.run(arguments).expect(0).json()
    }

    /// Why a command does nothing: all of the workspace is as it was.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str]) -> String {
        self.refused_with(1, arguments)
    }

    #[track_caller]
    pub fn refused_with(&self, code: i32, arguments: &[&str]) -> String {
        let before = self.files();
        let run = self.run(arguments).expect(code);
        self.assert_files(&before);
        assert!(!run.stderr.is_empty(), "no word of why: {run:#?}");
        run.stderr
    }

    /// Learns what the caller has read out of what the user said.
    #[track_caller]
    pub fn learn(&self, lesson: &str, signature: &str) -> Value {
        self.judged(signature, &json!({ "feedback": said(lesson) }))
    }

    /// Learns with a judgement of the caller's.
    #[track_caller]
    pub fn judged(&self, signature: &str, judgement: &Value) -> Value {
        self.json(&[
            "learn",
            "--signature",
            signature,
            "--judgement",
            &judgement.to_string(),
        ])
    }

    /// The feedback that `learn` finds in what it is given.
    #[track_caller]
    pub fn feedback(&self, arguments: &[&str]) -> Value {
        self.json(&[&["learn"], arguments].concat())["feedback"].clone()
    }

    #[track_caller]
    pub fn guide(&self, task: &str) -> Value {
        self.json(&["guide", "--task", task])
    }

    pub fn decide(&self, decision: &Value) -> Run {
        let path = self.board.root().join("decision.json");
        common::write(&path, decision.to_string());
        self.run(&["decide", "--decision", path.to_str().unwrap()])
    }

    /// A file of the workspace.
    #[track_caller]
    pub fn read(&self, path: &str) -> Value {
        serde_json::from_slice(&self.bytes(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    #[track_caller]
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub fn bank(&self) -> Value {
        self.read("skill_bank.json")
    }

    pub fn set_bank(&self, bank: &Value) {
        let text = serde_json::to_string_pretty(bank).unwrap();
        common::write(&self.path("skill_bank.json"), text + "\n");
    }

    pub fn manifest(&self) -> Value {
        self.read("manifest.json")
    }

    pub fn change_manifest(&self, change: impl FnOnce(&mut Value)) {
        let mut manifest = self.manifest();
        change(&mut manifest);
        let text = serde_json::to_string_pretty(&manifest).unwrap();
        common::write(&self.path("manifest.json"), text + "\n");
    }

    /// An entry of the bank.
    #[track_caller]
    pub fn entry(&self, id: &str) -> Value {
        let bank = self.bank();
        let entries = bank["skills"].as_array().unwrap();
        let found = entries.iter().find(|entry| entry["skill_entry_id"] == id);
        let found = found.unwrap_or_else(|| panic!("no entry {id} in {bank:#}"));
        found.clone()
    }

    /// The only entry of the bank.
    #[track_caller]
    pub fn only_entry(&self) -> Value {
        let bank = self.bank();
        assert_eq!(bank["skills"].as_array().unwrap().len(), 1, "{bank:#}");
        bank["skills"][0].clone()
    }

    /// The documents of a directory whose names begin so, the oldest first.
    fn documents(&self, directory: &str, prefix: &str, time: &str) -> Vec<Value> {
        let Ok(entries) = fs::read_dir(self.path(directory)) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| name.starts_with(prefix) && name.ends_with(".json"));
        let mut documents: Vec<Value> = names
            .map(|name| self.read(&format!("{directory}/{name}")))
            .collect();
        documents.sort_by_key(|document| document[time].as_str().unwrap_or_default().to_owned());
        documents
    }

    pub fn experiences(&self) -> Vec<Value> {
        self.documents("experience", "exp-", "recorded_at")
    }

    pub fn snapshots(&self) -> Vec<Value> {
        self.documents("snapshots", "snap-", "created_at")
    }

    pub fn audits(&self) -> Vec<Value> {
        self.documents("audit", "aud-", "created_at")
    }

    pub fn proposals(&self) -> Vec<Value> {
        self.documents("audit", "prop-", "created_at")
    }

    /// The only audit with this action.
    #[track_caller]
    pub fn audit(&self, action: &str) -> Value {
        let mut audits = self.audits();
        audits.retain(|audit| audit["details"]["action"] == action);
        assert_eq!(audits.len(), 1, "audits of {action}: {audits:#?}");
        audits.remove(0)
    }

    /// What kind of events the audits tell of, in order of name.
    pub fn events(&self) -> Vec<String> {
        let audits = self.audits();
        let mut events: Vec<String> = audits
            .iter()
            .map(|audit| audit["event_type"].as_str().unwrap().to_owned())
            .collect();
        events.sort();
        events
    }

    pub fn counts(&self) -> Counts {
        Counts {
            experiences: self.experiences().len(),
            snapshots: self.snapshots().len(),
            audits: self.audits().len(),
            proposals: self.proposals().len(),
        }
    }

    /// All of the workspace by path.
    pub fn files(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut files = BTreeMap::new();
        collect(&self.dir, Path::new(""), &mut files);
        // The engine's own, such as its lock.
        files.retain(|path, _| !path.to_str().unwrap().contains(".aiden-"));
        files
    }

    /// The files of the workspace that have these bytes, the engine's own too.
    pub fn with_bytes(&self, bytes: &[u8]) -> Vec<PathBuf> {
        let mut files = BTreeMap::new();
        collect(&self.dir, Path::new(""), &mut files);
        files.retain(|_, found| found.as_deref() == Some(bytes));
        files.into_keys().collect()
    }

    #[track_caller]
    pub fn assert_files(&self, before: &BTreeMap<PathBuf, Option<Vec<u8>>>) {
        let shown = |files: &BTreeMap<PathBuf, Option<Vec<u8>>>| -> BTreeMap<PathBuf, String> {
            let text = |bytes: &Option<Vec<u8>>| match bytes {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => "a directory".to_owned(),
            };
            let shown = files
                .iter()
                .map(|(path, bytes)| (path.clone(), text(bytes)));
            shown.collect()
        };
        assert_eq!(shown(&self.files()), shown(before), "something was changed");
    }

    /// Case H1.
    #[track_caller]
    fn assert_valid(&self) {
        let run = self.run(&["validate"]).expect(0);
        assert_eq!(run.json()["errors"], json!([]), "{run:#?}");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(tools::fetched("venv/bin/python"));
        command.arg(root.join("tests/evolve/validate_workspaces.py"));
        command.arg(root.join("src/evolve/schemas")).arg(&self.dir);
        common::run(command.env("PYTHONDONTWRITEBYTECODE", "1")).expect(0);
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.valid.get() && !std::thread::panicking() {
            self.assert_valid();
        }
    }
}

fn collect(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    let Ok(entries) = fs::read_dir(root.join(below)) else {
        return;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            files.insert(path.clone(), None);
            collect(root, &path, files);
        } else {
            files.insert(path, Some(fs::read(entry.path()).unwrap()));
        }
    }
}
