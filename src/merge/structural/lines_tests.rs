use super::*;

const BASE: &str = "# Steps\n\n1. Open the settings.\n2. Tap Save.\n3. Wait.\n\nThe end.\n";

fn merged(upstream: &str, local: &str) -> Result<String, Vec<LineConflict>> {
    merge_lines(BASE, upstream, local)
}

#[track_caller]
fn assert_merged(upstream: &str, local: &str, expected: &str) {
    assert_eq!(merged(upstream, local).as_deref(), Ok(expected));
    assert_eq!(
        merged(local, upstream).as_deref(),
        Ok(expected),
        "the other way round"
    );
}

#[test]
fn changes_in_different_places_are_both_taken() {
    assert_merged(
        &BASE.replace("The end.", "The very end."),
        &BASE.replace("# Steps", "# My steps"),
        &BASE
            .replace("The end.", "The very end.")
            .replace("# Steps", "# My steps"),
    );
}

#[test]
fn the_same_change_on_both_sides_is_one() {
    let changed = BASE.replace("Wait.", "Wait a second.");
    assert_merged(&changed, &changed, &changed);
}

#[test]
fn changes_of_neighbouring_lines_are_both_taken() {
    assert_merged(
        &BASE.replace("Tap Save.", "Tap Store."),
        &BASE.replace("Wait.", "Wait a second."),
        &BASE
            .replace("Tap Save.", "Tap Store.")
            .replace("Wait.", "Wait a second."),
    );
}

/// Each side changed another line beside it, too.
#[test]
fn a_change_that_both_sides_made_among_others_is_one() {
    let shared = BASE.replace("Tap Save.", "Tap Store.");
    let upstream = shared.replace("Open the settings.", "Open Settings.");
    let local = shared.replace("Wait.", "Wait a second.");
    let all = local.replace("Open the settings.", "Open Settings.");
    assert_merged(&upstream, &local, &all);
}

#[test]
fn a_line_inserted_beside_a_changed_one_is_kept_there() {
    assert_merged(
        &BASE.replace("Tap Save.", "Tap Store."),
        &BASE.replace("2. Tap Save.\n", "2. Tap Save.\n   - Gently.\n"),
        &BASE.replace("2. Tap Save.\n", "2. Tap Store.\n   - Gently.\n"),
    );
}

#[test]
fn a_line_inserted_beside_a_removed_one_is_a_conflict() {
    let removed = BASE.replace("2. Tap Save.\n", "");
    let inserted = BASE.replace("2. Tap Save.\n", "2. Tap Save.\n   - Gently.\n");
    assert!(merged(&removed, &inserted).is_err());
}

#[test]
fn different_changes_of_one_line_are_a_conflict_that_names_it() {
    let conflicts = merged(
        &BASE.replace("Wait.", "Wait a second."),
        &BASE.replace("Wait.", "Wait a minute."),
    );
    let expected = LineConflict {
        line: 5,
        base: "3. Wait.\n".into(),
        upstream: "3. Wait a second.\n".into(),
        local: "3. Wait a minute.\n".into(),
    };
    assert_eq!(conflicts, Err(vec![expected]));
}

#[test]
fn two_insertions_at_one_place_are_a_conflict() {
    let more = |line: &str| BASE.replace("3. Wait.\n", &format!("3. Wait.\n{line}\n"));
    assert!(merged(&more("Then this."), &more("Then that.")).is_err());
}

#[test]
fn white_space_gives_way_to_words() {
    assert_merged(
        &BASE.replace("3. Wait.\n", "3. Wait a second.\n"),
        &BASE.replace("3. Wait.\n\n", "3. Wait.  \n\n\n"),
        &BASE.replace("3. Wait.\n", "3. Wait a second.\n"),
    );
}

