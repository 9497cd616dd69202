//! Where things lie beneath the config dir (contract §1).

use super::path::RelPath;

/// The library: the only place the agent loads skills from.
pub const LIBRARY: &str = "skills";
/// The state dir.
pub const STATE: &str = "skill-state";
/// The ledger's name in the state dir.
pub const LEDGER: &str = ".bundled_manifest.json";
/// The usage counters' name in the state dir.
pub const USAGE: &str = "usage.json";
/// When the lifecycle of the skills was last looked at.
pub const LIFECYCLE_SCAN: &str = "lifecycle_scan.json";
/// Directory of the bases in the state dir.
pub const BASES: &str = "bases";
/// Directory of what is being written, in the state dir.
pub const TEMPORARY: &str = "tmp";
/// The part of [`TEMPORARY`] that this format of staging owns; anything else there is another version's.
pub const STAGE: &str = "v1";
const LOCK: &str = ".lock";

fn path(components: &[&str]) -> RelPath {
    components.iter().fold(RelPath::root(), |path, component| {
        path.child(component).unwrap_or(path)
    })
}

/// The library root.
#[must_use]
pub fn library() -> RelPath {
    path(&[LIBRARY])
}

/// The state dir.
#[must_use]
pub fn state() -> RelPath {
    path(&[STATE])
}

/// A file of the state dir.
#[must_use]
pub fn state_file(name: &str) -> RelPath {
    path(&[STATE, name])
}

/// The directory of all bases.
#[must_use]
pub fn bases() -> RelPath {
    path(&[STATE, BASES])
}

/// The directory of temporary files.
#[must_use]
pub fn temporary() -> RelPath {
    path(&[STATE, TEMPORARY])
}

/// Where this program stages.
#[must_use]
pub fn stage() -> RelPath {
    path(&[STATE, TEMPORARY, STAGE])
}

/// Where directories go that are taken out of the library, until they are swept.
#[must_use]
pub fn removed() -> RelPath {
    path(&[STATE, TEMPORARY, STAGE, "removed"])
}

/// Where the file that will be renamed to `target` is staged: the same path beneath [`stage`].
#[must_use]
pub fn staged(target: &RelPath) -> RelPath {
    stage().join(target)
}

/// The lock file.
#[must_use]
pub fn lock() -> RelPath {
    path(&[STATE, LOCK])
}
