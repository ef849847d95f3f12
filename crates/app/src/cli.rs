//! The command line: what may be typed. What it means is decided in [`crate::setup`] and the commands.

pub(crate) mod model_words;
mod overrides;
pub(crate) mod refusal;

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::{ArgMatches, Args, Parser, Subcommand};

pub(crate) use self::overrides::overrides_gathered;
use crate::{commands, settings::Flag, setup::resumed::Earlier};

/// Runs subagents: specialist agents from the files you already have.
///
/// Agent files of Claude Code, Codex, Gemini CLI, Qwen, opencode, Copilot and Cursor are found, read,
/// checked and run, each in a context of its own with its own prompt, model, tools and limits.
#[derive(Debug, Parser)]
#[command(
    name = "attache",
    version,
    arg_required_else_help = true,
    after_help = "Examples:
  attache run Explore \"where is X?\"    run one agent and print its result
  attache exec \"fix the failing test\"   let the main agent do it, with your agents' help
  attache list                         list all agents and their state
  attache show Explore                 show one agent in full
  attache validate                     check your agent files
  attache suggest \"review this diff\"   find the agent for a task
  attache new reviewer                 create an agent, asking a few questions

Run `attache COMMAND --help` for details of a command."
)]
pub(crate) struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub(crate) globals: Globals,
    /// Drive a run in the background; only this program starts itself like that.
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Takes from what was parsed what the arguments themselves do not say: their order.
    pub(crate) fn notice_order(&mut self, matches: &ArgMatches) {
        if let (Command::Run(args), Some(matches)) =
            (&mut self.command, matches.subcommand_matches("run"))
        {
            args.notice_order(matches);
        }
    }
}

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Change a setting for this call: a dotted key and a TOML value.
    #[arg(
        short = 'c',
        value_name = "KEY=VALUE",
        global = true,
        add = commands::completions::overrides()
    )]
    pub(crate) overrides: Vec<String>,
    /// Define additional agents as one JSON object: {"name": {"description": "…", "prompt": "…"}}.
    #[arg(long, value_name = "JSON", global = true)]
    pub(crate) agents: Option<String>,
    /// Read agent files from this directory as well.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) agents_dir: Vec<PathBuf>,
    /// Work in this directory instead of the current one.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) cwd: Option<PathBuf>,
    /// Use this profile of the settings.
    #[arg(long, value_name = "NAME", global = true, add = commands::completions::profiles())]
    pub(crate) profile: Option<String>,
    /// Print only the result.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Write a log of runs, turns and calls to this file; ATTACHE_LOG sets the level.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) log_file: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The options of the command that stand for settings.
    #[arg(skip)]
    pub(crate) flags: Vec<Flag>,
    /// The earlier run that the command goes on with.
    #[arg(skip)]
    pub(crate) resumes: Option<Earlier>,
}

impl Globals {
    /// The same options as words of a command line.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut add = |option: &str, value: &OsStr| {
            words.push(option.into());
            words.push(value.to_owned());
        };
        self.overrides.iter().for_each(|value| add("-c", value.as_ref()));
        self.agents.iter().for_each(|value| add("--agents", value.as_ref()));
        self.agents_dir.iter().for_each(|value| add("--agents-dir", value.as_ref()));
        self.cwd.iter().for_each(|value| add("--cwd", value.as_ref()));
        self.profile.iter().for_each(|value| add("--profile", value.as_ref()));
        self.log_file.iter().for_each(|value| add("--log-file", value.as_ref()));
        words.extend(self.quiet.then(|| "--quiet".into()));
        words.extend(self.json.then(|| "--json".into()));
        words
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(commands::run::RunArgs),
    Exec(commands::exec::ExecArgs),
    Chat(commands::chat::ChatArgs),
    Tasks(commands::tasks::TasksArgs),
    Output(commands::output::OutputArgs),
    Stop(commands::stop::StopArgs),
    Send(commands::send::SendArgs),
    List(commands::list::ListArgs),
    Show(commands::show::ShowArgs),
    May(commands::may::MayArgs),
    Validate(commands::validate::ValidateArgs),
    Suggest(commands::suggest::SuggestArgs),
    New(commands::new::NewArgs),
    Trust(commands::trust::TrustArgs),
    Untrust(commands::untrust::UntrustArgs),
    Mcp(commands::mcp::McpArgs),
    Login(commands::login::LoginArgs),
    Logout(commands::logout::LogoutArgs),
    Transcript(commands::transcript::TranscriptArgs),
    Usage(commands::usage::UsageArgs),
    Clean(commands::clean::CleanArgs),
    Models(commands::models::ModelsArgs),
    Config(commands::config::ConfigArgs),
    Doctor(commands::doctor::DoctorArgs),
    Completions(commands::completions::CompletionsArgs),
}
