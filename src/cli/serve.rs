//! `aiden-skills serve`.

use super::args::ServeArgs;
use super::evolve::evolution;
use super::output::Tone;
use super::{Context, Exit, Flags, merge};
use crate::serve::{Listening, Setup, serve};
use crate::tools::{Counting, SkillTools};

pub(super) fn run(context: &Context, args: &ServeArgs) -> Exit {
    let listening = Listening {
        socket: args.socket.0.clone(),
        socket_group: args.socket_group.clone(),
        http: args.http.0,
        console: args.console,
    };
    let is_handed_over = std::env::var_os("LISTEN_FDS").is_some();
    if args.socket.0.is_none() && args.http.0.is_none() && args.console.is_none() && !is_handed_over
    {
        context.fail(&"with all of --socket, --http and --console off nobody could reach the daemon: leave one on");
        return Exit::Usage;
    }
    let first = setup(&context.flags);
    // What the settings lack was told at the start of the program already.
    let has_settings = context.settings.broken.is_empty() && context.settings.warnings.is_empty();
    let flags = context.flags.clone();
    let announce = |address: &str| {
        let line = format!("The page for people is at {address}");
        context.output.print_line(Tone::Plain, &line);
        context
            .output
            .document(&serde_json::json!({"console": address}));
    };
    match serve(
        &listening,
        first,
        Box::new(move || setup(&flags)),
        &announce,
    ) {
        Ok(served) => Exit::whole(served.is_whole && has_settings),
        Err(e) => context.fail(&e),
    }
}

/// What the settings of now make of tools and merges; the defaults stand for what is wrong.
fn setup(flags: &Flags) -> Setup {
    let settings = flags.settings();
    let options = flags.options(&settings);
    let mut problems: Vec<String> = settings
        .warnings
        .iter()
        .chain(&settings.broken)
        .cloned()
        .collect();
    let catalog = settings.tools().unwrap_or_else(|e| {
        problems.push(format!("{e}; allowed_tools is not checked"));
        None
    });
    Setup {
        is_usable: settings.broken.is_empty(),
        merge: merge::options(&settings, options.clone(), catalog.clone()),
        tools: SkillTools {
            options,
            device: settings.device_type,
            catalog,
            counting: Counting::AtOnce,
            evolution: evolution(&settings, true),
        },
        problems,
    }
}
