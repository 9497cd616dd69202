//! The frontmatter, merged key by key. Order, comments and quoting are those of the local side, and the firmware's where
//! the user changed nothing.

use serde_yaml::{Mapping, Value};

use super::entries::{Block, Entry};
use super::list::{self, List};
use crate::skill::frontmatter::parse_yaml;

/// The frontmatters of the sides: their lines between the fences.
#[derive(Debug, Clone, Copy)]
pub struct Frontmatters<'t> {
    pub base: Option<&'t str>,
    pub upstream: &'t str,
    pub local: &'t str,
}

/// Merges the frontmatters.
///
/// # Errors
/// The fields that both sides changed, by their paths.
pub fn merge_frontmatter(sides: Frontmatters<'_>) -> Result<String, Vec<String>> {
    let Frontmatters {
        base,
        upstream,
        local,
    } = sides;
    if base == Some(local) || upstream == local {
        return Ok(upstream.to_owned());
    }
    if base == Some(upstream) {
        return Ok(local.to_owned());
    }
    let as_a_whole = || vec!["frontmatter".to_owned()];
    let read = |yaml| {
        let mapping = parse_yaml(yaml).ok()?.0;
        Block::of(yaml, &mapping)
    };
    let base = base
        .map(|base| read(base).ok_or_else(as_a_whole))
        .transpose()?;
    let upstream = read(upstream).ok_or_else(as_a_whole)?;
    let local = read(local).ok_or_else(as_a_whole)?;
    let mut merge = Merge::default();
    let (text, expected) = merge.blocks(base.as_ref(), &upstream, &local, "");
    if !merge.conflicts.is_empty() {
        return Err(merge.conflicts);
    }
    // Whatever was put together must read as what was meant.
    let is_right = parse_yaml(&text).is_ok_and(|(read, _)| read == expected);
    if is_right {
        Ok(text)
    } else {
        Err(as_a_whole())
    }
}

#[derive(Default)]
struct Merge {
    conflicts: Vec<String>,
}

/// One key on all sides.
#[derive(Clone, Copy)]
struct Sides<'s, 't> {
    base: Option<&'s Entry<'t>>,
    upstream: &'s Entry<'t>,
    local: &'s Entry<'t>,
}

impl Merge {
    fn blocks(
        &mut self,
        base: Option<&Block<'_>>,
        upstream: &Block<'_>,
        local: &Block<'_>,
        path: &str,
    ) -> (String, Mapping) {
        let mut text = String::new();
        let mut mapping = Mapping::new();
        let indent = local.entries.first().map_or(0, |entry| entry.indent);
        for key in keys(upstream, local) {
            let of_base = base.and_then(|base| base.get(key));
            let (of_upstream, of_local) = (upstream.get(key), local.get(key));
            let path = format!("{path}{key}");
            let remarked = path.clone();
            let merged = match (of_base, of_upstream, of_local) {
                (None, Some(one), None) | (None, None, Some(one)) => {
                    Some((format!("{}{}", one.lead, one.text), one.value.clone()))
                }
                // One side removed it.
                (Some(base), Some(kept), None) | (Some(base), None, Some(kept)) => {
                    if kept.value != base.value {
                        self.conflicts.push(path);
                    }
                    None
                }
                (base, Some(upstream), Some(local)) => self.entry(
                    Sides {
                        base,
                        upstream,
                        local,
                    },
                    path,
                ),
                (_, None, None) => None,
            };
            // No remark of the user's is dropped.
            let lines = merged.as_ref().map_or("", |(lines, _)| lines);
            if let Some(of_local) = of_local
                && of_local.remarks().into_iter().any(|remark| {
                    let is_old = of_base.is_some_and(|base| base.remarks().contains(&remark));
                    !is_old && !lines.contains(remark)
                })
            {
                self.conflicts.push(remarked);
                continue;
            }
            if let Some((lines, value)) = merged {
                let from = of_local
                    .or(of_upstream)
                    .map_or(indent, |entry| entry.indent);
                text.push_str(&indented(&lines, from, indent));
                mapping.insert(Value::String(key.to_owned()), value);
            }
        }
        let of_base = base.map(|base| base.tail);
        text.push_str(three_way(of_base, upstream.tail, local.tail));
        (text, mapping)
    }

