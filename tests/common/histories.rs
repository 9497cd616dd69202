//! Real histories of skills: consecutive releases as base and upstream, and what a user may have done meanwhile.

#![allow(dead_code, missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;

use aiden_skills::skill::frontmatter::split;
use fastrand::Rng;

pub const RELEASES: [&str; 3] = ["2026.3.1", "2026.5.2", "2026.7.1"];

/// A skill in one release and in the next one.
pub struct History {
    pub name: String,
    pub base: String,
    pub upstream: String,
}

/// The skills that changed from one release to the next; `release` tells where one lies.
pub fn histories(release: impl Fn(&str) -> PathBuf) -> Vec<History> {
    let mut histories = Vec::new();
    for pair in RELEASES.windows(2) {
        let [before, after] = [0, 1].map(|at| release(pair[at]));
        let mut names: Vec<String> = fs::read_dir(&after)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        for name in names {
            let text = |root: &PathBuf| fs::read_to_string(root.join(&name).join("SKILL.md")).ok();
            if let (Some(base), Some(upstream)) = (text(&before), text(&after))
                && base != upstream
                && split(&base).is_ok()
                && split(&upstream).is_ok()
            {
                histories.push(History {
                    name,
                    base,
                    upstream,
                });
            }
        }
    }
    assert!(
        histories.len() >= 20,
        "only {} skills changed",
        histories.len()
    );
    histories
}

/// What a user does to a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    InsertLine,
    DeleteLine,
    RewordLine,
    AddTool,
    ChangeDescription,
}

impl Edit {
    pub const ALL: [Self; 5] = [
        Self::InsertLine,
        Self::DeleteLine,
        Self::RewordLine,
        Self::AddTool,
        Self::ChangeDescription,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::InsertLine => "insert a line",
            Self::DeleteLine => "delete a line",
            Self::RewordLine => "reword a line",
            Self::AddTool => "add a tool",
            Self::ChangeDescription => "change the description",
        }
    }

    /// The text after the edit; `None` where there is nothing to do it to.
    pub fn apply(self, text: &str, rng: &mut Rng) -> Option<String> {
        let parts = split(text).unwrap();
        let (head, body) = text.split_at(parts.body_range.start);
        let mut lines: Vec<String> = body.split_inclusive('\n').map(str::to_owned).collect();
        let with_words: Vec<usize> = (0..lines.len())
            .filter(|at| lines[*at].split_whitespace().count() > 1)
            .collect();
        let any = |rng: &mut Rng| rng.choice(&with_words).copied();
        match self {
            Self::InsertLine => {
                let at = rng.usize(..=lines.len());
                lines.insert(at, format!("- My own note {}.\n", rng.u16(..)));
            }
            Self::DeleteLine => {
                lines.remove(any(rng)?);
            }
            Self::RewordLine => {
                let at = any(rng)?;
                let word = lines[at].split_whitespace().last()?.to_owned();
                let start = lines[at].rfind(&word)?;
                lines[at].replace_range(start..start + word.len(), "otherwise");
            }
            Self::AddTool => {
                let closing = head.rfind("---")?;
                let mut head = head.to_owned();
                head.insert_str(closing, "allowed_tools: [my_own_tool]\n");
                return (!head.contains("allowed") || head.matches("allowed").count() == 1)
                    .then(|| head + body);
            }
            Self::ChangeDescription => {
                let start = head.find("description:")?;
                let end = start + head[start..].find('\n')?;
                let mut head = head.to_owned();
                head.replace_range(start..end, "description: My own words about it.");
                return split(&(head.clone() + body)).is_ok().then(|| head + body);
            }
        }
        Some(head.to_owned() + &lines.concat())
    }
}
