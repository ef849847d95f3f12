//! The opening: the messages a run begins with.
//!
//! Instructions; the parent's conversation and its boundary, for an agent that is to know it; the
//! definition's examples; the task. An agent that gets its parent's instructions is told, with the
//! task, that its own instructions replace them.

use std::{borrow::Cow, sync::Arc};

use super::{fork::Fork, inputs::shown, prose};
use crate::run::assignment::{Assignment, Finish};
use crate::{
    agent::definition::{
        InitialRole,
        template::{refers_to, render, rendered_len},
    },
    run::{event::Event, message::Message},
};

/// The event that opens a run. Of what a fork takes over only the instructions are bound to stay.
pub(crate) fn opened(assignment: &Assignment, fork: Option<&Fork>) -> Event {
    let messages = opening(assignment, fork);
    let instructions =
        messages.iter().take_while(|message| matches!(***message, Message::System { .. })).count();
    let opening = fork.and(u64::try_from(instructions).ok());
    Event::Opened { messages, opening, background: Vec::new(), reopened: None }
}

/// The messages a run begins with.
fn opening(assignment: &Assignment, fork: Option<&Fork>) -> Vec<Arc<Message>> {
    let prompts = &assignment.definition.prompt_config;
    let shares = fork.is_some() && assignment.shown_tools.is_some();
    let mut messages = Vec::new();
    if !shares {
        messages.push(Arc::new(Message::system(system_prompt(assignment))));
    }
    if let Some(fork) = fork {
        messages.extend(fork.settled(shares));
        messages.push(Arc::new(Message::user(prose::FORK_BOUNDARY)));
    }
    for example in &prompts.initial_messages {
        let text = filled(&example.content, assignment);
        messages.push(Arc::new(match example.role {
            InitialRole::User => Message::user(text),
            InitialRole::Assistant => Message::assistant(text),
        }));
    }
    let question = first_question(assignment);
    let question = if shares { fork_task(assignment, &question) } else { question };
    messages.push(Arc::new(Message::user(question)));
    messages
}

/// The task of a fork that repeats its parent's instructions: its own stand beside it.
fn fork_task(assignment: &Assignment, task: &str) -> String {
    let names: Vec<_> = assignment.tools.iter().map(|spec| spec.name.to_string()).collect();
    let finish = match assignment.finish {
        Finish::CompleteTask => prose::FINISH,
        Finish::TextAnswer => prose::FORK_FINISH_TEXT,
    };
    let instructions = filled(body(assignment), assignment);
    let agent = assignment.definition.agent_type.as_str();
    prose::fork_task(agent, instructions.trim(), &names, finish, task)
}

fn body(assignment: &Assignment) -> &str {
    match assignment.definition.prompt_config.system_prompt.as_deref() {
        Some(body) if !body.trim().is_empty() => body,
        Some(_) | None => prose::DEFAULT_PROMPT,
    }
}

fn system_prompt(assignment: &Assignment) -> String {
    let mut prompt = filled(body(assignment), assignment);
    if let Some(briefing) = &assignment.briefing {
        prompt = format!("{}\n\n{}", prompt.trim_end(), briefing.trim_end());
    }
    match assignment.finish {
        Finish::CompleteTask => format!("{}\n\n{}", prompt.trim_end(), prose::FINISH),
        Finish::TextAnswer => prompt,
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

/// The largest opening: several times what any model's context window holds.
const MOST_BYTES: usize = 16 << 20;

/// The size of the opening, if it is larger than any opening may be.
pub(crate) fn too_large(assignment: &Assignment) -> Option<usize> {
    let prompts = &assignment.definition.prompt_config;
    let examples = prompts.initial_messages.iter().map(|example| example.content.as_str());
    let templates = examples.chain([body(assignment)]).chain(prompts.query.as_deref());
    let size = templates
        .map(|template| rendered_len(template, |name| value_of(name, assignment)))
        .fold(assignment.task.len(), usize::saturating_add);
    (size > MOST_BYTES).then_some(size)
}

fn filled(template: &str, assignment: &Assignment) -> String {
    render(template, |name| value_of(name, assignment))
}

fn value_of<'a>(name: &str, assignment: &'a Assignment) -> Option<Cow<'a, str>> {
    let declared = assignment.definition.input_config.as_ref();
    match name {
        "prompt" => Some(Cow::Borrowed(assignment.task.as_str())),
        "cwd" => Some(Cow::Borrowed(assignment.environment.cwd.as_str())),
        "today" => Some(Cow::Borrowed(assignment.environment.today.as_str())),
        "agent_type" => Some(Cow::Borrowed(assignment.definition.agent_type.as_str())),
        _ => declared
            .filter(|declared| declared.inputs.contains_key(name))
            .map(|_| shown(assignment.inputs.get(name))),
    }
}
