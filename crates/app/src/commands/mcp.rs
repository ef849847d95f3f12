//! `attache mcp`: the agents for any host that speaks the Model Context Protocol.

use clap::{Args, Subcommand};

use crate::{
    cli::Globals,
    failure::{Exit, Failure},
    mcp,
    setup::Setup,
};

/// Serve the agents to a host that speaks MCP: Claude Code, Codex, Gemini CLI, VS Code, Cursor, Zed.
///
/// The host gets the tools Task, TaskOutput, TaskStop, subagent_list, subagent_describe and subagent_run, and
/// runs agents through them. Without options the server speaks over standard input and output; the host
/// starts it.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  attache mcp                          serve over standard input and output
  claude mcp add attache -- attache mcp"
)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    command: Option<McpCommand>,
}

/// How the server works.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerArgs {
    /// Give each agent a tool of its own beside the others, with the agent's inputs as arguments.
    #[arg(long)]
    pub(crate) tool_per_agent: bool,
}

/// What else can be done about MCP.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum McpCommand {}

pub(crate) fn run(args: &McpArgs, globals: &Globals, setup: &Setup) -> Result<Exit, Failure> {
    match &args.command {
        None => mcp::serve(&args.server, globals, setup),
        Some(command) => match *command {},
    }
}
