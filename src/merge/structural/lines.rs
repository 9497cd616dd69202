//! A three-way merge of texts by lines. What `git merge-file` merges cleanly comes out as there, byte for byte; of the rest
//! it settles what the text around settles: changes to neighbouring lines, white space, and the numbers of lists.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use super::numbering;

/// Both sides changed the same lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineConflict {
    /// The first of the local side's lines, counted from 1.
    pub line: usize,
    /// What stood there.
    pub base: String,
    /// The firmware's.
    pub upstream: String,
    /// The user's.
    pub local: String,
}

/// Merges the changes from `base` to `upstream` and to `local`.
///
/// # Errors
/// Where both sides changed the same lines, in the order of the text.
pub fn merge_lines(base: &str, upstream: &str, local: &str) -> Result<String, Vec<LineConflict>> {
    let exact = Sides::new(base, upstream, local, Comparison::Exact);
    let as_git = exact.merge(&[Settling::Same]);
    if let Ok(lines) = as_git {
        return Ok(joined(&lines));
    }
    let all = [Settling::Same, Settling::Neighbours, Settling::WhiteSpace];
    if let Ok(lines) = exact.merge(&all) {
        return Ok(joined(&lines));
    }
    // Numbers can be left out of the comparison only where they can be counted again.
    let comparison = match [base, upstream, local]
        .iter()
        .all(|text| numbering::is_counted(text))
    {
        true => Comparison::Loose,
        false => Comparison::WithoutBlanksAtTheEnd,
    };
    let loose = Sides::new(base, upstream, local, comparison);
    let merged = loose.merge(&all)?;
    if comparison == Comparison::WithoutBlanksAtTheEnd {
        return Ok(joined(&merged));
    }
    let counted = numbering::counted(&joined(&merged));
    match loose.contested_number(&merged, &counted) {
        None => Ok(counted),
        Some(conflict) => Err(vec![conflict]),
    }
}

/// Lines of which all but the last end with a line break; where one was the last of its text, it gets one.
fn joined(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
    }
    text
}

/// When two lines are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// To the last byte.
    Exact,
    /// But for blanks at the end.
    WithoutBlanksAtTheEnd,
    /// But for blanks at the end, and the number of an item of a list.
    Loose,
}

/// What counts as settled where both sides changed a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settling {
    /// The same on both sides.
    Same,
    /// One side changed nothing but white space.
    WhiteSpace,
    /// The changes do not concern the same lines.
    Neighbours,
}

/// A changed place: lines of the base, and what one side has for them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    base: Range<usize>,
    new: Range<usize>,
}

/// One of the sides that changed the base.
struct Side<'t> {
    lines: Vec<&'t str>,
    changes: Vec<Change>,
}

struct Sides<'t> {
    base: Vec<&'t str>,
    upstream: Side<'t>,
    local: Side<'t>,
}

