//! Checking skills before they go into an image: their SKILL.md, and everything beside it.

use std::io;
use std::path::Path;

use serde::Serialize;

use crate::skill::{
    FILE_DIRECTORIES, Finding, MAX_READ_BYTES, MAX_SUPPORTING_TEXT_BYTES, SKILL_FILE, Severity,
    SkillDocument, SkillError, ToolCatalog, is_junk, is_near_miss, lint_document,
};
use crate::store::{
    Bounded, DirEntry, Filesystem, Kind, LinuxFilesystem, RelPath, is_link, read_bounded,
};

/// As deep as a sync goes.
const MAX_DEPTH: usize = 16;

/// What was found in one skill.
#[derive(Debug, Serialize)]
pub struct LintedSkill {
    /// Its SKILL.md, or the directory that should have one.
    pub path: String,
    /// Whether it is, or was meant to be, a skill.
    pub is_skill: bool,
    /// Errors first.
    pub findings: Vec<Finding>,
}

impl LintedSkill {
    /// Whether it may ship.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let is_error = |finding: &Finding| finding.severity == Severity::Error;
        !self.findings.iter().any(is_error)
    }
}

/// Why nothing was checked.
#[derive(Debug, thiserror::Error)]
pub enum LintError {
    /// The directory can't be read.
    #[error("{path} can't be read: {source}")]
    Unreadable {
        /// The directory.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// There is nothing to check.
    #[error(
        "{path} has no directory with a {SKILL_FILE}, and none itself; name a skill, or a directory of skills"
    )]
    NoSkills {
        /// The directory.
        path: String,
    },
}

/// Checks the skill at `location`, or all skills in it.
///
/// # Errors
/// When it can't be read, or has no skill.
pub fn lint_directory(
    location: &Path,
    tools: Option<&ToolCatalog>,
) -> Result<Vec<LintedSkill>, LintError> {
    let path = location.display().to_string();
    let unreadable = |source| LintError::Unreadable {
        path: path.clone(),
        source,
    };
    let tree = LinuxFilesystem::open(location).map_err(unreadable)?;
    let entries = tree.read_dir(&RelPath::root()).map_err(unreadable)?;
    if entries.iter().any(|entry| entry.name == SKILL_FILE) {
        let full = std::fs::canonicalize(location).map_err(unreadable)?;
        let name = full
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        return Ok(vec![lint_skill(
            &tree,
            &RelPath::root(),
            &name,
            &path,
            tools,
        )]);
    }
    let mut skills = Vec::new();
    for entry in &entries {
        let shown = entry.name.to_string_lossy();
        if is_junk(&shown) || entry.kind == Kind::File {
            continue;
        }
        let below = format!("{}/{shown}", path.trim_end_matches('/'));
        let child = entry
            .name
            .to_str()
            .and_then(|name| RelPath::parse(name).ok());
        match (child, entry.kind) {
            (Some(child), Kind::Directory) => {
                let skill = lint_entry(&tree, &child, &shown, &below, tools);
                skills.push(skill);
            }
            (None, _) => skills.push(one(below, Severity::Error, "has a name that is not UTF-8: rename it")),
            _ => skills.push(one(
                below,
                Severity::Error,
                "is a link or device where a skill's directory belongs: links are never followed, put the directory there",
            )),
        }
    }
    if !skills.iter().any(|skill| skill.is_skill) {
        return Err(LintError::NoSkills { path });
    }
    Ok(skills)
}

fn one(path: String, severity: Severity, message: &str) -> LintedSkill {
    LintedSkill {
        path,
        is_skill: severity == Severity::Error,
        findings: vec![finding(severity, message)],
    }
}

fn finding(severity: Severity, message: impl Into<String>) -> Finding {
    Finding {
        severity,
        message: message.into(),
    }
}

/// A directory of a bundle: a skill, or something that was meant to be one.
fn lint_entry(
    tree: &dyn Filesystem,
    directory: &RelPath,
    name: &str,
    shown: &str,
    tools: Option<&ToolCatalog>,
) -> LintedSkill {
    let entries = match tree.read_dir(directory) {
        Ok(entries) => entries,
        Err(e) => {
            return one(
                shown.into(),
                Severity::Error,
                &format!("can't be listed: {e}"),
            );
        }
    };
    if entries.iter().any(|entry| entry.name == SKILL_FILE) {
        return lint_skill(tree, directory, name, shown, tools);
    }
    let names = entries.iter().map(|entry| entry.name.to_string_lossy());
    match names.into_iter().find(|name| is_near_miss(name)) {
        Some(near) => one(
            shown.into(),
            Severity::Error,
            &format!("has {near}, but the file must be called {SKILL_FILE}: rename it"),
        ),
        None => one(
            shown.into(),
            Severity::Warning,
            &format!("has no {SKILL_FILE}: it is no skill and will not be copied"),
        ),
    }
}

