//! A definition: what one agent file says, in any dialect.
//!
//! Every dialect maps onto this one model; the wire form is camelCase JSON. Values are kept as they
//! were written (tool entries, the model selector), so that what a person sees is what the
//! file says. [`reading`] turns a file into a definition.

pub mod diagnostic;
pub mod dialect;
pub mod inputs;
pub mod markdown;
pub mod reading;
pub mod template;

mod check;
mod conflict;
mod denial;
mod fields;
mod frontmatter;
mod guard;
mod keys;
mod lists;
mod node;
mod opencode_pattern;
mod permission;
mod recovery;
mod restriction;
mod slip;
mod toml_role;
mod yaml;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    diagnostic::{Code, Diagnostic, Position, Severity},
    dialect::{Dialect, Format},
    inputs::{InputConfig, InputDefinition, InputType},
};
use crate::{id::AgentName, path_text};

/// What one agent file says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// The agent's name as written.
    pub agent_type: AgentName,
    /// A name for people, where one was given.
    #[serde(default)]
    pub display_name: Option<String>,
    /// What the agent is for; shown to a main agent that delegates.
    #[serde(default)]
    pub when_to_use: Option<String>,
    /// Words that route a prompt to this agent.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// A colour for the terminal.
    #[serde(default)]
    pub color: Option<String>,
    /// Which tools the agent may use.
    #[serde(default)]
    pub tools: ToolAccess,
    /// Which tools it may not use, rules such as `Bash(rm *)` included.
    #[serde(default)]
    pub disallowed_tools: Vec<String>,
    /// Which calls are refused, in order, beside what `disallowed_tools` says. An entry that begins with `!` excepts
    /// calls from the entries before it; it allows nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny_tools: Vec<String>,
    /// Which calls are always asked about, in order. An entry that begins with `!` excepts calls from the entries
    /// before it; it allows nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask_tools: Vec<String>,
    /// Where the definition comes from.
    #[serde(default)]
    pub source: Scope,
    /// The file it was read from; `None` for built-in and session agents.
    #[serde(default, serialize_with = "path_text::optional")]
    pub source_path: Option<PathBuf>,
    /// The dialect it was written in.
    #[serde(default)]
    pub dialect: Dialect,
    /// The directory the agent works in; `None` means the parent's.
    #[serde(default)]
    pub base_dir: Option<PathBuf>,
    /// Model and sampling.
    #[serde(default)]
    pub model_config: ModelConfig,
    /// Whether the parent's conversation is given first.
    #[serde(default)]
    pub fork_context: bool,
    /// The prompts.
    #[serde(default)]
    pub prompt_config: PromptConfig,
    /// The limits.
    #[serde(default)]
    pub run_config: RunConfig,
    /// The typed inputs, if any are declared.
    #[serde(default)]
    pub input_config: Option<InputConfig>,
    /// The structured output, if one is declared.
    #[serde(default)]
    pub output_config: Option<OutputConfig>,
    /// Features the agent may not use.
    #[serde(default)]
    pub disabled_features: Vec<String>,
    /// Whether it runs in this process or as a separate instance of the program.
    #[serde(default)]
    pub execution_mode: ExecutionMode,
    /// Who answers when a call needs approval.
    #[serde(default)]
    pub approval_mode: ApprovalMode,
    /// Whether the agent runs in the background unless told otherwise.
    #[serde(default)]
    pub background: bool,
    /// Whether the agent works in a tree of its own.
    #[serde(default)]
    pub isolation: Isolation,
    /// The permission mode a Claude file asks for.
    #[serde(default)]
    pub permission_mode: Option<PermissionMode>,
    /// MCP servers the agent wants, by name or defined inline.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// Skills to preload.
    #[serde(default)]
    pub skills: Vec<String>,
    /// Hooks, kept as written.
    #[serde(default)]
    pub hooks: Option<Value>,
    /// The memory scope, kept as written.
    #[serde(default)]
    pub memory: Option<String>,
    /// Whether the file itself switches the agent off.
    #[serde(default, skip_serializing_if = "is_false")]
    pub disabled: bool,
    /// Unknown keys that look like restrictions. While there are any, the agent gets no tool that runs commands, writes
    /// or belongs to an MCP server, whether it is trusted or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unclear_restrictions: Vec<String>,
    /// Keys that this version does not know, kept as written.
    #[serde(default)]
    pub extras: Map<String, Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Definition {
    /// An empty definition of that name.
    pub fn named(name: AgentName) -> Self {
        Self {
            agent_type: name,
            display_name: None,
            when_to_use: None,
            keywords: Vec::new(),
            color: None,
            tools: ToolAccess::All,
            disallowed_tools: Vec::new(),
            deny_tools: Vec::new(),
            ask_tools: Vec::new(),
            source: Scope::default(),
            source_path: None,
            dialect: Dialect::default(),
            base_dir: None,
            model_config: ModelConfig::default(),
            fork_context: false,
            prompt_config: PromptConfig::default(),
            run_config: RunConfig::default(),
            input_config: None,
            output_config: None,
            disabled_features: Vec::new(),
            execution_mode: ExecutionMode::default(),
            approval_mode: ApprovalMode::default(),
            background: false,
            isolation: Isolation::default(),
            permission_mode: None,
            mcp_servers: Vec::new(),
            skills: Vec::new(),
            hooks: None,
            memory: None,
            disabled: false,
            unclear_restrictions: Vec::new(),
            extras: Map::new(),
        }
    }
}

/// Which tools an agent may use, entries as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolAccess {
    /// Every tool its parent has.
    #[default]
    All,
    /// Only these entries; an empty list means no tools.
    List(Vec<String>),
}

