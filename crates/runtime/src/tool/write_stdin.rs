//! `write_stdin`: types into a session and shows what it wrote since.

use std::time::Duration;

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};

use super::{
    Foresight, ForesightFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    arguments::{ArgumentError, Arguments},
    exec_command::{Patience, told},
};
use crate::process::{Reach, SessionId};

/// A pause of this length after what was typed has been answered ends the wait.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the executor waits at most.
const LONGEST: Duration = Duration::from_secs(150);

/// Types into sessions.
#[derive(Debug)]
pub(super) struct WriteStdin {
    spec: ToolSpec,
}

impl WriteStdin {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec::acting(
                BuiltinTool::WriteStdin,
                include_str!("write_stdin.md"),
                json!({
                    "type": "object",
                    "properties": {
                        "session_id": {"type": "integer"},
                        "chars": {"type": "string"},
                        "yield_time_ms": {"type": "integer"},
                    },
                    "required": ["session_id"],
                }),
            ),
        }
    }
}

impl Tool for WriteStdin {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn time_limit(&self, _: &Value, _: Duration) -> Duration {
        LONGEST
    }

    fn foresee<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> Option<ForesightFuture<'a>> {
        let Asked { id, chars, .. } = Asked::read(arguments.clone()).ok()?;
        let typed = chars?;
        let into = context.processes.session_command(id).unwrap_or_else(|| format!("session {id}"));
        let preview = Some(format!("{}\n(typed into `{into}`)", typed.escape_debug()));
        let is_confined = context.processes.is_confined(id);
        let foresight = Foresight { preview, is_confined, ..Foresight::default() };
        Some(Box::pin(std::future::ready(foresight)))
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
    id: SessionId,
    chars: Option<String>,
    patience: Patience,
}

impl Asked {
    fn read(arguments: Value) -> Result<Self, ArgumentError> {
        let mut arguments = Arguments::new(arguments)?;
        let id = arguments
            .number("session_id")?
            .ok_or(ArgumentError::Missing { name: "session_id", expected: "a number" })?;
        let chars = arguments.text("chars")?;
        let patience = Patience::read(&mut arguments)?;
        arguments.finish()?;
        Ok(Self { id: SessionId(id), chars, patience })
    }
}

async fn run(arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    let Asked { id, chars, patience } = Asked::read(arguments)?;
    let patience = patience.within(context.usual_time_limit);
    let processes = &context.processes;
    let process = processes.session(id)?;
    process.show_to(context.output.clone());
    let mut problem = None;
    if let Some(chars) = &chars {
        problem = process.type_in(chars, patience.longest).await.err();
    }
    let longest = if problem.is_some() { PAUSE } else { patience.longest };
    let pause = chars.map(|_| PAUSE);
    context.cancel.run_until_cancelled(process.quiet(longest, pause)).await;
    let reach = if processes.is_confined(id) { Reach::Sandboxed } else { Reach::Escalated };
    let output = told(&process, &patience, Some(id), processes.policy(reach).as_ref()).await;
    if process.ending().is_some() {
        processes.close_session(id);
        return Ok(output);
    }
    match problem {
        None => Ok(output),
        Some(problem) => {
            Ok(ToolOutput { is_error: true, ..output }.with_remarks(&[problem.to_string()]))
        }
    }
}
