//! Judging calls, twice: when the reply arrives, and when a call is to begin.
//!
//! At the reply only those calls are settled that never reach a tool, and that is recorded with it:
//! rebuilding a run needs neither the guard nor the schema again. Whether a call may go to its tool is
//! judged in the moment it begins, by the rights in the assignment and by the guard of that moment.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    complete_task::{AnswerCheck, COMPLETE_TASK},
    prose,
};
use crate::{
    id::ToolCallId,
    rights::{
        filter::ToolSet,
        permission::{Foresight, Permission, SharedGuard},
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        assignment::{Assignment, Finish},
        event::{Disposition, StopReason},
        message::{AssistantPart, ToolCall},
    },
};

/// The most calls of one turn that are looked at.
pub(crate) const MOST_CALLS: usize = 1024;

/// What calls are held against.
pub(crate) struct Judge {
    pub(crate) guard: SharedGuard,
    rights: ToolSet,
    pub(crate) answer_check: AnswerCheck,
    finish: Finish,
    /// Whether `complete_task` hands in an answer. Of a fork that cannot be shown the call it is taken
    /// all the same.
    completes: bool,
    offered: Vec<String>,
    known: BTreeMap<ToolName, Option<String>>,
}

/// The state of affairs in which a reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Circumstances {
    /// Why the model stopped.
    pub(crate) stop: StopReason,
    /// Whether it was a last chance.
    pub(crate) grace: bool,
}

impl Judge {
    /// The judge of an assignment's calls.
    pub(crate) fn new(
        assignment: &Assignment,
        guard: SharedGuard,
        answer_check: AnswerCheck,
    ) -> Self {
        let mut known = BTreeMap::new();
        for shown in assignment.shown_tools.iter().flatten() {
            known.insert(shown.name.clone(), Some(prose::SHOWN_ONLY.to_owned()));
        }
        for withheld in &assignment.withheld_tools {
            let Ok(tool) = withheld.tool.parse::<ToolName>();
            known.insert(tool, Some(withheld.reason.clone()));
        }
        for spec in assignment.tools.iter().chain(&assignment.searchable_tools) {
            known.insert(spec.name.clone(), None);
        }
        let mut offered: Vec<_> =
            assignment.tools.iter().map(|spec| spec.name.to_string()).collect();
        if assignment.finish == Finish::CompleteTask {
            offered.push(COMPLETE_TASK.to_owned());
        }
        let finish = assignment.finish;
        let rights = assignment.rights.clone();
        let completes = finish == Finish::CompleteTask || assignment.shown_tools.is_some();
        Self { guard, rights, answer_check, finish, completes, offered, known }
    }

    /// Whether a call may begin now.
    pub(crate) fn permission(
        &self,
        tool: &ToolName,
        arguments: &Value,
        foresight: &Foresight,
    ) -> Permission {
        match self.rights.check(tool, arguments) {
            Ok(()) => self.guard.check(tool, arguments, foresight),
            Err(refusal) => Permission::Deny { reason: refusal.to_string() },
        }
    }

    /// What is to become of each call, as far as the reply settles it. Calls beyond the most a turn may
    /// have are not executed.
    pub(crate) fn dispositions(
        &self,
        calls: &[&ToolCall],
        circumstances: Circumstances,
    ) -> Vec<Disposition> {
        let (calls, beyond) = calls.split_at(calls.len().min(MOST_CALLS));
        let mut dispositions = self.dispositions_of_few(calls, circumstances);
        let too_many = not_executed(&format!("at most {MOST_CALLS} calls in a turn"));
        dispositions.extend(beyond.iter().map(|_| too_many.clone()));
        dispositions
    }

    fn dispositions_of_few(
        &self,
        calls: &[&ToolCall],
        circumstances: Circumstances,
    ) -> Vec<Disposition> {
        let completes = |call: &ToolCall| self.completes && call.name.trim() == COMPLETE_TASK;
        if calls.iter().any(|call| completes(call)) {
            return self.completion_dispositions(calls, completes, circumstances);
        }
        calls
            .iter()
            .map(|call| match (circumstances.grace, self.finish) {
                (false, _) => self.disposition(call, circumstances.stop),
                (true, Finish::CompleteTask) => not_executed("only `complete_task` is left"),
                (true, Finish::TextAnswer) => not_executed("only a text answer is left"),
            })
            .collect()
    }

