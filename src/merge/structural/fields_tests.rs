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
            "    - touch_gesture\n    - \"read: file\"\n    - own\n",
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
fn a_list_of_which_everything_was_removed_is_empty() {
    assert_merged(
        &BASE.replace("[iOS, Android]", "[iOS]"),
        &BASE.replace("[iOS, Android]", "[Android]"),
        &BASE.replace("[iOS, Android]", "[]"),
    );
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
fn without_a_base_what_only_one_side_has_is_taken_and_lists_are_joined() {
    let upstream = "name: x\ndescription: One.\nallowed_tools: [a, b]\nlicense: MIT\n";
    let local = "name: x\ndescription: One.\nallowed_tools: [c]\nsource: me\n";
    let merged = merge(None, upstream, local);
    assert_eq!(
        merged.as_deref(),
        Ok("name: x\ndescription: One.\nallowed_tools: [a, b, c]\nlicense: MIT\nsource: me\n")
    );
    let other = upstream.replace("One.", "Two.");
    assert_eq!(merge(None, &other, local), Err(vec!["description".into()]));
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
