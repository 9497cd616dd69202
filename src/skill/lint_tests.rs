use super::*;

fn lint(directory: &str, text: &str, tools: &str) -> Vec<String> {
    let catalog = (!tools.is_empty()).then(|| ToolCatalog::from_json(tools.as_bytes()).unwrap());
    let findings = lint_document(directory, text.as_bytes(), catalog.as_ref());
    assert!(
        findings
            .iter()
            .all(|finding| !finding.message.contains('\n'))
    );
    findings
        .iter()
        .map(|finding| format!("{}: {}", finding.severity, finding.message))
        .collect()
}

#[test]
fn a_good_skill_has_no_findings() {
    let text =
        "---\nname: a\ndescription: b\nmetadata:\n  allowed_tools: [t, delegate_x]\n---\nbody\n";
    assert_eq!(lint("a", text, r#"["t"]"#), [""; 0]);
}

#[test]
fn every_error_is_named_not_just_the_first() {
    let text = "---\nname: My_Skill\nmetadata:\n  device_types: [toaster]\n  allowed_tools: [t, nope]\n---\n";
    let found = lint("other", text, r#"["t"]"#);
    for wanted in [
        "error: has no `description`",
        "error: has a wrong entry in `metadata.device_types`",
        "error: has no text below its frontmatter",
        "error: has a `name` that does not load: \"My_Skill\" is not a valid skill name",
        "error: has name \"My_Skill\" in a directory named \"other\"",
        "error: allows the tool \"nope\", which does not exist",
    ] {
        assert!(
            found.iter().any(|message| message.starts_with(wanted)),
            "{wanted}: {found:#?}"
        );
    }
    assert_eq!(found.len(), 6, "{found:#?}");
}

#[test]
fn tools_are_not_checked_without_a_catalogue() {
    let text = "---\nname: a\ndescription: b\nallowed_tools: [x]\n---\nbody\n";
    assert_eq!(lint("a", text, ""), [""; 0]);
    assert_eq!(lint("a", text, "[]").len(), 1);
}

#[test]
fn what_other_loaders_refuse_is_a_warning() {
    let text = "\u{feff}---\r\nname: a\r\ndescription: Use when: b\r\n---\r\nbody\r\n";
    let found = lint("a", text, "");
    assert_eq!(found.len(), 3, "{found:#?}");
    for wanted in ["byte order mark", "CRLF", "`description` (line 3)"] {
        assert!(
            found
                .iter()
                .any(|m| m.starts_with("warning: ") && m.contains(wanted)),
            "{wanted}: {found:#?}"
        );
    }
}

#[test]
fn a_skill_too_large_to_edit_or_to_read_is_told() {
    let head = "---\nname: a\ndescription: b\n---\n";
    let edit = usize::try_from(MAX_EDIT_BYTES).unwrap();
    assert_eq!(
        lint("a", &format!("{head}{}", "x".repeat(edit - head.len())), ""),
        [""; 0]
    );
    let found = lint("a", &format!("{head}{}", "x".repeat(edit)), "");
    assert!(
        found.len() == 1 && found[0].starts_with("warning: has 32799 bytes"),
        "{found:#?}"
    );
    let found = lint("a", &"x".repeat(2 * edit + 1), "");
    assert!(
        found[0].starts_with("error: is too large (65537 bytes > 65536 bytes)"),
        "{found:#?}"
    );
}

#[test]
fn a_long_description_is_a_warning() {
    for (length, count) in [(1024, 0), (1025, 1)] {
        let text = format!(
            "---\nname: a\ndescription: {}\n---\nbody\n",
            "é".repeat(length)
        );
        assert_eq!(lint("a", &text, "").len(), count);
    }
}
