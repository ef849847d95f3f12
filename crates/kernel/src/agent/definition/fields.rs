//! Fields: what each key of a header does to a definition.
//!
//! A value that is not understood is a diagnostic, and the field keeps its default; a restriction that
//! is not understood takes the tool away (see [`super::restriction`]).

mod contract;
mod values;

use std::{collections::HashSet, path::PathBuf};

use serde_json::Value;

use self::values::is_number_or_bool;
use super::{
    ApprovalMode, Code, Definition, Diagnostic, ExecutionMode, Isolation, McpServer, ModelSelector,
    PermissionMode, Position, ToolAccess,
    dialect::Dialect,
    keys::Key,
    lists::split_commas,
    node::{Kind, Member, Scalar, to_object},
    slip::{grants, meant_restriction, meant_switch},
    yaml::MERGE_KEY,
};

/// A definition in the making.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) definition: Definition,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) places: Places,
    /// `model`, to be compared with `modelConfig.model`.
    pub(crate) model: Option<(ModelSelector, Position)>,
    /// Instructions given as a key.
    pub(crate) instructions: Option<(String, Position)>,
    /// Tools the header takes away under another key.
    pub(crate) taken: Vec<String>,
    dialect: Dialect,
}

/// The places in the file of the fields that are checked together.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) name: Option<Position>,
    pub(crate) description: Option<Position>,
    pub(crate) tools: Vec<Position>,
    pub(crate) disallowed: Vec<Position>,
    pub(crate) features: Vec<Position>,
    pub(crate) query: Option<Position>,
    pub(crate) inputs: Option<Position>,
}

impl Fields {
    pub(crate) fn new(definition: Definition) -> Self {
        let dialect = definition.dialect;
        Self {
            definition,
            diagnostics: Vec::new(),
            places: Places::default(),
            model: None,
            instructions: None,
            taken: Vec::new(),
            dialect,
        }
    }

    /// Takes in the members of a header, in order; of a repeated key, the first one is used.
    pub(crate) fn take_all(&mut self, members: &[Member]) {
        let mut seen = HashSet::with_capacity(members.len());
        for member in members {
            // `allowed-tools` is another word for `tools`, and a second list must not widen the first.
            let key = match Key::read(&member.key) {
                Some(Key::Tools | Key::ToolsSlip) => "tools",
                _ => member.key.as_str(),
            };
            if !seen.insert(key) {
                let message = format!("`{}` is written twice; the first one is used", member.key);
                self.push(
                    Diagnostic::warning(Code::DuplicateKey, member.key_at, message)
                        .with_hint("remove one of them"),
                );
                continue;
            }
            self.take(member);
        }
    }

