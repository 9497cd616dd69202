//! Merging without a model: the frontmatter key by key, the body by lines. What it can't settle it names.

mod body;
mod entries;
mod fields;
mod lines;
mod list;
mod numbering;

use std::fmt;

use self::body::BodyConflict;
use self::fields::Frontmatters;
pub use self::lines::{LineConflict, merge_lines};
use super::model::{Answer, MergeError, MergeInput, Requests, SkillMergeModel};
use crate::skill::frontmatter::{Parts, split};
use crate::sync::{EngineSetting, MergeTexts};

/// A place that both sides changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// One of the texts has no frontmatter that can be found.
    NoFrontmatter,
    /// A key of the frontmatter, by its path.
    Field(String),
    /// Lines of the body; `line` counts in the local file.
    Lines(LineConflict),
    /// No base is known, and each side's body has lines that the other's has not.
    NoBase,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFrontmatter => f.write_str("a text without frontmatter"),
            Self::Field(path) => write!(f, "{} in the frontmatter", crate::skill::shown(path, 60)),
            Self::Lines(lines) => write!(f, "line {}", lines.line),
            Self::NoBase => f.write_str("the text, with no common base known"),
        }
    }
}

/// The engine that needs no network.
pub struct Structural;

impl SkillMergeModel for Structural {
    fn merge(
        &self,
        input: &MergeInput,
        _: &[Conflict],
        _: &Requests,
    ) -> Result<Answer, MergeError> {
        let MergeTexts {
            base,
            upstream,
            local,
        } = &input.texts;
        let text =
            merge_documents(base.as_deref(), upstream, local).map_err(MergeError::Conflict)?;
        Ok(Answer {
            text,
            summary: "the changes of both sides were put together".into(),
            engine: EngineSetting::Structural.as_str(),
        })
    }
}

/// A text without the section of what the agent has learned, which is never merged.
#[must_use]
pub fn without_section(text: &str) -> String {
    body::Sectioned::of(text).text
}

/// A text of which all lines end as those of the local side.
#[must_use]
pub fn with_line_ends_of(text: &str, local: &str) -> String {
    let text = text.replace("\r\n", "\n");
    match LineEnding::of(local) {
        LineEnding::CrLf => LineEnding::CrLf.apply(&text),
        LineEnding::Lf | LineEnding::Mixed => text,
    }
}

/// A merged text with the section of the local side, and no other.
#[must_use]
pub fn with_section_of(text: &str, local: &str) -> String {
    body::with_section_of(text, local)
}

/// Merges three texts of a SKILL.md; without a base, two.
///
/// # Errors
/// All that it can't settle, in the order of the file.
pub fn merge_documents(
    base: Option<&str>,
    upstream: &str,
    local: &str,
) -> Result<String, Vec<Conflict>> {
    let ending = LineEnding::of_merge(base, upstream, local);
    let unified = |text: &str| text.replace("\r\n", "\n");
    if LineEnding::are_to_be_unified(base, upstream, local) {
        let base = base.map(unified);
        let merged = merge_unified(base.as_deref(), &unified(upstream), &unified(local))?;
        return Ok(ending.apply(&merged));
    }
    merge_unified(base, upstream, local)
}

fn merge_unified(base: Option<&str>, upstream: &str, local: &str) -> Result<String, Vec<Conflict>> {
    let parts = |text| split(text).map_err(|_| vec![Conflict::NoFrontmatter]);
    let of_base = base.map(parts).transpose()?;
    let (of_upstream, of_local) = (parts(upstream)?, parts(local)?);
    let frontmatter = fields::merge_frontmatter(Frontmatters {
        base: of_base.as_ref().map(|parts| parts.yaml),
        upstream: of_upstream.yaml,
        local: of_local.yaml,
    });
    let body = body::merge_bodies(
        of_base.as_ref().map(|parts| parts.body),
        of_upstream.body,
        of_local.body,
    );
    match (frontmatter, body) {
        (Ok(yaml), Ok(body)) => Ok(assembled(
            base.zip(of_base.as_ref()),
            (upstream, &of_upstream),
            (local, &of_local),
            &yaml,
            &body,
        )),
        (frontmatter, body) => {
            let above = local.get(..of_local.body_range.start).unwrap_or_default();
            let above = above.matches('\n').count();
            let fields = frontmatter.err().into_iter().flatten().map(Conflict::Field);
            let lines = match body.err() {
                None => Vec::new(),
                Some(BodyConflict::NoBase) => vec![Conflict::NoBase],
                Some(BodyConflict::Lines(lines)) => lines
                    .into_iter()
                    .map(|lines| {
                        Conflict::Lines(LineConflict {
                            line: lines.line + above,
                            ..lines
                        })
                    })
                    .collect(),
            };
            Err(fields.chain(lines).collect())
        }
    }
}

/// Fences and byte order mark are the local side's, or the firmware's where they were not changed.
fn assembled(
    base: Option<(&str, &Parts<'_>)>,
    upstream: (&str, &Parts<'_>),
    local: (&str, &Parts<'_>),
    yaml: &str,
    body: &str,
) -> String {
    let fences = |(text, parts): (&str, &Parts<'_>)| {
        let opening = text.get(..parts.yaml_range.start).unwrap_or_default();
        let closing = text
            .get(parts.yaml_range.end..parts.body_range.start)
            .unwrap_or_default();
        [opening.to_owned(), closing.to_owned()]
    };
    let (of_upstream, of_local) = (fences(upstream), fences(local));
    let [opening, closing] = match base.map(fences) {
        Some(of_base) if of_base == of_local => of_upstream,
        _ => of_local,
    };
    let gap = if closing.ends_with('\n') || body.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{opening}{yaml}{closing}{gap}{body}")
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnding {
    Lf,
    CrLf,
    Mixed,
}

impl LineEnding {
    fn of(text: &str) -> Self {
        let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
        match windows {
            0 => Self::Lf,
            windows if windows == all => Self::CrLf,
            _ => Self::Mixed,
        }
    }

    /// Whether the texts are to be merged with `\n` at the end of their lines.
    fn are_to_be_unified(base: Option<&str>, upstream: &str, local: &str) -> bool {
        let all = [base, Some(upstream), Some(local)];
        let all: Vec<Self> = all.into_iter().flatten().map(Self::of).collect();
        !all.contains(&Self::Mixed) && all.contains(&Self::CrLf)
    }

    /// That of the side that changed it.
    fn of_merge(base: Option<&str>, upstream: &str, local: &str) -> Self {
        let of_local = Self::of(local);
        match base {
            Some(base) if Self::of(base) == of_local => Self::of(upstream),
            _ => of_local,
        }
    }

    fn apply(self, text: &str) -> String {
        match self {
            Self::CrLf => text.replace('\n', "\r\n"),
            Self::Lf | Self::Mixed => text.to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "structural_tests.rs"]
mod tests;
