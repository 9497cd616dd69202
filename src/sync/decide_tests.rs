use super::*;

fn hash(text: &str) -> Hash {
    Hash::of(text.as_bytes())
}

fn record(status: Status, origin: Option<&str>, effective: Option<&str>) -> Record {
    Record {
        origin_hash: origin.map(hash),
        effective_hash: effective.map(hash),
        status: Some(status),
        ..Record::default()
    }
}

#[test]
fn every_row_of_the_table() {
    use Decision::*;
    use Status::*;
    let text = |t: &str| UserText::Text(hash(t));
    let blank = UserText::Blank(hash(" "));
    let r = |status, origin, effective| Some(record(status, origin, effective));
    let stale = |mut record: Record| {
        record.stale = true;
        Some(record)
    };
    let large = UserText::TooLarge { bytes: 70_000 };
    let table = [
        // row, bundled, user, record, outcome
        (
            3,
            "b",
            UserText::Absent,
            r(DeletedByUser, Some("b"), None),
            StaysDeleted,
        ),
        (
            3,
            "b",
            blank,
            r(DeletedByUser, Some("a"), Some("a")),
            StaysDeleted,
        ),
        (4, "b", UserText::Absent, None, Copy),
        (
            5,
            "b",
            UserText::Absent,
            r(Synced, Some("b"), Some("b")),
            Deleted,
        ),
        (
            5,
            "b",
            UserText::Absent,
            r(UserModified, None, None),
            Deleted,
        ),
        (6, "b", blank, None, Repair),
        (6, "b", blank, r(Merged, Some("a"), Some("m")), Repair),
        (7, "b", text("b"), None, Adopt),
        (
            7,
            "b",
            text("b"),
            r(UserModified, Some("b"), Some("b")),
            Adopt,
        ),
        (7, "b", text("b"), r(Synced, Some("a"), Some("a")), Adopt),
        (7, "b", text("b"), r(Merged, Some("b"), Some("m")), Adopt),
        (7, "b", text("b"), r(UserModified, None, None), Adopt),
        (
            7,
            "b",
            text("b"),
            r(DeletedByUser, Some("b"), Some("b")),
            Adopt,
        ),
        (
            7,
            "b",
            text("b"),
            stale(record(Synced, Some("b"), Some("b"))),
            Adopt,
        ),
        (8, "b", text("u"), None, TwoWayMerge),
        (8, "b", text("u"), r(UserModified, None, None), TwoWayMerge),
        (
            9,
            "b",
            text("b"),
            r(Synced, Some("b"), Some("b")),
            Unchanged,
        ),
        (9, "b", text("b"), r(Synced, Some("b"), None), Unchanged),
        (
            9,
            "b",
            text("m"),
            r(Merged, Some("b"), Some("m")),
            Unchanged,
        ),
        (
            9,
            "b",
            text("m"),
            stale(record(Merged, Some("b"), Some("m"))),
            Unchanged,
        ),
        (10, "b", text("a"), r(Synced, Some("a"), Some("a")), Update),
        (10, "b", text("a"), r(Merged, Some("a"), Some("m")), Update),
        (
            10,
            "b",
            text("a"),
            r(DeletedByUser, Some("a"), None),
            Update,
        ),
        (8, "b", large, None, TwoWayMerge),
        (11, "b", large, r(Synced, Some("b"), Some("b")), KeepUser),
        (
            12,
            "b",
            large,
            r(Synced, Some("a"), Some("a")),
            ThreeWayMerge,
        ),
        (
            11,
            "b",
            text("u"),
            r(Synced, Some("b"), Some("b")),
            KeepUser,
        ),
        (
            11,
            "b",
            text("u"),
            r(Merged, Some("b"), Some("m")),
            KeepUser,
        ),
        (
            11,
            "b",
            text("u"),
            r(DeletedByUser, Some("b"), Some("b")),
            KeepUser,
        ),
        (
            12,
            "b",
            text("u"),
            r(UserModified, Some("a"), Some("a")),
            ThreeWayMerge,
        ),
        (
            12,
            "b",
            text("m"),
            r(Merged, Some("a"), Some("m")),
            ThreeWayMerge,
        ),
    ];
    for (row, bundled, user, record, expected) in table {
        let found = decide(hash(bundled), user, record.as_ref());
        assert_eq!(found, expected, "row {row}: {user:?} {record:?}");
    }
}

/// All combinations of record, file and bundle over a small set of texts.
#[test]
fn no_combination_loses_an_edit_or_brings_a_deletion_back() {
    let texts = ["a", "b", "m", "u"];
    let mut users = vec![
        UserText::Absent,
        UserText::Blank(hash("")),
        UserText::Blank(hash("\0")),
    ];
    users.push(UserText::TooLarge { bytes: 70_000 });
    users.extend(texts.iter().map(|text| UserText::Text(hash(text))));
    let mut hashes = vec![None];
    hashes.extend(texts.iter().map(|text| Some(*text)));
    let mut records = vec![None];
    for status in [
        Status::Synced,
        Status::UserModified,
        Status::Merged,
        Status::DeletedByUser,
        Status::Other("new".into()),
    ] {
        for origin in &hashes {
            for effective in &hashes {
                for stale in [false, true] {
                    let mut record = record(status.clone(), *origin, *effective);
                    record.stale = stale;
                    records.push(Some(record));
                }
            }
        }
    }
    let mut seen = std::collections::BTreeMap::new();
    for record in &records {
        for user in &users {
            for bundled in texts {
                let bundled = hash(bundled);
                let decision = decide(bundled, *user, record.as_ref());
                *seen.entry(format!("{decision:?}")).or_insert(0) += 1;
                let origin = record.as_ref().and_then(|record| record.origin_hash);
                let writes = matches!(
                    decision,
                    Decision::Copy | Decision::Repair | Decision::Update
                );
                if matches!(user, UserText::TooLarge { .. }) {
                    assert!(matches!(
                        decision,
                        Decision::KeepUser | Decision::TwoWayMerge | Decision::ThreeWayMerge
                    ));
                } else if let UserText::Text(user) = *user {
                    // Only a text that the firmware shipped may be replaced, and only by another one.
                    if writes {
                        assert_eq!(Some(user), origin);
                        assert_ne!(user, bundled);
                    }
                    if user == bundled {
                        assert!(matches!(decision, Decision::Adopt | Decision::Unchanged));
                    }
                    assert_ne!(decision, Decision::Deleted);
                } else if record.as_ref().is_some_and(|record| !record.has_no_text())
                    && *user == UserText::Absent
                {
                    assert!(!writes, "a deletion came back: {record:?}");
                }
                if record.as_ref().is_some_and(Record::is_deleted)
                    && matches!(user, UserText::Absent | UserText::Blank(_))
                {
                    assert_eq!(decision, Decision::StaysDeleted);
                }
                // The table has an answer of its own for a text that is neither side's.
                if let UserText::Text(user) = *user {
                    let ours = [
                        origin,
                        record.as_ref().and_then(Record::effective),
                        Some(bundled),
                    ];
                    if !ours.contains(&Some(user)) {
                        assert!(matches!(
                            decision,
                            Decision::KeepUser | Decision::TwoWayMerge | Decision::ThreeWayMerge
                        ));
                    }
                }
            }
        }
    }
    assert_eq!(seen.len(), 10, "every outcome is reached: {seen:?}");
}