    fn take(&mut self, member: &Member) {
        let Some(key) = Key::read(&member.key) else {
            if member.key.trim() == MERGE_KEY {
                // What it would have brought in is not known.
                self.unclear_restriction(member, "tools");
                return;
            }
            let meant = meant_restriction(&member.key).or_else(|| meant_switch(member));
            match meant.filter(|_| !grants(member)) {
                Some(meant) => self.unclear_restriction(member, meant),
                None => self.keep_unknown(member, &member.key.clone()),
            }
            return;
        };
        match key {
            Key::Name => self.take_name(member),
            Key::Description => {
                self.places.description = Some(member.value.at);
                self.definition.when_to_use = self.words(member);
            }
            Key::DisplayName => self.definition.display_name = self.text(member),
            Key::Keywords => {
                self.definition.keywords = self.distinct(member);
            }
            Key::Color => self.definition.color = self.text(member),
            Key::Tools | Key::ToolsSlip | Key::ToolsUnasked | Key::DisallowedTools => {
                self.take_tools(key, member);
            }
            Key::AskTools | Key::DenyTools => self.take_excepting(key, member),
            Key::Model => self.take_model(member),
            Key::ModelConfig => self.take_nested(member, Self::take_model_config),
            Key::Provider
            | Key::Endpoint
            | Key::Temperature
            | Key::TopP
            | Key::ThinkingBudget
            | Key::Effort
            | Key::Thinking
            | Key::Parameters => self.take_model_config(member),
            Key::ForkContext => self.definition.fork_context = self.flag(member),
            Key::BaseDir => self.definition.base_dir = self.text(member).map(PathBuf::from),
            Key::PromptConfig => self.take_nested(member, Self::take_prompt_config),
            Key::Instructions | Key::Query | Key::InitialMessages => {
                self.take_prompt_config(member);
            }
            Key::RunConfig => self.take_nested(member, Self::take_run_config),
            Key::MaxTurns
            | Key::MaxSeconds
            | Key::MaxMinutes
            | Key::GraceSeconds
            | Key::MaxTokens
            | Key::MaxCost => self.take_run_config(member),
            Key::InputConfig | Key::Inputs => self.take_inputs(member),
            Key::OutputConfig | Key::OutputSchema => self.take_output(key, member),
            Key::DisabledFeatures => self.take_features(member),
            Key::ExecutionMode | Key::ApprovalMode | Key::Isolation | Key::PermissionMode => {
                self.take_mode(key, member);
            }
            Key::Background => self.definition.background = self.flag(member),
            Key::McpServers => self.take_mcp_servers(member),
            // Codex configures its skills there.
            Key::Skills if matches!(member.value.kind, Kind::Map(_)) => {
                self.keep(member, Code::UnusedKey, "has no effect as a mapping; it is kept");
            }
            Key::Skills => self.definition.skills = self.distinct(member),
            Key::Hooks if is_number_or_bool(member) => self.bad_type(member, "a mapping"),
            Key::Hooks => self.take_hooks(member),
            Key::Memory => self.definition.memory = self.words(member),
            Key::Enabled => {
                self.definition.disabled = !member.value.is_null() && !self.flag(member);
            }
            Key::Disabled => self.definition.disabled = self.flag(member),
            Key::ReadOnly | Key::SandboxMode | Key::Permission => {
                self.take_restriction(key, member);
            }
            Key::Provenance => {}
            Key::Unused => self.keep(member, Code::UnusedKey, "has no effect here; it is kept"),
        }
    }

    fn take_name(&mut self, member: &Member) {
        // Where a file has both, `name` is the one its own host reads.
        if self.places.name.is_some() && !member.key.eq_ignore_ascii_case("name") {
            self.keep(member, Code::UnusedKey, "has no effect beside `name`; it is kept");
            return;
        }
        let empty = member
            .value
            .scalar()
            .is_some_and(|scalar| !scalar.is_null() && scalar.text.trim().is_empty());
        // An empty name is not an omitted one: the check of the name reports it.
        let name = if empty { Some(String::new()) } else { self.words(member) };
        if let Some(name) = name {
            self.places.name = Some(member.value.at);
            self.definition.agent_type = crate::id::AgentName::new(&name);
        }
    }

    /// A model; of a list in order of preference, as Copilot has them, the first.
    fn take_model(&mut self, member: &Member) {
        let chosen = match &member.value.kind {
            Kind::List(items) if items.first().is_some_and(|first| first.scalar().is_some()) => {
                if items.len() > 1 {
                    let message = "the first model is used; the others are ignored";
                    self.push(Diagnostic::note(Code::UnusedKey, member.value.at, message));
                }
                items.first().map(|first| Member { value: first.clone(), ..member.clone() })
            }
            _ => None,
        };
        let member = chosen.as_ref().unwrap_or(member);
        self.model = self.text(member).map(|text| (ModelSelector::new(&text), member.value.at));
    }

    fn take_nested(&mut self, member: &Member, mut take: impl FnMut(&mut Self, &Member)) {
        match &member.value.kind {
            Kind::Map(members) => members.iter().for_each(|inner| take(self, inner)),
            Kind::Scalar(scalar) if scalar.is_null() => {}
            Kind::Scalar(_) | Kind::List(_) => self.bad_type(member, "a mapping"),
        }
    }

