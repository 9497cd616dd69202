//! The one definition of the command line; help, man page and completions come from it.

mod evolve;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, CommandFactory, Parser, Subcommand, ValueEnum};

pub(super) use self::evolve::{EvolveArgs, EvolveCommand, InitArgs, LearnArgs};
use crate::profile::Language;
use crate::skill::DeviceType;
use crate::sync::EngineSetting;

const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("AIDEN_TARGET"),
    ", ",
    env!("AIDEN_REVISION"),
    ")"
);

/// Keeps the skills of an agent on a board: seeds and updates them from the firmware's bundle, never losing
/// an edit and never bringing a deletion back
#[derive(Debug, Parser)]
#[command(name = "aiden-skills", version = VERSION, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done; 1 nothing could be done; 2 wrong usage; 3 done in part, or \
    something was found, and the report says what; 4 another process holds the lock."
)]
pub(super) struct Args {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// The definition of the command line, to make the man page and the completions from.
#[must_use]
pub fn command() -> clap::Command {
    Args::command()
}

#[derive(Debug, clap::Args)]
pub(super) struct Global {
    /// The agent's directory on the writable partition [default: /userdata/agent]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help_heading = "Global options"
    )]
    pub config_dir: Option<PathBuf>,
    /// The skills that the firmware ships [default: /oem/usr/share/aiden/skills]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help_heading = "Global options"
    )]
    pub bundled_dir: Option<PathBuf>,
    /// The device that the agent operates: iOS, Android, macOS, windows or linux [default: any]
    #[arg(
        long,
        global = true,
        value_name = "TYPE",
        help_heading = "Global options"
    )]
    pub device_type: Option<DeviceType>,
    /// JSON file with the names of the agent's tools [default: /oem/usr/share/aiden/tools.json]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = "Global options"
    )]
    pub tools_file: Option<PathBuf>,
    /// How skills are merged that both sides changed: auto, structural, llm or off [default: auto]
    #[arg(
        long,
        global = true,
        value_name = "ENGINE",
        help_heading = "Global options"
    )]
    pub engine: Option<EngineSetting>,
    /// Write even to FAT, where a power cut can tear files
    #[arg(long, global = true, help_heading = "Global options")]
    pub allow_unsafe_filesystem: bool,
    /// Print one JSON document instead of text
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// Say only what went wrong
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options"
    )]
    pub quiet: bool,
    /// Say more; given twice, also what is of use for finding faults of the program
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global options")]
    pub verbose: u8,
    /// Where diagnostics go
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "TARGET",
        default_value_t,
        help_heading = "Global options"
    )]
    pub log: LogTarget,
    /// How many seconds to wait for another process that writes
    #[arg(long, global = true, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Global options")]
    pub lock_timeout: Duration,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LogTarget {
    /// Standard error
    #[default]
    Stderr,
    /// The system log, through /dev/log
    Syslog,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Settle what a power cut left, then bring the library up to date with the bundle
    Sync(SyncArgs),
    /// Sync, then merge one by one the skills that both sides changed
    ///
    /// The engine is auto unless told otherwise: without a model where the texts allow it, else by the model that
    /// agent.toml names in [model] or [skills.merge]. A merge that fails leaves the library as it was and is no error:
    /// the exit code is 0, and the report and 'status' say why. For want of an answer it is tried again by the next
    /// merge; after a bad answer only when a text or the engine setting has changed, or with --retry-failed.
    Merge(MergeArgs),
    /// Show each skill's state and what the next sync would do
    Status(StatusArgs),
    /// Show how a skill in the library differs from what was shipped
    Diff(DiffArgs),
    /// Give skills all their shipped files again; the user's own extra files stay
    Reset(ResetArgs),
    /// Print the skill tools of an agent as JSON schemas
    Tools(ToolsArgs),
    /// Call a skill tool as an agent does
    Tool(ToolArgs),
    /// Print the skill sections of an agent's system prompt
    Profile(ProfileArgs),
    /// Stay, sync, and serve the tools over HTTP, to the agent on a socket and to others on TCP
    ///
    /// Merges follow in the background. SIGHUP reads agent.toml again and syncs; SIGTERM ends within five seconds. A door
    /// that can't be opened is told and the others serve; the exit code is then 3. README.md has the routes.
    Serve(ServeArgs),
    /// Serve the tools as a Model Context Protocol server on standard input and output
    ///
    /// It serves the library as it is and does not sync: sync or serve brings the firmware's skills there. It may run beside
    /// both, once for each client.
    Mcp,
    /// Learn from tasks: keep what was learned of a skill, guide by it, and publish it
    ///
    /// A workspace holds what was learned of one skill: a bank of entries, and the experiences, snapshots and audits that tell
    /// where each comes from. Every change is written whole or not at all.
    Evolve(EvolveArgs),
    /// Check skills before they go into an image
    Lint(LintArgs),
    /// Look for what is wrong with library, ledger and bases, and say what repairs it
    Doctor,
}

