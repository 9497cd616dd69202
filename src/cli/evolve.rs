//! `aiden-skills evolve`.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::{EvolveArgs, EvolveCommand, InitArgs, LearnArgs};
use super::output::Tone;
use super::{Context, Exit};
use crate::config::Settings;
use crate::evolve::{
    ACTOR, Advisor, Engine, EngineChoice, EvolveError, Judgement, Learned, ModelAdvisor,
    NewManifest, RunResult, SkillEvolution, SystemSources, Task, Workspace, open_workspace,
    open_workspace_of,
};
use crate::merge::llm::Llm;
use crate::skill::SkillDocument;
use crate::store::{Bounded, LinuxFilesystem, LockError, read_followed};
use crate::tools::{Counting, Evolution, SkillTools};

/// Larger than any decision, judgement or bank of the Python era.
const MAX_INPUT_BYTES: u64 = 32 * 1024 * 1024;

/// What an agent learns with, where that is switched on. `gathers`: for a process that stays.
pub(super) fn evolution(settings: &Settings, gathers: bool) -> Option<Arc<dyn Evolution>> {
    let evolution = settings.evolution;
    evolution.is_enabled.then(|| -> Arc<dyn Evolution> {
        let advisor = advisor(settings).map(|advisor| Arc::new(advisor) as Arc<dyn Advisor>);
        Arc::new(SkillEvolution::new(evolution.markers, advisor, gathers))
    })
}

/// The model that is asked for what rules can't tell, if one is configured.
fn advisor(settings: &Settings) -> Option<ModelAdvisor> {
    let choice = settings.evolution.engine;
    if choice == EngineChoice::Local || (choice == EngineChoice::Auto && !settings.model.is_named())
    {
        return None;
    }
    let model = settings.model.settings(&|name| std::env::var_os(name));
    let model = model.map_err(|e| e.to_string()).and_then(Llm::new);
    model
        .map_err(|e| log::warn!("rules alone decide what is learned: {e}"))
        .ok()
        .and_then(|model| ModelAdvisor::new(model, choice))
}

pub(super) fn run(context: &Context, args: &EvolveArgs) -> Exit {
    if args.workspace.is_none() && args.skill.is_none() {
        let advice = "say which workspace: --workspace DIR, or --skill NAME for that of a skill of the library";
        context.fail(&advice);
        return Exit::Usage;
    }
    let asks = matches!(args.command, EvolveCommand::Learn(_));
    let advisor = asks.then(|| advisor(&context.settings)).flatten();
    let engine = Engine {
        actor: args.actor.clone().unwrap_or_else(|| ACTOR.to_owned()),
        markers: context.settings.evolution.markers,
        lock_timeout: context.options.lock_timeout,
        sources: &SystemSources,
        advisor: advisor.as_ref().map(|advisor| advisor as &dyn Advisor),
    };
    let done = check(args)
        .and_then(|()| opened(context, args))
        .and_then(|filesystem| {
            let workspace = Workspace::new(&filesystem, &engine);
            command(context, args, &workspace)
        });
    done.unwrap_or_else(|e| {
        context.fail(&e);
        match e {
            EvolveError::Lock(LockError::Busy { .. }) => Exit::Busy,
            _ => Exit::Nothing,
        }
    })
}

/// What can be seen to be wrong before anything is made.
fn check(args: &EvolveArgs) -> Result<(), EvolveError> {
    match &args.command {
        EvolveCommand::Init(init) => manifest_of(init).check(),
        _ => Ok(()),
    }
}

fn manifest_of(init: &InitArgs) -> NewManifest<'_> {
    NewManifest {
        id: &init.id,
        name: &init.name,
        description: &init.description,
        owner: init.owner.as_deref(),
        summary: init.summary.as_deref(),
        governor: init.governor.as_deref(),
    }
}

fn opened(context: &Context, args: &EvolveArgs) -> Result<LinuxFilesystem, EvolveError> {
    let makes = matches!(args.command, EvolveCommand::Init(_));
    match (&args.workspace, &args.skill) {
        (Some(directory), _) => open_workspace(directory, &context.options, makes),
        (None, skill) => {
            let skill = skill.as_deref().unwrap_or_default();
            open_workspace_of(&context.options, skill, makes)
        }
    }
}

