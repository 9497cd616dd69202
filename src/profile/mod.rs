//! The skill sections of an agent's RoleProfile: what goes into its system prompt (seed §18.8, contract §6). The same library
//! gives the same bytes, and what never changes stands first, for the caches of models.

mod rules;
mod runtime;

use crate::skill::{DeviceType, SkillDocument};
use crate::usage::{State, Usage};

pub use self::rules::{Language, text as rules};
pub use self::runtime::{SkillRuntime, Snapshot};

/// Most skills in the catalogue.
const MAX_LISTED: usize = 30;
/// Most characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 160;

/// What is asked of a profile.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Skills whose instructions are put in whole.
    pub active: Vec<String>,
    /// What the agent is about to do: skills that match come first in the catalogue.
    pub task: Option<String>,
    /// Of the rules.
    pub language: Language,
}

/// The skill sections of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Rules, catalogue and active skills.
    pub text: String,
    /// Active skills that there are not, or not for this device.
    pub missing: Vec<String>,
}

impl Profile {
    /// Puts what was learned of the active skills behind all else, for it changes most.
    pub fn add_guidance(&mut self, guidance: &str) {
        if !guidance.is_empty() {
            self.text.push_str("\n## Guidance from experience\n");
            self.text.push_str(guidance);
        }
    }
}

/// Renders the sections for these skills; of several of one name the first counts.
#[must_use]
pub fn render(
    documents: &[SkillDocument],
    usage: &Usage,
    device: Option<DeviceType>,
    wanted: &Wanted,
) -> Profile {
    let mut skills: Vec<&SkillDocument> = Vec::new();
    for document in documents {
        let is_known = skills.iter().any(|known| known.name() == document.name());
        if !is_known && document.suits(device) {
            skills.push(document);
        }
    }
    skills.sort_by(|a, b| a.name().cmp(b.name()));
    let text = [
        rules::text(wanted.language).to_owned(),
        catalogue(&skills, usage, wanted.task.as_deref()),
    ];
    let (active, missing) = active(&skills, &wanted.active);
    let sections = text.into_iter().chain(active);
    Profile {
        text: sections.collect::<Vec<_>>().join("\n"),
        missing,
    }
}

fn catalogue(skills: &[&SkillDocument], usage: &Usage, task: Option<&str>) -> String {
    let listed = skills
        .iter()
        .filter(|skill| usage.lifecycle(skill.name()) != State::Archived);
    let mut listed: Vec<&SkillDocument> = listed.copied().collect();
    if let Some(task) = task.map(str::trim).filter(|task| !task.is_empty()) {
        let states = listed
            .iter()
            .map(|skill| (*skill, usage.lifecycle(skill.name())));
        let ranked = crate::tools::rank(states, task);
        let first: Vec<usize> = ranked.iter().map(|ranked| ranked.at).collect();
        let rest = (0..listed.len()).filter(|at| !first.contains(at));
        listed = first
            .iter()
            .copied()
            .chain(rest)
            .filter_map(|at| listed.get(at).copied())
            .collect();
    }
    let mut text = "## Available skills\n\n".to_owned();
    if listed.is_empty() {
        text.push_str("No skills available.\n");
        return text;
    }
    for skill in listed.iter().take(MAX_LISTED) {
        text.push_str(&format!(
            "- {}: {}\n",
            one_line(skill.name()),
            shortened(skill.description())
        ));
    }
    if listed.len() > MAX_LISTED {
        let hidden = listed.len() - MAX_LISTED;
        text.push_str(&format!(
            "... {hidden} more skills hidden. Use skill_list to search.\n"
        ));
    }
    text
}

fn active(skills: &[&SkillDocument], wanted: &[String]) -> (Option<String>, Vec<String>) {
    let mut text = String::new();
    let mut missing = Vec::new();
    for (at, name) in wanted.iter().enumerate() {
        if wanted[..at].contains(name) {
            continue;
        }
        match skills.iter().find(|skill| skill.name() == name) {
            Some(skill) => {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!(
                    "{gap}[{}] {}\n",
                    one_line(skill.name()),
                    skill.body().trim()
                ));
            }
            None => missing.push(name.clone()),
        }
    }
    let section = (!text.is_empty()).then(|| format!("## Active skills\n\n{text}"));
    (section, missing)
}

