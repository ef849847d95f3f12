//! An assignment: which agent does what, as whom, with which model, rights, limits and tools.
//!
//! It is fixed before the run begins, it is what a transcript's header holds, and with the events
//! after it the run can be rebuilt from it alone.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

use crate::{
    agent::definition::Definition,
    id::{AgentName, RunId, SessionId},
    rights::{
        confinement::SandboxInForce,
        filter::{ToolSet, WithheldTool},
        permission::SharedGuard,
        tool_name::ToolName,
    },
    run::{
        fork::Fork,
        limits::RunLimits,
        outcome::{ModelUsed, ResultOf},
        retry::Stage,
        tool_spec::{Concurrency, Repeatability, ToolSpec},
    },
};

/// Which agent does what, as whom, with which model, rights, limits and tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Assignment {
    /// The run.
    pub agent_id: RunId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The run that asked for it.
    pub parent_id: Option<RunId>,
    /// The run it continues.
    pub resumed_from: Option<RunId>,
    /// The last turn of that run which it shares, where it does not share all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_turn: Option<u32>,
    /// Where it was started from.
    pub source: SessionSource,
    /// How deep in the tree it is: the main agent is 0.
    pub depth: u32,
    /// The definition exactly as it was read; it never changes.
    pub definition: Arc<Definition>,
    /// The limits of this run.
    pub limits: RunLimits,
    /// What the run may call. Every call is held against it again when it begins.
    pub rights: ToolSet,
    /// What it may call where somebody waits for it, for a run in the background: that one has only the tools
    /// that need nobody. A run that continues it starts from these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attended_rights: Option<ToolSet>,
    /// How the agent hands in its answer.
    pub finish: Finish,
    /// Whether the run ends before its background agents.
    #[serde(default, skip_serializing_if = "BackgroundWork::is_awaited")]
    pub background_work: BackgroundWork,
    /// What the project asks of a main agent, beside its instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub briefing: Option<String>,
    /// The task.
    pub task: String,
    /// The task in a few words, where the caller gave them.
    #[serde(default)]
    pub description: Option<String>,
    /// The agent that the prompt's words named, and what was done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// The values of the typed inputs.
    #[serde(default)]
    pub inputs: Map<String, Value>,
    /// What templates can refer to.
    pub environment: TemplateFacts,
    /// The model.
    pub model: ModelUsed,
    /// What is known about calling it.
    pub model_limits: ModelLimits,
    /// The tools the agent may call, `complete_task` not among them.
    pub tools: Vec<ToolSpec>,
    /// Tools it may call and whose schemas the model finds with `mcp_search`; they are empty here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searchable_tools: Vec<ToolSpec>,
    /// The tools it asked for and did not get.
    #[serde(default)]
    pub withheld_tools: Vec<WithheldTool>,
    /// What was told about it before it began, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// The sandbox of its commands, where it can run any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxInForce>,
    /// The directory whose settings and agents count for it, where that is not the one it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The git worktree it works in, where it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeFacts>,
    /// The tools the model is shown, where these are not the agent's own: a fork shows its parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_tools: Option<Vec<ToolSpec>>,
}

/// An agent for a prompt, found by a keyword of its.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routing {
    /// The agent.
    pub agent: String,
    /// Its keyword in the prompt.
    pub keyword: String,
    /// What was done about it.
    pub decision: RoutingDecision,
}

/// What was done about an agent that fits a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoutingDecision {
    /// It got the prompt without a question, by the settings.
    Routed,
    /// It got the prompt after a yes.
    Accepted,
    /// It was offered, and somebody said no.
    Declined,
    /// It was named; nobody could be asked.
    Noted,
}

/// A git worktree that a run works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeFacts {
    /// Its directory.
    pub directory: String,
    /// The working tree that its files come from.
    pub repository: String,
    /// Where the repository keeps what it knows of the worktree.
    pub git_dir: String,
    /// Its branch.
    pub branch: String,
    /// The commit with the files as they were when the run began.
    pub start: String,
}

