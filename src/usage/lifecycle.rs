//! Ageing: skills that an agent made and nobody uses get stale, then archived (seed §18.10). Clocks of boards are often
//! wrong; a wrong one must age nothing.

use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::{STATE_CHANGED_AT, State, Usage};
use crate::store::{Filesystem, StoreError, layout, state_file};

/// A clock that shows an earlier year was not set.
const FIRST_YEAR: i32 = 2024;
/// The skills are looked at once in so many hours.
const SCAN_HOURS: i64 = 24;
/// A look that comes so long after the one before, or after none, ages nothing: the board was off, or its clock has jumped.
const LONGEST_GAP_DAYS: i64 = 31;
/// When a skill that nothing is known of was first seen: its clock starts then.
const FIRST_SEEN_AT: &str = "first_seen_at";

/// After how many days without use a skill ages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Ages {
    /// It is stale.
    pub stale_days: u32,
    /// It is archived.
    pub archive_days: u32,
}

impl Default for Ages {
    fn default() -> Self {
        Self {
            stale_days: 90,
            archive_days: 180,
        }
    }
}

/// `lifecycle_scan.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Scan {
    #[serde(skip_serializing_if = "Option::is_none")]
    last_evaluated_at: Option<String>,
}

/// What is to be done with the skills now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It was done today, or the clock is not set.
    None,
    /// To begin to count: nothing ages.
    First,
    /// What is old ages.
    Age,
}

/// What is due: the clock is set, and the last look is a day old, or of a time to come. One that can't be read is none.
#[must_use]
pub fn due(filesystem: &dyn Filesystem, now: &str) -> Look {
    let Some(now) = set_clock(now) else {
        return Look::None;
    };
    let scan = state_file::read(filesystem, layout::LIFECYCLE_SCAN);
    let scan = scan.ok().flatten();
    let scan: Option<Scan> = scan.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let last = scan.and_then(|scan| parse(&scan.last_evaluated_at?));
    match last.map(|last| now - last) {
        Some(gap) if gap.is_negative() || gap > Duration::days(LONGEST_GAP_DAYS) => Look::First,
        Some(gap) if gap < Duration::hours(SCAN_HOURS) => Look::None,
        Some(_) => Look::Age,
        None => Look::First,
    }
}

/// Notes that the skills were looked at.
///
/// # Errors
/// The kernel's.
pub fn note_scan(lock: &crate::store::WriteLock<'_>, now: &str) -> Result<(), StoreError> {
    let scan = Scan {
        last_evaluated_at: Some(now.to_owned()),
    };
    let mut bytes = serde_json::to_vec(&scan).unwrap_or_default();
    bytes.push(b'\n');
    state_file::write(lock, layout::LIFECYCLE_SCAN, &bytes, false)
}

impl Usage {
    /// Notes which of the skills `names`, which an agent made, are new; with `ages`, ages the others. Says whether anything
    /// changed.
    pub fn age<'n>(
        &mut self,
        names: impl IntoIterator<Item = &'n str>,
        ages: Option<Ages>,
        now: &str,
    ) -> bool {
        let Some(clock) = set_clock(now) else {
            return false;
        };
        let mut changed = false;
        for name in names {
            let Some(last) = self.last_activity(name) else {
                self.set(name, FIRST_SEEN_AT, now.into());
                changed = true;
                continue;
            };
            let Some(ages) = ages else { continue };
            if last > clock {
                // The clock was ahead then, or is behind now.
                continue;
            }
            let days = (clock - last).whole_days();
            let state = if days >= i64::from(ages.archive_days) {
                State::Archived
            } else if days >= i64::from(ages.stale_days) {
                State::Stale
            } else {
                continue;
            };
            if state > self.lifecycle(name) {
                changed |= self.set_lifecycle(name, state, now);
            }
        }
        changed
    }

    /// Whether a time of a skill is recorded that is later than `now`.
    pub(super) fn was_later(&self, name: &str, field: &str, now: &str) -> bool {
        let recorded = self
            .entries
            .get(name)
            .and_then(|entry| entry.get(field)?.as_str());
        let times = recorded.and_then(parse).zip(parse(now));
        times.is_some_and(|(recorded, now)| recorded > now)
    }

    /// When a skill was last read, used or changed, first seen, or made active by hand.
    fn last_activity(&self, name: &str) -> Option<OffsetDateTime> {
        let entry = self.entries.get(name)?;
        let field = |field: &str| entry.get(field)?.as_str();
        let restored = field(STATE_CHANGED_AT).filter(|_| self.is_active(name));
        let others = [field(FIRST_SEEN_AT), restored].into_iter().flatten();
        self.times(name).chain(others).filter_map(parse).max()
    }
}