    fn take_model_config(&mut self, member: &Member) {
        let folded = Key::read(&member.key);
        match folded {
            Some(Key::Model) => {
                self.definition.model_config.model =
                    self.text(member).map(|text| ModelSelector::new(&text));
            }
            Some(Key::Provider) => self.definition.model_config.provider = self.text(member),
            Some(Key::Endpoint) => self.definition.model_config.endpoint = self.text(member),
            Some(Key::Temperature) => {
                self.definition.model_config.temperature = self.number(member, 0.0, 2.0);
            }
            Some(Key::TopP) => self.definition.model_config.top_p = self.number(member, 0.0, 1.0),
            Some(Key::ThinkingBudget) => {
                let budget = member.value.scalar().and_then(Scalar::as_integer);
                if budget.is_none() && !member.value.is_null() {
                    self.bad_type(member, "a whole number");
                }
                self.definition.model_config.thinking_budget = budget;
            }
            Some(Key::Effort) => self.definition.model_config.effort = self.text(member),
            Some(Key::Thinking) => self.take_thinking(member),
            Some(Key::Parameters) => match &member.value.kind {
                Kind::Map(members) => self.definition.model_config.parameters = to_object(members),
                Kind::Scalar(scalar) if scalar.is_null() => {}
                Kind::Scalar(_) | Kind::List(_) => self.bad_type(member, "a mapping"),
            },
            _ if member.key == "temp" => {
                self.definition.model_config.temperature = self.number(member, 0.0, 2.0);
            }
            _ => self.keep_nested("modelConfig", member),
        }
    }

    /// `thinking` is an effort if it names one; otherwise it is a switch that is ignored.
    fn take_thinking(&mut self, member: &Member) {
        let level = member.value.scalar().map(|scalar| scalar.text.to_ascii_lowercase());
        let levels = ["minimal", "low", "medium", "high", "xhigh", "max"];
        match level {
            Some(level) if levels.contains(&level.as_str()) => {
                self.definition.model_config.effort = Some(level);
            }
            _ => self.keep(member, Code::UnusedKey, "has no effect here; it is kept"),
        }
    }

    fn take_prompt_config(&mut self, member: &Member) {
        match Key::read(&member.key) {
            Some(Key::Instructions) => {
                self.instructions = self.text(member).map(|text| (text, member.value.at));
            }
            Some(Key::Query) => {
                self.places.query = Some(member.value.at);
                self.definition.prompt_config.query = self.text(member);
            }
            Some(Key::InitialMessages) => self.take_initial_messages(member),
            _ => self.keep_nested("promptConfig", member),
        }
    }

