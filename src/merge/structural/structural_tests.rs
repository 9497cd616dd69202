use super::*;

const BASE: &str = "---\nname: foo\ndescription: A foo.\n---\n\n# Foo\n\nDo it.\n";

#[test]
fn frontmatter_and_body_are_merged_each_by_its_own_rules() {
    let upstream = BASE
        .replace("A foo.", "A better foo.")
        .replace("# Foo", "# The foo");
    let local = BASE
        .replace("Do it.", "Do it twice.")
        .replace("A foo.\n", "A foo.\nsource: me\n");
    let expected = "---\nname: foo\ndescription: A better foo.\nsource: me\n---\n\n# The foo\n\nDo it twice.\n";
    assert_eq!(
        merge_documents(Some(BASE), &upstream, &local).as_deref(),
        Ok(expected)
    );
}

#[test]
fn conflicts_of_both_parts_are_named_with_the_lines_of_the_local_file() {
    let upstream = BASE.replace("A foo.", "One.").replace("Do it.", "One.");
    let local = BASE.replace("A foo.", "Two.").replace("Do it.", "Two.");
    let conflicts = merge_documents(Some(BASE), &upstream, &local).unwrap_err();
    let told: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["description in the frontmatter", "line 8"]);
}

#[test]
fn line_endings_and_byte_order_mark_that_one_side_changed_stay_changed() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let upstream = BASE.replace("# Foo", "# The foo");
    let edited = BASE.replace("Do it.", "Do it twice.");
    let expected = windows(&upstream.replace("Do it.", "Do it twice."));
    let merged = merge_documents(Some(BASE), &upstream, &windows(&edited));
    assert_eq!(merged.as_deref(), Ok(expected.as_str()));
    let merged = merge_documents(Some(BASE), &windows(&upstream), &edited);
    assert_eq!(merged.as_deref(), Ok(expected.as_str()));
}

#[test]
fn texts_without_frontmatter_are_a_conflict() {
    let merged = merge_documents(Some(BASE), BASE, "No fence.\n");
    assert_eq!(merged, Err(vec![Conflict::NoFrontmatter]));
}

#[test]
fn a_fence_that_ends_the_file_gets_a_line_break_before_what_follows() {
    let base = "---\nname: foo\n---";
    let upstream = "---\nname: foo\n---\nMore.\n";
    let local = "---\nname: foo\nsource: me\n---";
    let merged = merge_documents(Some(base), upstream, local);
    assert_eq!(
        merged.as_deref(),
        Ok("---\nname: foo\nsource: me\n---\nMore.\n")
    );
}
