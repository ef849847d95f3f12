//! Keys: what each key of a header means, in every dialect.
//!
//! Case, `_` and `-` are ignored: `max_turns`, `maxTurns` and `max-turns` are one key. The same
//! table, with what becomes of each key, is in `docs/formats/definition.md`.

/// What a key of a header means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Name,
    DisplayName,
    Description,
    Keywords,
    Color,
    Tools,
    /// `allowed-tools`, a slip for `tools`.
    ToolsSlip,
    /// `allowedTools`: what runs unasked in its home; nothing else is granted here.
    ToolsUnasked,
    DisallowedTools,
    /// `denyTools`: what is refused, with exceptions.
    DenyTools,
    /// `askTools`: what is always asked about.
    AskTools,
    Model,
    ModelConfig,
    Provider,
    Endpoint,
    Temperature,
    TopP,
    ThinkingBudget,
    Effort,
    Thinking,
    Parameters,
    ForkContext,
    BaseDir,
    PromptConfig,
    /// A system prompt given as a key: the only place for it in YAML and TOML.
    Instructions,
    Query,
    InitialMessages,
    RunConfig,
    MaxTurns,
    MaxSeconds,
    MaxMinutes,
    GraceSeconds,
    MaxTokens,
    MaxCost,
    InputConfig,
    Inputs,
    OutputConfig,
    OutputSchema,
    DisabledFeatures,
    ExecutionMode,
    ApprovalMode,
    Background,
    Isolation,
    PermissionMode,
    McpServers,
    Skills,
    Hooks,
    Memory,
    Enabled,
    Disabled,
    ReadOnly,
    SandboxMode,
    Permission,
    /// `source`, `sourcePath`, `dialect`: the place of the file decides.
    Provenance,
    /// A key that another host uses and this program ignores.
    Unused,
}

impl Key {
    /// What a written key means; `None` if it is not known.
    pub(crate) fn read(written: &str) -> Option<Self> {
        // These two differ only in what folding takes away.
        if written.eq_ignore_ascii_case("allowed-tools")
            || written.eq_ignore_ascii_case("allowed_tools")
        {
            return Some(Self::ToolsSlip);
        }
        Self::read_folded(&fold(written))
    }

    fn read_folded(folded: &str) -> Option<Self> {
        Some(match folded {
            "name" | "agenttype" => Self::Name,
            "displayname" => Self::DisplayName,
            "description" | "whentouse" => Self::Description,
            "keywords" => Self::Keywords,
            "color" | "colour" => Self::Color,
            "tools" => Self::Tools,
            "allowedtools" => Self::ToolsUnasked,
            "disallowedtools" | "deniedtools" | "excludetools" | "excludedtools" => {
                Self::DisallowedTools
            }
            "denytools" => Self::DenyTools,
            "asktools" => Self::AskTools,
            "model" => Self::Model,
            "modelconfig" => Self::ModelConfig,
            "provider" | "modelprovider" => Self::Provider,
            "endpoint" => Self::Endpoint,
            "temperature" => Self::Temperature,
            "topp" => Self::TopP,
            "thinkingbudget" => Self::ThinkingBudget,
            "effort" | "modelreasoningeffort" | "reasoningeffort" => Self::Effort,
            "thinking" => Self::Thinking,
            "parameters" => Self::Parameters,
            "forkcontext" => Self::ForkContext,
            "basedir" | "cwd" => Self::BaseDir,
            "promptconfig" => Self::PromptConfig,
            "systemprompt" | "prompt" | "instructions" | "developerinstructions" => {
                Self::Instructions
            }
            "query" => Self::Query,
            "initialmessages" => Self::InitialMessages,
            "runconfig" => Self::RunConfig,
            "maxturns" | "steps" | "maxsteps" => Self::MaxTurns,
            "maxtimeseconds" | "timeoutseconds" => Self::MaxSeconds,
            "timeoutmins" | "maxtimeminutes" | "timeoutminutes" => Self::MaxMinutes,
            "graceperiodseconds" => Self::GraceSeconds,
            "maxtokens" => Self::MaxTokens,
            "maxcostusd" | "maxbudgetusd" => Self::MaxCost,
            "inputconfig" => Self::InputConfig,
            "inputs" => Self::Inputs,
            "outputconfig" => Self::OutputConfig,
            "outputschema" => Self::OutputSchema,
            "disabledfeatures" => Self::DisabledFeatures,
            "executionmode" => Self::ExecutionMode,
            "approvalmode" => Self::ApprovalMode,
            "background" | "isbackground" => Self::Background,
            "isolation" => Self::Isolation,
            "permissionmode" => Self::PermissionMode,
            "mcpservers" => Self::McpServers,
            "skills" => Self::Skills,
            "hooks" => Self::Hooks,
            "memory" => Self::Memory,
            "enabled" => Self::Enabled,
            "disable" | "disabled" => Self::Disabled,
            "readonly" => Self::ReadOnly,
            "sandboxmode" => Self::SandboxMode,
            "permission" | "permissions" => Self::Permission,
            "source" | "sourcepath" | "dialect" => Self::Provenance,
            "agent"
            | "alwaysapply"
            | "argumenthint"
            | "author"
            | "category"
            | "defaultcontext"
            | "disablemodelinvocation"
            | "emoji"
            | "handoffs"
            | "hidden"
            | "hint"
            | "id"
            | "kind"
            | "license"
            | "metadata"
            | "mode"
            | "nicknamecandidates"
            | "platforms"
            | "proactive"
            | "subagent"
            | "tags"
            | "target"
            | "triggers"
            | "userinvocable"
            | "userinvokable"
            | "version"
            | "vibe" => Self::Unused,
            _ => return None,
        })
    }

    /// Whether a file that holds this key and little else is meant as an agent.
    pub(crate) fn marks_an_agent(self) -> bool {
        matches!(
            self,
            Self::Name
                | Self::Description
                | Self::Tools
                | Self::ToolsSlip
                | Self::ToolsUnasked
                | Self::DisallowedTools
                | Self::Model
                | Self::ModelConfig
                | Self::PromptConfig
                | Self::Instructions
        )
    }
}

/// A key in lower case, without `_` and `-`.
pub(super) fn fold(written: &str) -> String {
    written
        .chars()
        .filter(|letter| *letter != '_' && *letter != '-')
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}
