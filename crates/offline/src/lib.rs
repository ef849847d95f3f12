//! `offline`: a model without a language model. It searches, and says so.
//!
//! It reads the task from the conversation, picks search terms, works through the ordinary tools as any
//! model does, and hands in a report of files, lines and snippets. Invariants: an answer is a function of
//! the request alone; the report states only what a tool answered, and what was not looked at.

#![warn(missing_docs)]

mod briefing;

mod concept;
mod inquiry;
mod words;

mod overview;
mod plan;

mod definitions;
mod evidence;
mod paths;
mod ranking;

mod absent;
mod instance;
mod report;
mod snippets;
mod uses;

use std::future;

use attache_kernel::{
    id::ToolCallId,
    model::usage::Usage,
    rights::tool_name::BuiltinTool,
    run::{
        Reply,
        event::StopReason,
        message::{AssistantPart, ToolCall},
    },
};
use attache_runtime::internal::model::{Chunk, Chunks, Model, ModelCall, ModelFuture};
use serde_json::Value;

use self::{
    briefing::{Briefing, COMPLETE_TASK},
    evidence::Evidence,
    inquiry::Inquiry,
    report::Report,
};

/// A model that searches instead of thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfflineModel;

impl Model for OfflineModel {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        let turn = Turn::next(call);
        chunks(Chunk::Text(turn.says.clone()));
        Box::pin(future::ready(Ok(turn.into_reply())))
    }

    fn wants_structured_results(&self) -> bool {
        true
    }
}

/// A call that is wanted: the tool and its arguments.
type Wanted = (BuiltinTool, Value);

/// One answer: what is said, and which calls go with it.
struct Turn {
    says: String,
    calls: Vec<(String, Value)>,
    /// The number of the first call in the conversation.
    first_call: usize,
}

impl Turn {
    fn next(call: ModelCall<'_>) -> Self {
        let briefing = Briefing::read(call);
        let inquiry = Inquiry::new(&briefing.task, &briefing.earlier);
        let evidence = Evidence::gather(&briefing, &inquiry);
        let (says, wanted) = plan::next(&briefing, &inquiry, &evidence);
        let first_call = briefing.calls_so_far + 1;
        if wanted.is_empty() {
            let (says, answer) = hand_in(&briefing, &inquiry, &evidence);
            let calls = answer.map(|answer| (COMPLETE_TASK.to_owned(), answer));
            return Self { says, calls: calls.into_iter().collect(), first_call };
        }
        let calls =
            wanted.into_iter().map(|(tool, arguments)| (tool.as_str().to_owned(), arguments));
        Self { says, calls: calls.collect(), first_call }
    }

    fn into_reply(self) -> Reply {
        let stop = if self.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        let calls = self.calls.into_iter().zip(self.first_call..).map(|((name, arguments), n)| {
            let id = ToolCallId::new(format!("offline-{n}"));
            AssistantPart::ToolCall { call: ToolCall::new(id, name, arguments.to_string()) }
        });
        let content = std::iter::once(AssistantPart::text(self.says)).chain(calls).collect();
        Reply { content, stop, usage: Usage::default(), cost_usd: Some(0.0) }
    }
}

/// The last turn: what is said, and the arguments of the call that ends the run, if there can be one.
fn hand_in(
    briefing: &Briefing<'_>,
    inquiry: &Inquiry,
    evidence: &Evidence<'_>,
) -> (String, Option<Value>) {
    let report = Report::write(briefing, inquiry, evidence);
    let Some(parameters) = briefing.tools.complete_task else {
        return (report.markdown, None);
    };
    if briefing.refused_answers > 0 {
        let says = format!(
            "The search is done, but its report does not fit the output that this agent must hand \
             in.\n\n{}",
            report.markdown
        );
        return (says, None);
    }
    match instance::arguments(parameters, &report) {
        Ok(arguments) => ("Handing in what the search found.".to_owned(), Some(arguments)),
        Err(unfillable) => {
            let says = format!(
                "No answer is handed in: it must have {}, which takes judgement, and `offline` is \
                 not a language model. This is what its search found.\n\n{}",
                unfillable.named(),
                report.markdown
            );
            (says, None)
        }
    }
}