fn parse(time: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(time, &Rfc3339).ok()
}

/// The time, if the clock was set.
fn set_clock(now: &str) -> Option<OffsetDateTime> {
    parse(now).filter(|now| now.year() >= FIRST_YEAR)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::usage::Counter;

    const AGES: Ages = Ages {
        stale_days: 90,
        archive_days: 180,
    };

    fn aged(entry: Value, now: &str) -> (State, bool) {
        let mut usage = Usage::of(json!({"foo": entry}));
        let changed = usage.age(["foo"], Some(AGES), now);
        (usage.lifecycle("foo"), changed)
    }

    #[test]
    fn age_counts_from_the_latest_of_all_times() {
        let used = |at: &str| json!({"last_viewed_at": "2026-01-01T00:00:00Z", "last_used_at": at});
        for (at, state) in [
            ("2026-06-01T00:00:00+08:00", State::Active),
            ("2026-03-04T00:00:00Z", State::Active),
            ("2026-03-03T00:00:00Z", State::Stale),
            ("2025-12-03T00:00:00Z", State::Stale),
        ] {
            assert_eq!(aged(used(at), "2026-06-01T00:00:00Z").0, state, "{at}");
        }
        let old = json!({"last_used_at": "2025-12-03T00:00:00Z"});
        assert_eq!(aged(old, "2026-06-01T00:00:00Z").0, State::Archived);
    }

    #[test]
    fn a_wrong_clock_ages_nothing() {
        let entry = json!({"last_used_at": "2025-01-01T00:00:00Z"});
        for now in [
            "1970-01-01T00:00:00Z",
            "2023-12-31T23:59:59Z",
            "2024-12-31T00:00:00Z",
            "soon",
        ] {
            assert_eq!(aged(entry.clone(), now), (State::Active, false), "{now}");
        }
    }

    #[test]
    fn a_clock_that_is_behind_moves_no_time_back() {
        let mut usage = Usage::of(json!({"foo": {"last_used_at": "2026-01-01T00:00:00Z"}}));
        usage.count("foo", Counter::Use, "1970-01-01T00:00:00Z");
        assert_eq!(usage.entries["foo"]["last_used_at"], "2026-01-01T00:00:00Z");
        assert_eq!(usage.counts("foo").uses, 1);
    }

    #[test]
    fn a_state_that_was_set_by_hand_is_not_undone_by_age() {
        let archived = json!({"state": "archived", "last_used_at": "2026-02-01T00:00:00Z"});
        assert_eq!(
            aged(archived, "2026-06-01T00:00:00Z"),
            (State::Archived, false)
        );
        let restored = json!({
            "state": "active", "state_changed_at": "2026-05-31T00:00:00Z", "last_used_at": "2020-01-01T00:00:00Z"
        });
        assert_eq!(aged(restored, "2026-06-01T00:00:00Z").0, State::Active);
    }

    #[test]
    fn the_clock_of_a_skill_that_nothing_is_known_of_starts_at_first_sight() {
        let mut usage = Usage::default();
        assert!(usage.age(["foo"], Some(AGES), "2026-01-01T00:00:00Z"));
        assert!(!usage.age(["foo"], Some(AGES), "2026-02-01T00:00:00Z"));
        assert!(usage.age(["foo"], Some(AGES), "2026-04-02T00:00:00Z"));
        assert_eq!(usage.lifecycle("foo"), State::Stale);
    }
}
