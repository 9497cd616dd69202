//! Counting: reads, uses and changes of a skill, and its lifecycle state (seed §18.9).

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{STATE, STATE_CHANGED_AT, Usage, count};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// `skill_read`.
    View,
    /// `skill_mark_used`.
    Use,
    /// `skill_manage`, where it changed something.
    Modify,
}

impl Counter {
    const ALL: [Self; 3] = [Self::View, Self::Use, Self::Modify];

    fn count_field(self) -> &'static str {
        match self {
            Self::View => "view_count",
            Self::Use => "use_count",
            Self::Modify => "modify_count",
        }
    }

    fn time_field(self) -> &'static str {
        match self {
            Self::View => "last_viewed_at",
            Self::Use => "last_used_at",
            Self::Modify => "last_modified_at",
        }
    }
}

/// The lifecycle state of a skill (seed §18.10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// In use.
    #[default]
    Active,
    /// Perhaps outdated; still usable.
    Stale,
    /// Not listed unless asked for.
    Archived,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Active, Self::Stale, Self::Archived];

    /// The word in `usage.json` and in the tools.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Stale => "stale",
            Self::Archived => "archived",
        }
    }
}

impl std::str::FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == text);
        known.ok_or_else(|| format!("there is no state {text:?}: use active, stale or archived"))
    }
}

/// How often a skill was read, used and changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads.
    pub views: u64,
    /// Uses.
    pub uses: u64,
    /// Changes.
    pub changes: u64,
}

impl Usage {
    /// Counts one more, at the time `now` (RFC 3339). A clock that is behind moves no time back.
    pub fn count(&mut self, name: &str, counter: Counter, now: &str) {
        self.count_times(name, counter, 1, now);
    }

    /// As [`Self::count`], so many times, the last of them at the time `now`.
    pub fn count_times(&mut self, name: &str, counter: Counter, times: u64, now: &str) {
        let entry = self.entries.get(name);
        let before = entry.map_or(0, |entry| count(entry, counter.count_field()));
        let after = before.saturating_add(times);
        self.set(name, counter.count_field(), json!(after));
        if !self.was_later(name, counter.time_field(), now) {
            self.set(name, counter.time_field(), json!(now));
        }
    }

    /// The counters of a skill.
    #[must_use]
    pub fn counts(&self, name: &str) -> Counts {
        let of = |counter: Counter| {
            self.entries
                .get(name)
                .map_or(0, |entry| count(entry, counter.count_field()))
        };
        Counts {
            views: of(Counter::View),
            uses: of(Counter::Use),
            changes: of(Counter::Modify),
        }
    }

    /// When something was last counted, as it stands there; `None` if never.
    #[must_use]
    pub fn last(&self, name: &str, counter: Counter) -> Option<&str> {
        self.entries.get(name)?.get(counter.time_field())?.as_str()
    }

    /// All times of a skill, as they stand there.
    pub fn times(&self, name: &str) -> impl Iterator<Item = &str> {
        Counter::ALL
            .into_iter()
            .filter_map(|counter| self.last(name, counter))
    }

    /// The lifecycle state of a skill; a word of another version counts as active.
    #[must_use]
    pub fn lifecycle(&self, name: &str) -> State {
        let state = self
            .entries
            .get(name)
            .and_then(|entry| entry.get(STATE)?.as_str());
        state
            .and_then(|state| state.parse().ok())
            .unwrap_or_default()
    }

    /// Sets the lifecycle state of a skill; says whether it was another one.
    pub fn set_lifecycle(&mut self, name: &str, state: State, now: &str) -> bool {
        if self.lifecycle(name) == state {
            return false;
        }
        self.set(name, STATE, json!(state.as_str()));
        self.set(name, STATE_CHANGED_AT, json!(now));
        true
    }

    /// Forgets a skill.
    pub fn forget(&mut self, name: &str) {
        self.entries.remove(name);
    }

    /// Sets a field of a skill's entry; an entry of another shape makes room for a new one.
    pub(super) fn set(&mut self, name: &str, field: &str, value: Value) {
        match self.entries.get_mut(name) {
            Some(Value::Object(entry)) => {
                entry.insert(field.into(), value);
            }
            _ => {
                let entry = Map::from_iter([(field.to_owned(), value)]);
                self.entries.insert(name.to_owned(), Value::Object(entry));
            }
        }
    }
}
