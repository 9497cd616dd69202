//! `aiden-skills merge`.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::args::MergeArgs;
use super::output::Tone;
use super::{Context, Exit, sync};
use crate::config::Settings;
use crate::merge::llm::Llm;
use crate::merge::{
    Asked, Auto, Engine, Event, MergeOptions, MergeReport, NoModel, Stop, Wanted,
    merge_bundled_skills,
};
use crate::skill::ToolCatalog;
use crate::sync::{SkillSyncOptions, skill_status};

const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn run(context: &Context, args: &MergeArgs) -> Exit {
    let tools = match context.settings.tools() {
        Ok(tools) => tools,
        Err(e) => return context.fail(&e),
    };
    let options = options(&context.settings, context.options.clone(), tools);
    match skill_status(&context.options, &args.names) {
        Ok(status) if !args.names.is_empty() && status.skills.is_empty() => {
            let names = args.names.join(", ");
            return context.fail(&format!(
                "there is no skill {names}; 'status' lists all skills"
            ));
        }
        Ok(_) => {}
        Err(e) => return context.fail_sync(&e),
    }
    let stop = Stop::default();
    if let Err(e) = stop_at_signals(&stop) {
        log::warn!("signals can't be caught ({e}): a stop does not wait for a merge");
    }
    let wanted = Wanted {
        names: args.names.clone(),
        retry_failed: args.retry_failed,
    };
    let progress = Progress::new(context);
    let merged = merge_bundled_skills(&options, &wanted, &stop, &mut |event| progress.show(event));
    progress.clear();
    match merged {
        Ok(report) => tell(context, &wanted, &report),
        Err(e) => context.fail_sync(&e),
    }
}

/// How the settings say that merges are done.
pub(super) fn options(
    settings: &Settings,
    sync: SkillSyncOptions,
    tools: Option<ToolCatalog>,
) -> MergeOptions {
    MergeOptions {
        sync,
        engine: engine(settings, tools.clone()),
        tools,
        max_attempts: settings.model.max_attempts,
        asked: Asked::default(),
        minute: Duration::from_secs(60),
        on_applied: None,
    }
}

fn engine(settings: &Settings, tools: Option<ToolCatalog>) -> Engine {
    let model = settings
        .model
        .settings(&|name| std::env::var_os(name))
        .and_then(|model| Llm::new(model).map_err(NoModel))
        .map(|model| Arc::new(model) as Engine);
    Arc::new(Auto::new(settings.engine, model, tools))
}

/// Asks to stop at the first signal; the second one ends the program.
fn stop_at_signals(stop: &Stop) -> std::io::Result<()> {
    let caught = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&caught))?;
        signal_hook::flag::register(signal, Arc::clone(&caught))?;
    }
    let stop = stop.clone();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            while !caught.load(Ordering::Relaxed) {
                thread::sleep(SIGNAL_INTERVAL);
            }
            stop.stop();
        })?;
    Ok(())
}

/// A line on a terminal that says what is waited for.
struct Progress {
    shown: bool,
}

impl Progress {
    fn new(context: &Context) -> Self {
        Self {
            shown: std::io::stderr().is_terminal() && !context.output.is_quiet(),
        }
    }

    fn show(&self, event: &Event) {
        if let Event::Started { name, number, of } = event
            && self.shown
        {
            let _ = write!(
                std::io::stderr(),
                "\r\x1b[Kmerging {name} ({number} of {of}) …"
            );
        }
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// The seed's §17 sentences.
fn tell(context: &Context, wanted: &Wanted, report: &MergeReport) -> Exit {
    let output = &context.output;
    let has_nothing_else = report.sync.merged.is_empty() && report.merge_failed.is_empty();
    sync::tell(
        output,
        &report.sync,
        context.options.engine,
        has_nothing_else,
    );
    for failed in &report.merge_failed {
        let line = format!(
            "{} merge failed, continuing with user old version. ({})",
            failed.name, failed.error
        );
        output.say(Tone::Bad, &line);
    }
    let unknown: Vec<&String> = wanted
        .names
        .iter()
        .filter(|name| !report.sync.names().any(|known| known == **name))
        .filter(|name| {
            !report
                .merge_failed
                .iter()
                .any(|failed| failed.name == **name)
        })
        .collect();
    for name in &unknown {
        log::error!("there is no skill {name:?} in bundle or ledger");
    }
    for name in &wanted.names {
        if report.sync.needs_nothing(name) {
            output.say(Tone::Plain, &format!("{name} has nothing to merge."));
        }
    }
    output.document(report);
    let configured = context.settings.warnings.is_empty();
    Exit::whole(configured && report.sync.is_whole() && unknown.is_empty())
}
