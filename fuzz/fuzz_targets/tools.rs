//! Names and paths given to the tools, on a real tree with links that lead out of it: whatever is said, nothing outside of
//! the library is read or changed, and an answer is one line or a text of the library.
#![no_main]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use aiden_skills::SkillSyncOptions;
use aiden_skills::tools::{Caller, Counting, SkillTools, Tool};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const SECRET: &str = "Nobody may read this.";
/// A directory, best in memory, for each call flushes; `tests/tools/fuzz.sh` sees to that and removes it.
fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let root = std::env::temp_dir().join("aiden-skills-tools");
        fs::create_dir_all(root.join("outside/skill")).unwrap();
        for file in [
            "outside/secret.md",
            "outside/skill/SKILL.md",
            "bundle/a/SKILL.md",
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text("skill", SECRET)).unwrap();
        }
        root
    })
}

fn text(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: What it is for.\n---\n{body}\n")
}

/// Two skills, and links to what is outside wherever one may lie.
fn lay_out(root: &Path) {
    let agent = root.join("agent");
    let _ = fs::remove_dir_all(&agent);
    let library = agent.join("skills");
    for file in [
        "a/SKILL.md",
        "a/references/b.md",
        "a/scripts/c/d.sh",
        "c/SKILL.md",
    ] {
        let path = library.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text(&file[..1], "Do.")).unwrap();
    }
    for (target, link) in [
        ("outside", "a/references/l"),
        ("outside/secret.md", "a/scripts/l"),
        ("outside/skill", "l"),
        ("outside", "a/templates"),
        ("outside/skill/SKILL.md", "c/l.md"),
    ] {
        symlink(root.join(target), library.join(link)).unwrap();
    }
}

/// All that is not the library.
fn outside(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![root.join("outside"), root.join("bundle")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            found.push((path, Vec::new()));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

/// What is there beside the library and the state dir.
fn beside(agent: &Path) -> Vec<String> {
    let entries = fs::read_dir(agent).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != "skills" && name != "skill-state")
        .collect();
    names.sort();
    names
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else {
        return;
    };
    let Ok(rest) = std::str::from_utf8(rest) else {
        return;
    };
    let (name, path) = rest.split_once('\0').unwrap_or((rest, ""));
    let schema = Tool::Manage.parameters();
    let actions = schema["properties"]["action"]["enum"].as_array().unwrap();
    let (tool, input) = match usize::from(kind) % (actions.len() + 3) {
        0 => (Tool::Read, json!({"name": name})),
        1 => (Tool::Read, json!({"name": name, "file_path": path})),
        2 => (Tool::MarkUsed, json!({"name": name})),
        action => (
            Tool::Manage,
            manage(actions[action - 3].as_str().unwrap(), name, path),
        ),
    };
    let root = root();
    lay_out(root);
    let before = outside(root);
    let tools = SkillTools {
        options: SkillSyncOptions::new(root.join("agent"), root.join("bundle")),
        device: None,
        catalog: None,
        counting: Counting::AtOnce,
        evolution: None,
    };
    let answer = tools.call(tool, &input, &mut Caller::CommandLine);
    match &answer {
        Ok(answer) => assert!(!answer.contains(SECRET), "{input}: {answer}"),
        Err(e) => assert!(!e.to_string().contains('\n'), "{input}: {e}"),
    }
    assert_eq!(before, outside(root), "{input} changed what is outside");
    assert!(beside(&root.join("agent")).is_empty(), "{input}");
});

fn manage(action: &str, name: &str, path: &str) -> Value {
    let mut input = json!({"action": action, "name": name, "reason": "A try."});
    let more = match action {
        "create" | "edit" => json!({"content": text(name, "New.")}),
        "patch" => json!({"old_string": "Do.", "new_string": "Do it."}),
        "write_file" => json!({"file_path": path, "file_content": "New."}),
        "remove_file" => json!({"file_path": path}),
        _ => json!({}),
    };
    let (Value::Object(input_fields), Value::Object(more)) = (&mut input, more) else {
        unreachable!()
    };
    input_fields.extend(more);
    input
}
