//! Notices: what the caller should know about a prepared run, as values. Nothing here is printed.

use std::{fmt, path::PathBuf};

use attache_kernel::agent::definition::Definition;

use crate::model::wire::{Traits, unsampled};

/// Something to know about a run that was prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// No provider is set up, and the built-in model answers; with the model that was asked for.
    OfflineAnswers {
        /// The model the agent asks for.
        asked: Option<String>,
    },
    /// The short name of a model was passed over.
    AliasPassedOver {
        /// The short name.
        alias: String,
        /// The agent that asks for it.
        agent: String,
        /// The model that answers instead.
        model: String,
        /// Its provider.
        provider: String,
    },
    /// The address an agent asks for is not used, since the agent is not trusted.
    EndpointNotUsed {
        /// The agent.
        agent: String,
    },
    /// What an agent asks of its model is not sent.
    NotSent {
        /// The fields.
        fields: Vec<String>,
        /// The model.
        model: String,
    },
    /// An agent's `temperature` or `topP` is not sent.
    FixedSampling {
        /// The fields.
        fields: Vec<String>,
        /// The model.
        model: String,
    },
    /// A small model plans, since no larger one is known there.
    PlanningStaysSmall {
        /// The model.
        model: String,
        /// Its provider.
        provider: String,
    },
    /// The file of a resumed agent has changed since.
    DefinitionChanged {
        /// The agent.
        agent: String,
    },
    /// An MCP server that an agent file describes is not started, since the agent is not trusted.
    ServerNotStarted {
        /// The agent.
        agent: String,
        /// The server.
        server: String,
    },
    /// An agent names an MCP server that is not configured.
    NoSuchServer {
        /// The agent.
        agent: String,
        /// The server.
        server: String,
    },
    /// A run that branches off begins with other files than there were then.
    FilesNotKnown {
        /// The turn.
        turn: u32,
    },
    /// The branch with what a resumed run did in its worktree is gone.
    BranchGone {
        /// The branch.
        branch: String,
        /// Whether the files are still known.
        has_files: bool,
    },
    /// The workspace lies where keys or the program's own files are kept.
    HiddenWorkspace {
        /// The workspace.
        folder: String,
    },
    /// The workspace lies in a protected path.
    ProtectedWorkspace {
        /// The workspace.
        folder: String,
        /// The protected path.
        within: &'static str,
    },
    /// A file with the project's instructions is not given to the agent.
    InstructionsLeftOut {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// The project's instructions are given only up to here.
    InstructionsCut {
        /// The file in which they are cut.
        file: PathBuf,
        /// The maximum size of all of them.
        most_bytes: usize,
    },
    /// A resumed run goes on in the folder it began in.
    GoesOnIn {
        /// The folder.
        folder: String,
    },
}

impl Notice {
    /// Whether it says that this short name was passed over.
    pub(crate) fn is_about_alias(&self, asked: Option<&str>) -> bool {
        match self {
            Self::AliasPassedOver { alias, .. } => asked.is_some_and(|asked| asked.trim() == alias),
            _ => false,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfflineAnswers { asked: None } => formatter.write_str(
                "no model provider is set up: the built-in `offline` model searches and reads",
            ),
            Self::OfflineAnswers { asked: Some(model) } => write!(
                formatter,
                "no model provider is set up for `{model}`: the built-in `offline` model searches and reads"
            ),
            Self::AliasPassedOver { alias, agent, model, provider } => write!(
                formatter,
                "`{alias}` is asked for `{agent}`, and its maker is not set up: it runs on `{model}` of `{provider}` (set model_aliases.{alias} to choose)"
            ),
            Self::EndpointNotUsed { agent } => write!(
                formatter,
                "the endpoint of `{agent}` is not used: the agent is not trusted (attache trust {agent})"
            ),
            Self::NotSent { fields, model } => write!(
                formatter,
                "{} not sent: `{model}` cannot be told how much to think",
                are(fields)
            ),
            Self::FixedSampling { fields, model } => write!(
                formatter,
                "{} not sent: `{model}` refuses requests with this setting",
                are(fields)
            ),
            Self::PlanningStaysSmall { model, provider } => write!(
                formatter,
                "planning stays on `{model}`: nothing says what `sonnet` is on `{provider}` (set model_aliases.sonnet)"
            ),
            Self::DefinitionChanged { agent } => write!(
                formatter,
                "the file of `{agent}` has changed: the run continues with the instructions it began with, and with the tools and limits that both files allow"
            ),
            Self::ServerNotStarted { agent, server } => write!(
                formatter,
                "the MCP server `{server}` of `{agent}` is not started: the agent is not trusted (attache trust {agent})"
            ),
            Self::NoSuchServer { agent, server } => write!(
                formatter,
                "`{agent}` names the MCP server `{server}`, which is not configured (attache mcp add {server})"
            ),
            Self::BranchGone { branch, has_files: true } => write!(
                formatter,
                "the branch {branch} is gone: the agent goes on with the files it had, on a new branch"
            ),
            Self::BranchGone { branch, has_files: false } => write!(
                formatter,
                "the branch {branch} is gone, and with it what the agent did: it goes on with your files"
            ),
            Self::FilesNotKnown { turn } => write!(
                formatter,
                "the files after turn {turn} were not kept: the worktree begins with those that the run left at its end"
            ),
            Self::HiddenWorkspace { folder } => write!(
                formatter,
                "{folder} lies where keys or the program's own files are kept: no tool and no command may use it"
            ),
            Self::ProtectedWorkspace { folder, within } => write!(
                formatter,
                "{folder} lies in a protected path (`{within}`): commands cannot write there, and every change of a file is asked about"
            ),
            Self::InstructionsLeftOut { file, why } => {
                write!(formatter, "{} is not read as instructions: {why}", file.display())
            }
            Self::InstructionsCut { file, most_bytes } => write!(
                formatter,
                "the project's instructions are cut off in {}: at most {} KB of them are given to the agent",
                file.display(),
                most_bytes / 1024
            ),
            Self::GoesOnIn { folder } => {
                write!(formatter, "the run continues in the directory it began in, {folder}")
            }
        }
    }
}

/// Fields with their verb.
fn are(fields: &[String]) -> String {
    let verb = if fields.len() > 1 { "are" } else { "is" };
    let fields: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
    format!("{} {verb}", fields.join(" and "))
}

/// What an agent asks of its model and a model with those traits refuses.
pub(super) fn fixed_sampling(
    definition: &Definition,
    model: &str,
    traits: Traits,
) -> Option<Notice> {
    let fields = unsampled(&definition.model_config, traits);
    let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
    (!fields.is_empty()).then(|| Notice::FixedSampling { fields, model: model.to_owned() })
}

/// What an agent asks of its model and the model cannot do.
pub fn not_sent(definition: &Definition, model: &str) -> Option<Notice> {
    let thinking = attache_kernel::model::catalogue::find(model).map(|known| known.thinking);
    let fields = crate::model::wire::unheeded(&definition.model_config, thinking);
    let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
    (!fields.is_empty()).then(|| Notice::NotSent { fields, model: model.to_owned() })
}
