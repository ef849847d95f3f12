//! What the model is told about a command that has ended: its output, then how it ended.

use std::time::Duration;

use crate::{
    process::{Collected, Ending, Exit, LaunchError, SessionId},
    sandbox::{Policy, refusal_hint},
    tool::ToolOutput,
};

/// How a command ended.
#[derive(Debug, Clone, Copy)]
pub(in crate::tool) enum Ended {
    /// By itself, or by a signal.
    ByItself(Ending),
    /// It was stopped after that time.
    TimedOut(Duration),
}

/// The answer about a command that still runs.
pub(in crate::tool) fn report_running(collected: Collected, id: SessionId) -> ToolOutput {
    let told = with_line(&collected.text, &format!("still running, session_id {id}"));
    ToolOutput { artifacts: collected.artifact.into_iter().collect(), ..ToolOutput::text(told) }
}

/// The answer about a command that was stopped with its call; none if it had written nothing.
pub(crate) fn report_stopped(collected: Collected, why: &str) -> Option<ToolOutput> {
    let Collected { text, artifact, .. } = collected;
    if text.trim().is_empty() {
        return None;
    }
    let told = with_line(&text, &format!("stopped before it ended: {why}"));
    Some(ToolOutput { artifacts: artifact.into_iter().collect(), ..ToolOutput::error(told) })
}

/// The output, and below it a line that is not part of it.
fn with_line(text: &str, line: &str) -> String {
    let text = text.trim_end_matches('\n');
    let text = if text.is_empty() { "(no output)" } else { text };
    format!("{text}\n[{line}]")
}

/// The answer about a command that has ended; `policy` is what the sandbox let it do, if one held it.
pub(in crate::tool) fn report(
    collected: Collected,
    ended: Ended,
    policy: Option<&Policy>,
) -> ToolOutput {
    let Collected { text, artifact, remark } = collected;
    let mut told = with_line(&text, &ended.to_string());
    if let Some(hint) = refusal(&text, ended, policy).or_else(|| tool_instead(&text, ended)) {
        told.push('\n');
        told.push_str(&hint);
    }
    if let Some(remark) = &remark {
        told.push('\n');
        told.push_str(remark);
    }
    let output = if ended.is_success() && remark.is_none() {
        ToolOutput::text(told)
    } else {
        ToolOutput::error(told)
    };
    ToolOutput { artifacts: artifact.into_iter().collect(), ..output }
}

fn refusal(text: &str, ended: Ended, policy: Option<&Policy>) -> Option<String> {
    let Ended::ByItself(Ending { exit, .. }) = ended else { return None };
    let code = match exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(_) => None,
    };
    refusal_hint(policy?, code, text)
}

/// What is said to a model that calls a tool as a command, as it may in other hosts.
fn tool_instead(text: &str, ended: Ended) -> Option<String> {
    let Ended::ByItself(Ending { exit: Exit::Code(127), .. }) = ended else { return None };
    text.contains("apply_patch").then(|| {
        "apply_patch is a tool, not a command: call the tool apply_patch with the patch.".to_owned()
    })
}

impl Ended {
    fn is_success(self) -> bool {
        matches!(self, Self::ByItself(ending) if ending.exit.is_success())
    }
}

/// `exit code 1, 0.8 s`.
impl std::fmt::Display for Ended {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ByItself(Ending { exit, took, left_behind }) => {
                write!(formatter, "{exit}, {:.1} s", took.as_secs_f64())?;
                if *left_behind {
                    formatter.write_str("; what was left running in the background was killed")?;
                }
                Ok(())
            }
            Self::TimedOut(limit) => write!(
                formatter,
                "killed after {} s, the time limit; raise timeout_ms or use exec_command",
                limit.as_secs_f64()
            ),
        }
    }
}

impl From<LaunchError> for ToolOutput {
    fn from(error: LaunchError) -> Self {
        Self::error(error.to_string())
    }
}
