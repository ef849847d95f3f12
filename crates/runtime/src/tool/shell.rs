//! `shell`: runs a command to its end and shows what it wrote.
//!
//! A command that does not end in time is stopped, and what it wrote until then is shown. A code other
//! than 0, a signal and the time limit make the answer an error.

pub(crate) mod report;

use std::time::Duration;

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};

use self::report::{Ended, report};
use super::{
    ForesightFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    arguments::{ArgumentError, Arguments},
    artifacts::Bound,
    command_call::{CommandCall, only_reads},
};
use crate::process::{Input, Launch};

/// The longest time limit that a call can ask for.
const LONGEST: Duration = Duration::from_mins(10);
/// How much longer the executor waits, so that a command that is stopped can still be told about.
const TO_STOP: Duration = Duration::from_secs(5);

/// Runs commands.
#[derive(Debug)]
pub(super) struct Shell {
    spec: ToolSpec,
}

impl Shell {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec::acting(
                BuiltinTool::Shell,
                include_str!("shell.md"),
                json!({
                    "type": "object",
                    "properties": {
                        "command": {"type": "string"},
                        "workdir": {"type": "string"},
                        "timeout_ms": {"type": "integer"},
                        "with_escalated_permissions": {"type": "boolean"},
                        "justification": {"type": "string"},
                    },
                    "required": ["command"],
                }),
            ),
        }
    }
}

impl Tool for Shell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn time_limit(&self, arguments: &Value, usual: Duration) -> Duration {
        let asked = Asked::read(arguments.clone()).map(|asked| asked.time_limit(usual));
        asked.unwrap_or(usual) + TO_STOP
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
    timeout: Option<Duration>,
}

impl Asked {
    fn read(arguments: Value) -> Result<Self, ArgumentError> {
        let mut arguments = Arguments::new(arguments)?;
        let call = CommandCall::read(&mut arguments)?;
        let timeout = arguments.number("timeout_ms")?.filter(|milliseconds| *milliseconds > 0);
        if !arguments.flag("run_in_background")? {
            arguments.finish()?;
            let timeout = timeout.map(|milliseconds| Duration::from_millis(milliseconds as u64));
            return Ok(Self { call, timeout });
        }
        Err(ArgumentError::Mistyped {
            name: "run_in_background",
            expected: "false; use exec_command for a command that keeps running".to_owned(),
            found: "true".to_owned(),
        })
    }

    fn time_limit(&self, usual: Duration) -> Duration {
        self.timeout.map_or(usual, |timeout| timeout.min(LONGEST.max(usual)))
    }
}

async fn run(arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    let only_reads = only_reads(BuiltinTool::Shell, &arguments, context);
    let asked = Asked::read(arguments)?;
    let limit = asked.time_limit(context.usual_time_limit);
    let call = asked.call.confined(only_reads);
    let directory = call.directory(context).await?;
    let reach = call.reach;
    let launch = Launch {
        command: call.command,
        directory,
        input: Input::Nothing,
        reach,
        stem: "shell",
        watcher: context.output.clone(),
    };
    let process = context.processes.start(launch).await?;
    let ended = tokio::select! {
        ended = tokio::time::timeout(limit, process.ended()) => ended.ok(),
        () = context.cancel.cancelled() => return Err(ToolOutput::error("cancelled")),
    };
    let ended = if let Some(ending) = ended {
        Ended::ByItself(ending)
    } else {
        process.stop();
        // It ends at once, unless the system itself hangs.
        tokio::time::timeout(TO_STOP / 2, process.ended()).await.ok();
        Ended::TimedOut(limit)
    };
    let collected = process.take_output(Bound::DEFAULT).await;
    Ok(report(collected, ended, context.processes.policy(reach).as_ref()))
}
