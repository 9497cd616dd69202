//! The time, for the ledger's time stamps. Nothing is decided by it: a board may boot in 1970.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Now, RFC 3339 in UTC, whole seconds. A clock that shows no year of four digits, as one may that was never set, counts as
/// not set.
#[must_use]
pub fn now() -> String {
    at(SystemTime::now())
}

fn at(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = seconds.map_or(0, |since| since.as_secs());
    let whole = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    whole
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_else(|| "1970-01-01T00:00:00Z".into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_clock_is_too_wrong_to_be_read() {
        let after = |seconds| at(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(after(1_767_225_600), "2026-01-01T00:00:00Z");
        assert_eq!(after(253_402_300_799), "9999-12-31T23:59:59Z");
        assert_eq!(after(253_402_300_800), "1970-01-01T00:00:00Z");
        assert_eq!(after(i64::MAX.unsigned_abs()), "1970-01-01T00:00:00Z");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(5);
        assert_eq!(at(before), "1970-01-01T00:00:00Z");
    }
}