#[derive(Debug, clap::Args)]
pub(super) struct SyncArgs {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct MergeArgs {
    /// Skills to merge [default: all that need it]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Also those whose merge failed before and would fail again
    #[arg(long)]
    pub retry_failed: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// Skills to show [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct DiffArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Against the bundled text of the last sync or merge
    #[arg(long, conflicts_with_all = ["bundled", "preview"])]
    pub base: bool,
    /// Against what the firmware ships now; the default
    #[arg(long, conflicts_with = "preview")]
    pub bundled: bool,
    /// What merging without a model would change
    #[arg(long)]
    pub preview: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ResetArgs {
    /// Skills to restore
    #[arg(
        value_name = "NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub names: Vec<String>,
    /// Every bundled skill, deleted ones too
    #[arg(long)]
    pub all: bool,
    /// Needed, for it discards the user's changes
    #[arg(long)]
    pub restore: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ToolsArgs {
    /// Whose form
    #[arg(long, value_enum, default_value_t)]
    pub format: ToolFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ToolFormat {
    /// Functions of OpenAI's chat completions
    #[default]
    Openai,
    /// Tools of Anthropic's messages
    Anthropic,
    /// The result of tools/list of the Model Context Protocol
    Mcp,
}

#[derive(Debug, clap::Args)]
pub(super) struct ToolArgs {
    /// skill_list, skill_read, skill_manage or skill_mark_used
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Its input, a JSON object; - reads it from standard input
    #[arg(value_name = "JSON")]
    pub input: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ProfileArgs {
    /// Skills whose instructions are put in whole
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub active: Vec<String>,
    /// What the agent is about to do: skills that match come first
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// Language of the rules: en or zh
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub lang: Language,
}

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// The agent's socket, or off
    #[arg(long, value_name = "PATH", default_value = "/run/aiden-skills.sock", value_parser = OrOff::parse_path)]
    pub socket: OrOff<PathBuf>,
    /// Group that may use the socket, besides root and the daemon's own user: as a process's own or further group, or as
    /// /etc/group has its user
    #[arg(long, value_name = "GROUP")]
    pub socket_group: Option<String>,
    /// Address and port for outside agents, which may list and read, or off
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8791", value_parser = OrOff::parse_address)]
    pub http: OrOff<SocketAddr>,
    /// Loopback address and port of a page for people; the address that is printed has its token [default: off]
    #[arg(long, value_name = "ADDR", value_parser = loopback)]
    pub console: Option<SocketAddr>,
}

/// A place to listen at, or none.
#[derive(Debug, Clone)]
pub(super) struct OrOff<T>(pub Option<T>);

impl OrOff<PathBuf> {
    fn parse_path(text: &str) -> Result<Self, String> {
        Ok(Self((text != "off").then(|| text.into())))
    }
}

impl OrOff<SocketAddr> {
    fn parse_address(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self(None)),
            text => address(text).map(|address| Self(Some(address))),
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "not an IP address and a port, such as 127.0.0.1:8791".to_owned())
}

/// What the page can do is not for the network.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = address(text)?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err("the page is served on a loopback address only, such as 127.0.0.1:8792".into())
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct LintArgs {
    /// Directories of skills, or skills
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
}

/// A day; a longer wait would overflow the clock of some boards.
const MAX_LOCK_TIMEOUT_S: f64 = 86_400.0;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    if (0.0..=MAX_LOCK_TIMEOUT_S).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("must be from 0 to {MAX_LOCK_TIMEOUT_S}"))
    }
}