#[test]
fn a_renumbered_list_is_no_conflict_with_a_changed_item() {
    let renumbered = BASE.replace(
        "2. Tap Save.\n3. Wait.\n",
        "2. Look twice.\n3. Tap Save.\n4. Wait.\n",
    );
    let reworded = BASE.replace("3. Wait.", "3. Wait a second.");
    let expected = renumbered.replace("4. Wait.", "4. Wait a second.");
    assert_merged(&reworded, &renumbered, &expected);
}

#[test]
fn steps_added_on_both_sides_are_counted_on() {
    let upstream = BASE.replace(
        "1. Open the settings.\n2. Tap Save.\n3. Wait.\n",
        "1. Unlock.\n2. Open the settings.\n3. Tap Save.\n4. Wait.\n",
    );
    let local = BASE.replace(
        "2. Tap Save.\n3. Wait.\n",
        "2. Look twice.\n3. Tap Save.\n4. Wait.\n",
    );
    let expected = BASE.replace(
        "1. Open the settings.\n2. Tap Save.\n3. Wait.\n",
        "1. Unlock.\n2. Open the settings.\n3. Look twice.\n4. Tap Save.\n5. Wait.\n",
    );
    assert_merged(&upstream, &local, &expected);
}

#[test]
fn a_text_without_a_last_line_break_keeps_to_that() {
    assert_eq!(
        merge_lines("a\nb\nc", "a\nb\nc", "x\nb\nc").as_deref(),
        Ok("x\nb\nc")
    );
    assert_eq!(
        merge_lines("a\nb\nc", "a\nb\nC", "x\nb\nc").as_deref(),
        Ok("x\nb\nC")
    );
}

#[test]
fn empty_texts_are_texts() {
    assert_eq!(merge_lines("", "", "").as_deref(), Ok(""));
    assert_eq!(merge_lines("", "a\n", "").as_deref(), Ok("a\n"));
    assert_eq!(merge_lines("a\n", "", "a\n").as_deref(), Ok(""));
}

#[track_caller]
fn assert_conflict(base: &str, upstream: &str, local: &str) {
    assert!(
        merge_lines(base, upstream, local).is_err(),
        "{:?}",
        merge_lines(base, upstream, local)
    );
    assert!(
        merge_lines(base, local, upstream).is_err(),
        "the other way round"
    );
}

#[test]
fn a_line_that_both_sides_added_is_not_there_twice() {
    assert_conflict(
        "- a\n- go\n",
        "- a\n- open\n- go\n",
        "- a\n- open\n- go now\n",
    );
    assert_conflict(
        "- a\n- go\n",
        "- a\n- open\n- go\n",
        "- a now\n- open\n- go\n",
    );
}

#[test]
fn a_line_inserted_into_what_the_other_side_rewrote_is_a_conflict() {
    assert_conflict(
        "mount /x\nrm -r /x/tmp\n",
        "mount /x\ncd /x\nrm -r /x/tmp\n",
        "mount /y && cd /y\nrm -r tmp\n",
    );
}

#[test]
fn blank_lines_beside_a_changed_line_are_kept() {
    let merged = merge_lines("a\nb\nc\n", "a2\nb\nc\n", "a\n\nb\nc\n");
    assert_eq!(merged.as_deref(), Ok("a2\n\nb\nc\n"));
}

#[test]
fn a_number_that_both_sides_changed_and_nothing_counts_is_a_conflict() {
    assert_conflict("10. seconds\n", "20. seconds\n", "30. seconds\n");
}

#[test]
fn numbers_that_nothing_counts_are_text() {
    let fenced = |lines: &str| format!("```\n{lines}```\n");
    assert_conflict(
        &fenced("1. a\n2. b\n3. c\n"),
        &fenced("1. new\n2. a\n3. b\n4. c\n"),
        &fenced("1. a\n2. b mine\n3. c\n"),
    );
    assert_conflict(
        "1. a\n2. b\n3. c\n\nText.\n\n1. x\n1. y\n",
        "1. new\n2. a\n3. b\n4. c\n\nText.\n\n1. x\n1. y\n",
        "1. a\n2. b mine\n3. c\n\nText.\n\n1. x\n1. y\n",
    );
}
