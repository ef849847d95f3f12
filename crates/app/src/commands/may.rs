//! `attache may AGENT TOOL [COMMAND|JSON]`: what would become of a call, without making it.

use attache_kernel::{
    agent::definition::Trust,
    rights::{
        permission::{AutoApproval, Judgement, Permission},
        tool_name::{BuiltinTool, ToolName, ToolPattern, UnknownTool},
    },
};
use attache_runtime::internal::sandbox::Mode;
use clap::{Args, builder::PossibleValuesParser};
use serde_json::{Value, json};

use super::run::{self, Approve};
use crate::{
    failure::{Exit, Failure},
    print::{
        self, harmless,
        palette::{Tone, paint},
    },
    settings::Flag,
    setup::{OutputFormat, Setup, lookup_failure, order_failure},
};

/// Show whether an agent may make a call: allow, ask or deny, and the rule that decides.
///
/// Nothing is run. The exit code is 0 if the call is allowed, and 1 if it is asked about or denied.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache may reviewer Bash \"git status\"
  attache may reviewer shell \"cargo test && rm -rf target\"
  attache may reviewer Read .env
  attache may reviewer write_file '{\"path\": \"src/main.rs\", \"content\": \"\"}'
  attache may reviewer Bash make --trust --approve sandbox")]
pub(crate) struct MayArgs {
    /// The agent's name, in any spelling.
    #[arg(add = super::completions::agents())]
    agent: String,
    /// The tool, by any of its names.
    #[arg(add = super::completions::tools())]
    tool: String,
    /// The command, path, address or agent of the call; or all arguments as one JSON object.
    #[arg(value_name = "COMMAND|JSON", allow_hyphen_values = true)]
    arguments: Option<String>,
    /// Judge as if the agent's file were trusted.
    #[arg(long)]
    trust: bool,
    /// Judge as `run --approve` would.
    #[arg(long, value_enum, value_name = "HOW")]
    approve: Option<Approve>,
    /// Judge as `run --sandbox` would: read-only, workspace-write or danger-full-access.
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(Mode::WORDS))]
    sandbox: Option<String>,
}

impl MayArgs {
    /// The options that stand for settings.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        run::sandbox_flag(self.sandbox.as_deref()).into_iter().collect()
    }
}

pub(crate) fn run(args: &MayArgs, setup: &Setup) -> Result<Exit, Failure> {
    let tool = tool(&args.tool)?;
    let arguments = arguments(&tool, args.arguments.as_deref())?;
    setup.require_enabled()?;
    setup.require_visible_workspace()?;
    let inventory = setup.inventory()?;
    let record = inventory.find(&args.agent).map_err(|error| lookup_failure(&error))?;
    let Some(definition) = &record.definition else {
        return Err(Failure::usage(format!("the agent `{}` could not be read", record.name)));
    };
    let trust = if args.trust { Trust::Trusted } else { record.trusted };
    let auto = args.approve.map_or(AutoApproval::AsConfigured, Approve::without_question);
    let leave = setup.leave(definition, trust, auto).map_err(|error| order_failure(&error))?;
    let judgement = answered(leave.judge(&tool, &arguments), args.approve);
    tell(&judgement, setup)?;
    Ok(match judgement.permission {
        Permission::Allow => Exit::Success,
        Permission::Ask { .. } | Permission::Deny { .. } => Exit::Unsuccessful,
    })
}

/// What becomes of a question where its answer is known beforehand.
fn answered(judgement: Judgement, approve: Option<Approve>) -> Judgement {
    let Permission::Ask { reason } = &judgement.permission else { return judgement };
    let (permission, who) = match approve {
        Some(Approve::All) => (Permission::Allow, "--approve all"),
        Some(Approve::Deny) => (Permission::Deny { reason: reason.clone() }, "--approve deny"),
        None | Some(Approve::Ask | Approve::Sandbox) => return judgement,
    };
    Judgement { permission, reason: format!("{reason}; {who} answers"), rule: judgement.rule }
}

fn tell(judgement: &Judgement, setup: &Setup) -> Result<(), Failure> {
    let (verdict, tone) = match judgement.permission {
        Permission::Allow => ("allow", Tone::Good),
        Permission::Ask { .. } => ("ask", Tone::Warning),
        Permission::Deny { .. } => ("deny", Tone::Bad),
    };
    match setup.format {
        OutputFormat::Json => print::json(&json!({
            "verdict": verdict,
            "reason": judgement.reason,
            "rule": judgement.rule,
        })),
        OutputFormat::Text => {
            let reason = harmless(&judgement.reason);
            print::out(&format!("{}: {reason}\n", paint(tone, verdict)))
        }
    }
}

/// The tool a word means; the shell family under its first name.
fn tool(word: &str) -> Result<ToolName, Failure> {
    if let Some(tool) = BuiltinTool::from_word(word) {
        return Ok(tool.into());
    }
    match ToolPattern::parse(word) {
        Ok(ToolPattern::Exactly(tools)) if tools.len() == 1 => {
            tools.into_iter().next().ok_or_else(|| Failure::usage("there is no tool"))
        }
        Ok(_) => Err(Failure::usage(format!("`{word}` means more than one tool"))
            .hint("name one tool, such as read_file or mcp__server__tool")),
        Err(UnknownTool::Unknown(Some(near))) => {
            Err(Failure::usage(format!("there is no tool `{word}`"))
                .hint(format!("did you mean `{near}`?")))
        }
        Err(UnknownTool::Unknown(None) | UnknownTool::Foreign) => {
            Err(Failure::usage(format!("there is no tool `{word}`"))
                .hint("`attache show AGENT` lists the agent's tools"))
        }
    }
}

/// The arguments of a call: as they are, or the one that matters.
fn arguments(tool: &ToolName, given: Option<&str>) -> Result<Value, Failure> {
    use BuiltinTool as Tool;
    let Some(text) = given else { return Ok(json!({})) };
    if text.trim_start().starts_with('{') {
        match serde_json::from_str(text) {
            Ok(arguments) => return Ok(arguments),
            // In a shell it begins a group.
            Err(_) if tool.builtin().is_some_and(BuiltinTool::is_shell) => {}
            Err(error) => {
                return Err(Failure::usage("the arguments are not a JSON object").because(&error));
            }
        }
    }
    let key = match tool.builtin() {
        Some(Tool::Shell | Tool::ExecCommand) => "command",
        Some(Tool::WriteStdin) => "chars",
        Some(
            Tool::ReadFile | Tool::ListDir | Tool::ViewImage | Tool::WriteFile | Tool::EditFile,
        ) => "path",
        Some(Tool::GlobFiles | Tool::GrepFiles) => "pattern",
        Some(Tool::ApplyPatch) => "patch",
        Some(Tool::WebFetch) => "url",
        Some(Tool::WebSearch) => "query",
        Some(Tool::Task) => "subagent_type",
        Some(Tool::SubagentRun | Tool::SubagentDescribe) => "name",
        Some(Tool::TaskOutput | Tool::TaskStop) => "agent_id",
        Some(Tool::TodoWrite | Tool::SubagentList | Tool::Skill | Tool::SlashCommand) | None => {
            return Err(Failure::usage(format!("`{tool}` takes its arguments as a JSON object"))
                .hint("write '{\"name\": \"value\"}'"));
        }
    };
    Ok(json!({ key: text }))
}
