//! Identifiers, times and versions of the kit, and where new ones come from.

use std::fmt;
use std::io;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime, UtcOffset};

/// Digits of an identifier: 48 random bits.
pub(super) const DIGITS: usize = 12;

/// What an identifier names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An entry of the bank.
    Entry,
    /// An experience.
    Experience,
    /// An audit entry.
    Audit,
    /// A snapshot.
    Snapshot,
    /// A proposal.
    Proposal,
}

impl Kind {
    /// What its identifiers begin with.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Entry => "skl-",
            Self::Experience => "exp-",
            Self::Audit => "aud-",
            Self::Snapshot => "snap-",
            Self::Proposal => "prop-",
        }
    }

    /// Whether a text is such an identifier: the prefix and 12 lower-case hexadecimal digits.
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        text.strip_prefix(self.prefix()).is_some_and(is_digits)
    }
}

fn is_digits(text: &str) -> bool {
    let digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == DIGITS && text.bytes().all(digit)
}

/// Whether a text is a skill's identifier in the kit: `^[a-z0-9][a-z0-9._-]*$`.
#[must_use]
pub fn is_skill_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().next().is_some_and(plain)
        && text
            .bytes()
            .all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

/// A version of an entry or a manifest: three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u64, u64, u64);

impl Version {
    /// Of a new entry.
    pub const FIRST: Self = Self(0, 1, 0);

    /// Reads one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse().ok()).flatten()
        });
        let version = Self(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(version)
    }

    /// The next one after something was added or made shorter.
    #[must_use]
    pub fn patched(self) -> Self {
        Self(self.0, self.1, self.2.saturating_add(1))
    }

    /// The next one after something was corrected.
    #[must_use]
    pub fn superseded(self) -> Self {
        Self(self.0, self.1.saturating_add(1), 0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A time as the kit writes it: UTC, whole seconds, `Z` at the end. Their order as texts is that of the times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// Of this moment; years that have not four digits count as 1970.
    #[must_use]
    pub fn of(time: OffsetDateTime) -> Self {
        let whole = time.to_offset(UtcOffset::UTC).replace_nanosecond(0);
        let written = whole.ok().and_then(|time| time.format(&Rfc3339).ok());
        Self(written.unwrap_or_else(|| "1970-01-01T00:00:00Z".into()))
    }

    /// Of a text in RFC 3339, in whatever offset.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        OffsetDateTime::parse(text, &Rfc3339).ok().map(Self::of)
    }

    /// Whether a text is written as the kit wants it, and is a time that there is.
    #[must_use]
    pub fn is(text: &str) -> bool {
        Self::parse(text).is_some_and(|time| time.0 == text)
    }

    /// A second later.
    #[must_use]
    pub fn next(&self) -> Self {
        let time = OffsetDateTime::parse(&self.0, &Rfc3339).ok();
        let later = time.and_then(|time| time.checked_add(Duration::SECOND));
        later.map_or_else(|| self.clone(), Self::of)
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Where identifiers and times come from.
pub trait Sources {
    /// Now.
    fn now(&self) -> OffsetDateTime;

    /// Six bytes that were not had before.
    ///
    /// # Errors
    /// The kernel's.
    fn random(&self) -> io::Result<[u8; DIGITS / 2]>;
}

/// The system's clock and its random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemSources;

impl Sources for SystemSources {
    fn now(&self) -> OffsetDateTime {
        // A clock that was never set may show a year that has no date.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seconds = since
            .ok()
            .and_then(|since| i64::try_from(since.as_secs()).ok());
        let time = seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
        time.unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    fn random(&self) -> io::Result<[u8; DIGITS / 2]> {
        let mut bytes = [0; DIGITS / 2];
        getrandom::fill(&mut bytes)?;
        Ok(bytes)
    }
}

/// A new identifier.
///
/// # Errors
/// The kernel's.
pub(super) fn new_id(kind: Kind, sources: &dyn Sources) -> io::Result<String> {
    let mut id = kind.prefix().to_owned();
    for byte in sources.random()? {
        id.push_str(&format!("{byte:02x}"));
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_three_numbers_and_grow_as_the_kit_says() {
        let version = Version::parse("0.2.9").unwrap();
        assert_eq!(version.patched().to_string(), "0.2.10");
        assert_eq!(version.superseded().to_string(), "0.3.0");
        for wrong in [
            "", "1", "1.2", "1.2.3.4", "1.2.x", "1.-2.3", "1..3", "+1.2.3",
        ] {
            assert_eq!(Version::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_end_in_z_and_have_no_fractions() {
        let time = Timestamp::parse("2026-03-28T10:15:00.75+01:00").unwrap();
        assert_eq!(time.as_str(), "2026-03-28T09:15:00Z");
        assert_eq!(time.next().as_str(), "2026-03-28T09:15:01Z");
        assert!(Timestamp::is("2026-03-28T09:15:00Z"));
        for wrong in [
            "2026-03-28T09:15:00",
            "2026-03-28T09:15:00.5Z",
            "2026-02-30T09:15:00Z",
            "2026-03-28T09:15:00+00:00",
            "2026-03-28",
        ] {
            assert!(!Timestamp::is(wrong), "{wrong}");
        }
    }

    #[test]
    fn identifiers_have_their_prefix_and_twelve_digits() {
        assert!(Kind::Entry.is("skl-a1b2c3d4e5f6"));
        for wrong in [
            "skl-A1b2c3d4e5f6",
            "skl-a1b2c3",
            "exp-a1b2c3d4e5f6",
            "skl-a1b2c3d4e5fg",
        ] {
            assert!(!Kind::Entry.is(wrong), "{wrong}");
        }
        assert!(is_skill_id("web-scraper.skill"));
        for wrong in ["", "Bad Id", "-a", "é"] {
            assert!(!is_skill_id(wrong), "{wrong}");
        }
    }
}