fn command(
    context: &Context,
    args: &EvolveArgs,
    workspace: &Workspace<'_>,
) -> Result<Exit, EvolveError> {
    let output = &context.output;
    match &args.command {
        EvolveCommand::Init(init) => return self::init(context, args, init, workspace),
        EvolveCommand::Guide(guide) => {
            let signature = guide.signature.as_deref();
            let guidance = workspace.guide(&guide.task, signature, guide.limit)?;
            if !guidance.guidance.is_empty() {
                output.print_text(&guidance.guidance);
            }
            output.document(&guidance);
            if let Err(e) = workspace.add_counts(&guidance.counts()) {
                log::warn!("it was not counted: {e}");
            }
        }
        EvolveCommand::Learn(learn) => {
            let learned = self::learn(learn, workspace)?;
            output.print_line(Tone::Plain, &told(&learned));
            output.document(&learned);
        }
        EvolveCommand::Decide(decide) => {
            let decided = workspace.decide(&input(&decide.decision)?)?;
            let said = match decided.outcome.as_str() {
                "promoted" => "is promoted, and the bank is changed",
                "rejected" => "is rejected",
                "deferred" => "is deferred, and stays open",
                _ => "can't be applied: its entry has changed since it was proposed",
            };
            output.print_line(Tone::Plain, &format!("{} {said}.", decided.proposal_id));
            output.document(&decided);
            return Ok(Exit::whole(decided.outcome != "conflict"));
        }
        EvolveCommand::Proposals => {
            let open = workspace.proposals()?;
            for one in &open {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let line = format!(
                    "{} {} {}: {}",
                    text(&one["created_at"]),
                    text(&one["proposal_id"]),
                    text(&one["proposed_payload"]["skill_entry_id"]),
                    text(&one["change_summary"])
                );
                output.print_line(Tone::Plain, &line);
            }
            none(
                context,
                open.is_empty(),
                "No proposal waits for a decision.",
            );
            output.document(&open);
        }
        EvolveCommand::Rollback(rollback) => {
            let id = workspace.rollback(rollback.to.as_deref(), &rollback.reason)?;
            output.print_line(Tone::Plain, &format!("The state of {id} is restored."));
            output.document(&json!({"snapshot_id": id}));
        }
        EvolveCommand::Bank => {
            let bank = workspace.bank()?;
            for entry in &bank.entries {
                let line = format!(
                    "{} {} v{}: {}",
                    entry.updated_at, entry.skill_entry_id, entry.version, entry.title
                );
                output.print_line(Tone::Plain, &line);
            }
            none(context, bank.entries.is_empty(), "Nothing was learned yet.");
            let value: Value = serde_json::from_slice(&bank.to_file()).unwrap_or_default();
            output.document(&value);
        }
        EvolveCommand::History(history) => {
            let audits = workspace.history(history.entry.as_deref())?;
            for audit in &audits {
                let detail = |key: &str| {
                    audit
                        .details
                        .get(key)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                };
                let line = format!(
                    "{} {} {}: {}",
                    audit.created_at,
                    detail("action"),
                    audit.subject_id,
                    detail("reasoning")
                );
                output.print_line(Tone::Plain, &line);
            }
            none(context, audits.is_empty(), "Nothing has happened yet.");
            output.document(&audits);
        }
        EvolveCommand::Validate => {
            let validation = workspace.validate()?;
            for (tone, kind, findings) in [
                (Tone::Bad, "error", &validation.errors),
                (Tone::Attention, "warning", &validation.warnings),
            ] {
                for one in findings {
                    let gap = if one.path.is_empty() { "" } else { ", " };
                    let line = format!("{kind}: {}{gap}{}: {}", one.file, one.path, one.error);
                    output.print_line(tone, &line);
                }
            }
            let sum = format!(
                "{} documents, {} errors, {} warnings.",
                validation.files,
                validation.errors.len(),
                validation.warnings.len()
            );
            output.print_line(Tone::Plain, &sum);
            output.document(&validation);
            return Ok(Exit::whole(validation.errors.is_empty()));
        }
        EvolveCommand::Prune => {
            let suggestions = workspace.prune()?;
            for one in &suggestions {
                let line = format!(
                    "{} v{}: {}; {}",
                    one.skill_entry_id, one.version, one.title, one.reasoning
                );
                output.print_line(Tone::Attention, &line);
            }
            none(
                context,
                suggestions.is_empty(),
                "No entry is suggested to be pruned.",
            );
            output.document(&suggestions);
        }
        EvolveCommand::Publish => return publish(context, args, workspace),
        EvolveCommand::Import(import) => {
            let imported = workspace.import(&input(&import.file)?)?;
            output.print_line(Tone::Plain, &format!("{imported} entries are imported."));
            output.document(&json!({"imported": imported}));
        }
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Made<'m> {
    workspace: &'m Path,
    skill_id: &'m str,
    mode: &'static str,
}

fn init(
    context: &Context,
    args: &EvolveArgs,
    init: &InitArgs,
    workspace: &Workspace<'_>,
) -> Result<Exit, EvolveError> {
    workspace.init(&manifest_of(init))?;
    let mode = match init.governor {
        Some(_) => "governed",
        None => "standalone",
    };
    let made = Made {
        workspace: workspace.location(),
        skill_id: &init.id,
        mode,
    };
    let shown = made.workspace.display();
    let whose = args
        .skill
        .as_deref()
        .map_or(String::new(), |skill| format!(" for skill {skill}"));
    let line = format!("{shown} is a {mode} workspace of {}{whose} now.", init.id);
    context.output.print_line(Tone::Plain, &line);
    context.output.document(&made);
    Ok(Exit::Done)
}

fn learn(args: &LearnArgs, workspace: &Workspace<'_>) -> Result<Learned, EvolveError> {
    let from_stdin = [&args.result, &args.judgement]
        .into_iter()
        .filter(|text| text.as_deref() == Some("-"));
    if from_stdin.count() > 1 {
        let message = "only one of --result and --judgement can come from standard input";
        return Err(EvolveError::Input(message.into()));
    }
    let given = |text: &Option<String>| text.as_deref().map(json_or_stdin).transpose();
    let result: Option<RunResult> = match given(&args.result)? {
        None => None,
        Some(text) => Some(RunResult::parse(&text)?),
    };
    let judgement = match given(&args.judgement)? {
        None => Judgement::default(),
        Some(text) => Judgement::parse(&text)?,
    };
    workspace.learn(&Task {
        signature: args.signature.as_deref(),
        text: args.task.as_deref(),
        feedback: args.feedback.as_deref(),
        result,
        judgement,
    })
}

fn told(learned: &Learned) -> String {
    let mut line = learned.action.to_owned();
    if let (Some(id), Some(version)) = (&learned.skill_entry_id, &learned.version) {
        let _ = write!(line, " {id} v{version}");
    }
    if let Some(proposal) = &learned.proposal_id {
        let _ = write!(line, " as {proposal}");
    }
    let _ = write!(
        line,
        ": {}. Lesson: {}",
        learned.reasoning, learned.feedback.lesson
    );
    if learned.synthesized {
        line.push_str(" (the entry was made shorter)");
    }
    line
}

fn publish(
    context: &Context,
    args: &EvolveArgs,
    workspace: &Workspace<'_>,
) -> Result<Exit, EvolveError> {
    let tools = SkillTools {
        options: context.options.clone(),
        device: context.settings.device_type,
        catalog: context.settings.tools().map_err(EvolveError::Input)?,
        counting: Counting::AtOnce,
        evolution: None,
    };
    let skill = match &args.skill {
        Some(skill) => skill.clone(),
        None => workspace.skill_id()?,
    };
    let text = tools.skill_text(&skill)?;
    if let Err(e) = SkillDocument::parse(text.as_bytes()) {
        return Err(EvolveError::Refused(format!(
            "SKILL.md of skill {skill:?} {e}"
        )));
    }
    let published = workspace.publish(&tools, &skill, &text)?;
    for left in &published.left_out {
        log::warn!("there is no room for {left}");
    }
    let line = format!(
        "{} entries are in skill {} (sha256={}).",
        published.entries, published.skill, published.sha256
    );
    context.output.print_line(Tone::Plain, &line);
    context.output.document(&published);
    Ok(Exit::whole(published.left_out.is_empty()))
}

fn none(context: &Context, is_empty: bool, line: &str) {
    if is_empty {
        context.output.print_line(Tone::Plain, line);
    }
}

/// JSON as it was given, or what standard input holds.
fn json_or_stdin(text: &str) -> Result<String, EvolveError> {
    match text {
        "-" => input("-"),
        text => Ok(text.to_owned()),
    }
}

/// The text of a file, or of standard input.
fn input(file: &str) -> Result<String, EvolveError> {
    let wrong = |reason: String| EvolveError::Input(format!("{file} can't be read: {reason}"));
    let bytes = if file == "-" {
        let mut bytes = Vec::new();
        let mut stdin = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1);
        stdin
            .read_to_end(&mut bytes)
            .map_err(|e| wrong(e.to_string()))?;
        bytes
    } else {
        match read_followed(Path::new(file), MAX_INPUT_BYTES).map_err(|e| wrong(e.to_string()))? {
            Some(Bounded::Whole(bytes)) => bytes,
            Some(Bounded::TooLarge { bytes }) => {
                return Err(wrong(format!("it has {bytes} bytes")));
            }
            None => return Err(wrong("there is no such file".into())),
        }
    };
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        return Err(wrong(format!("it is larger than {MAX_INPUT_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is no UTF-8 text".into()))
}
