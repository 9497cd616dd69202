use super::*;

const BASE: &str = "\
name: planner
# What it is for
description: Plan the day. # short
metadata:
  device_types: [iOS, Android]
  allowed_tools:
    - screenshot
    - touch_gesture
  version: \"1\"
license: MIT
";

fn merge(base: Option<&str>, upstream: &str, local: &str) -> Result<String, Vec<String>> {
    merge_frontmatter(Frontmatters {
        base,
        upstream,
        local,
    })
}

#[track_caller]
fn assert_merged(upstream: &str, local: &str, expected: &str) {
    assert_eq!(merge(Some(BASE), upstream, local).as_deref(), Ok(expected));
}

#[track_caller]
fn assert_conflict(upstream: &str, local: &str, fields: &[&str]) {
    let conflicts = merge(Some(BASE), upstream, local).unwrap_err();
    assert_eq!(conflicts, fields);
}

#[test]
fn changes_of_different_keys_are_both_taken_and_all_else_stays_as_it_was_written() {
    assert_merged(
        &BASE.replace("version: \"1\"", "version: \"2\""),
        &BASE.replace("Plan the day.", "Plan my day."),
        &BASE
            .replace("version: \"1\"", "version: \"2\"")
            .replace("Plan the day.", "Plan my day."),
    );
}

#[test]
fn a_value_of_one_side_keeps_the_comments_and_the_quoting_of_the_other() {
    assert_merged(
        &BASE.replace("Plan the day.", "Plan the whole day."),
        &BASE
            .replace("# What it is for", "# Mine")
            .replace("# short", "# very short"),
        &BASE
            .replace("Plan the day.", "Plan the whole day.")
            .replace("# What it is for", "# Mine")
            .replace("# short", "# very short"),
    );
    assert_merged(
        &BASE.replace("license: MIT", "license: Apache-2.0"),
        &BASE.replace("Plan the day.", "'Plan the day.'"),
        &BASE
            .replace("license: MIT", "license: Apache-2.0")
            .replace("Plan the day.", "'Plan the day.'"),
    );
}

#[test]
fn lists_are_sets_whose_order_is_the_local_sides() {
    assert_merged(
        &BASE.replace(
            "    - touch_gesture\n",
            "    - press_key # new\n    - touch_gesture\n",
        ),
        &BASE.replace(
            "    - screenshot\n",
            "    - \"sc reen\"\n    - screenshot\n",
        ),
        &BASE.replace(
            "    - screenshot\n    - touch_gesture\n",
            "    - \"sc reen\"\n    - screenshot\n    - press_key # new\n    - touch_gesture\n",
        ),
    );
    assert_merged(
        &BASE.replace("[iOS, Android]", "[iOS, Android, linux]"),
        &BASE.replace("[iOS, Android]", "[Android] # no iOS here"),
        &BASE.replace("[iOS, Android]", "[Android, linux] # no iOS here"),
    );
}

#[test]
fn lists_in_different_styles_are_written_in_the_local_one() {
    assert_merged(
        &BASE.replace(
            "  allowed_tools:\n    - screenshot\n    - touch_gesture\n",
            "  allowed_tools: [screenshot, touch_gesture, 'read: file']\n",
        ),
        &BASE.replace("    - touch_gesture\n", "    - touch_gesture\n    - own\n"),
        &BASE.replace(
            "    - touch_gesture\n",
            "    - touch_gesture\n    - 'read: file'\n    - own\n",
        ),
    );
}

#[test]
fn tools_in_one_text_are_a_list_too() {
    let base = "allowed-tools: Bash(git add:*) Read\n";
    let upstream = "allowed-tools: Bash(git add:*) Read Write\n";
    let local = "allowed-tools: Read Grep\n";
    let merged = merge(Some(base), upstream, local);
    assert_eq!(merged.as_deref(), Ok("allowed-tools: Read Write Grep\n"));
}

#[test]
fn a_list_that_restricts_the_skill_does_not_get_empty() {
    let upstream = BASE.replace("[iOS, Android]", "[iOS]");
    let local = BASE.replace("[iOS, Android]", "[Android]");
    assert_conflict(&upstream, &local, &["metadata.device_types"]);
}

#[test]
fn the_order_of_a_list_that_is_no_set_is_not_made_up() {
    for (base, upstream, local) in [
        (
            "[--retry, 3, --timeout, 5]",
            "[--retry, 3, --timeout, 10]",
            "[--retry, 10, --timeout, 5]",
        ),
        ("[up, down]", "[up, down, left]", "[up, up, down, down]"),
        (
            "[open, tap, close]",
            "[open, close, tap, wait]",
            "[open, swipe, tap, close]",
        ),
    ] {
        let [base, upstream, local] = [base, upstream, local].map(|list| format!("args: {list}\n"));
        assert_eq!(
            merge(Some(&base), &upstream, &local),
            Err(vec!["args".into()])
        );
    }
    let merged = merge(
        Some("tags: [a, b]\n"),
        "tags: [a, b, c]\n",
        "tags: [own, a, b]\n",
    );
    assert_eq!(merged.as_deref(), Ok("tags: [own, a, b, c]\n"));
}

#[test]
fn remarks_of_the_user_stay_where_the_firmware_changes_a_list_or_a_mapping() {
    assert_merged(
        &BASE.replace("    - touch_gesture\n", "    - touch_gesture\n    - press_key\n"),
        &BASE.replace(
            "    - screenshot\n    - touch_gesture\n",
            "    - screenshot # to look\n    # careful\n    - touch_gesture\n  # my note\n",
        ),
        &BASE.replace(
            "    - screenshot\n    - touch_gesture\n",
            "    - screenshot # to look\n    # careful\n    - touch_gesture\n    - press_key\n  # my note\n",
        ),
    );
}