impl ToolAccess {
    /// What a list of entries means.
    pub fn of_entries(entries: Vec<String>) -> Self {
        match entries.as_slice() {
            [only] if only == "*" || only.eq_ignore_ascii_case("all") => Self::All,
            _ => Self::List(entries),
        }
    }

    /// What a text means, split at commas outside brackets.
    pub fn of_text(text: &str) -> Self {
        let entries = lists::split_commas(text).into_iter().filter(|entry| !entry.is_empty());
        Self::of_entries(entries.map(str::to_owned).collect())
    }
}

impl Serialize for ToolAccess {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::List(entries) => entries.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ToolAccess {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(word) if word == "all" || word == "*" => Ok(Self::All),
            list @ Value::Array(_) => {
                serde_json::from_value(list).map(Self::List).map_err(serde::de::Error::custom)
            }
            _ => Err(serde::de::Error::custom("tools is \"all\" or a list of tool names")),
        }
    }
}

/// Where a definition comes from. The order is the precedence: a later scope overrides an earlier one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Part of the program.
    #[default]
    Builtin,
    /// One of the user's own, for all projects.
    User,
    /// Part of the current project.
    Project,
    /// Given on the command line, for this session only; on the wire it is `user`.
    #[serde(rename(serialize = "user", deserialize = "session"))]
    Session,
}

impl Scope {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
        }
    }
}

/// Whether the user trusts a definition with its current content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It is built in, or the user trusts exactly this content.
    Trusted,
    /// The user has not trusted it, or the file has changed since.
    Untrusted,
}

impl Serialize for Trust {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self == Self::Trusted)
    }
}

/// A model as a file or a call names it: an id, an alias, or one of the selectors.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelSelector(String);

/// What a [`ModelSelector`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelWish<'a> {
    /// The parent's model.
    Inherit,
    /// The host's choice; here, the parent's model.
    Auto,
    /// A quick and cheap model: the alias `fast`, else the parent's model.
    Fast,
    /// This id or alias.
    Named(&'a str),
}

impl ModelSelector {
    /// A selector, kept as written apart from surrounding blanks.
    pub fn new(written: &str) -> Self {
        Self(written.trim().to_owned())
    }

    /// The selector as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it asks for.
    pub fn wish(&self) -> ModelWish<'_> {
        if self.0.eq_ignore_ascii_case("inherit") || self.0.is_empty() {
            ModelWish::Inherit
        } else if self.0.eq_ignore_ascii_case("auto") {
            ModelWish::Auto
        } else if self.0.eq_ignore_ascii_case("fast") {
            ModelWish::Fast
        } else {
            ModelWish::Named(&self.0)
        }
    }
}

/// Model and sampling. Only what was written is ever sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelConfig {
    /// A provider id from the settings.
    pub provider: Option<String>,
    /// The model as written.
    pub model: Option<ModelSelector>,
    /// Another address for the provider, for this agent only.
    pub endpoint: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Thinking tokens: -1 means unlimited, 0 means no thinking.
    pub thinking_budget: Option<i64>,
    /// Reasoning effort, as the provider names it.
    pub effort: Option<String>,
    /// Further values that go into the request as they are.
    pub parameters: Map<String, Value>,
}

/// The prompts of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptConfig {
    /// The system prompt: the body of a Markdown file.
    pub system_prompt: Option<String>,
    /// A template for the first user message; `None` sends the task itself.
    pub query: Option<String>,
    /// Messages put before the task, as examples.
    pub initial_messages: Vec<InitialMessage>,
}

/// A message of a few-shot prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitialMessage {
    /// Who says it.
    pub role: InitialRole,
    /// What is said.
    pub content: String,
}

/// Who says an [`InitialMessage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InitialRole {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunConfig {
    /// Maximum wall time.
    pub max_time_seconds: u32,
    /// Maximum number of model calls.
    pub max_turns: u32,
    /// Time for the last answer after a limit was reached.
    pub grace_period_seconds: u32,
    /// Maximum number of tokens over all turns; `None` means no limit.
    pub max_tokens: Option<u64>,
    /// Maximum cost over all turns; `None` means no limit.
    pub max_cost_usd: Option<f64>,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            max_time_seconds: 300,
            max_turns: 50,
            grace_period_seconds: 60,
            max_tokens: None,
            max_cost_usd: None,
        }
    }
}

/// A structured output: one argument of `complete_task`, checked against a schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputConfig {
    /// The argument's name.
    pub output_name: String,
    /// What it should hold.
    pub description: String,
    /// The JSON Schema it must satisfy.
    pub schema: Value,
}

/// How an agent is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// A task in this process.
    #[default]
    Lightweight,
    /// A complete instance of the program as a child process.
    FullCodex,
}

/// Who answers when a call needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// The question goes to the owner of the session.
    #[default]
    RouteToParent,
    /// Nobody is asked: what would need approval is refused.
    Suppress,
    /// Approved if the sandbox is in force, asked otherwise.
    AutoApproveInSandbox,
}

/// Whether an agent works in a tree of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the workspace itself.
    #[default]
    None,
    /// In a git worktree made for the run.
    Worktree,
}

/// The permission mode a Claude file asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Ask as usual.
    Default,
    /// Edits need no question.
    AcceptEdits,
    /// Nothing is asked.
    BypassPermissions,
    /// What would be asked is refused.
    DontAsk,
    /// Read and plan only.
    Plan,
}

/// An MCP server an agent wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Its definition, if the file has one; `None` refers to the settings.
    #[serde(default)]
    pub config: Option<Value>,
}
