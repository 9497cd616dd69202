//! Whether a merged text may be applied (seed §12, contract §5 "Validation"); pure.

use super::model::MergeInput;
use crate::skill::{
    MAX_EDIT_BYTES, SkillDocument, SkillError, ToolCatalog, is_blank, shown, turns_direction,
};

/// Why a merged text must not be applied. The messages read after "the merged text".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Nothing on it.
    #[error("is empty")]
    Empty,
    /// Over [`MAX_EDIT_BYTES`].
    #[error("is too large ({0} bytes > {MAX_EDIT_BYTES} bytes)")]
    TooLarge(u64),
    /// No valid skill.
    #[error("{0}")]
    Document(#[from] SkillError),
    /// Another skill's name.
    #[error("has the name {found:?} instead of {expected:?}")]
    WrongName {
        /// The skill's.
        expected: String,
        /// The text's.
        found: String,
    },
    /// A line of `<<<<<<<`, `|||||||` or `>>>>>>>` that no side has.
    #[error("has a conflict marker in line {0}")]
    ConflictMarker(usize),
    /// The inputs one after the other.
    #[error("is both texts one after the other")]
    Concatenation,
    /// A tool that neither side allows.
    #[error("allows the tool {0:?}, which neither side does")]
    NewTool(String),
    /// What both sides restrict it to is missing: the skill would be for all of them.
    #[error("has no {0}, which both sides have")]
    Widened(&'static str),
    /// A device or a child agent that neither side names, or another origin.
    #[error("has another {0} than both sides")]
    NewValue(&'static str),
    /// A control character that neither side has.
    #[error("has the control character {0}, which neither side has")]
    Control(String),
    /// A tool that the board does not have, and that the user's text does not name.
    #[error("allows the tool {0:?}, which is not in the tools file")]
    UnknownTool(String),
}

/// Says what forbids a merged text.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn validate(
    text: &str,
    input: &MergeInput,
    tools: Option<&ToolCatalog>,
) -> Result<(), Invalid> {
    if is_blank(text.as_bytes()) {
        return Err(Invalid::Empty);
    }
    let len = text.len() as u64;
    if len > MAX_EDIT_BYTES {
        return Err(Invalid::TooLarge(len));
    }
    let document = SkillDocument::parse(text.as_bytes())?;
    if document.name() != input.job.name {
        return Err(Invalid::WrongName {
            expected: input.job.name.clone(),
            found: shown(document.name(), 40),
        });
    }
    let texts = &input.texts;
    let sides = [
        Some(texts.upstream.as_str()),
        Some(&texts.local),
        texts.base.as_deref(),
    ];
    let sides: Vec<&str> = sides.into_iter().flatten().collect();
    let is_new = |line: &str| sides.iter().all(|side| side.lines().all(|old| old != line));
    let marker = text
        .lines()
        .position(|line| is_marker(line) && is_new(line));
    if let Some(line) = marker {
        return Err(Invalid::ConflictMarker(line + 1));
    }
    let upstream = SkillDocument::parse(texts.upstream.as_bytes()).unwrap_or_default();
    let local = SkillDocument::parse(texts.local.as_bytes()).unwrap_or_default();
    if is_concatenation(document.body(), upstream.body(), local.body()) {
        return Err(Invalid::Concatenation);
    }
    let is_control =
        |c: &char| c.is_control() && !matches!(c, '\n' | '\r' | '\t') || turns_direction(*c);
    let control = text
        .chars()
        .filter(is_control)
        .find(|c| sides.iter().all(|side| !side.contains(*c)));
    if let Some(control) = control {
        return Err(Invalid::Control(control.escape_unicode().to_string()));
    }
    for (field, is_restricted) in [
        (
            "allowed_tools",
            [&document, &upstream, &local].map(|one| !one.allowed_tools().is_empty()),
        ),
        (
            "device_types",
            [&document, &upstream, &local].map(|one| !one.device_types().is_empty()),
        ),
    ] {
        if is_restricted == [false, true, true] {
            return Err(Invalid::Widened(field));
        }
    }
    let both = [&upstream, &local];
    let known_devices = |device| both.iter().any(|side| side.device_types().contains(device));
    let known_children = |child| {
        both.iter()
            .any(|side| side.allowed_children().contains(child))
    };
    for (field, is_known) in [
        (
            "device_types",
            document.device_types().iter().all(known_devices),
        ),
        (
            "allowed_children",
            document.allowed_children().iter().all(known_children),
        ),
        (
            "source",
            both.iter().any(|side| side.source() == document.source()),
        ),
        (
            "created_by",
            both.iter()
                .any(|side| side.created_by() == document.created_by()),
        ),
    ] {
        if !is_known {
            return Err(Invalid::NewValue(field));
        }
    }
    for tool in document.allowed_tools() {
        let of_local = local.allowed_tools().contains(tool);
        if !of_local && !upstream.allowed_tools().contains(tool) {
            return Err(Invalid::NewTool(shown(tool, 40)));
        }
        // One that the user's text has had all along must not block every merge.
        if !of_local && tools.is_some_and(|tools| !tools.contains(tool)) {
            return Err(Invalid::UnknownTool(shown(tool, 40)));
        }
    }
    Ok(())
}

fn is_marker(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '-', '*']);
    ["<<<<<<<", "|||||||", ">>>>>>>"].iter().any(|marker| {
        line.strip_prefix(marker)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

/// Whether a body holds both others whole, one behind the other.
fn is_concatenation(body: &str, upstream: &str, local: &str) -> bool {
    let [body, upstream, local] = [body, upstream, local].map(str::trim);
    if upstream.is_empty()
        || local.is_empty()
        || upstream.contains(local)
        || local.contains(upstream)
    {
        return false;
    }
    let follows = |first: &str, second: &str| {
        body.find(first).is_some_and(|at| {
            body.get(at + first.len()..)
                .is_some_and(|rest| rest.contains(second))
        })
    };
    follows(upstream, local) || follows(local, upstream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Hash;
    use crate::sync::{MergeJob, MergeTexts};

    const BASE: &str =
        "---\nname: foo\ndescription: Foo.\nallowed_tools: [a]\n---\n\nOne.\n\nTwo.\n";

    fn input(upstream: &str, local: &str) -> MergeInput {
        let [b, u, l] = [BASE, upstream, local].map(|text| Hash::of(text.as_bytes()));
        MergeInput {
            job: MergeJob::new("foo", Some(b), u, l),
            texts: MergeTexts {
                base: Some(BASE.into()),
                upstream: upstream.into(),
                local: local.into(),
            },
        }
    }

    fn both() -> MergeInput {
        let upstream = BASE
            .replace("One.", "One, better.")
            .replace("[a]", "[a, b]");
        let local = BASE
            .replace("Two.", "Two, mine.")
            .replace("[a]", "[a, own]");
        input(&upstream, &local)
    }

    fn good() -> String {
        BASE.replace("One.", "One, better.")
            .replace("Two.", "Two, mine.")
            .replace("[a]", "[a, b, own]")
    }

    #[test]
    fn a_text_of_both_sides_is_valid() {
        let tools = ToolCatalog::from_json(br#"["a", "b"]"#).unwrap();
        assert_eq!(validate(&good(), &both(), None), Ok(()));
        assert_eq!(
            validate(&good(), &both(), Some(&tools)),
            Ok(()),
            "`own` was there before"
        );
    }

    #[test]
    fn what_must_not_be_applied_says_why() {
        let tools = ToolCatalog::from_json(br#"["a", "b"]"#).unwrap();
        let long = "x".repeat(MAX_EDIT_BYTES as usize);
        let concatenated = format!(
            "{}\n{}",
            both().texts.local,
            SkillDocument::parse(both().texts.upstream.as_bytes())
                .unwrap()
                .body()
        );
        for (text, reason) in [
            (" \n\0".to_owned(), "is empty"),
            (good() + &long, "is too large"),
            ("No frontmatter.".into(), "has no frontmatter"),
            (
                good().replace("name: foo", "name: bar"),
                "has the name \"bar\" instead of \"foo\"",
            ),
            (
                good().replace("description: Foo.\n", ""),
                "has no `description`",
            ),
            (
                good().replace("description: Foo.", "description: ''"),
                "has an empty `description`",
            ),
            (
                BASE.split("\nOne").next().unwrap().to_owned(),
                "has no text below its frontmatter",
            ),
            (
                good().replace("allowed_tools: [a, b, own]\n", ""),
                "has no allowed_tools, which both sides have",
            ),
            (
                good().replace("---\n\n", "source: agent\n---\n\n"),
                "has another source than both sides",
            ),
            (
                good().replace("---\n\n", "device_types: [iOS]\n---\n\n"),
                "has another device_types than both sides",
            ),
            (
                good().replace("Two", "Two\u{1b}[2J"),
                "has the control character \\u{1b}",
            ),
            (
                good().replace("Two", "- <<<<<<< local\nTwo"),
                "has a conflict marker in line 9",
            ),
            (
                good().replace("Two", "<<<<<<< local\nTwo"),
                "has a conflict marker in line 9",
            ),
            (concatenated, "is both texts one after the other"),
            (
                good().replace("own]", "own, root]"),
                "allows the tool \"root\", which neither side does",
            ),
        ] {
            let invalid = validate(&text, &both(), Some(&tools))
                .unwrap_err()
                .to_string();
            assert!(invalid.contains(reason), "{invalid}");
            assert!(invalid.chars().count() < 180);
        }
    }

    #[test]
    fn a_tool_that_the_board_does_not_have_is_not_added() {
        let tools = ToolCatalog::from_json(br#"["a"]"#).unwrap();
        let invalid = validate(&good(), &both(), Some(&tools)).unwrap_err();
        assert_eq!(invalid, Invalid::UnknownTool("b".into()));
    }

    #[test]
    fn a_marker_that_a_side_has_is_its_text() {
        let local = BASE.replace("Two.", "Look for\n<<<<<<< HEAD\nTwo.");
        let input = input(&BASE.replace("One.", "One, better."), &local);
        assert_eq!(
            validate(&local.replace("One.", "One, better."), &input, None),
            Ok(())
        );
    }

    #[test]
    fn additions_at_both_ends_are_no_concatenation() {
        let upstream = format!("{BASE}\nThree.\n");
        let local = BASE.replace("One.", "Zero.\n\nOne.");
        let merged = format!("{local}\nThree.\n");
        assert_eq!(validate(&merged, &input(&upstream, &local), None), Ok(()));
    }
}
