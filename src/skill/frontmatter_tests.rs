use super::*;

fn yaml_of(text: &str) -> &str {
    split(text).unwrap().yaml
}

fn get(yaml: &str, key: &str) -> String {
    match parse_yaml(yaml).unwrap().0.get(key) {
        Some(Value::String(text)) => text.clone(),
        other => panic!("{other:?}"),
    }
}

fn error(yaml: &str) -> String {
    let message = parse_yaml(yaml).unwrap_err().to_string();
    assert!(
        !message.chars().any(char::is_control) && message.len() < 300,
        "{message:?}"
    );
    message
}

#[test]
fn fences_are_found_in_every_dialect() {
    for (text, yaml, body) in [
        ("---\na: b\n---\nbody\n", "a: b\n", "body\n"),
        ("\u{feff}---\na: b\n---\nbody\n", "a: b\n", "body\n"),
        ("---\r\na: b\r\n---\r\nbody\r\n", "a: b\r\n", "body\r\n"),
        ("\u{feff}---\r\na: b\r\n---\r\nbody", "a: b\r\n", "body"),
        ("--- \t\na: b\n---  \nbody", "a: b\n", "body"),
        ("---\na: b\n---", "a: b\n", ""),
        ("---\n---\n", "", ""),
        (
            "---\na: b\n---\n\nbody\n---\nmore",
            "a: b\n",
            "\nbody\n---\nmore",
        ),
        (
            "---\na: |\n  ---\n  b\n---\nbody",
            "a: |\n  ---\n  b\n",
            "body",
        ),
        ("---\na: ---\n----\n---\nbody", "a: ---\n----\n", "body"),
    ] {
        let parts = split(text).unwrap();
        assert_eq!((parts.yaml, parts.body), (yaml, body), "{text:?}");
        assert_eq!(&text[parts.yaml_range.clone()], yaml);
        assert_eq!(&text[parts.body_range.clone()], body);
        assert_eq!(parts.has_bom, text.starts_with('\u{feff}'));
    }
}

#[test]
fn a_text_without_two_fences_is_refused() {
    for text in [
        "",
        "a",
        "\n---\na: b\n---\n",
        "\u{feff}\u{feff}---\n---\n",
        " ---\n---\n",
        "----\n---\n",
        "# x\n---\n---\n",
    ] {
        assert_eq!(
            split(text).unwrap_err(),
            FrontmatterError::Missing,
            "{text:?}"
        );
    }
    for text in [
        "---",
        "---\n",
        "---\na: b\n",
        "---\na: b\n ---\n",
        "---\na: b\n...\n",
        "---\na: b\n----\n",
    ] {
        assert_eq!(
            split(text).unwrap_err(),
            FrontmatterError::Unclosed,
            "{text:?}"
        );
    }
}

#[test]
fn every_style_of_scalar_is_read() {
    for yaml in [
        "d: One two three",
        "d: One\n  two\n  three\n",
        "d: One\r\n  two\r\n  three\r\n",
        "d:\n  One two\n  three\n",
        "d: >-\n  One\n  two three\n",
        "d: \"One two three\"\n",
        "d: 'One\n  two three'\n",
        "d: One two three # a comment: here\n",
    ] {
        assert_eq!(get(yaml, "d"), "One two three", "{yaml:?}");
        assert!(parse_yaml(yaml).unwrap().1.is_empty());
    }
}

#[test]
fn unquoted_colons_are_read_as_text_with_a_warning() {
    for (yaml, key, value, line) in [
        ("a: b\nd: Use when: a thing\n", "d", "Use when: a thing", 3),
        ("d: Triggers:\n", "d", "Triggers:", 2),
        (
            "d: it's so: 'quoted' # not a comment\n",
            "d",
            "it's so: 'quoted' # not a comment",
            2,
        ),
        (
            "d: one\n  two: three\n  four\nz: 1\n",
            "d",
            "one two: three four",
            2,
        ),
        ("d: one: two\n\n  three\n", "d", "one: two\nthree", 2),
        (
            "d:\n  Use this. When: now\n  and then\n",
            "d",
            "Use this. When: now and then",
            2,
        ),
        ("d: a: b\r\n  c\r\nn: x\r\n", "d", "a: b c", 2),
        ("d: a: b   \n", "d", "a: b", 2),
        ("d: \\n a: \"b\"\n", "d", "\\n a: \"b\"", 2),
        ("d : a: b\n", "d", "a: b", 2),
        ("d: a: b\n  # a comment\nn: x\n", "d", "a: b", 2),
        ("x: foo # n: o\nd: a: b", "x", "foo", 3),
        ("x: |\n  k: a: b\nd: a: b", "x", "k: a: b\n", 4),
        ("x: \"k: a:\n  l: m: n\"\nd: a: b", "x", "k: a: l: m: n", 4),
        ("d: 技能: 用\n", "d", "技能: 用", 2),
    ] {
        let (mapping, warnings) = parse_yaml(yaml).unwrap_or_else(|e| panic!("{yaml:?}: {e}"));
        assert_eq!(mapping.get(key), Some(&Value::from(value)), "{yaml:?}");
        assert_eq!(
            warnings,
            [Warning::UnquotedColon {
                key: "d".into(),
                line
            }],
            "{yaml:?}"
        );
        let message = warnings[0].to_string();
        assert!(
            message.contains("`d`") && message.contains(&format!("line {line}")),
            "{message}"
        );
    }
}

