//! `skill_mark_used`.

use super::resolve::{find, scan};
use super::{SkillTools, ToolError, arguments};
use crate::sync::{LockedLibrary, open_to_write};
use crate::usage::{Counter, State, Usage};

impl SkillTools {
    /// Unlike a read, this is nothing but counting: where that fails, it failed.
    pub(super) fn mark_used(&self, input: &arguments::MarkUsed) -> Result<String, ToolError> {
        let name = arguments::required(input.name.as_ref(), "name", "say which skill was used")?;
        let filesystem = open_to_write(&self.options)?;
        let locked = LockedLibrary::lock(&filesystem, &self.options)?;
        let resolved = find(scan(&filesystem)?, name)?;
        let mut woken = false;
        let mut uses = 0;
        Usage::update(locked.write_lock(), |usage| {
            usage.count(&resolved.name, Counter::Use, locked.now());
            woken = usage.set_lifecycle(&resolved.name, State::Active, locked.now());
            uses = usage.counts(&resolved.name).uses;
        })
        .map_err(|e| ToolError::new(e.to_string()))?;
        let again = if woken { ", active again" } else { "" };
        Ok(format!(
            "Marked skill {name:?} as used (use_count={uses}{again})"
        ))
    }
}
