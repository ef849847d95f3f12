//! The opening: the messages a run begins with.
//!
//! Instructions; the parent's conversation and its boundary, for an agent that is to know it; the
//! definition's examples; the task. The instructions of the parent never become the child's.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use super::{
    assignment::{Assignment, Finish},
    inputs::shown,
    prose,
};
use crate::{
    definition::{
        InitialRole,
        template::{refers_to, render},
    },
    id::ToolCallId,
    message::{AssistantPart, Message, ToolResult},
};

/// The messages a run begins with.
pub(crate) fn opening(assignment: &Assignment, fork: Option<&[Arc<Message>]>) -> Vec<Arc<Message>> {
    let prompts = &assignment.definition.prompt_config;
    let mut messages = vec![Arc::new(Message::system(system_prompt(assignment)))];
    if let Some(parent) = fork {
        messages.extend(settled(parent));
        messages.push(Arc::new(Message::user(prose::FORK_BOUNDARY)));
    }
    for example in &prompts.initial_messages {
        let text = filled(&example.content, assignment);
        messages.push(Arc::new(match example.role {
            InitialRole::User => Message::user(text),
            InitialRole::Assistant => Message::assistant(text),
        }));
    }
    messages.push(Arc::new(Message::user(first_question(assignment))));
    messages
}

fn body(assignment: &Assignment) -> &str {
    match assignment.definition.prompt_config.system_prompt.as_deref() {
        Some(body) if !body.trim().is_empty() => body,
        Some(_) | None => prose::DEFAULT_PROMPT,
    }
}

fn system_prompt(assignment: &Assignment) -> String {
    let body = filled(body(assignment), assignment);
    match assignment.finish {
        Finish::CompleteTask => format!("{}\n\n{}", body.trim_end(), prose::FINISH),
        Finish::TextAnswer => body,
    }
}

/// The user message: the definition's query, else the task. A task that neither the query nor the
/// instructions take up would be lost; it is put after the query.
fn first_question(assignment: &Assignment) -> String {
    let task = assignment.task.trim();
    let query = assignment.definition.prompt_config.query.as_deref();
    match query.filter(|query| !query.trim().is_empty()) {
        None if task.is_empty() => prose::NO_TASK.to_owned(),
        None => assignment.task.clone(),
        Some(query) => {
            let asked = filled(query, assignment);
            let taken_up = refers_to(query, "prompt") || refers_to(body(assignment), "prompt");
            if taken_up || task.is_empty() {
                asked
            } else {
                format!("{asked}\n\n{}", assignment.task)
            }
        }
    }
}

fn filled(template: &str, assignment: &Assignment) -> String {
    let declared = assignment.definition.input_config.as_ref();
    render(template, |name| match name {
        "prompt" => Some(Cow::Borrowed(assignment.task.as_str())),
        "cwd" => Some(Cow::Borrowed(assignment.environment.cwd.as_str())),
        "today" => Some(Cow::Borrowed(assignment.environment.today.as_str())),
        "agent_type" => Some(Cow::Borrowed(assignment.definition.agent_type.as_str())),
        _ => declared
            .filter(|declared| declared.inputs.contains_key(name))
            .map(|_| shown(assignment.inputs.get(name))),
    })
}

/// A parent's conversation without its instructions and without calls that have no result yet; their
/// text is kept, and messages that need no change are shared.
fn settled(parent: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let called: BTreeSet<&ToolCallId> =
        parent.iter().flat_map(|message| message.calls().map(|call| &call.id)).collect();
    let answered: BTreeSet<&ToolCallId> = parent
        .iter()
        .flat_map(|message| results(message).iter().map(|result| &result.call_id))
        .collect();
    let keep = |message: &Arc<Message>| match message.as_ref() {
        Message::System { .. } => None,
        Message::User { .. } => Some(message.clone()),
        Message::Assistant { content } => {
            if message.calls().all(|call| answered.contains(&call.id)) {
                return Some(message.clone());
            }
            let content: Vec<_> =
                content.iter().filter(|part| stays(part, &answered)).cloned().collect();
            (!content.is_empty()).then(|| Arc::new(Message::Assistant { content }))
        }
        Message::Tool { results } => {
            if results.iter().all(|result| called.contains(&result.call_id)) {
                return Some(message.clone());
            }
            let results: Vec<_> =
                results.iter().filter(|result| called.contains(&result.call_id)).cloned().collect();
            (!results.is_empty()).then(|| Arc::new(Message::Tool { results }))
        }
    };
    parent.iter().filter_map(keep).collect()
}

/// Reasoning goes with the calls it led to: providers want it beside them or not at all.
fn stays(part: &AssistantPart, answered: &BTreeSet<&ToolCallId>) -> bool {
    match part {
        AssistantPart::Text { text, .. } => !text.trim().is_empty(),
        AssistantPart::Thinking { .. } => false,
        AssistantPart::ToolCall { call } => answered.contains(&call.id),
    }
}

fn results(message: &Message) -> &[ToolResult] {
    match message {
        Message::Tool { results } => results,
        Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => &[],
    }
}
