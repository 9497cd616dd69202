//! The time, for the ledger's time stamps. Nothing is decided by it: a board may boot in 1970.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Now, RFC 3339 in UTC, whole seconds.
#[must_use]
pub fn now() -> String {
    let now = OffsetDateTime::now_utc();
    let whole = now.replace_nanosecond(0).unwrap_or(now);
    whole
        .format(&Rfc3339)
        .unwrap_or_else(|_| "1970-01-01T00:00:00Z".into())
}
