//! Sampling: a server asks for an answer of the run's model. Somebody says yes first.
//!
//! Invariants: nothing is sent to the model that nobody approved. An answer has a bound of tokens, and is counted
//! as the run's.

#![expect(deprecated, reason = "servers of older protocol versions ask for it")]

use std::{sync::Arc, time::Duration};

use attache_kernel::{
    id::{QuestionId, ToolCallId},
    rights::{permission::Foresight, tool_name::ToolName},
    run::{
        Demand, ModelFailure, ModelRequest, Question,
        conversation::Conversation,
        event::{ApprovalDecision, StopReason},
        message::{AssistantPart, Image, Message, UserPart},
    },
};
use rmcp::{
    ErrorData,
    model::{
        CreateMessageRequestParams, CreateMessageResult, ErrorCode, Role, SamplingMessage,
        SamplingMessageContentBlock,
    },
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::clean_text::clean;
use crate::{
    model::ModelCall,
    tool::caller::{Caller, Lent},
};

/// The longest answer in tokens, and the most bytes of a request.
const LONGEST_ANSWER: u32 = 4096;
const LONGEST_REQUEST: usize = 256 << 10;
/// How much of a request somebody is shown.
const LONGEST_SHOWN: usize = 8000;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_mins(5);
/// What the protocol answers when somebody said no.
const REJECTED: ErrorCode = ErrorCode(-1);

/// Answers a request of a server, if somebody says yes.
pub(super) async fn answered(
    params: CreateMessageRequestParams,
    server: &str,
    caller: &Caller,
    cancel: CancellationToken,
) -> Result<CreateMessageResult, ErrorData> {
    let longest = params.max_tokens.clamp(1, LONGEST_ANSWER);
    let messages = conversation(&params)?;
    let question = question(&messages, server, longest, caller);
    let (decision, words) = {
        let _question = caller.ask(server);
        caller.approvals.decide(question, &Foresight::default(), cancel).await
    };
    if !matches!(decision, ApprovalDecision::ApprovedOnce | ApprovalDecision::ApprovedForSession) {
        let words = words.filter(|words| !words.is_empty());
        let message = match words {
            Some(words) => format!("the sampling request was not approved: {words}"),
            None => "the sampling request was not approved".to_owned(),
        };
        return Err(ErrorData::new(REJECTED, message, None));
    }
    let request = ModelRequest {
        messages: messages.into_iter().map(Arc::new).collect::<Conversation>(),
        tools: Arc::from([]),
        demand: Demand::Free,
        attempt: 1,
        not_before: Duration::ZERO,
        deadline: None,
    };
    let call = ModelCall {
        max_output_tokens: Some(u64::from(longest)),
        ..ModelCall::of_run(&request, &caller.run)
    };
    let mut unseen = |_| {};
    let reply = tokio::time::timeout(PATIENCE, caller.model.call(call, &mut unseen)).await;
    let failed = |message: String| ErrorData::internal_error(message, None);
    let reply = reply
        .map_err(|_| failed("the model did not answer in time".to_owned()))?
        .map_err(|failure| failed(why(&failure)))?;
    let (usage, cost_usd) = (reply.usage, reply.cost_usd);
    caller.lent(Lent { server: server.to_owned(), usage, cost_usd });
    let text: Vec<&str> = reply.content.iter().filter_map(said).collect();
    if text.is_empty() {
        return Err(failed("the model of this run answers no such requests".to_owned()));
    }
    let mut result = CreateMessageResult::new(
        SamplingMessage::assistant_text(text.concat()),
        caller.run.model.id.clone(),
    );
    result.stop_reason = Some(stop(reply.stop).to_owned());
    Ok(result)
}

fn said(part: &AssistantPart) -> Option<&str> {
    match part {
        AssistantPart::Text { text, .. } => Some(text),
        AssistantPart::Thinking { .. } | AssistantPart::ToolCall { .. } => None,
    }
}

fn stop(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Length => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        _ => CreateMessageResult::STOP_REASON_END_TURN,
    }
}

fn why(failure: &ModelFailure) -> String {
    let (ModelFailure::Transient { message, .. }
    | ModelFailure::ContextLength { message, .. }
    | ModelFailure::Fatal { message }) = failure;
    format!("the model did not answer: {message}")
}

/// A request as a conversation.
fn conversation(params: &CreateMessageRequestParams) -> Result<Vec<Message>, ErrorData> {
    let system = params.system_prompt.iter().map(|text| Message::System { text: text.clone() });
    let mut messages: Vec<Message> = system.collect();
    let mut size = params.system_prompt.as_ref().map_or(0, String::len);
    for message in &params.messages {
        let mut user = Vec::new();
        for block in message.content.iter() {
            match block {
                SamplingMessageContentBlock::Text(text) => {
                    size += text.text.len();
                    user.push(UserPart::Text { text: text.text.clone() });
                }
                SamplingMessageContentBlock::Image(image) => {
                    size += image.data.len();
                    let (media_type, data) = (image.mime_type.clone(), image.data.clone());
                    user.push(UserPart::Image { image: Image { media_type, data } });
                }
                _ => {
                    let message = "only text and images can be sampled with";
                    return Err(ErrorData::invalid_params(message, None));
                }
            }
        }
        messages.push(match message.role {
            Role::Assistant => {
                let parts = user.into_iter().filter_map(|part| match part {
                    UserPart::Text { text } => Some(AssistantPart::text(&text)),
                    UserPart::Image { .. } => None,
                });
                Message::Assistant { content: parts.collect() }
            }
            Role::User => Message::User { content: user },
        });
    }
    if size > LONGEST_REQUEST {
        let message = format!("the request has more than {} KB", LONGEST_REQUEST >> 10);
        return Err(ErrorData::invalid_params(message, None));
    }
    if params.messages.is_empty() {
        return Err(ErrorData::invalid_params("there are no messages", None));
    }
    Ok(messages)
}

/// What somebody is asked before anything is sent.
fn question(messages: &[Message], server: &str, longest: u32, caller: &Caller) -> Question {
    let lines = messages.iter().map(|message| match message {
        Message::System { text } => format!("system: {text}"),
        Message::User { content } => {
            let parts = content.iter().map(|part| match part {
                UserPart::Text { text } => text.as_str(),
                UserPart::Image { .. } => "[an image]",
            });
            format!("user: {}", parts.collect::<Vec<_>>().join("\n"))
        }
        Message::Assistant { content } => {
            format!("assistant: {}", content.iter().filter_map(said).collect::<String>())
        }
        Message::Tool { .. } => String::new(),
    });
    let mut shown = clean(&lines.collect::<Vec<_>>().join("\n"));
    shown.truncate(shown.floor_char_boundary(LONGEST_SHOWN));
    let run = &caller.run;
    Question {
        request_id: QuestionId::new(format!("{}/sampling/{}", run.agent_id, uuid::Uuid::new_v4())),
        agent_id: run.agent_id.clone(),
        agent_type: run.definition.agent_type.clone(),
        call_id: ToolCallId::new("sampling"),
        tool: ToolName::Host(format!("the model for the MCP server {server}")),
        arguments: json!({"server": server}),
        reason: format!(
            "the MCP server {server} wants an answer of {} to this, at most {longest} tokens",
            run.model.id
        ),
        preview: Some(shown),
    }
}