    /// The first answer that fits wins; other calls beside it are not executed.
    fn completion_dispositions(
        &self,
        calls: &[&ToolCall],
        completes: impl Fn(&ToolCall) -> bool,
        circumstances: Circumstances,
    ) -> Vec<Disposition> {
        let others: Vec<_> = calls
            .iter()
            .filter(|call| !completes(call))
            .map(|call| format!("`{}`", call.name))
            .collect();
        // Said once: a turn of many calls must not be answered with many lists of them.
        let mut beside = (!others.is_empty())
            .then(|| format!("\nNot executed beside it: {}.", others.join(", ")));
        let mut complete = false;
        calls
            .iter()
            .map(|call| {
                if !completes(call) {
                    return not_executed("`complete_task` was called in the same turn");
                }
                if complete {
                    return not_executed("the task is complete");
                }
                match self.completion_problem(call, circumstances.stop) {
                    None => {
                        complete = true;
                        Disposition::Complete
                    }
                    Some(text) => {
                        Disposition::Answer { text: text + &beside.take().unwrap_or_default() }
                    }
                }
            })
            .collect()
    }

    fn completion_problem(&self, call: &ToolCall, stop: StopReason) -> Option<String> {
        match call.arguments() {
            Err(problem) => Some(prose::bad_arguments(&call.name, &problem.to_string(), stop)),
            Ok(arguments) => self
                .answer_check
                .answer(arguments)
                .err()
                .map(|problems| prose::bad_output(&problems)),
        }
    }

    fn disposition(&self, call: &ToolCall, stop: StopReason) -> Disposition {
        let Ok(tool) = call.name.trim().parse::<ToolName>();
        let text = match self.known.get(&tool).or_else(|| self.of_server(&tool)) {
            None => prose::unknown_tool(&call.name, &self.offered),
            Some(Some(reason)) => prose::withheld_tool(&call.name, reason),
            Some(None) => match call.arguments() {
                Err(problem) if is_delegation(&tool) => {
                    prose::unreadable_arguments(&problem.to_string(), stop)
                }
                Err(problem) => prose::bad_arguments(&call.name, &problem.to_string(), stop),
                Ok(_) => return Disposition::Execute { tool },
            },
        };
        Disposition::Answer { text }
    }

    /// What is known of all tools of the MCP server that a tool belongs to.
    fn of_server(&self, tool: &ToolName) -> Option<&Option<String>> {
        let ToolName::Mcp { server, .. } = tool else { return None };
        self.known.get(&ToolName::Mcp { server: server.clone(), tool: "*".to_owned() })
    }
}

fn is_delegation(tool: &ToolName) -> bool {
    tool.builtin().is_some_and(|tool| BuiltinTool::DELEGATION.contains(&tool))
}

fn not_executed(reason: &str) -> Disposition {
    Disposition::Answer { text: prose::not_executed(reason) }
}

/// What becomes of calls that were made in a summary.
pub(crate) fn ignored(calls: &[&ToolCall]) -> Vec<Disposition> {
    calls.iter().map(|_| not_executed("a summary was asked for")).collect()
}

/// What some models put before the name of a tool.
const NAMESPACE: &str = "functions.";

/// A reply as it is kept: no empty texts, and every call with an id nobody else has.
///
/// An id that is missing or taken gets a number, the same for the same conversation.
pub(crate) fn tidied(
    content: Vec<AssistantPart>,
    taken: &BTreeSet<ToolCallId>,
) -> Vec<AssistantPart> {
    let mut given: BTreeSet<ToolCallId> = BTreeSet::new();
    let mut tidy = Vec::with_capacity(content.len());
    for part in content {
        match part {
            AssistantPart::Text { text, provider_data: None } if text.trim().is_empty() => {}
            AssistantPart::ToolCall { mut call } => {
                if call.name.starts_with(NAMESPACE) {
                    call.name.drain(..NAMESPACE.len());
                }
                let mut number = taken.len() + given.len() + 1;
                let written = call.id.as_str().to_owned();
                while call.id.as_str().is_empty()
                    || taken.contains(&call.id)
                    || given.contains(&call.id)
                {
                    call.id = match written.as_str() {
                        "" => ToolCallId::new(format!("call-{number}")),
                        id => ToolCallId::new(format!("{id}-{number}")),
                    };
                    number += 1;
                }
                given.insert(call.id.clone());
                tidy.push(AssistantPart::ToolCall { call });
            }
            AssistantPart::Text { .. } | AssistantPart::Thinking { .. } => tidy.push(part),
        }
    }
    tidy
}
