//! `attache mcp`: the agents for any host that speaks the Model Context Protocol, and servers for the agents.

pub(crate) mod login;
pub(crate) mod servers;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use clap::{Args, Subcommand};

use self::{
    login::{LoginArgs, LogoutArgs},
    servers::{AddArgs, RemoveArgs},
};
use crate::{
    cli::Globals,
    failure::{Exit, Failure},
    mcp::{
        self,
        install::{Consent, Wish, hosts::HostName},
    },
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
  attache mcp --http 8765              serve at http://127.0.0.1:8765/mcp
  attache mcp install claude           set it up in Claude Code
  attache mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  attache mcp login tickets            log in to a server on the network
  attache mcp list                     the servers whose tools your agents use"
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
    /// Serve over HTTP at this address instead, at the path /mcp: 127.0.0.1:8765, or a port alone.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// Read the token that clients must send from this file; ATTACHE_MCP_TOKEN holds it otherwise.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// A name by which clients may call the server, beside localhost and addresses.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// The model of agents for which a call names none; `host` is the host's own, through sampling.
    #[arg(long, value_name = "MODEL", value_parser = crate::cli::model_words::name)]
    pub(crate) model: Option<String>,
    /// Give each agent a tool of its own beside the others, with the agent's inputs as arguments.
    #[arg(long)]
    pub(crate) tool_per_agent: bool,
}

/// What else can be done about MCP.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum McpCommand {
    /// Set the server up in a host: show the change of its settings, and write it after a yes.
    ///
    /// The file as it was is kept beside it. Doing it again changes nothing.
    Install(HostArgs),
    /// Undo `install`.
    Uninstall(HostArgs),
    /// Add an MCP server whose tools your agents use.
    Add(AddArgs),
    /// Start your MCP servers, and list them with their tools.
    List,
    /// Remove an MCP server from your settings.
    Remove(RemoveArgs),
    /// Log in to an MCP server on the network, with a browser (OAuth).
    ///
    /// The address to open is printed. The tokens are stored in $ATTACHE_HOME/mcp_logins, readable by you alone, sent
    /// only to that server, and renewed when they expire.
    Login(LoginArgs),
    /// Remove the stored login to an MCP server.
    Logout(LogoutArgs),
}

/// Which host, and whether somebody has said yes.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostArgs {
    /// The host.
    host: HostName,
    /// Write without asking.
    #[arg(short, long)]
    yes: bool,
}

/// An address, or the port of one on this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = |port: &str| port.parse().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    local(port).or_else(|_| text.parse()).map_err(|_| {
        "write an address and a port, for example 127.0.0.1:8765, or the port alone".to_owned()
    })
}

impl HostArgs {
    fn run(&self, wish: Wish, setup: &Setup) -> Result<Exit, Failure> {
        let consent = if self.yes { Consent::Given } else { Consent::Asked };
        mcp::install::run(wish, self.host, consent, setup)
    }
}

pub(crate) fn run(args: &McpArgs, globals: &Globals, setup: &Setup) -> Result<Exit, Failure> {
    match &args.command {
        None => mcp::serve(&args.server, globals, setup),
        Some(McpCommand::Install(args)) => args.run(Wish::Install, setup),
        Some(McpCommand::Uninstall(args)) => args.run(Wish::Uninstall, setup),
        Some(McpCommand::Add(args)) => servers::add(args, setup),
        Some(McpCommand::List) => servers::list(setup),
        Some(McpCommand::Remove(args)) => servers::remove(args, setup),
        Some(McpCommand::Login(args)) => login::login(args, setup),
        Some(McpCommand::Logout(args)) => login::logout(args, setup),
    }
}
