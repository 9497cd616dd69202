//! Merging whole documents: what must hold of any three texts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use aiden_skills::merge::structural::{merge_documents, with_section_of, without_section};
use aiden_skills::skill::SkillDocument;
use aiden_skills::skill::frontmatter::{parse_yaml, split};
use proptest::prelude::*;

/// Lines as they stand in frontmatters, good and bad.
fn field() -> impl Strategy<Value = String> {
    let lines = [
        "description: What it does.\n",
        "description: >-\n  What it\n\n  does.\n",
        "description: 'quoted: yes' # why\n",
        "license: MIT\n",
        "# a remark\n",
        "\n",
        "allowed_tools: [a, b]\n",
        "allowed_tools:\n- a\n- c # c\n",
        "allowed_tools:\n  - \"a\"\n  - 'b c'\n",
        "allowed-tools: Bash(git add:*) Read\n",
        "metadata:\n  device_types: [iOS]\n  version: 1\n",
        "metadata:\n    version: 2 # two\n    more:\n        deep: {x: y}\n",
        "metadata: {}\n",
        "text: |+\n  kept\n\n\n",
        "flag: true\n",
        "empty:\n",
        "anchor: &a [x]\nalias: *a\n",
        "odd : spaced\n",
        "\"quoted key\": 1\n",
        "list:\n  - k: v\n    l: w\n  - x\n",
    ];
    prop::sample::select(lines.to_vec()).prop_map(str::to_owned)
}

fn line() -> impl Strategy<Value = String> {
    let lines = [
        "",
        "# Head",
        "1. one",
        "2. two",
        "- item",
        "```",
        "text",
        "text ",
        "---",
        "| a | b |",
        "<!-- skill-evolution:begin -->",
        "<!-- skill-evolution:end -->",
    ];
    prop_oneof![
        4 => prop::sample::select(lines.to_vec()).prop_map(str::to_owned),
        1 => "[a-c ]{0,4}",
    ]
}

#[derive(Debug, Clone)]
struct Parts {
    fields: Vec<String>,
    lines: Vec<String>,
    crlf: bool,
    bom: bool,
    ends: bool,
}

fn parts() -> impl Strategy<Value = Parts> {
    (
        prop::collection::vec(field(), 0..6),
        prop::collection::vec(line(), 0..12),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.9),
    )
        .prop_map(|(fields, lines, crlf, bom, ends)| Parts {
            fields,
            lines,
            crlf,
            bom,
            ends,
        })
}

impl Parts {
    fn text(&self) -> String {
        let end = if self.ends { "\n" } else { "" };
        let text = format!(
            "---\nname: x\n{}---\n{}{end}",
            self.fields.concat(),
            self.lines.join("\n")
        );
        let text = if self.crlf {
            text.replace('\n', "\r\n")
        } else {
            text
        };
        if self.bom {
            format!("\u{feff}{text}")
        } else {
            text
        }
    }

    /// With one field or line put in, taken out or changed.
    fn edited(&self, at: usize, field: Option<String>, line: &str, removes: bool) -> Self {
        let mut edited = self.clone();
        let list = if field.is_some() {
            &mut edited.fields
        } else {
            &mut edited.lines
        };
        let new = field.unwrap_or_else(|| line.to_owned());
        if removes && !list.is_empty() {
            let at = at % list.len();
            list[at] = new;
        } else {
            list.insert(at % (list.len() + 1), new);
        }
        edited
    }
}

fn edit() -> impl Strategy<Value = (usize, Option<String>, String, bool)> {
    (
        any::<usize>(),
        prop::option::of(field()),
        line(),
        any::<bool>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_side_that_changed_nothing_gives_way_to_the_other(base in parts(), other in parts()) {
        let (base, other) = (base.text(), other.text());
        // The learned section is always the local side's.
        let bare = |text: &str| !text.contains("skill-evolution");
        if bare(&base) && bare(&other) {
            prop_assert_eq!(merge_documents(Some(&base), &other, &base), Ok(other.clone()));
            prop_assert_eq!(merge_documents(Some(&base), &base, &other), Ok(other.clone()));
            prop_assert_eq!(merge_documents(Some(&base), &other, &other), Ok(other.clone()));
            prop_assert_eq!(merge_documents(None, &other, &other), Ok(other.clone()));
        }
    }

    #[test]
    fn what_is_settled_reads_as_well_as_what_it_came_from(
        base in parts(), upstream in prop::collection::vec(edit(), 0..4), local in prop::collection::vec(edit(), 0..4),
    ) {
        let side = |edits: &[(usize, Option<String>, String, bool)]| {
            let edited = edits.iter().fold(base.clone(), |parts, (at, field, line, removes)| {
                parts.edited(*at, field.clone(), line, *removes)
            });
            edited.text()
        };
        let (upstream, local, base) = (side(&upstream), side(&local), base.text());
        let Ok(merged) = merge_documents(Some(&base), &upstream, &local) else {
            return Ok(());
        };
        let reads = |text: &str| parse_yaml(split(text).unwrap().yaml).ok();
        let sides = [&base, &upstream, &local].map(|text| reads(text));
        if let [Some(base), Some(upstream), Some(local)] = sides {
            let (merged, _) = reads(&merged).expect("it reads");
            for key in merged.keys() {
                let known = [&upstream, &local].iter().any(|(side, _)| side.contains_key(key));
                prop_assert!(known, "{key:?} is new");
            }
            for (key, value) in &local.0 {
                // What only the user has, or has changed and the firmware has not, is there.
                if upstream.0.get(key) == base.0.get(key) {
                    prop_assert_eq!(merged.get(key), Some(value));
                }
            }
            for (key, value) in &upstream.0 {
                if local.0.get(key) == base.0.get(key) {
                    prop_assert_eq!(merged.get(key), Some(value));
                }
            }
        }
        if SkillDocument::parse(local.as_bytes()).is_ok() && SkillDocument::parse(upstream.as_bytes()).is_ok() {
            let whole = SkillDocument::parse(merged.as_bytes());
            let emptied = split(&merged).unwrap().body.trim().is_empty();
            prop_assert!(whole.is_ok() || emptied, "{whole:?} of {merged:?}");
        }
    }

    #[test]
    fn no_texts_are_too_odd_to_be_merged_or_refused(
        base in prop::option::of(".{0,200}"), upstream in ".{0,200}", local in "(---\n)?.{0,200}",
    ) {
        let _ = merge_documents(base.as_deref(), &upstream, &local);
    }

    #[test]
    fn the_learned_section_is_taken_out_and_put_back(mut parts in parts(), other in parts()) {
        parts.lines.retain(|line| !line.contains("skill-evolution"));
        // In a block that never ends, marks are code: the section is kept, but it is none to a reader.
        if parts.lines.iter().filter(|line| *line == "```").count() % 2 == 1 {
            parts.lines.push("```".into());
        }
        let (text, local) = (parts.text(), other.text());
        let put = with_section_of(&text, &local);
        let words = |text: &str| -> Vec<String> {
            without_section(text).split_whitespace().map(str::to_owned).collect()
        };
        prop_assert_eq!(words(&put), words(&text));
    }
}