#[test]
fn a_remark_of_the_user_that_would_have_no_place_is_a_conflict() {
    let removed = BASE.replace("license: MIT\n", "");
    let remarked = BASE.replace("license: MIT\n", "# not mine\nlicense: MIT\n");
    assert_conflict(&removed, &remarked, &["license"]);
    let base = "t:\n- a\n- b\n";
    let flow = "t: [a, # first\n  b]\n";
    assert_eq!(
        merge(Some(base), "t:\n- a\n- b\n- c\n", flow),
        Err(vec!["t".into()])
    );
}

#[test]
fn versions_are_what_is_written() {
    let version = |text: &str| format!("version: {text}\n");
    let merged = merge(Some(&version("1.9")), &version("1.10"), &version("1.1"));
    assert_eq!(merged, Err(vec!["version".into()]));
    let merged = merge(Some(&version("1.1")), &version("1.10"), &version("1.1"));
    assert_eq!(merged, Ok(version("1.10")));
}

#[test]
fn quotes_stay_where_styles_of_lists_differ() {
    let base = "tags: [a]\n";
    let merged = merge(Some(base), "tags:\n- a\n- \"010\"\n", "tags: [a, own]\n");
    assert_eq!(merged.as_deref(), Ok("tags: [a, \"010\", own]\n"));
}

#[test]
fn new_keys_of_both_sides_are_taken_beside_their_neighbours() {
    assert_merged(
        &BASE.replace(
            "license: MIT\n",
            "# since 2\ncompatibility: new boards\nlicense: MIT\n",
        ),
        &BASE.replace("metadata:\n", "source: me\nmetadata:\n  own: 1\n"),
        &BASE
            .replace(
                "license: MIT\n",
                "# since 2\ncompatibility: new boards\nlicense: MIT\n",
            )
            .replace("metadata:\n", "source: me\nmetadata:\n  own: 1\n"),
    );
}

#[test]
fn a_key_that_one_side_removed_is_gone_unless_the_other_changed_it() {
    let without = BASE.replace("license: MIT\n", "");
    let other = BASE.replace("Plan the day.", "Plan my day.");
    assert_merged(&without, &other, &other.replace("license: MIT\n", ""));
    assert_merged(&other, &without, &other.replace("license: MIT\n", ""));
    let changed = BASE.replace("license: MIT", "license: own");
    assert_conflict(&without, &changed, &["license"]);
    assert_conflict(&changed, &without, &["license"]);
}

#[test]
fn different_changes_of_one_value_are_a_conflict_that_names_its_path() {
    assert_conflict(
        &BASE
            .replace("Plan the day.", "Plan a day.")
            .replace("version: \"1\"", "version: \"2\""),
        &BASE
            .replace("Plan the day.", "Plan my day.")
            .replace("version: \"1\"", "version: \"1b\""),
        &["description", "metadata.version"],
    );
}

#[test]
fn the_same_value_written_otherwise_is_no_change_of_it() {
    assert_merged(
        &BASE.replace(
            "description: Plan the day. # short",
            "description: >-\n  Plan\n  the day.",
        ),
        &BASE.replace("Plan the day.", "Plan my day."),
        &BASE.replace("Plan the day.", "Plan my day."),
    );
}

#[test]
fn a_mapping_that_is_indented_otherwise_is_merged_in_the_local_indentation() {
    let upstream = BASE.replace("\n  ", "\n    ").replace(
        "version: \"1\"\n",
        "version: \"1\"\n    more:\n      deep: 1\n",
    );
    let local = BASE.replace("version: \"1\"", "version: \"1b\"");
    let expected = local.replace(
        "version: \"1b\"\n",
        "version: \"1b\"\n  more:\n    deep: 1\n",
    );
    assert_merged(&upstream, &local, &expected);
}

#[test]
fn without_a_base_what_only_one_side_has_is_taken() {
    let upstream = "name: x\ndescription: One.\nlicense: MIT\n";
    let local = "name: x\ndescription: One.\nsource: me\n";
    let merged = merge(None, upstream, local);
    let expected = "name: x\ndescription: One.\nlicense: MIT\nsource: me\n";
    assert_eq!(merged.as_deref(), Ok(expected));
    let other = upstream.replace("One.", "Two.");
    assert_eq!(merge(None, &other, local), Err(vec!["description".into()]));
}

#[test]
fn without_a_base_no_restriction_is_widened() {
    let tools = |list: &str| format!("allowed_tools: {list}\n");
    let merged = merge(None, &tools("[a, bash]"), &tools("[a]"));
    assert_eq!(merged, Err(vec!["allowed_tools".into()]));
}

#[test]
fn what_cannot_be_merged_key_by_key_is_taken_if_one_side_left_it_alone() {
    let odd = "{name: x, description: One.}\n";
    let changed = "name: x\ndescription: Two.\n";
    assert_eq!(merge(Some(odd), changed, odd).as_deref(), Ok(changed));
    assert_eq!(merge(Some(odd), odd, changed).as_deref(), Ok(changed));
    let other = "name: x\ndescription: One.\nlicense: MIT\n";
    assert_eq!(
        merge(Some(odd), changed, other),
        Err(vec!["frontmatter".into()])
    );
}
