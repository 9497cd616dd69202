use super::*;
use crate::skill::SkillName;

fn file(text: &str) -> BundledFile {
    BundledFile {
        hash: Hash::of(text.as_bytes()),
        len: text.len() as u64,
        executable: false,
    }
}

fn bundled(text: &str) -> BundledSkill {
    BundledSkill {
        name: SkillName::try_from("foo").unwrap(),
        text: file(text),
        files: BTreeMap::new(),
        skipped: Vec::new(),
        left_out: std::collections::BTreeSet::new(),
    }
}

/// Which list of the report an outcome is in.
fn list(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Copied => "copied",
        Outcome::Updated => "updated",
        Outcome::Adopted => "adopted",
        Outcome::Repaired => "repaired",
        Outcome::Unchanged => "unchanged",
        Outcome::KeptUser => "kept_user",
        Outcome::DeletedByUser => "deleted_by_user",
        Outcome::Stale => "stale",
        Outcome::MergeNeeded(_) => "merge_needed",
        Outcome::MergeSkipped { .. } => "merge_skipped",
        Outcome::Failed(_) => "failed",
    }
}

fn records(texts: &[&str]) -> Vec<Option<Record>> {
    let hashes = || std::iter::once(None).chain(texts.iter().map(|t| Some(file(t).hash)));
    let statuses = [
        Status::Synced,
        Status::UserModified,
        Status::Merged,
        Status::DeletedByUser,
    ];
    let mut records = vec![None];
    for status in statuses {
        for origin in hashes() {
            for effective in hashes() {
                for stale in [false, true] {
                    records.push(Some(Record {
                        origin_hash: origin,
                        effective_hash: effective,
                        status: Some(status.clone()),
                        stale,
                        files: Some(BTreeMap::new()),
                        ..Record::default()
                    }));
                }
            }
        }
    }
    records
}

fn bases(texts: &[&str]) -> Vec<Base> {
    let hashed = texts.iter().map(|t| Base::Hashed(file(t).hash));
    [Base::Missing, Base::Sized(1), Base::Sized(99)]
        .into_iter()
        .chain(hashed)
        .collect()
}

fn users(texts: &[&str]) -> Vec<UserText> {
    let hashed = texts.iter().map(|t| UserText::Text(file(t).hash));
    let odd = [
        UserText::Absent,
        UserText::Blank(Hash::of(b" ")),
        UserText::TooLarge { bytes: 70_000 },
    ];
    odd.into_iter().chain(hashed).collect()
}

/// Every combination of record, file, base and bundle has one outcome; none loses an edit or brings a deletion
/// back; a second plan after the first came true has nothing to do.
#[test]
fn every_combination_of_record_file_base_and_bundle() {
    let texts = ["a", "b", "m", "u"];
    let no_files = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for bundle in ["a", "b"] {
        let bundled = bundled(bundle);
        for record in records(&texts) {
            for user in users(&texts) {
                for base in bases(&texts) {
                    let user = UserSkill {
                        text: user,
                        metadata: None,
                    };
                    let observed = Observed {
                        bundled: &bundled,
                        user: &user,
                        files: &no_files,
                        record: record.as_ref(),
                        base,
                        engine: EngineSetting::Auto,
                    };
                    let plan = plan_skill(&observed);
                    *seen.entry(list(&plan.outcome)).or_insert(0) += 1;
                    check(&observed, &plan);
                    check_at_rest(&observed, &plan);
                }
            }
        }
    }
    let all = [
        "adopted",
        "copied",
        "deleted_by_user",
        "failed",
        "kept_user",
        "merge_needed",
        "repaired",
        "unchanged",
        "updated",
    ];
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), all, "{seen:?}");
}

fn check(observed: &Observed<'_>, plan: &SkillPlan) {
    let text = plan.actions.get(&text_path());
    let origin = observed.record.and_then(|record| record.origin_hash);
    match (observed.user.text, text) {
        // Only what the firmware shipped before may be replaced, and what a cut left.
        (UserText::Text(user), Some(Action::Write { replaces, .. })) => {
            assert_eq!(*replaces, Some(user));
            assert_eq!(origin, Some(user));
        }
        (UserText::TooLarge { .. }, action) => assert!(action.is_none()),
        (UserText::Absent, Some(_)) => assert!(observed.record.is_none(), "a deletion came back"),
        _ => {}
    }
    if let Outcome::MergeNeeded(job) = &plan.outcome {
        let three_way = observed.base == origin.map_or(Base::Missing, Base::Hashed);
        assert_eq!(job.base_hash, origin.filter(|_| three_way));
        assert!(plan.actions.is_empty(), "queuing a job writes nothing");
    }
    // A base is written only with the text it stands for, or where the bundle still has it.
    if plan.write_base && text.is_none() {
        assert_eq!(origin, Some(observed.bundled.text.hash));
    }
}

/// What the next plan sees if all of this one came true.
fn check_at_rest(observed: &Observed<'_>, plan: &SkillPlan) {
    let bundled = observed.bundled;
    let record = plan
        .record
        .clone()
        .and_then(|record| record.settled("foo", |_| true, "now"));
    let text = match plan.actions.get(&text_path()) {
        Some(Action::Write { file, .. }) => UserText::Text(file.hash),
        _ => observed.user.text,
    };
    let user = UserSkill {
        text,
        metadata: None,
    };
    let base = if plan.write_base {
        Base::Hashed(bundled.text.hash)
    } else {
        observed.base
    };
    let again = plan_skill(&Observed {
        bundled,
        user: &user,
        files: observed.files,
        record: record.as_ref(),
        base,
        engine: observed.engine,
    });
    assert!(again.actions.is_empty(), "{plan:?} then {again:?}");
    assert_eq!(again.record, record, "{plan:?} then {again:?}");
    assert!(!again.write_base, "{plan:?} then {again:?}");
}
