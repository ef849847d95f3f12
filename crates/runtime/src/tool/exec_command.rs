//! `exec_command`: starts a command that may outlive the call, and shows what it wrote so far.

use std::{sync::Arc, time::Duration};

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};

use super::{
    ForesightFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    arguments::{ArgumentError, Arguments},
    artifacts::Bound,
    command_call::{CommandCall, only_reads},
    shell::report::{Ended, report, report_running},
};
use crate::{
    process::{Input, Launch, Process, SessionError, SessionId},
    sandbox::Policy,
};

/// How long a call waits for output unless it says otherwise, and at most.
const USUAL_YIELD: Duration = Duration::from_secs(10);
const LONGEST_YIELD: Duration = Duration::from_mins(2);
/// How much longer the executor waits than the call itself.
const SLACK: Duration = Duration::from_secs(10);
/// Bytes of a token, about.
const TOKEN: usize = 4;

/// Starts commands that may go on.
#[derive(Debug)]
pub(super) struct ExecCommand {
    spec: ToolSpec,
}

impl ExecCommand {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec::acting(
                BuiltinTool::ExecCommand,
                include_str!("exec_command.md"),
                json!({
                    "type": "object",
                    "properties": {
                        "command": {"type": "string"},
                        "workdir": {"type": "string"},
                        "tty": {"type": "boolean"},
                        "yield_time_ms": {"type": "integer"},
                        "with_escalated_permissions": {"type": "boolean"},
                        "justification": {"type": "string"},
                    },
                    "required": ["command"],
                }),
            ),
        }
    }
}

impl Tool for ExecCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn time_limit(&self, _: &Value, usual: Duration) -> Duration {
        LONGEST_YIELD.min(usual) + SLACK
    }

    fn foresee<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> Option<ForesightFuture<'a>> {
        let asked = Asked::read(arguments.clone()).ok()?;
        Some(Box::pin(asked.call.foresee(arguments, context)))
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            match run(arguments, context).await {
                Ok(output) | Err(output) => output,
            }
        })
    }
}

/// What a call asks for.
struct Asked {
    call: CommandCall,
    input: Input,
    patience: Patience,
}

/// How long a call waits for output, and how much of it it shows.
pub(super) struct Patience {
    pub(super) longest: Duration,
    pub(super) bound: Bound,
}

impl Patience {
    pub(super) fn read(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let longest = arguments.number("yield_time_ms")?.map_or(USUAL_YIELD, |milliseconds| {
            Duration::from_millis(milliseconds as u64).min(LONGEST_YIELD)
        });
        let tokens = arguments.number("max_output_tokens")?.filter(|tokens| *tokens > 0);
        let bytes = tokens.map_or(Bound::DEFAULT.bytes, |tokens| tokens.saturating_mul(TOKEN));
        let bytes = bytes.min(Bound::DEFAULT.bytes);
        Ok(Self { longest, bound: Bound { bytes, ..Bound::DEFAULT } })
    }

    /// The same, but waiting no longer than a call may take.
    pub(super) fn within(self, limit: Duration) -> Self {
        Self { longest: self.longest.min(limit), ..self }
    }
}

impl Asked {
    fn read(arguments: Value) -> Result<Self, ArgumentError> {
        let mut arguments = Arguments::new(arguments)?;
        let call = CommandCall::read(&mut arguments)?;
        let input = if arguments.flag("tty")? { Input::Terminal } else { Input::Pipe };
        let patience = Patience::read(&mut arguments)?;
        arguments.finish()?;
        Ok(Self { call, input, patience })
    }
}

async fn run(arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    let only_reads = only_reads(BuiltinTool::ExecCommand, &arguments, context);
    let Asked { call, input, patience } = Asked::read(arguments)?;
    let call = call.confined(only_reads);
    let patience = patience.within(context.usual_time_limit);
    let processes = &context.processes;
    processes.room_for_session()?;
    let shown = call.command.to_string();
    let reach = call.reach;
    let launch = Launch {
        directory: call.directory(context).await?,
        command: call.command,
        input,
        reach,
        stem: "exec_command",
        watcher: context.output.clone(),
    };
    let process = Arc::new(processes.start(launch).await?);
    context.cancel.run_until_cancelled(process.quiet(patience.longest, None)).await;
    if process.ending().is_some() {
        return Ok(told(&process, &patience, None, processes.policy(reach).as_ref()).await);
    }
    let id = processes.open_session(Arc::clone(&process), &shown, reach);
    Ok(told(&process, &patience, Some(id), processes.policy(reach).as_ref()).await)
}

/// The new output of a process, and how it is; `policy` is what the sandbox lets it do, if one holds it.
pub(super) async fn told(
    process: &Process,
    patience: &Patience,
    id: Option<SessionId>,
    policy: Option<&Policy>,
) -> ToolOutput {
    // What it wrote before it ended is asked for after its end is known, so that nothing is missed.
    let ending = process.ending();
    let collected = process.take_output(patience.bound).await;
    match (ending, id) {
        (Some(ending), _) => report(collected, Ended::ByItself(ending), policy),
        (None, Some(id)) => report_running(collected, id),
        (None, None) => report(collected, Ended::TimedOut(patience.longest), policy),
    }
}

impl From<SessionError> for ToolOutput {
    fn from(error: SessionError) -> Self {
        Self::error(error.to_string())
    }
}