    fn take_run_config(&mut self, member: &Member) {
        let run = self.definition.run_config;
        match Key::read(&member.key) {
            Some(Key::MaxTurns) => {
                self.definition.run_config.max_turns = self.count(member).unwrap_or(run.max_turns);
            }
            Some(Key::MaxSeconds) => {
                self.definition.run_config.max_time_seconds =
                    self.count(member).unwrap_or(run.max_time_seconds);
            }
            Some(Key::MaxMinutes) => {
                if let Some(minutes) = self.number(member, 1.0 / 60.0, 100_000.0) {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "the number is between 1/60 and 100000"
                    )]
                    let seconds = (minutes * 60.0).round() as u32;
                    self.definition.run_config.max_time_seconds = seconds;
                }
            }
            Some(Key::GraceSeconds) => {
                let seconds =
                    member.value.scalar().and_then(|scalar| scalar.text.trim().parse().ok());
                if seconds.is_none() && !member.value.is_null() {
                    self.bad_type(member, "a whole number of seconds");
                }
                self.definition.run_config.grace_period_seconds =
                    seconds.unwrap_or(run.grace_period_seconds);
            }
            Some(Key::MaxTokens) => {
                self.definition.run_config.max_tokens = self.count(member).map(u64::from);
            }
            Some(Key::MaxCost) => {
                self.definition.run_config.max_cost_usd = self.number(member, 0.0, f64::MAX);
            }
            _ => self.keep_nested("runConfig", member),
        }
    }

    fn take_mode(&mut self, key: Key, member: &Member) {
        let Some(word) = self.text(member) else {
            return;
        };
        let folded: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        let folded = folded.to_ascii_lowercase();
        match (key, folded.as_str()) {
            (Key::ExecutionMode, "lightweight") => {
                self.definition.execution_mode = ExecutionMode::Lightweight;
            }
            (Key::ExecutionMode, "fullcodex" | "full") => {
                self.definition.execution_mode = ExecutionMode::FullCodex;
            }
            (Key::ExecutionMode, _) => self.bad_value(member, &["lightweight", "full_codex"]),
            (Key::ApprovalMode, "routetoparent" | "default") => {
                self.definition.approval_mode = ApprovalMode::RouteToParent;
            }
            (Key::ApprovalMode, "suppress") => {
                self.definition.approval_mode = ApprovalMode::Suppress;
            }
            (Key::ApprovalMode, "autoapproveinsandbox") => {
                self.definition.approval_mode = ApprovalMode::AutoApproveInSandbox;
            }
            // Other hosts mean more by these than is given here.
            (Key::ApprovalMode, "autoedit" | "yolo" | "auto") => {
                self.definition.approval_mode = ApprovalMode::RouteToParent;
                let message = format!(
                    "`{word}` of another host approves nothing here; calls are asked about as usual"
                );
                self.push(Diagnostic::warning(Code::BadValue, member.value.at, message).with_hint(
                    "write auto_approve_in_sandbox to approve what the sandbox confines",
                ));
            }
            (Key::ApprovalMode | Key::PermissionMode, "plan") => {
                self.definition.permission_mode = Some(PermissionMode::Plan);
                self.take_writers(member, "plan mode only reads");
            }
            (Key::ApprovalMode, _) => {
                self.bad_value(member, &["route_to_parent", "suppress", "auto_approve_in_sandbox"]);
            }
            (Key::Isolation, "none") => self.definition.isolation = Isolation::None,
            (Key::Isolation, "worktree") => self.definition.isolation = Isolation::Worktree,
            (Key::Isolation, _) => self.bad_value(member, &["none", "worktree"]),
            (_, "default") => self.definition.permission_mode = Some(PermissionMode::Default),
            (_, "acceptedits") => {
                self.definition.permission_mode = Some(PermissionMode::AcceptEdits);
            }
            (_, "bypasspermissions") => {
                self.definition.permission_mode = Some(PermissionMode::BypassPermissions);
            }
            (_, "dontask") => self.definition.permission_mode = Some(PermissionMode::DontAsk),
            _ => self.not_understood(member),
        }
    }

    fn take_mcp_servers(&mut self, member: &Member) {
        let named = |name: &str, config: Option<Value>| McpServer { name: name.to_owned(), config };
        match &member.value.kind {
            Kind::Map(members) => {
                self.definition.mcp_servers = members
                    .iter()
                    .map(|server| {
                        named(
                            &server.key,
                            Some(server.value.to_json()).filter(|config| !config.is_null()),
                        )
                    })
                    .collect();
            }
            Kind::List(items) => {
                for item in items {
                    match &item.kind {
                        Kind::Scalar(scalar) => {
                            self.definition.mcp_servers.push(named(&scalar.text, None));
                        }
                        Kind::Map(members) => self.definition.mcp_servers.extend(
                            members
                                .iter()
                                .map(|server| named(&server.key, Some(server.value.to_json()))),
                        ),
                        Kind::List(_) => self.push(
                            Diagnostic::error(
                                Code::BadType,
                                item.at,
                                "an MCP server is a name or a mapping",
                            )
                            .with_hint("write a name, or name: {command: …}"),
                        ),
                    }
                }
            }
            Kind::Scalar(scalar) if scalar.is_null() => {}
            Kind::Scalar(_) if is_number_or_bool(member) => {
                self.bad_type(member, "a list of servers");
            }
            Kind::Scalar(scalar) => {
                self.definition.mcp_servers =
                    split_commas(&scalar.text).into_iter().map(|name| named(name, None)).collect();
            }
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(crate) fn set_tools(&mut self, entries: Vec<(String, Position)>) {
        let (words, places): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        self.places.tools = places;
        self.definition.tools = ToolAccess::of_entries(words);
    }
}
