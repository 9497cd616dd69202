//! How often `skill_list` has the wanted skill first, or among five, beside a plain search for the words as they stand:
//!
//! - on the skills of a release of openclaw, where the query is a sentence of a skill's description, which is left out of the skill;
//! - on each bank of skills beneath `AIDEN_RETRIEVAL_SET`, a directory of such directories, where the query is one of a skill's
//!   `triggers`, and all of these are left out of it. AutoSkill's public `SkillBank/ConvSkill` is such a set.
//!
//! `cargo bench --bench recall` prints it, and fails where the release's figures are worse than they were.

#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../tests/tools/mod.rs"]
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use aiden_skills::skill::SkillDocument;
use aiden_skills::tools::Catalogue;
use aiden_skills::usage::State;
use serde_json::json;
use serde_yaml::Value;

/// Of the release, in per cent.
const LEAST_AT_1: f64 = 75.0;
const LEAST_AT_5: f64 = 90.0;

struct Query {
    text: String,
    /// The place of its skill.
    wanted: usize,
    /// That skill without the query; none if it does not hold it.
    without: Option<SkillDocument>,
}

#[derive(Default)]
struct Bank {
    documents: Vec<SkillDocument>,
    queries: Vec<Query>,
}

/// In per cent.
struct Recall {
    at_1: f64,
    at_5: f64,
}

impl Bank {
    /// How often `find`, given the searched form of the skills that `prepare` makes, has the wanted one.
    fn recall<P>(
        &self,
        prepare: impl Fn(&[&SkillDocument]) -> P,
        find: impl Fn(&P, &str) -> Vec<usize>,
    ) -> Recall {
        let all: Vec<&SkillDocument> = self.documents.iter().collect();
        let prepared = prepare(&all);
        let (mut first, mut among_five) = (0.0, 0.0);
        for query in &self.queries {
            let found = match &query.without {
                None => find(&prepared, &query.text),
                Some(without) => {
                    let mut others = all.clone();
                    others[query.wanted] = without;
                    find(&prepare(&others), &query.text)
                }
            };
            let place = found.iter().position(|at| *at == query.wanted);
            first += f64::from(u8::from(place == Some(0)));
            among_five += f64::from(u8::from(place.is_some_and(|place| place < 5)));
        }
        let tried = self.queries.len() as f64;
        Recall {
            at_1: 100.0 * first / tried,
            at_5: 100.0 * among_five / tried,
        }
    }

    fn print(&self, name: &str) -> Recall {
        let catalogue = |documents: &[&SkillDocument]| Catalogue::new(documents.iter().copied());
        let ranked = self.recall(catalogue, |catalogue, query| {
            let ranked = catalogue.rank(query, |_| Some(State::Active));
            ranked.iter().map(|ranked| ranked.at).collect()
        });
        let plain = self.recall(in_lower_case, |texts, query| as_it_stands(texts, query));
        println!(
            "{name:30} {:5} {:7} {:6.1} / {:4.1} {:8.1} / {:4.1}",
            self.documents.len(),
            self.queries.len(),
            ranked.at_1,
            ranked.at_5,
            plain.at_1,
            plain.at_5,
        );
        assert!(
            ranked.at_1 > plain.at_1,
            "{name}: no better than a plain search"
        );
        ranked
    }
}

fn in_lower_case(documents: &[&SkillDocument]) -> Vec<String> {
    let text = |document: &&SkillDocument| {
        let all = [document.name(), document.description(), document.body()];
        all.join("\n").to_lowercase()
    };
    documents.iter().map(text).collect()
}

/// The skills that hold the query, whatever its case, in their own order.
fn as_it_stands(texts: &[String], query: &str) -> Vec<usize> {
    let query = query.to_lowercase();
    let found = texts.iter().enumerate();
    found
        .filter(|(_, text)| text.contains(&query))
        .map(|(at, _)| at)
        .collect()
}

fn texts(directory: &Path) -> Vec<String> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.unwrap().path().join("SKILL.md"))
        .collect();
    paths.sort();
    let text = |path: PathBuf| fs::read_to_string(path).ok();
    paths.into_iter().filter_map(text).collect()
}

fn document(name: &str, description: &str, tags: Option<&Value>, body: &str) -> SkillDocument {
    let frontmatter = json!({"name": name, "description": description, "tags": tags});
    let text = format!("---\n{frontmatter}\n---\n{body}");
    SkillDocument::parse(text.as_bytes()).unwrap()
}

fn release(directory: &Path) -> Bank {
    let mut bank = Bank::default();
    for text in texts(directory) {
        let Ok(skill) = SkillDocument::parse(text.as_bytes()) else {
            continue;
        };
        let sentences = skill.description().split_inclusive(['.', ';', ':']);
        let sentences = sentences
            .map(str::trim)
            .filter(|s| s.split(' ').count() > 3);
        let sentences: Vec<String> = sentences.map(str::to_owned).collect();
        for text in sentences {
            let rest = skill.description().replace(&text, " ");
            let rest = if rest.trim().is_empty() { "-" } else { &rest };
            bank.queries.push(Query {
                text,
                wanted: bank.documents.len(),
                without: Some(document(skill.name(), rest, None, skill.body())),
            });
        }
        bank.documents.push(skill);
    }
    bank
}

fn of_triggers(directory: &Path) -> Bank {
    let mut bank = Bank::default();
    for text in texts(directory) {
        let Ok(skill) = SkillDocument::parse(text.as_bytes()) else {
            continue;
        };
        let triggers = skill.frontmatter().get("triggers");
        let triggers = triggers.and_then(|triggers| triggers.as_sequence());
        let triggers = triggers.into_iter().flatten();
        let triggers: Vec<String> = triggers
            .filter_map(|trigger| trigger.as_str())
            .map(str::to_owned)
            .collect();
        let body = skill.body().lines().filter(|line| {
            let is_trigger = |trigger: &String| line.trim_start_matches("- ") == trigger;
            !triggers.iter().any(is_trigger)
        });
        let body = body.collect::<Vec<_>>().join("\n");
        let tags = skill.frontmatter().get("tags");
        let without = document(skill.name(), skill.description(), tags, &body);
        let wanted = bank.documents.len();
        bank.queries.extend(triggers.into_iter().map(|text| Query {
            text,
            wanted,
            without: None,
        }));
        bank.documents.push(without);
    }
    bank
}

fn main() {
    println!("recall at 1 and 5, in per cent     ranked        as it stands");
    println!("bank                          skills queries");
    let openclaw = release(&tools::fetched("openclaw/2026.7.1/skills")).print("openclaw");
    assert!(
        openclaw.at_1 >= LEAST_AT_1 && openclaw.at_5 >= LEAST_AT_5,
        "the ranking became worse"
    );
    let Some(set) = std::env::var_os("AIDEN_RETRIEVAL_SET") else {
        return;
    };
    let mut banks: Vec<PathBuf> = fs::read_dir(&set)
        .expect("AIDEN_RETRIEVAL_SET is a directory of banks")
        .map(|entry| entry.unwrap().path())
        .collect();
    banks.sort();
    for bank in banks {
        let name = bank.file_name().unwrap().to_string_lossy();
        of_triggers(&bank).print(&name);
    }
}