fn lint_skill(
    tree: &dyn Filesystem,
    directory: &RelPath,
    name: &str,
    shown: &str,
    tools: Option<&ToolCatalog>,
) -> LintedSkill {
    let mut skill = LintedSkill {
        path: format!("{}/{SKILL_FILE}", shown.trim_end_matches('/')),
        is_skill: true,
        findings: Vec::new(),
    };
    let path = directory
        .child(SKILL_FILE)
        .unwrap_or_else(|_| directory.clone());
    match read_bounded(tree, &path, MAX_READ_BYTES) {
        Ok(Some(Bounded::Whole(bytes))) => {
            skill.findings = lint_document(name, &bytes, tools);
            lint_mentions(tree, directory, &bytes, &mut skill.findings);
        }
        Ok(Some(Bounded::TooLarge { bytes })) => skill.findings.push(finding(
            Severity::Error,
            SkillError::TooLarge { size: bytes }.to_string(),
        )),
        Ok(None) => skill.findings.push(finding(Severity::Error, "vanished")),
        Err(e) if is_link(&e) => skill.findings.push(finding(
            Severity::Error,
            "is a symbolic link: links are never followed, put the file itself there",
        )),
        Err(e) => {
            let message = format!("must be a plain file, and can't be read as one: {e}");
            skill.findings.push(finding(Severity::Error, message));
        }
    }
    lint_files(tree, directory, &RelPath::root(), 0, &mut skill.findings);
    skill.findings.sort_by_key(|finding| finding.severity);
    skill
}

fn lint_files(
    tree: &dyn Filesystem,
    skill: &RelPath,
    inside: &RelPath,
    depth: usize,
    findings: &mut Vec<Finding>,
) {
    let here = skill.join(inside);
    let entries = match tree.read_dir(&here) {
        Ok(entries) if depth <= MAX_DEPTH => entries,
        Ok(_) => {
            let message =
                format!("has {inside}, deeper than {MAX_DEPTH} directories: a sync refuses it");
            return findings.push(finding(Severity::Error, message));
        }
        Err(e) => {
            let message = format!("has {inside}, which can't be listed: {e}");
            return findings.push(finding(Severity::Error, message));
        }
    };
    for entry in entries {
        let DirEntry { name, kind } = &entry;
        let shown = name.to_string_lossy();
        if is_junk(&shown) {
            let message =
                format!("has {shown} beside it, which is never copied: leave it out of the bundle");
            findings.push(finding(Severity::Warning, message));
            continue;
        }
        let Some(path) = name.to_str().and_then(|name| inside.child(name).ok()) else {
            let message = format!("has a file with a name that is not UTF-8 ({shown}): rename it");
            findings.push(finding(Severity::Error, message));
            continue;
        };
        match kind {
            Kind::Directory => lint_files(tree, skill, &path, depth + 1, findings),
            Kind::File if path.as_str() == SKILL_FILE => {}
            Kind::File => findings.extend(lint_file(tree, skill, &path)),
            Kind::Link | Kind::Special if path.as_str() == SKILL_FILE => {}
            Kind::Link => findings.push(finding(
                Severity::Error,
                format!(
                    "has {path}, a symbolic link, which is never copied: put the file itself there"
                ),
            )),
            Kind::Special => findings.push(finding(
                Severity::Error,
                format!("has {path}, which is no regular file and is never copied: remove it"),
            )),
        }
    }
}

fn lint_file(tree: &dyn Filesystem, skill: &RelPath, path: &RelPath) -> Option<Finding> {
    let top = path.components().next().unwrap_or_default();
    if !FILE_DIRECTORIES.contains(&top) {
        let message = format!(
            "has {path}, which skill_read does not hand out: move it to {}",
            FILE_DIRECTORIES.join("/, ") + "/"
        );
        return Some(finding(Severity::Warning, message));
    }
    let len = tree.metadata(&skill.join(path)).ok()?.len;
    // Assets may be pictures and fonts; the others are there to be read.
    (top != "assets" && len > MAX_SUPPORTING_TEXT_BYTES).then(|| {
        let message = format!(
            "has {path}, which is too large to be read by the agent ({len} bytes > {MAX_SUPPORTING_TEXT_BYTES} bytes): split it"
        );
        finding(Severity::Warning, message)
    })
}

/// Files of the skill that its text names in a link or as code, but that are not there.
fn lint_mentions(
    tree: &dyn Filesystem,
    skill: &RelPath,
    bytes: &[u8],
    findings: &mut Vec<Finding>,
) {
    let Ok(document) = SkillDocument::parse(bytes) else {
        return;
    };
    for mentioned in mentions(document.body()) {
        let Ok(path) = RelPath::parse(mentioned) else {
            continue;
        };
        let missing = tree.metadata(&skill.join(&path));
        if missing.is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
            let message = format!("names {path}, which is not there: add it, or correct the path");
            let finding = finding(Severity::Warning, message);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
}

/// Paths below the directories of supporting files, in `` `…` `` or `](…)`.
fn mentions(body: &str) -> impl Iterator<Item = &str> {
    let quoted = body
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let linked = body
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    quoted.chain(linked).filter(|text| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let below = |directory: &&str| {
            let rest = text
                .strip_prefix(*directory)
                .and_then(|rest| rest.strip_prefix('/'));
            rest.is_some_and(|rest| rest.contains('.') && !rest.ends_with('/'))
        };
        text.chars().all(plain) && FILE_DIRECTORIES.iter().any(below)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_are_meant_as_such_are_mentions() {
        let body = "See `references/a.md`, [b](scripts/b.sh) and references/c.md.\n\
            Not `references/*.md`, `references/`, `foo`, [x](https://e.org/references/a.md), `assets/<name>.png`.\n";
        let found: Vec<&str> = mentions(body).collect();
        assert_eq!(found, ["references/a.md", "scripts/b.sh"]);
    }
}