/// Where a session was started from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionSource {
    /// A terminal.
    Interactive,
    /// A command without one.
    Exec,
    /// An MCP host.
    Mcp,
    /// Another agent.
    SubAgent(SubAgentSource),
}

/// Which subagent it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubAgentSource {
    /// The built-in explorer.
    Explore,
    /// The built-in planner.
    Plan,
    /// Any other.
    Custom(String),
}

impl SubAgentSource {
    /// The source an agent of that name is.
    pub fn from_name(name: &AgentName) -> Self {
        match name.key().as_str() {
            "explore" => Self::Explore,
            "plan" => Self::Plan,
            _ => Self::Custom(name.as_str().to_owned()),
        }
    }
}

/// How an agent hands in its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// By calling `complete_task`: every subagent.
    CompleteTask,
    /// With a text and no call: the main agent, and its forks.
    TextAnswer,
}

/// What a main agent that has answered does about its background agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackgroundWork {
    /// It waits for them, and answers again with what they found.
    #[default]
    Awaited,
    /// It ends, and they go on.
    LeftRunning,
}

impl BackgroundWork {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
    fn is_awaited(&self) -> bool {
        *self == Self::Awaited
    }
}

/// What templates can refer to besides the task and the inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TemplateFacts {
    /// The working directory.
    pub cwd: String,
    /// The date, as the agent is to read it.
    pub today: String,
}

/// What is known about calling a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelLimits {
    /// How often a failed call is tried again.
    pub max_retries: u32,
    /// Retries after a truncated stream; `None` uses `max_retries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_stream_retries: Option<u32>,
    /// How many tokens a conversation may have; none is not known.
    pub context_window: Option<u64>,
    /// US dollars per million input tokens, by which the first request is judged; none is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_usd_per_million: Option<f64>,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self {
            max_retries: 5,
            max_stream_retries: None,
            context_window: None,
            input_usd_per_million: None,
        }
    }
}

impl ModelLimits {
    /// How often a call that failed at that stage is tried again.
    pub(crate) fn retries_at(&self, stage: Stage) -> u32 {
        match stage {
            Stage::RefusedHere => self.max_retries.min(1),
            Stage::Request => self.max_retries,
            Stage::Stream => self.max_stream_retries.unwrap_or(self.max_retries),
        }
    }
}

/// What it takes to begin a run.
#[derive(Clone)]
pub struct RunRequest {
    /// Which agent does what.
    pub assignment: Assignment,
    /// What it takes over from its parent, for an agent that is to know it.
    pub fork: Option<Fork>,
    /// The guard of every call.
    pub guard: SharedGuard,
}

impl std::fmt::Debug for RunRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RunRequest")
            .field("assignment", &self.assignment)
            .field("fork", &self.fork)
            .finish_non_exhaustive()
    }
}

impl Assignment {
    /// An assignment as most are: an agent run by itself, with the limits of its definition, no tools
    /// and no rights.
    pub fn new(
        (agent_id, session_id): (RunId, SessionId),
        definition: Arc<Definition>,
        task: impl Into<String>,
        model: ModelUsed,
    ) -> Self {
        Self {
            agent_id,
            session_id,
            parent_id: None,
            resumed_from: None,
            at_turn: None,
            source: SessionSource::SubAgent(SubAgentSource::from_name(&definition.agent_type)),
            depth: 1,
            limits: RunLimits::from(&definition.run_config),
            rights: ToolSet::default(),
            attended_rights: None,
            definition,
            finish: Finish::CompleteTask,
            background_work: BackgroundWork::Awaited,
            briefing: None,
            task: task.into(),
            description: None,
            routing: None,
            inputs: Map::new(),
            environment: TemplateFacts::default(),
            model,
            model_limits: ModelLimits::default(),
            tools: Vec::new(),
            searchable_tools: Vec::new(),
            withheld_tools: Vec::new(),
            notices: Vec::new(),
            sandbox: None,
            project: None,
            worktree: None,
            shown_tools: None,
        }
    }

