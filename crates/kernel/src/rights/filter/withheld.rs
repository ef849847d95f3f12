//! What an agent asked for and does not get, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::{id::AgentName, rights::rule::ToolRuleError};

/// Something an agent asked for and does not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Withheld {
    /// The tool by its canonical name, or the entry as written where it means none.
    pub tool: String,
    /// Why.
    pub reason: WithheldReason,
}

/// The same as it is told to people and kept in transcripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithheldTool {
    /// The tool.
    pub tool: String,
    /// Why, and what to do.
    pub reason: String,
}

impl From<&Withheld> for WithheldTool {
    fn from(withheld: &Withheld) -> Self {
        Self { tool: withheld.tool.clone(), reason: withheld.reason.to_string() }
    }
}

/// Why a tool is withheld. Shown, it says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithheldReason {
    /// The entry means no tool, or cannot be read.
    NotUnderstood(ToolRuleError),
    /// The run is in the background, and the tool is not for that.
    Background,
    /// The agent lies too deep to delegate.
    Depth {
        /// Its depth.
        depth: u32,
        /// The depth at which agents may no longer delegate.
        max_depth: u32,
    },
    /// The tool is the main agent's.
    MainAgentOnly,
    /// The definition forbids it.
    Disallowed {
        /// The entry as written.
        entry: String,
    },
    /// The definition denies it, and excepts none of its calls.
    Denied {
        /// The entry as written.
        entry: String,
    },
    /// The definition forbids some calls of it, but it cannot be told which.
    DisallowedNotUnderstood {
        /// The entry as written.
        entry: String,
        /// What is wrong with it.
        error: ToolRuleError,
    },
    /// The definition has an unknown key that looks like a restriction.
    UnclearRestriction {
        /// The key as written.
        key: String,
    },
    /// The agent is not trusted.
    Untrusted {
        /// The agent.
        agent: AgentName,
    },
    /// The definition lists tools, and not this one.
    NotListed,
    /// The parent does not have it.
    NotOfParent,
    /// There is no such MCP server.
    McpServerNotConfigured {
        /// The server.
        server: String,
    },
    /// The MCP server has no such tool, or the parent does not have it.
    NotOfMcpServer {
        /// The server.
        server: String,
    },
    /// The MCP server did not start.
    McpServerFailed {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// There is no MCP server at all.
    NoMcpServer,
    /// The definition switches it off.
    Disabled {
        /// The entry as written.
        feature: String,
    },
    /// The definition switches off something that nobody knows.
    UnknownFeature,
}

impl fmt::Display for WithheldReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUnderstood(error) => write!(formatter, "{error}"),
            Self::Background => formatter
                .write_str("background runs may not use it; run the agent in the foreground"),
            Self::Depth { depth, max_depth } => write!(
                formatter,
                "Sub-agents are not enabled in this nested context: agents may not delegate at depth {depth}; `subagents.max_depth` is {max_depth}"
            ),
            Self::MainAgentOnly => formatter.write_str("only the main agent has it"),
            Self::Disallowed { entry } => {
                write!(formatter, "the definition's disallowedTools has `{entry}`")
            }
            Self::Denied { entry } => write!(formatter, "the definition denies `{entry}`"),
            Self::DisallowedNotUnderstood { entry, error } => write!(
                formatter,
                "the definition's disallowedTools has `{entry}`, which cannot be read: {error}"
            ),
            Self::UnclearRestriction { key } => write!(
                formatter,
                "the definition's `{key}` looks like a restriction and is not understood; correct or remove it"
            ),
            Self::Untrusted { agent } => write!(
                formatter,
                "untrusted agents may not use it; run `attache trust {}`",
                agent.key()
            ),
            Self::NotListed => formatter.write_str("the definition's tools do not list it"),
            Self::NotOfParent => formatter.write_str("the agent's parent does not have it"),
            Self::McpServerNotConfigured { server } => write!(
                formatter,
                "the MCP server `{server}` is not configured; add it under `mcp_servers`"
            ),
            Self::NotOfMcpServer { server } => write!(
                formatter,
                "the MCP server `{server}` offers no such tool to the agent's parent"
            ),
            Self::McpServerFailed { server, reason } => {
                write!(formatter, "the MCP server `{server}` did not start: {reason}")
            }
            Self::NoMcpServer => {
                formatter.write_str("no MCP server is configured; add one under `mcp_servers`")
            }
            Self::Disabled { feature } => {
                write!(formatter, "the definition's disabledFeatures has `{feature}`")
            }
            Self::UnknownFeature => formatter.write_str(
                "the definition's disabledFeatures names it, but there is no such feature or tool",
            ),
        }
    }
}

impl Serialize for WithheldReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
