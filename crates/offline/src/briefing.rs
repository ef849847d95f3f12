//! The briefing: what the conversation says is asked, and what has been found out so far.
//!
//! Only what came after the task counts as work on it; what came before is context at most.

use std::sync::Arc;

use attache_kernel::{
    rights::tool_name::{BuiltinTool, ToolName},
    run::{
        message::{Message, ToolCall, ToolResult, UserPart},
        tool_spec::ToolSpec,
    },
};
use attache_runtime::internal::{model::ModelCall, tool::findings::Findings};
use serde::Deserialize as _;
use serde_json::Value;

/// The call that ends a run.
pub(crate) const COMPLETE_TASK: &str = "complete_task";

/// What is asked, with what, and what has been done about it.
#[derive(Debug)]
pub(crate) struct Briefing<'a> {
    /// The task.
    pub(crate) task: String,
    /// What the user said before it.
    pub(crate) earlier: String,
    /// The agent's name.
    pub(crate) agent: &'a str,
    /// What may be called.
    pub(crate) tools: Tools<'a>,
    /// How often tools were called for this task.
    pub(crate) rounds: usize,
    /// Whether there is no turn after this one.
    pub(crate) is_last_turn: bool,
    /// The calls made for this task and their answers.
    pub(crate) answers: Vec<Answer<'a>>,
    /// How often an answer was handed in and not accepted.
    pub(crate) refused_answers: usize,
    /// How many calls the whole conversation has.
    pub(crate) calls_so_far: usize,
}

/// The tools on offer, as far as they are of use here.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tools<'a> {
    pub(crate) reads: bool,
    pub(crate) lists: bool,
    pub(crate) globs: bool,
    pub(crate) greps: bool,
    /// The parameters of `complete_task`, where it is on offer.
    pub(crate) complete_task: Option<&'a Value>,
}

/// A call and its answer.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) tool: BuiltinTool,
    pub(crate) arguments: &'a Value,
    /// What it found; none if it failed, or if its answer was cut away since.
    pub(crate) findings: Option<Findings>,
    /// What it says went wrong, if it failed.
    pub(crate) problem: Option<&'a str>,
}

impl<'a> Briefing<'a> {
    pub(crate) fn read(call: ModelCall<'a>) -> Self {
        let messages = call.request.messages.messages();
        let tools = Tools::offered(&call.request.tools);
        let wanted = call.run.map_or("", |run| run.task.trim());
        let at = task_position(messages, wanted, tools);
        let (before, since) = messages.split_at_checked(at).unwrap_or((messages, &[]));
        let said = |messages: &[Arc<Message>]| {
            let texts = messages.iter().filter_map(|message| user_text(message));
            texts.collect::<Vec<_>>().join("\n")
        };
        let mut briefing = Self {
            task: since.first().and_then(|message| user_text(message)).unwrap_or_default(),
            earlier: said(before),
            agent: call.run.map_or("", |run| run.definition.agent_type.as_str()),
            tools,
            rounds: 0,
            is_last_turn: false,
            answers: Vec::new(),
            refused_answers: 0,
            calls_so_far: messages.iter().map(|message| message.calls().count()).sum(),
        };
        briefing.take_in(since);
        let turns = since.iter().filter(|message| matches!(***message, Message::Assistant { .. }));
        let most = call.run.map_or(u32::MAX, |run| run.limits.max_turns);
        briefing.is_last_turn = turns.count() + 1 >= usize::try_from(most).unwrap_or(usize::MAX);
        briefing
    }

    /// Whether there is nothing left but to hand in what is there.
    pub(crate) fn must_finish(&self) -> bool {
        self.is_last_turn || !self.tools.can_search() || self.refused_answers > 0
    }

    fn take_in(&mut self, since: &'a [Arc<Message>]) {
        for pair in since.windows(2) {
            let [asked, answered] = pair else { continue };
            let Message::Tool { results } = answered.as_ref() else { continue };
            let mut searched = false;
            for call in asked.calls() {
                let Some(result) = results.iter().find(|result| result.call_id == call.id) else {
                    continue;
                };
                if call.name == COMPLETE_TASK {
                    self.refused_answers += usize::from(result.is_error);
                } else if let Some(answer) = answer(call, result) {
                    self.answers.push(answer);
                    searched = true;
                }
            }
            self.rounds += usize::from(searched);
        }
    }
}

fn answer<'a>(call: &'a ToolCall, result: &'a ToolResult) -> Option<Answer<'a>> {
    let Ok(ToolName::Builtin(tool)) = call.name.parse::<ToolName>() else { return None };
    let arguments = call.arguments().ok()?;
    let findings = result.data.as_ref().and_then(|data| Findings::deserialize(&**data).ok());
    let problem = result.is_error.then_some(result.text.as_str());
    Some(Answer { tool, arguments, findings, problem })
}

impl<'a> Tools<'a> {
    fn offered(specs: &'a [ToolSpec]) -> Self {
        let mut tools = Self::default();
        for spec in specs {
            match spec.name.builtin() {
                Some(BuiltinTool::ReadFile) => tools.reads = true,
                Some(BuiltinTool::ListDir) => tools.lists = true,
                Some(BuiltinTool::GlobFiles) => tools.globs = true,
                Some(BuiltinTool::GrepFiles) => tools.greps = true,
                None if spec.name.to_string() == COMPLETE_TASK => {
                    tools.complete_task = Some(&spec.parameters);
                }
                Some(_) | None => {}
            }
        }
        tools
    }

    /// Whether anything can be looked at.
    pub(crate) fn can_search(self) -> bool {
        self.reads || self.lists || self.globs || self.greps
    }
}

/// Where the task is: the last message that is it, or holds it; without one, the user's last word, that
/// of a last chance left aside.
fn task_position(messages: &[Arc<Message>], task: &str, tools: Tools<'_>) -> usize {
    let texts: Vec<(usize, String)> = messages
        .iter()
        .enumerate()
        .filter_map(|(index, message)| Some((index, user_text(message)?)))
        .collect();
    if !task.is_empty() {
        let is_it = texts.iter().rfind(|(_, text)| text.trim() == task);
        let holds_it = || texts.iter().rfind(|(_, text)| text.contains(task));
        if let Some((index, _)) = is_it.or_else(holds_it) {
            return *index;
        }
    }
    let work = messages.iter().rposition(|message| message.calls().next().is_some());
    let in_last_chance = !tools.can_search() || work.is_some();
    let before_work = texts.iter().rfind(|(index, _)| work.is_none_or(|work| *index < work));
    let last = texts.last();
    let chosen = if in_last_chance { before_work.or(last) } else { last };
    chosen.map_or(messages.len(), |(index, _)| *index)
}

fn user_text(message: &Message) -> Option<String> {
    let Message::User { content } = message else { return None };
    let texts = content.iter().filter_map(|part| match part {
        UserPart::Text { text } => Some(text.as_str()),
        UserPart::Image { .. } => None,
    });
    Some(texts.collect::<Vec<_>>().join("\n"))
}
