//! The command line of `evolve`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct EvolveArgs {
    /// Directory of the workspace [default: that of the skill, evolution/NAME in the state dir]
    #[arg(long, global = true, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Skill of the library
    #[arg(long, global = true, value_name = "NAME")]
    pub skill: Option<String>,
    /// Who is named in audits and proposals [default: aiden-skills/VERSION]
    #[arg(long, global = true, value_name = "ID")]
    pub actor: Option<String>,
    #[command(subcommand)]
    pub command: EvolveCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum EvolveCommand {
    /// Make a new workspace
    Init(InitArgs),
    /// Print what is known of a task, as a block for a prompt; nothing where nothing is relevant
    Guide(GuideArgs),
    /// Learn from a task that was done
    ///
    /// The first that applies decides: what the user said of it, an error, a success after a failure, or a preference in
    /// what the user asked for. What is learned is added to the entry that it belongs to, corrects it, or makes a new one.
    Learn(LearnArgs),
    /// Apply a governor's decision on a proposal
    Decide(DecideArgs),
    /// List the proposals that wait for a decision, oldest first
    Proposals,
    /// Restore manifest and bank of a snapshot
    Rollback(RollbackArgs),
    /// Print the entries, newest first
    Bank,
    /// Print the audit trail, oldest first
    History(HistoryArgs),
    /// Check every file of the workspace
    Validate,
    /// Suggest entries that were given often and never confirmed; changes nothing
    Prune,
    /// Write the bank into the skill's SKILL.md, as the section "Learned guidance"
    Publish,
    /// Take in a bank of the kit's Python era
    Import(ImportArgs),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct InitArgs {
    /// Identifier of the skill: lower-case letters, digits, '.', '_' and '-'
    #[arg(long, value_name = "ID")]
    pub id: String,
    /// Its name, for people
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// What it does, in a sentence
    #[arg(long, value_name = "TEXT")]
    pub description: String,
    /// Whose it is [default: local]
    #[arg(long, value_name = "OWNER")]
    pub owner: Option<String>,
    /// What it can do, in a sentence [default: the description]
    #[arg(long, value_name = "TEXT")]
    pub summary: Option<String>,
    /// Who decides on changes; the workspace is governed then
    #[arg(long, value_name = "ID")]
    pub governor: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct GuideArgs {
    /// What the user asks for
    #[arg(long, value_name = "TEXT")]
    pub task: String,
    /// The kind of task, such as code_review
    #[arg(long, value_name = "SIGNATURE")]
    pub signature: Option<String>,
    /// At most so many entries; never more than 5
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LearnArgs {
    /// The kind of task, such as code_review [default: made of the task's words]
    #[arg(long, value_name = "SIGNATURE")]
    pub signature: Option<String>,
    /// What the user asked for
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// What the user said of it afterwards
    #[arg(long, value_name = "TEXT")]
    pub feedback: Option<String>,
    /// What came of it: {"status", "exit_code", "error", "text", "improved"}, each optional; - reads it from standard input
    #[arg(long, value_name = "JSON")]
    pub result: Option<String>,
    /// The caller's own reading: {"feedback", "match", "title", "keywords", "content"}, each optional; - reads it from
    /// standard input
    #[arg(long, value_name = "JSON")]
    pub judgement: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DecideArgs {
    /// File of the PromotionDecision; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub decision: String,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RollbackArgs {
    /// Which snapshot [default: the newest that is not one of before a rollback]
    #[arg(long, value_name = "SNAPSHOT")]
    pub to: Option<String>,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct HistoryArgs {
    /// Only what concerns this entry
    #[arg(long, value_name = "ENTRY")]
    pub entry: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ImportArgs {
    /// The bank; - reads it from standard input
    #[arg(value_name = "FILE")]
    pub file: String,
}