impl<'t> Sides<'t> {
    fn new(base: &'t str, upstream: &'t str, local: &'t str, comparison: Comparison) -> Self {
        let base: Vec<&str> = base.split_inclusive('\n').collect();
        let side = |text: &'t str| {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let changes = changes(&base, &lines, comparison);
            Side { lines, changes }
        };
        let (upstream, local) = (side(upstream), side(local));
        Self {
            base,
            upstream,
            local,
        }
    }

    fn merge(&self, settling: &[Settling]) -> Result<Vec<&'t str>, Vec<LineConflict>> {
        let mut merged = Vec::new();
        let mut conflicts = Vec::new();
        let mut at = Position::default();
        let mut groups = Groups {
            upstream: &self.upstream.changes,
            local: &self.local.changes,
        };
        while let Some(group) = groups.next() {
            self.take_unchanged(group.base.start - at.base, &mut at, &mut merged);
            let upstream = new_range(&group, group.upstream, at.upstream);
            let local = new_range(&group, group.local, at.local);
            match self.settle(&group, &upstream, &local, settling) {
                Some(lines) => merged.extend(lines),
                None => conflicts.push(LineConflict {
                    line: local.start + 1,
                    base: self.base[group.base.clone()].concat(),
                    upstream: self.upstream.lines[upstream.clone()].concat(),
                    local: self.local.lines[local.clone()].concat(),
                }),
            }
            at = Position {
                base: group.base.end,
                upstream: upstream.end,
                local: local.end,
            };
        }
        self.take_unchanged(self.base.len() - at.base, &mut at, &mut merged);
        if conflicts.is_empty() {
            Ok(merged)
        } else {
            Err(conflicts)
        }
    }

    /// Lines that are the same to the comparison; to the last byte they may be changed on one side, or on both.
    fn take_unchanged(&self, count: usize, at: &mut Position, merged: &mut Vec<&'t str>) {
        for offset in 0..count {
            let base = self.base[at.base + offset];
            let upstream = self.upstream.lines[at.upstream + offset];
            let local = self.local.lines[at.local + offset];
            merged.push(if local == base { upstream } else { local });
        }
        at.base += count;
        at.upstream += count;
        at.local += count;
    }

    /// A line to which each side gave another number, and which is not counted from the one before it.
    fn contested_number(&self, merged: &[&str], counted: &str) -> Option<LineConflict> {
        let counted: Vec<&str> = counted.split_inclusive('\n').collect();
        let known = |line: &str, lines: &[&'t str]| {
            let rest = numbering::without_number(line.trim_end());
            let same = |other: &&&str| numbering::without_number(other.trim_end()) == rest;
            lines.iter().find(same).copied()
        };
        merged.iter().zip(counted).find_map(|(line, counted)| {
            let [base, upstream] =
                [&self.base, &self.upstream.lines].map(|lines| known(line, lines));
            let (base, upstream) = (base?.trim_end(), upstream?.trim_end());
            let local = line.trim_end();
            let is_contested = base != upstream && base != local && upstream != local;
            (is_contested && counted.trim_end() == local).then(|| LineConflict {
                line: 1 + self
                    .local
                    .lines
                    .iter()
                    .position(|other| other == line)
                    .unwrap_or(0),
                base: base.to_owned(),
                upstream: upstream.to_owned(),
                local: local.to_owned(),
            })
        })
    }

    fn settle(
        &self,
        group: &Group<'_>,
        upstream: &Range<usize>,
        local: &Range<usize>,
        settling: &[Settling],
    ) -> Option<Vec<&'t str>> {
        let base = &self.base[group.base.clone()];
        let upstream = &self.upstream.lines[upstream.clone()];
        let local = &self.local.lines[local.clone()];
        if group.upstream.is_empty() {
            return Some(local.to_vec());
        }
        if group.local.is_empty() {
            return Some(upstream.to_vec());
        }
        settling.iter().find_map(|settling| match settling {
            Settling::Same => (upstream == local).then(|| local.to_vec()),
            Settling::WhiteSpace => {
                let [base, upstream_words, local_words] =
                    [base, upstream, local].map(without_white_space);
                if local_words == base {
                    Some(upstream.to_vec())
                } else if upstream_words == base || upstream_words == local_words {
                    Some(local.to_vec())
                } else {
                    None
                }
            }
            Settling::Neighbours => self.settle_neighbours(group),
        })
    }

    /// Applies the changes of both sides one after the other, if none concerns a line that another one changes.
    fn settle_neighbours(&self, group: &Group<'_>) -> Option<Vec<&'t str>> {
        let of = |side: &Side<'t>, changes: &[Change]| -> Vec<Piece<'t>> {
            let pieces = changes.iter().flat_map(one_by_one);
            pieces
                .map(|(change, whole)| Piece {
                    base: change.base,
                    lines: side.lines[change.new].to_vec(),
                    whole,
                })
                .collect()
        };
        let upstream = of(&self.upstream, group.upstream);
        let local = of(&self.local, group.local);
        let clashes = |one: &Piece<'_>| upstream.iter().any(|other| one.clashes(other));
        if local.iter().any(clashes) {
            return None;
        }
        let mut pieces = [upstream, local].concat();
        // An insertion comes before what stands at its place.
        pieces.sort_by_key(|piece| (piece.base.start, piece.base.end));
        pieces.dedup_by(|one, other| one.is_same(other));
        let mut merged = Vec::new();
        let mut at = group.base.start;
        for piece in pieces {
            merged.extend_from_slice(&self.base[at..piece.base.start]);
            merged.extend(piece.lines);
            at = piece.base.end;
        }
        merged.extend_from_slice(&self.base[at..group.base.end]);
        Some(merged)
    }
}

/// A change by itself: what stands for these lines of the base.
#[derive(Clone)]
struct Piece<'t> {
    base: Range<usize>,
    lines: Vec<&'t str>,
    /// The lines of the base that were changed in one go with it.
    whole: Range<usize>,
}