    fn entry(&mut self, sides: Sides<'_, '_>, path: String) -> Option<(String, Value)> {
        let Sides {
            base,
            upstream,
            local,
        } = sides;
        let lead = three_way(base.map(|base| base.lead), upstream.lead, local.lead);
        let is_base = |side: &Entry<'_>| base.is_some_and(|base| base.is_same(side));
        let chosen = if upstream.is_same(local) || is_base(upstream) {
            Some(local)
        } else if is_base(local) {
            Some(upstream)
        } else {
            None
        };
        let as_base = |side: &Entry<'_>| base.is_some_and(|base| base.text == side.text);
        let both_wrote = upstream.text != local.text && !as_base(upstream) && !as_base(local);
        // In what both wrote at there may be more than the values: comments, and quoting.
        let inside = if both_wrote {
            self.inside(sides, &path)
        } else {
            None
        };
        let (text, value) = match (inside, chosen) {
            (Some(merged), _) => merged,
            (None, Some(chosen)) => (chosen_text(sides, chosen), chosen.value.clone()),
            (None, None) => {
                self.conflicts.push(path);
                return None;
            }
        };
        Some((format!("{lead}{text}"), value))
    }

    /// Merges what is within a mapping or a list, if that can be told.
    fn inside(&mut self, sides: Sides<'_, '_>, path: &str) -> Option<(String, Value)> {
        let Sides {
            base,
            upstream,
            local,
        } = sides;
        if let (Some(of_upstream), Some(of_local)) = (upstream.nested(), local.nested()) {
            let of_base = match base {
                None => Some(None),
                Some(base) => base.nested().map(Some),
            };
            if let Some(of_base) = of_base {
                let inside = format!("{path}.");
                let (lines, mapping) =
                    self.blocks(of_base.as_ref(), &of_upstream, &of_local, &inside);
                let of_base = base.map(Entry::first_line);
                let first = three_way(of_base, upstream.first_line(), local.first_line());
                return Some((format!("{first}{lines}"), Value::Mapping(mapping)));
            }
        }
        let lists = [base, Some(upstream), Some(local)].map(|side| side.map(List::of));
        if let [of_base, Some(Some(of_upstream)), Some(Some(of_local))] = lists
            && of_base.as_ref().is_none_or(Option::is_some)
        {
            let of_base = of_base.flatten();
            return list::merge(of_base.as_ref(), &of_upstream, &of_local);
        }
        None
    }
}

/// The lines of a key whose value is that of one side: what the other one changed in quoting or comments stays too.
fn chosen_text(sides: Sides<'_, '_>, chosen: &Entry<'_>) -> String {
    let Sides {
        base,
        upstream,
        local,
    } = sides;
    let base_text = base.map(|base| base.text);
    if base_text == Some(local.text) {
        return indented(upstream.text, upstream.indent, local.indent);
    }
    if base_text == Some(upstream.text) || upstream.text == local.text {
        return local.text.to_owned();
    }
    let scalars = [base, Some(upstream), Some(local)].map(|side| side.map(Entry::split_scalar));
    let of_chosen = chosen.split_scalar();
    if let (
        [of_base, Some(Some(of_upstream)), Some(Some(of_local))],
        Some((value, _)),
        Some((key, _)),
    ) = (scalars, of_chosen, local.split_key())
    {
        let of_base = of_base.flatten();
        let comment = three_way(
            of_base.map(|(_, comment)| comment),
            of_upstream.1,
            of_local.1,
        );
        return format!("{key}{value}{comment}\n");
    }
    indented(chosen.text, chosen.indent, local.indent)
}

/// A text that both sides may have changed; the local one counts then, for no value is lost by it.
fn three_way<'t>(base: Option<&str>, upstream: &'t str, local: &'t str) -> &'t str {
    if base == Some(local) || base.is_none() && local.is_empty() {
        upstream
    } else {
        local
    }
}

/// All keys in the order of the local side; one that only the firmware has follows the one before it there.
fn keys<'b>(upstream: &'b Block<'_>, local: &'b Block<'_>) -> Vec<&'b str> {
    let names = |block: &'b Block<'_>| block.entries.iter().map(|entry| entry.key.as_str());
    let mut keys: Vec<&str> = names(local).collect();
    let mut after = 0;
    for key in names(upstream) {
        match keys.iter().position(|known| *known == key) {
            Some(at) => after = at + 1,
            None => {
                keys.insert(after, key);
                after += 1;
            }
        }
    }
    keys
}

/// Lines that were indented by `from` at the least, indented by `to`.
fn indented(lines: &str, from: usize, to: usize) -> String {
    if from == to {
        return lines.to_owned();
    }
    let moved = lines.split_inclusive('\n').map(|line| {
        if line.trim().is_empty() {
            return line.to_owned();
        }
        let (_, text) = line.split_at(super::entries::indentation(line).min(from));
        format!("{}{text}", " ".repeat(to))
    });
    moved.collect()
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