/// A name of another program's making could forge a line of the prompt.
fn one_line(name: &str) -> String {
    name.split(char::is_control).collect::<Vec<_>>().join(" ")
}

fn shortened(description: &str) -> String {
    let mut chars = description.chars();
    let start: String = chars.by_ref().take(MAX_DESCRIPTION_CHARS).collect();
    if chars.next().is_some() {
        format!("{start}...")
    } else {
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, description: &str, devices: &str) -> SkillDocument {
        let text = format!(
            "---\nname: {name}\ndescription: {description}\ndevice_types: [{devices}]\n---\n\nDo {name}.\n"
        );
        SkillDocument::parse(text.as_bytes()).unwrap()
    }

    fn sections(skills: &[SkillDocument], wanted: &Wanted) -> String {
        let text = render(skills, &Usage::default(), None, wanted).text;
        text[text.find("## Available skills").unwrap()..].to_owned()
    }

    #[test]
    fn the_catalogue_has_a_line_for_each_skill_by_name() {
        let skills = [skill("b", "Second.", ""), skill("a", "First.", "")];
        assert_eq!(
            sections(&skills, &Wanted::default()),
            "## Available skills\n\n- a: First.\n- b: Second.\n"
        );
        assert_eq!(
            sections(&[], &Wanted::default()),
            "## Available skills\n\nNo skills available.\n"
        );
    }

    #[test]
    fn long_descriptions_and_long_catalogues_are_cut_and_say_so() {
        let long = "x".repeat(161);
        let skills: Vec<SkillDocument> = (0..32)
            .map(|n| skill(&format!("s{n:02}"), &long, ""))
            .collect();
        let text = sections(&skills, &Wanted::default());
        assert!(text.contains(&format!("- s00: {}...\n", "x".repeat(160))));
        assert!(text.ends_with("\n... 2 more skills hidden. Use skill_list to search.\n"));
        assert_eq!(
            text.lines().filter(|line| line.starts_with("- ")).count(),
            30
        );
    }

    #[test]
    fn active_skills_are_put_in_whole_and_missing_ones_named() {
        let skills = [skill("a", "First.", ""), skill("b", "Second.", "iOS")];
        let wanted = Wanted {
            active: vec!["b".into(), "none".into(), "a".into()],
            ..Wanted::default()
        };
        let text = sections(&skills, &wanted);
        assert!(
            text.ends_with("\n## Active skills\n\n[b] Do b.\n\n[a] Do a.\n"),
            "{text}"
        );
        let profile = render(&skills, &Usage::default(), Some(DeviceType::Linux), &wanted);
        assert_eq!(profile.missing, ["b", "none"]);
        assert!(!profile.text.contains("- b:"));
    }

    #[test]
    fn a_task_puts_what_matches_it_first() {
        let skills = [skill("a", "Plan a day.", ""), skill("z", "Pay a bill.", "")];
        let wanted = Wanted {
            task: Some("pay the electricity bill".into()),
            ..Wanted::default()
        };
        assert_eq!(
            sections(&skills, &wanted),
            "## Available skills\n\n- z: Pay a bill.\n- a: Plan a day.\n"
        );
    }

    #[test]
    fn the_rules_come_first_and_are_the_same_whatever_the_library_holds() {
        for language in [Language::En, Language::Zh] {
            let wanted = Wanted {
                language,
                ..Wanted::default()
            };
            let [empty, full] = [vec![], vec![skill("a", "First.", "")]]
                .map(|skills| render(&skills, &Usage::default(), None, &wanted).text);
            let rules = rules::text(language);
            assert!(empty.starts_with(rules) && full.starts_with(rules));
            for tool in [
                "skill_list",
                "skill_read",
                "skill_manage",
                "skill_mark_used",
            ] {
                assert!(rules.contains(tool));
            }
        }
    }
}