    /// The directory whose settings and agents count for it, today as well as when it began.
    pub fn project_directory(&self) -> &str {
        let repository = self.worktree.as_ref().map(|worktree| &worktree.repository);
        self.project.as_ref().or(repository).unwrap_or(&self.environment.cwd)
    }

    /// The same with these tools, and the right to every call of them.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.rights = ToolSet::of_host(tools.iter().map(|spec| spec.name.clone()));
        self.tools = tools;
        self
    }

    /// What a run that continues this one may call, as far as this one decides it.
    pub fn inherited_rights(&self) -> &ToolSet {
        self.attended_rights.as_ref().unwrap_or(&self.rights)
    }

    /// The same agent, going on in a new run with a new task. Rights, limits, depth and parent are
    /// those of the earlier run, its rights as if somebody had waited for it; [`Assignment::narrowed_to`] holds
    /// them against what counts today.
    #[must_use]
    pub fn resumed_as(&self, agent_id: RunId, task: impl Into<String>) -> Self {
        Self {
            resumed_from: Some(self.agent_id.clone()),
            at_turn: None,
            rights: self.inherited_rights().clone(),
            attended_rights: None,
            agent_id,
            task: task.into(),
            description: None,
            routing: None,
            ..self.clone()
        }
    }

    /// The same within today's rights and limits: what either side refuses is refused, and of each
    /// limit the smaller one holds.
    #[must_use]
    pub fn narrowed_to(mut self, rights: &ToolSet, limits: RunLimits) -> Self {
        for tool in rights.names().filter(|tool| !self.rights.contains(tool)) {
            self.withheld_tools.push(WithheldTool {
                tool: tool.to_string(),
                reason: "the run that this one continues did not have it".to_owned(),
            });
        }
        self.rights = self.rights.intersection(rights);
        self.limits = self.limits.smaller(limits);
        self
    }

    /// Who a result of it is about.
    pub fn result_of(&self) -> ResultOf<'_> {
        ResultOf {
            agent_id: &self.agent_id,
            agent_type: &self.definition.agent_type,
            session_id: &self.session_id,
            parent_id: self.parent_id.as_ref(),
            resumed_from: self.resumed_from.as_ref(),
            model: &self.model,
        }
    }

    /// What an executor must know of a tool that the agent may call.
    pub(crate) fn spec(&self, tool: &ToolName) -> Option<&ToolSpec> {
        self.tools.iter().chain(&self.searchable_tools).find(|spec| spec.name == *tool)
    }

    pub(crate) fn concurrency(&self, tool: &ToolName) -> Concurrency {
        self.spec(tool).map_or(Concurrency::Exclusive, |spec| spec.concurrency)
    }

    pub(crate) fn repeatability(&self, tool: &ToolName) -> Repeatability {
        self.spec(tool).map_or(Repeatability::Once, |spec| spec.repetition)
    }
}

impl Serialize for Assignment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// Older headers have neither limits nor rights: then the limits are those in the definition, and the
/// rights are the tools that the run had.
impl<'de> Deserialize<'de> for Assignment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut written = Map::deserialize(deserializer)?;
        let limits_before = || {
            let config = written.get("definition")?.get("runConfig")?;
            let config = serde_json::from_value(config.clone()).ok()?;
            serde_json::to_value(RunLimits::from(&config)).ok()
        };
        if !written.contains_key("limits")
            && let Some(limits) = limits_before()
        {
            written.insert("limits".to_owned(), limits);
        }
        if !written.contains_key("rights") {
            let tools = written.get("tools").and_then(Value::as_array).into_iter().flatten();
            let names = tools.filter_map(|tool| tool.get("name")?.as_str());
            let rights: Map<_, _> =
                names.map(|name| (name.to_owned(), Value::Array(Vec::new()))).collect();
            written.insert("rights".to_owned(), Value::Object(rights));
        }
        Self::deserialize(Value::Object(written)).map_err(D::Error::custom)
    }
}
