//! What `make install-tools` fetches for the tests.

use std::env;
use std::path::PathBuf;

/// A path in the cache outside the source tree; a missing one is a failure, never a reason to skip a test.
#[track_caller]
pub fn fetched(path: &str) -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").expect("HOME is set")).join(".cache");
    let caches = || env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    let ours = || caches().join("aiden-skills");
    let path = env::var_os("AIDEN_CACHE")
        .map_or_else(ours, PathBuf::from)
        .join(path);
    assert!(
        path.exists(),
        "{} is missing; run `make install-tools`",
        path.display()
    );
    path
}