#[test]
fn nested_and_listed_unquoted_colons_are_repaired_too() {
    let yaml = "metadata:\n  note: a: b\n  openclaw: { x: [1] }\n  deep:\n    - k: c: d\n      l: e\n  json:\n    {\n      \"k\": { \"a\": 1 }\n    }\nz: q\n";
    let (mapping, warnings) = parse_yaml(yaml).unwrap();
    let metadata = mapping.get("metadata").unwrap();
    assert_eq!(metadata["note"], Value::from("a: b"));
    assert_eq!(metadata["deep"][0]["k"], Value::from("c: d"));
    assert_eq!(metadata["deep"][0]["l"], Value::from("e"));
    assert_eq!(metadata["json"]["k"]["a"], Value::from(1));
    let lines: Vec<_> = warnings
        .iter()
        .map(|Warning::UnquotedColon { key, line }| (key.as_str(), *line))
        .collect();
    assert_eq!(lines, [("note", 3), ("k", 6)]);
}

#[test]
fn where_repair_does_not_help_the_first_error_is_told() {
    // The colon in line 2 would be repaired; the bracket in line 4 stays wrong.
    let message = error("d: a: b\nn: x\nl: [1\n");
    assert!(
        message.contains("line 2: an unquoted value has a colon"),
        "{message}"
    );
}

#[test]
fn errors_carry_the_line_of_the_file() {
    for (yaml, line, what) in [
        ("a: b\n\tc: d\n", 3, ""),
        ("a:\n\t- b\n", 3, "tab"),
        ("a: b\na: c\n", 3, "duplicate key `a`"),
        ("m:\n  a: 1\n  b: 2\n  a: 3\n", 5, "duplicate key `a`"),
        ("a: b\n1: c\n", 3, "key is not a string"),
        ("a: [b\nc: d\n", 3, ""),
        ("a: b\nd: @x\n", 3, "reserves"),
        ("a: b\nd: `x`\n", 3, "reserves"),
        ("a: b\nd: \"x\n", 4, ""),
        ("a: \u{7}\n", 2, "not allowed"),
        ("a: b\nc: *d\n", 3, "unknown anchor"),
        ("a: b\n name: d\n", 3, ""),
        ("description: b\n  allowed_tools: [t]\n", 3, "colon"),
    ] {
        let message = error(yaml);
        assert!(
            message.contains(&format!("line {line}: ")) && message.contains(what),
            "{yaml:?}: {message}"
        );
    }
    assert!(error("a: b\n...\nc: d\n").contains("more than one YAML document"));
}

#[test]
fn only_a_mapping_is_a_frontmatter() {
    for yaml in ["- a\n", "just text\n", "3\n", "!x {a: b}\n"] {
        assert_eq!(
            parse_yaml(yaml).unwrap_err(),
            FrontmatterError::NotAMapping,
            "{yaml:?}"
        );
    }
    assert!(parse_yaml("").unwrap().0.is_empty());
    assert!(parse_yaml("# nothing\n").unwrap().0.is_empty());
}

#[test]
fn order_tags_and_large_numbers_survive() {
    let (mapping, _) =
        parse_yaml("z: 1\na: !t x\nm: 340282366920938463463374607431768211455\nb: null\n").unwrap();
    assert_eq!(
        mapping.keys().filter_map(Value::as_str).collect::<Vec<_>>(),
        ["z", "a", "m", "b"]
    );
    assert!(matches!(mapping.get("a"), Some(Value::Tagged(_))));
}

