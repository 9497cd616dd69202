//! `skill_list`.

use serde::Serialize;

use super::arguments;
use super::ranking::rank;
use super::resolve::scan;
use super::{SkillTools, ToolError};
use crate::clock;
use crate::library::Library;
use crate::skill::SkillDocument;
use crate::store::Filesystem;
use crate::sync::{LockedLibrary, open_to_look, open_to_write};
use crate::usage::{Ages, Counter, Look, State, Usage, due, note_scan};

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    description: &'a str,
    state: &'static str,
    view_count: u64,
    use_count: u64,
    modify_count: u64,
}

impl SkillTools {
    pub(super) fn list(&self, input: &arguments::List) -> Result<String, ToolError> {
        let wanted: Option<State> = match input.state.as_deref() {
            None => None,
            Some(state) => Some(state.parse().map_err(ToolError::new)?),
        };
        if input.limit == Some(0) {
            let message = "the field `limit` must be at least 1; leave it out to list all";
            return Err(ToolError::new(message));
        }
        let filesystem = open_to_look(&self.options.config_dir)?;
        let library = scan(&*filesystem)?;
        self.age(&library, &*filesystem);
        let usage = self.usage(&*filesystem);
        let is_wanted = |document: &SkillDocument| {
            let state = usage.lifecycle(document.name());
            let fits = match wanted {
                Some(wanted) => state == wanted,
                None => state != State::Archived || input.include_archived == Some(true),
            };
            fits && (input.include_incompatible == Some(true) || document.suits(self.device))
        };
        let mut documents: Vec<&SkillDocument> = Vec::new();
        for skill in &library.skills {
            // Of two skills of one name the first is the one that loads.
            if let Ok(document) = &skill.document
                && is_wanted(document)
                && !documents
                    .iter()
                    .any(|known| known.name() == document.name())
            {
                documents.push(document);
            }
        }
        documents.sort_by(|a, b| {
            let rank = |document: &SkillDocument| {
                let name = document.name();
                let last = usage
                    .last(name, Counter::Use)
                    .unwrap_or_default()
                    .to_owned();
                (
                    usage.lifecycle(name),
                    std::cmp::Reverse((usage.counts(name).uses, last)),
                )
            };
            rank(a).cmp(&rank(b)).then_with(|| a.name().cmp(b.name()))
        });
        let query = input
            .query
            .as_deref()
            .map(str::trim)
            .filter(|query| !query.is_empty());
        if let Some(query) = query {
            let states = documents
                .iter()
                .map(|document| (*document, usage.lifecycle(document.name())));
            let ranked = rank(states, query);
            documents = ranked
                .iter()
                .filter_map(|ranked| documents.get(ranked.at).copied())
                .collect();
        }
        documents.truncate(input.limit.unwrap_or(usize::MAX));
        let listed = documents.iter().map(|document| {
            let counts = usage.counts(document.name());
            Listed {
                name: document.name(),
                description: document.description(),
                state: usage.lifecycle(document.name()).as_str(),
                view_count: counts.views,
                use_count: counts.uses,
                modify_count: counts.changes,
            }
        });
        let listed: Vec<Listed<'_>> = listed.collect();
        Ok(serde_json::to_string(&listed).unwrap_or_else(|_| "[]".into()))
    }

    /// Ages the skills that an agent made, once a day; a list is given whether or not that can be written.
    fn age(&self, library: &Library, filesystem: &dyn Filesystem) {
        let ages = match due(filesystem, &clock::now()) {
            Look::None => return,
            Look::First => None,
            Look::Age => Some(self.options.ages),
        };
        if let Err(e) = self.try_to_age(library, ages) {
            log::warn!("skills were not looked at for their age: {e}");
        }
    }

    fn try_to_age(&self, library: &Library, ages: Option<Ages>) -> Result<(), ToolError> {
        let filesystem = open_to_write(&self.options)?;
        let locked = LockedLibrary::lock(&filesystem, &self.options)?;
        // What the firmware ships is never aged.
        let made_by_agent = library.skills.iter().filter_map(|skill| {
            let document = skill.document.as_ref().ok()?;
            let is_shipped = locked.is_recorded(&skill.directory);
            (document.is_agent_created() && !is_shipped).then(|| document.name())
        });
        let now = locked.now();
        let lock = locked.write_lock();
        Usage::update(lock, |usage| {
            usage.age(made_by_agent, ages, now);
        })
        .and_then(|()| note_scan(lock, now))
        .map_err(|e| ToolError::new(e.to_string()))
    }
}
