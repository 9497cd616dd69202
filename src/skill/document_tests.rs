use proptest::prelude::*;

use super::super::frontmatter::{Limit, MAX_BRACKETS};
use super::*;

fn with(fields: &str) -> String {
    format!("---\nname: alpha\ndescription: Alpha skill\n{fields}---\n\nDo alpha things.\n")
}

fn parse(text: &str) -> SkillDocument {
    SkillDocument::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn error(bytes: impl AsRef<[u8]>) -> String {
    let message = SkillDocument::parse(bytes.as_ref())
        .unwrap_err()
        .to_string();
    assert!(
        !message.chars().any(char::is_control) && message.len() < 300,
        "{message:?}"
    );
    message
}

#[test]
fn the_seeds_example_is_read() {
    let text = "---\nname: ui-operator\ndescription: Prefer screenshot-driven UI inspection before clicking.\n\
        metadata:\n  device_types: [iOS, Android]\n  allowed_tools: [screenshot, touch_gesture]\n---\n\nTake a screenshot.\n";
    let skill = parse(text);
    assert_eq!(skill.name(), "ui-operator");
    assert_eq!(
        skill.description(),
        "Prefer screenshot-driven UI inspection before clicking."
    );
    assert_eq!(skill.body(), "\nTake a screenshot.\n");
    assert_eq!(skill.device_types(), [DeviceType::Ios, DeviceType::Android]);
    assert_eq!(skill.allowed_tools(), ["screenshot", "touch_gesture"]);
    assert!(!skill.is_agent_created() && skill.warnings().is_empty());
    assert!(
        skill.suits(None)
            && skill.suits(Some(DeviceType::Ios))
            && !skill.suits(Some(DeviceType::Linux))
    );
}

#[test]
fn every_dialect_of_a_description_gives_one_folded_line() {
    for description in [
        "description: Use when: a thing happens",
        "description: Use\n  when: a thing\n  happens",
        "description: >\n  Use when: a thing\n  happens",
        "description: >-\n  Use when: a thing\n\n  happens",
        "description: |\n  Use when: a thing\n  happens",
        "description: |-\n    Use when: a thing\n    happens",
        "description:\n  \"Use when: a thing\n  happens\"",
        "description: \"Use when: a thing\\nhappens\\0\"",
        "description: '  Use when: a thing   \n  happens '",
        "description: Use when: \u{202e}a thing \u{2066}\u{2069}happens",
    ] {
        for (bom, end) in [
            ("", "\n"),
            ("\u{feff}", "\n"),
            ("", "\r\n"),
            ("\u{feff}", " \r\n"),
        ] {
            // No blank line before the closing fence; blanks after fences.
            let text = format!("{bom}---\nname: x\n{description}\n---\nbody").replace('\n', end);
            assert_eq!(
                parse(&text).description(),
                "Use when: a thing happens",
                "{text:?}"
            );
        }
    }
}

#[test]
fn a_bom_before_the_fence_is_accepted() {
    assert_eq!(parse(&format!("\u{feff}{}", with(""))).name(), "alpha");
}

#[test]
fn metadata_past_two_thousand_characters_is_read() {
    let filler = format!("license: {}\n", "x".repeat(4000));
    let skill = parse(&with(&format!(
        "{filler}metadata:\n  device_types: linux\n"
    )));
    assert_eq!(skill.device_types(), [DeviceType::Linux]);
}

#[test]
fn json_metadata_over_several_lines_is_read() {
    let skill = parse(&with(
        "metadata:\n  {\n    \"openclaw\":\n      {\n        \"emoji\": \"🔐\",\n        \"requires\": { \"bins\": [\"op\"] },\n      },\n  }\n",
    ));
    assert_eq!(
        skill.frontmatter()["metadata"]["openclaw"]["requires"]["bins"][0],
        "op"
    );
}

#[test]
fn metadata_may_be_absent_or_null_but_nothing_else() {
    for fields in ["", "metadata:\n", "metadata: null\n", "metadata: {}\n"] {
        assert!(parse(&with(fields)).device_types().is_empty());
    }
    for fields in [
        "metadata: x\n",
        "metadata: [a]\n",
        "metadata: 3\n",
        "metadata: !m {a: b}\n",
    ] {
        assert!(error(with(fields)).contains("`metadata`"), "{fields}");
    }
}

#[test]
fn device_types_are_canonical_wherever_they_stand() {
    for fields in [
        "metadata:\n  device_types: [ios, MAC, darwin, '', iOS]\n",
        "metadata:\n  device_types:\n    - iOS\n    - ' macos '\n",
        "device_types: [ios, macOS]\n",
        "device_types: ios, mac\n",
        "device_types: mac\nmetadata:\n  device_types: ios\n",
    ] {
        assert_eq!(
            parse(&with(fields)).device_types(),
            [DeviceType::Ios, DeviceType::MacOs],
            "{fields}"
        );
    }
    for fields in [
        "metadata:\n  device_types:\n",
        "metadata:\n  device_types: []\n",
        "device_types: ''\n",
    ] {
        assert!(parse(&with(fields)).device_types().is_empty());
    }
}

#[test]
fn allowed_tools_are_merged_from_every_place() {
    let skill = parse(&with(
        "allowed-tools: Bash(git add:*), Read  Write\nallowed_tools: [b, c]\nmetadata:\n  allowed_tools: [a, b, ' ']\n",
    ));
    assert_eq!(
        skill.allowed_tools(),
        ["a", "b", "c", "Bash(git add:*)", "Read", "Write"]
    );
    assert_eq!(
        parse(&with("metadata:\n  allowed_tools: a\n")).allowed_tools(),
        ["a"]
    );
    assert!(parse(&with("allowed_tools:\n")).allowed_tools().is_empty());
}

#[test]
fn the_other_fields_are_kept() {
    let skill = parse(&with(
        "source: hub\nmetadata:\n  source: agent\n  preferred_model: m\n  allowed_children: [c, d, c]\n  created_by: ''\n",
    ));
    assert_eq!(
        (skill.source(), skill.preferred_model(), skill.created_by()),
        (Some("agent"), Some("m"), None)
    );
    assert_eq!(skill.allowed_children(), ["c", "d"]);
    assert!(skill.is_agent_created());
    assert!(parse(&with("created_by: agent\n")).is_agent_created());
    assert!(!parse(&with("created_by: user\nsource: Agent Smith\n")).is_agent_created());
}

#[test]
fn a_recognised_field_of_the_wrong_shape_makes_the_skill_invalid() {
    for (fields, field) in [
        (
            "metadata:\n  device_types: {a: b}\n",
            "metadata.device_types",
        ),
        (
            "metadata:\n  device_types: [1]\n",
            "metadata.device_types[]",
        ),
        (
            "metadata:\n  device_types: [~]\n",
            "metadata.device_types[]",
        ),
        ("device_types: true\n", "device_types"),
        ("metadata:\n  allowed_tools: 3\n", "metadata.allowed_tools"),
        ("allowed-tools: [{a: b}]\n", "allowed-tools[]"),
        ("allowed_tools: !x [a]\n", "allowed_tools"),
        (
            "metadata:\n  allowed_children: true\n",
            "metadata.allowed_children",
        ),
        (
            "metadata:\n  preferred_model: 4.5\n",
            "metadata.preferred_model",
        ),
        ("source: [agent]\n", "source"),
        (
            "created_by: {agent: 1}\nmetadata:\n  created_by: x\n",
            "created_by",
        ),
    ] {
        let message = error(with(fields));
        assert!(
            message.contains(&format!("as `{field}`: it must be ")),
            "{fields:?}: {message}"
        );
    }
}

#[test]
fn name_and_description_must_be_strings_with_text() {
    for (name, description, wanted) in [
        ("123", "x", "has a number as `name`: it must be a string"),
        ("true", "x", "has a boolean as `name`"),
        ("[x]", "x", "has a list as `name`"),
        ("null", "x", "has an empty `name`"),
        ("", "x", "has an empty `name`"),
        ("''", "x", "has an empty `name`"),
        (
            "x",
            "true",
            "has a boolean as `description`: it must be a string",
        ),
        ("x", "2024", "has a number as `description`"),
        ("x", "~", "has an empty `description`"),
        ("x", "", "has an empty `description`"),
        ("x", "' '", "has an empty `description`"),
        ("x", "\"\\0\"", "has an empty `description`"),
        ("x", "\n  Use when: a", "has a mapping as `description`"),
    ] {
        let message = error(format!(
            "---\nname: {name}\ndescription: {description}\n---\nbody"
        ));
        assert!(message.contains(wanted), "{name} {description}: {message}");
    }
    assert!(error("---\ndescription: x\n---\nbody").contains("has no `name`"));
    assert!(error("---\nname: x\n---\nbody").contains("has no `description`"));
    assert!(error("---\n# nothing\n---\nbody").contains("has no `name`"));
}

#[test]
fn any_text_is_a_name_here_and_the_caller_judges_it() {
    assert_eq!(
        parse("---\nname: My Skill_1\ndescription: x\n---\nb").name(),
        "My Skill_1"
    );
}

#[test]
fn an_unknown_device_type_names_the_supported_ones() {
    let message = error(with("metadata:\n  device_types: [iOS, toaster]\n"));
    assert!(
        message.contains("`metadata.device_types`") && message.contains("\"toaster\""),
        "{message}"
    );
    assert!(
        message.contains("iOS, Android, macOS, windows, linux"),
        "{message}"
    );
}

#[test]
fn what_is_no_text_is_refused_by_its_name() {
    let size = MAX_READ_BYTES as usize;
    assert_eq!(
        error(vec![b'x'; size + 1]),
        "is too large (65537 bytes > 65536 bytes): move details into files under references/"
    );
    assert!(error(vec![b'x'; size]).contains("no frontmatter"));
    for blank in [&b""[..], b"\0\0", b" \n"] {
        assert!(error(blank).starts_with("is empty"));
    }
    assert!(error(b"---\nname: \xff\n").starts_with("is not valid UTF-8 text (line 2)"));
    assert!(error(b"\xff\xfe-\0-\0-\0\n\0").starts_with("is not valid UTF-8 text (line 1)"));
    assert!(error(with("\0")).contains("NUL byte (line 4)"));
    assert!(
        error("---\nname: x\ndescription: y\n---\n \n").contains("no text below its frontmatter")
    );
    assert!(error("---\nname: x\ndescription: y\n---").contains("no text below its frontmatter"));
    assert!(error("# Title\n").contains("first line must be `---`"));
    assert!(error("---\nname: x\ndescription: y\n").contains("never closed"));
    assert!(error(with("a: [\n")).contains("not valid YAML (line "));
}

#[test]
fn a_file_of_exactly_the_limit_is_read() {
    let mut text = with("");
    text.push_str(&"x".repeat(MAX_READ_BYTES as usize - text.len()));
    assert_eq!(parse(&text).name(), "alpha");
}

#[test]
fn brackets_in_the_body_do_not_count() {
    let text = with("") + &"[{".repeat(MAX_BRACKETS);
    assert_eq!(parse(&text).name(), "alpha");
    let bomb = with(&format!("x: {}\n", "[".repeat(MAX_BRACKETS + 1)));
    let wanted = SkillError::Frontmatter(FrontmatterError::TooComplex(Limit::Brackets));
    assert_eq!(SkillDocument::parse(bomb.as_bytes()).unwrap_err(), wanted);
}

/// Text made of what YAML gives a meaning to: far more likely to reach odd corners than any bytes.
fn yaml_like() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "a",
        "name",
        "description",
        ": ",
        ":",
        "\n",
        "\n  ",
        "\n- ",
        "- ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\"",
        "'",
        "|",
        ">",
        "|2-\n",
        "&a ",
        "*a",
        "!t ",
        "!!str ",
        "!",
        "#",
        " #",
        "---",
        "...",
        "%YAML 1.1\n",
        "\t",
        "\r\n",
        "\r",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "é",
        "技",
        "\\",
        "\\x41",
        "<<: ",
        "~",
        "1",
        "0x1f",
        ".inf",
        "true",
        "null",
        "  ",
        "=",
        "@",
        "`",
    ]);
    prop::collection::vec(token, 0..60).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_never_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = SkillDocument::parse(&bytes);
    }

    #[test]
    fn parsing_never_panics_on_what_looks_like_yaml(yaml in yaml_like()) {
        for text in [with(&yaml), format!("---\n{yaml}\n---\nbody"), yaml] {
            if let Err(error) = SkillDocument::parse(text.as_bytes()) {
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn a_valid_document_keeps_its_name_description_and_body(
        name in "[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}",
        description in "[A-Za-z][A-Za-z0-9,.;:'\"#()é技-]{0,12}( [A-Za-z0-9,.;:'\"#()é技-]{1,12}){0,8}",
        body in "[^\0]{0,80}[a-z][^\0]{0,80}",
        bom in any::<bool>(),
        crlf in any::<bool>(),
    ) {
        let quoted = serde_json::to_string(&description).unwrap();
        let end = if crlf { "\r\n" } else { "\n" };
        let bom = if bom { "\u{feff}" } else { "" };
        let text = format!("{bom}---{end}name: \"{name}\"{end}description: {quoted}{end}---{end}{body}");
        let skill = parse(&text);
        prop_assert_eq!(skill.name(), name);
        prop_assert_eq!(skill.description(), description);
        prop_assert_eq!(skill.body(), body);
    }

    #[test]
    fn an_unquoted_description_is_kept_but_for_a_comment(
        description in "[A-Za-z][A-Za-z0-9,.;:'\"()é-]{0,12}( [A-Za-z0-9,.;:'\"()é-]{1,12}){0,8}",
    ) {
        let plain = format!("---\nname: x\ndescription: {description}\n---\nbody");
        // A lone word such as `true` or `1e5` is another type, not a text.
        match SkillDocument::parse(plain.as_bytes()) {
            Ok(skill) => prop_assert_eq!(skill.description(), description),
            Err(error) => prop_assert!(matches!(error, SkillError::WrongType { .. } | SkillError::EmptyField { .. }), "{}", error),
        }
    }
}