fn full(unit: &str) -> String {
    unit.repeat(MAX_READ_BYTES as usize / unit.len())
}

fn alias_bomb() -> String {
    let mut yaml = String::from("a0: &a0 [x,x,x,x,x,x]\n");
    for n in 1..42 {
        let alias = format!("*a{}", n - 1);
        yaml.push_str(&format!(
            "a{n}: &a{n} [{}]\n",
            [alias.as_str(); 9].join(",")
        ));
    }
    yaml
}

#[test]
fn an_alias_bomb_is_given_up_after_the_budget_of_values() {
    // 9^41 values if expanded.
    let yaml = alias_bomb();
    assert_eq!(
        parse_yaml(&yaml).unwrap_err(),
        FrontmatterError::TooComplex(Limit::Nodes)
    );
    let budget = Budget::new();
    let result = Node::root(&budget).deserialize(serde_yaml::Deserializer::from_str(&yaml));
    assert!(result.is_err() && budget.nodes_spent() <= MAX_NODES);

    let mut large = String::from("a: &a [ ");
    large.push_str(&"x,".repeat(20_000));
    large.push_str("]\nb: [*a, *a]\n");
    assert_eq!(
        parse_yaml(&large).unwrap_err(),
        FrontmatterError::TooComplex(Limit::Nodes)
    );
}

#[test]
fn a_large_text_repeated_by_aliases_is_given_up_after_the_budget_of_bytes() {
    let yaml = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(60_000),
        ["*a"; 1000].join(",")
    );
    assert_eq!(
        parse_yaml(&yaml).unwrap_err(),
        FrontmatterError::TooComplex(Limit::Bytes)
    );
}

#[test]
fn an_alias_to_itself_is_given_up() {
    assert!(matches!(
        parse_yaml("a: &a [*a]\n").unwrap_err(),
        FrontmatterError::TooComplex(_)
    ));
    assert!(matches!(
        parse_yaml("a: &a\n  b: *a\n").unwrap_err(),
        FrontmatterError::TooComplex(_)
    ));
}

#[test]
fn ten_thousand_levels_are_given_up_at_the_bound() {
    for (yaml, limit) in [
        (
            format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000)),
            Limit::Brackets,
        ),
        (format!("a: {}", "{a: ".repeat(10_000)), Limit::Brackets),
        (format!("a:\n  {}x", "- ".repeat(10_000)), Limit::Depth),
        (format!("a:\n  {}x", "? ".repeat(10_000)), Limit::Depth),
        (
            format!(
                "a: {}{}",
                "[".repeat(MAX_BRACKETS),
                "]".repeat(MAX_BRACKETS)
            ),
            Limit::Depth,
        ),
        (
            format!("a: {}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH)),
            Limit::Depth,
        ),
    ] {
        assert_eq!(
            parse_yaml(&yaml).unwrap_err(),
            FrontmatterError::TooComplex(limit),
            "{:.20}",
            yaml
        );
    }
    let deepest = MAX_DEPTH - 1;
    assert!(
        parse_yaml(&format!(
            "a: {}{}",
            "[".repeat(deepest),
            "]".repeat(deepest)
        ))
        .is_ok()
    );
}

/// No time is asserted, but without the bound on brackets this one test takes a minute.
#[test]
fn no_repeated_token_makes_the_scanner_slow() {
    for unit in [
        "[",
        "{",
        "{a: ",
        "[a, ",
        "[?",
        "[[],",
        "? ",
        "- ",
        "&a ",
        "!a ",
        "*a ",
        "\"",
        "'",
        "|\n",
        ">\n\n",
        "a: [\n",
        "a:\n",
        ": ",
        "a ",
        "\"a\" : ",
        "%TAG ! a:\n",
        "é: é ",
        "a: b: c\n",
        " ",
        "\n",
        "a: 'b\n",
        "- a: b: c\n",
    ] {
        for prefix in ["", "k: ", "k: [", "k:\n  "] {
            let _ = parse_yaml(&format!("{prefix}{}", full(unit)));
        }
    }
}

#[test]
fn a_frontmatter_up_to_the_file_limit_is_read_whole() {
    let mut text = String::from("---\n");
    for n in 0..5000 {
        text.push_str(&format!("k{n}: v\n"));
    }
    text.push_str("metadata:\n  last: here\n---\nbody");
    let (mapping, _) = parse_yaml(yaml_of(&text)).unwrap();
    assert_eq!(
        mapping.get("metadata").unwrap()["last"],
        Value::from("here")
    );
}
