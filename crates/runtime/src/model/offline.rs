//! `offline`: a model without a language model. It searches, and says so.
//!
//! It reads the task from the conversation, picks search terms, works through the ordinary tools as any
//! model does, and hands in a report of files, lines and snippets. Invariant: an answer is a function of
//! the request alone; whatever it knows it reads back from the conversation.

mod absent;
mod briefing;
mod concept;
mod definitions;
mod evidence;
mod inquiry;
mod instance;
mod overview;
mod paths;
mod plan;
mod ranking;
mod report;
mod snippets;
mod uses;
mod words;

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
use serde_json::{Value, json};

use self::{
    briefing::{Briefing, COMPLETE_TASK},
    evidence::Evidence,
    inquiry::Inquiry,
    report::Report,
};
use super::{Chunk, Chunks, Model, ModelCall, ModelFuture};

/// A model that searches instead of thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfflineModel;

impl Model for OfflineModel {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        let turn = Turn::next(call);
        chunks(Chunk::Text(turn.says.clone()));
        Box::pin(future::ready(Ok(turn.into_reply())))
    }
}

/// One answer: what is said, and which calls go with it.
struct Turn {
    says: String,
    calls: Vec<(String, Value)>,
    /// The number of the first call in the conversation.
    first_call: usize,
}

/// A search that is wanted: the tool and its arguments.
type Wanted = (BuiltinTool, Value);

impl Turn {
    fn next(call: ModelCall<'_>) -> Self {
        let briefing = Briefing::read(call);
        let inquiry = Inquiry::of(&briefing.task, &briefing.earlier);
        let evidence = Evidence::gather(&briefing, &inquiry);
        let (says, wanted) = plan::next(&briefing, &inquiry, &evidence);
        let first_call = briefing.calls_so_far + 1;
        if wanted.is_empty() {
            return Self { first_call, ..hand_in(&briefing, &inquiry, &evidence) };
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

/// The last turn: the report goes into the call that ends the run, or is the answer where there is none.
fn hand_in(briefing: &Briefing<'_>, inquiry: &Inquiry, evidence: &Evidence<'_>) -> Turn {
    let report = Report::write(briefing, inquiry, evidence);
    let Some(parameters) = briefing.tools.complete_task else {
        return Turn { says: report.markdown, calls: Vec::new(), first_call: 0 };
    };
    let filling = match briefing.refused_answers {
        0 => instance::Filling::Full,
        1 => instance::Filling::Least,
        _ => {
            let says = format!(
                "The search is done, but its report does not fit the output that this agent must \
                 hand in.\n\n{}",
                report.markdown
            );
            return Turn { says, calls: Vec::new(), first_call: 0 };
        }
    };
    let arguments = if instance::is_plain(parameters) {
        json!({ "result": report.markdown })
    } else {
        match instance::arguments(parameters, &report, filling) {
            Ok(arguments) => arguments,
            Err(unfillable) => {
                let says = format!(
                    "No answer is handed in: it must have {}, which takes judgement, and `offline` is \
                     no language model. This is what its search found.\n\n{}",
                    unfillable.named(),
                    report.markdown
                );
                return Turn { says, calls: Vec::new(), first_call: 0 };
            }
        }
    };
    let says = "Handing in what the search found.".to_owned();
    Turn { says, calls: vec![(COMPLETE_TASK.to_owned(), arguments)], first_call: 0 }
}