impl Piece<'_> {
    fn is_insertion(&self) -> bool {
        self.base.is_empty()
    }

    /// Whether both make the same of the same lines, whatever else was changed with it.
    fn is_same(&self, other: &Self) -> bool {
        (&self.base, &self.lines) == (&other.base, &other.lines)
    }

    /// Whether one change does not leave what the other one is about as it was.
    fn clashes(&self, other: &Self) -> bool {
        if self.is_same(other) {
            return false;
        }
        match (self.is_insertion(), other.is_insertion()) {
            (false, false) => self.base.start < other.base.end && other.base.start < self.base.end,
            // Two insertions at one place have no order.
            (true, true) => self.base.start == other.base.start,
            (true, false) => other.moves_ground_of(self),
            (false, true) => self.moves_ground_of(other),
        }
    }

    /// Whether an insertion is within what this rewrote, or beside lines that go, or brings what this brings, too.
    fn moves_ground_of(&self, insertion: &Self) -> bool {
        let (at, range) = (insertion.base.start, &self.whole);
        let is_within = range.start < at && at < range.end;
        let is_beside = at == range.start || at == range.end;
        let brings = |line: &&str| !line.trim().is_empty() && self.lines.contains(line);
        is_within || is_beside && (self.lines.is_empty() || insertion.lines.iter().any(brings))
    }
}

/// A change of as many lines as there were is one of each line.
fn one_by_one(change: &Change) -> Vec<(Change, Range<usize>)> {
    let whole = &change.base;
    if change.base.len() != change.new.len() {
        return vec![(change.clone(), whole.clone())];
    }
    let lines = change.base.clone().zip(change.new.clone());
    let one = |(base, new)| Change {
        base: base..base + 1,
        new: new..new + 1,
    };
    lines.map(|pair| (one(pair), whole.clone())).collect()
}

#[derive(Default)]
struct Position {
    base: usize,
    upstream: usize,
    local: usize,
}

/// Changes of both sides that touch each other.
struct Group<'c> {
    base: Range<usize>,
    upstream: &'c [Change],
    local: &'c [Change],
}

/// Takes groups off the changes that are left.
struct Groups<'c> {
    upstream: &'c [Change],
    local: &'c [Change],
}

impl<'c> Groups<'c> {
    fn next(&mut self) -> Option<Group<'c>> {
        let firsts = [self.upstream.first(), self.local.first()];
        let first = firsts
            .into_iter()
            .flatten()
            .min_by_key(|change| change.base.start)?;
        let mut base = first.base.clone();
        let [mut upstream, mut local] = [0, 0];
        loop {
            let more = [(self.upstream, &mut upstream), (self.local, &mut local)]
                .into_iter()
                .find_map(|(changes, taken)| {
                    let next = changes.get(*taken)?;
                    (next.base.start <= base.end).then(|| {
                        *taken += 1;
                        next.base.end
                    })
                });
            match more {
                Some(end) => base.end = base.end.max(end),
                None => break,
            }
        }
        let (of_upstream, upstream) = self.upstream.split_at(upstream);
        let (of_local, local) = self.local.split_at(local);
        (self.upstream, self.local) = (upstream, local);
        Some(Group {
            base,
            upstream: of_upstream,
            local: of_local,
        })
    }
}

/// The lines that a side has for those of a group; `start` is where they begin.
fn new_range(group: &Group<'_>, changes: &[Change], start: usize) -> Range<usize> {
    let added: usize = changes.iter().map(|change| change.new.len()).sum();
    let removed: usize = changes.iter().map(|change| change.base.len()).sum();
    start..start + group.base.len() + added - removed
}

fn changes(base: &[&str], side: &[&str], comparison: Comparison) -> Vec<Change> {
    let keys = |lines: &[&str]| -> Vec<String> {
        match comparison {
            Comparison::Exact => lines.iter().map(|line| (*line).to_owned()).collect(),
            Comparison::WithoutBlanksAtTheEnd => lines
                .iter()
                .map(|line| line.trim_end().to_owned())
                .collect(),
            Comparison::Loose => numbering::without_numbers(lines),
        }
    };
    let mut input = InternedInput::default();
    input.update_before(keys(base).into_iter());
    input.update_after(keys(side).into_iter());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    // Where a change could be moved up or down, git's choice.
    diff.postprocess_no_heuristic(&input);
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks()
        .map(|hunk| Change {
            base: range(hunk.before),
            new: range(hunk.after),
        })
        .collect()
}

/// The lines with something on them, without what is behind it.
fn without_white_space<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    lines
        .iter()
        .map(|line| line.trim_end())
        .filter(|line| !line.is_empty())
        .collect()
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
