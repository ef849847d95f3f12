//! A fork: a run that begins with everything its parent had said and seen.
//!
//! What a provider has cached of the parent's last request is worth the more, the longer that was. So
//! a fork to the same model repeats the request's beginning byte for byte: instructions, offered tools,
//! messages. Its own instructions stand with its task, and a call of a tool that is only shown is
//! answered with a refusal: seeing a tool gives no right to it.

use std::{collections::BTreeSet, sync::Arc};

use super::{Run, complete_task};
use crate::run::{
    assignment::{Assignment, Finish},
    tool_spec::ToolSpec,
};
use crate::{
    id::ToolCallId,
    run::{
        message::{AssistantPart, Message, ToolResult},
        outcome::ModelUsed,
    },
};

/// What a fork takes over from its parent.
#[derive(Debug, Clone, PartialEq)]
pub struct Fork {
    pub(super) messages: Vec<Arc<Message>>,
    tools: Arc<[ToolSpec]>,
    model: ModelUsed,
}

impl Fork {
    /// What a run that is begun now takes over from this one.
    pub fn from_parent(parent: &Run) -> Self {
        Self {
            messages: parent.state.conversation.messages().to_vec(),
            tools: Arc::clone(&parent.offered),
            model: parent.assignment.model.clone(),
        }
    }

    /// Lets an assignment repeat the beginning of the parent's requests, where that is of use.
    ///
    /// It is of none with another model; and an agent that has to hand in an answer of its own form
    /// needs another tool for it than the parent has, which would change the beginning.
    pub(crate) fn share_with(&self, assignment: &mut Assignment) {
        let model = |used: &ModelUsed| (used.provider.clone(), used.id.clone());
        if model(&self.model) != model(&assignment.model) {
            return;
        }
        let output = assignment.definition.output_config.as_ref();
        let finishing = complete_task::spec(output);
        match self.tools.iter().find(|spec| spec.name == finishing.name) {
            Some(same) if *same == finishing => assignment.finish = Finish::CompleteTask,
            None if output.is_none() => assignment.finish = Finish::TextAnswer,
            Some(_) | None => return,
        }
        assignment.shown_tools = Some(self.tools.to_vec());
    }

    /// The parent's conversation without calls that have no result yet; their text is kept, and
    /// messages that need no change are shared. With its instructions only for who repeats them.
    pub(crate) fn settled(&self, repeats_instructions: bool) -> Vec<Arc<Message>> {
        let messages = &self.messages;
        let called: BTreeSet<&ToolCallId> =
            messages.iter().flat_map(|message| message.calls().map(|call| &call.id)).collect();
        let answered: BTreeSet<&ToolCallId> = messages
            .iter()
            .flat_map(|message| results(message).iter().map(|result| &result.call_id))
            .collect();
        let keep = |message: &Arc<Message>| match message.as_ref() {
            Message::System { .. } => repeats_instructions.then(|| message.clone()),
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
                let known = results.iter().filter(|result| called.contains(&result.call_id));
                let results: Vec<_> = known.cloned().collect();
                (!results.is_empty()).then(|| Arc::new(Message::Tool { results }))
            }
        };
        messages.iter().filter_map(keep).collect()
    }
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
