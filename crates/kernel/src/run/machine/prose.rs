//! Prose: every sentence a run says to a model, kept in files beside this one and reviewed as prose.
//!
//! Each of them is paid for again on every turn after it is said; so they are short.

use crate::run::assignment::Finish;
use crate::{
    agent::definition::template::render,
    id::nearest,
    run::{event::StopReason, outcome::RecoveredFrom},
};

macro_rules! prose {
    ($name:literal) => {
        include_str!(concat!("prose/", $name, ".md")).trim_ascii_end()
    };
}

/// The instructions of an agent that has none.
pub(crate) const DEFAULT_PROMPT: &str = prose!("default_prompt");
/// What every subagent is told about handing in its answer.
pub(crate) const FINISH: &str = prose!("finish");
/// The description of `complete_task`.
pub(crate) const COMPLETE_TASK: &str = prose!("complete_task");
/// The description of its one argument.
pub(crate) const COMPLETE_TASK_RESULT: &str = prose!("complete_task_result");
/// The first message of a run without a task.
pub(crate) const NO_TASK: &str = "Get Started!";
/// The first message of a run that is resumed without a task.
pub(crate) const GO_ON: &str = "Go on.";
/// What a resumed run is told about an answer of which only the beginning came.
pub(crate) const WAS_CUT_OFF: &str = "(Your last answer was cut off.)";
/// What is answered to the call that ended the run.
pub(crate) const ACCEPTED: &str = "Accepted.";
/// What an answer gets that was handed in while background agents work for the agent.
pub(crate) const BACKGROUND_WORKS: &str = "Noted. Agents that you started still work in the \
    background. You are told when one ends; then call complete_task again with your final answer.";
/// What an answer gets that was handed in while a message was on its way.
pub(crate) const LETTERS_WAIT: &str =
    "Not accepted yet: a message for you came in. Read it, then call complete_task again.";
/// What stands between a parent's conversation and the task.
pub(crate) const FORK_BOUNDARY: &str = prose!("fork_boundary");
/// What a fork is told about handing in its answer, where it shares its parent's tools.
pub(crate) const FORK_FINISH_TEXT: &str = prose!("fork_finish_text");
/// Why a tool cannot be called that only its parent's cache keeps in sight.
pub(crate) const SHOWN_ONLY: &str = "it belongs to the conversation before your task";
/// What is left of a tool result that had to go.
pub(crate) const STUB: &str = prose!("stub");
/// What is left of one that the model has not read.
pub(crate) const STUB_UNREAD: &str = prose!("stub_unread");
/// What stands in the place of turns that had to go.
pub(crate) const TURNS_DROPPED: &str = prose!("turns_dropped");
/// What a model is asked for when the conversation is to be replaced.
pub(crate) const SUMMARISE: &str = prose!("summarise");
/// What is answered to a call that may have taken effect before the run was cut off.
pub(crate) const OUTCOME_UNKNOWN: &str = prose!("outcome_unknown");
/// What is answered to a call that can safely be made again.
pub(crate) const INTERRUPTED: &str = prose!("interrupted");

/// The number of tools named to a model that called one that does not exist.
const MOST_NAMES: usize = 40;

/// What is said after a turn whose text the output limit cut off.
pub(crate) const CUT_SHORT: &str = prose!("cut_short");

/// A reminder after a turn without a call.
pub(crate) fn reminder(finish: Finish) -> &'static str {
    match finish {
        Finish::CompleteTask => prose!("reminder"),
        Finish::TextAnswer => prose!("reminder_text"),
    }
}

/// The words before a last chance.
pub(crate) fn grace(finish: Finish, reason: RecoveredFrom) -> String {
    let reason = match reason {
        RecoveredFrom::Timeout => "The time is up.",
        RecoveredFrom::MaxTurns => "All turns are used up.",
        RecoveredFrom::NoCompleteTask => "Nothing has been handed in.",
        RecoveredFrom::Loop => "You are repeating the same call.",
        RecoveredFrom::Budget => "The budget is spent.",
    };
    let text = match finish {
        Finish::CompleteTask => prose!("grace"),
        Finish::TextAnswer => prose!("grace_text"),
    };
    with(text, &[("reason", reason)])
}

/// The task of a fork that repeats its parent's instructions, after its own.
pub(crate) fn fork_task(
    agent: &str,
    instructions: &str,
    tools: &[String],
    finish: &str,
    task: &str,
) -> String {
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
    let values = [
        ("agent", agent),
        ("instructions", instructions),
        ("tools", &tools),
        ("finish", finish),
        ("task", task),
    ];
    with(prose!("fork_task"), &values)
}

/// What stands in the place of a conversation.
pub(crate) fn summary(summary: &str) -> String {
    with(prose!("summary"), &[("summary", summary)])
}

/// A remark on a call that was made again and again.
pub(crate) fn loop_remark(count: u32) -> String {
    with(prose!("loop_remark"), &[("count", &count.to_string())])
}

/// Why a call was not executed.
pub(crate) fn not_executed(reason: &str) -> String {
    with(prose!("not_executed"), &[("reason", reason)])
}

/// An answer to a call of a tool that does not exist.
pub(crate) fn unknown_tool(name: &str, offered: &[String]) -> String {
    let nearest = nearest(name, offered.iter().map(String::as_str))
        .map(|nearest| format!(" Did you mean `{nearest}`?"))
        .unwrap_or_default();
    let mut names: Vec<&str> = offered.iter().map(String::as_str).collect();
    if names.len() > MOST_NAMES {
        names.truncate(MOST_NAMES);
        names.push("…");
    }
    let values = [("name", name), ("nearest", &nearest), ("names", &names.join(", "))];
    with(prose!("unknown_tool"), &values)
}

/// An answer to a call of a tool that was withheld.
pub(crate) fn withheld_tool(name: &str, reason: &str) -> String {
    with(prose!("withheld_tool"), &[("name", name), ("reason", reason)])
}

/// An answer to a call that the guard did not pass.
pub(crate) fn refused_call(reason: &str) -> String {
    let reason = reason.strip_suffix('.').unwrap_or(reason);
    with(prose!("refused_call"), &[("reason", reason)])
}

/// An answer to a call that somebody did not approve.
pub(crate) fn not_approved(words: Option<&str>) -> String {
    match words.map(str::trim).filter(|words| !words.is_empty()) {
        None => refused_call("not approved"),
        Some(words) => refused_call(&format!("not approved: {words}")),
    }
}

/// An answer to a call whose arguments are not a JSON object.
pub(crate) fn bad_arguments(name: &str, problem: &str, stop: StopReason) -> String {
    let values = [("name", name), ("problem", problem), ("cut", cut_off(stop))];
    with(prose!("bad_arguments"), &values)
}

/// The same for a tool that starts agents: readers recognise its answers by their beginning.
pub(crate) fn unreadable_arguments(problem: &str, stop: StopReason) -> String {
    format!("failed to parse function arguments: {problem}.{}", cut_off(stop))
}

fn cut_off(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Length => " Your answer was cut off at the output limit: write less at once.",
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::ContentFilter
        | StopReason::Other => "",
    }
}

/// An answer to a `complete_task` whose output does not fit.
pub(crate) fn bad_output(problems: &str) -> String {
    with(prose!("bad_output"), &[("problems", problems)])
}

fn with(text: &str, values: &[(&str, &str)]) -> String {
    render(text, |name| {
        values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
    })
}
