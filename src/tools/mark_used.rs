//! `skill_mark_used`.

use super::resolve::{find, scan};
use super::{Counting, SkillTools, ToolError, arguments};
use crate::clock;
use crate::sync::{LockedLibrary, open_to_look, open_to_write};
use crate::usage::{Counter, State, Usage};

impl SkillTools {
    /// Unlike a read, this is nothing but counting: where that fails, it failed.
    pub(super) fn mark_used(&self, input: &arguments::MarkUsed) -> Result<String, ToolError> {
        let name = arguments::required(input.name.as_ref(), "name", "say which skill was used")?;
        if let Counting::Gathered(gathered) = &self.counting {
            let filesystem = open_to_look(&self.options.config_dir)?;
            find(scan(&*filesystem)?, name)?;
            let usage = self.usage(&*filesystem);
            // A state is no count: it is written at once, below.
            if usage.is_active(name) {
                gathered.note(name, Counter::Use, &clock::now());
                return Ok(marked(name, usage.counts(name).uses + 1, false));
            }
        }
        let filesystem = open_to_write(&self.options)?;
        let locked = LockedLibrary::lock(&filesystem, &self.options)?;
        let resolved = find(scan(&filesystem)?, name)?;
        let mut woken = false;
        Usage::update(locked.write_lock(), |usage| {
            usage.count(&resolved.name, Counter::Use, locked.now());
            woken = usage.set_lifecycle(&resolved.name, State::Active, locked.now());
        })
        .map_err(|e| ToolError::new(e.to_string()))?;
        let uses = self.usage(&filesystem).counts(&resolved.name).uses;
        Ok(marked(name, uses, woken))
    }
}

fn marked(name: &str, uses: u64, woken: bool) -> String {
    let again = if woken { ", active again" } else { "" };
    format!("Marked skill {name:?} as used (use_count={uses}{again})")
}
