//! The host's own model, reached through `sampling/createMessage`: no key is needed.
//!
//! A host that samples without tools is told of them in words ([`spoken`]).
//!
//! Invariant: a run is answered by the client that asked for it, and by no other.

#![expect(deprecated, reason = "hosts of today offer sampling")]

mod spoken;

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use attache_kernel::{
    id::{SessionId, ToolCallId},
    model::usage::Usage,
    run::{
        Demand, ModelFailure, ModelRequest, Reply,
        event::StopReason,
        message::{AssistantPart, Message, ToolCall, ToolResult, UserPart},
        tool_spec::ToolSpec,
    },
};
use attache_runtime::internal::model::{Chunk, Chunks, Model, ModelCall, ModelFuture};
use rmcp::{
    Peer, RoleServer,
    model::{ClientCapabilities, CreateMessageRequestParams, CreateMessageResult},
    service::ServiceError,
};
use serde_json::{Value, json};

/// The word by which it is chosen.
pub(super) const NAME: &str = "host";
/// The longest answer that is asked for, in tokens.
const LONGEST_ANSWER: u32 = 16_384;

/// The models of the hosts that are connected.
#[derive(Debug, Default)]
pub(super) struct HostModel {
    clients: Mutex<BTreeMap<SessionId, Host>>,
}

/// A host, and what it can do.
#[derive(Debug, Clone)]
struct Host {
    peer: Peer<RoleServer>,
    offers: Offers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offers {
    Nothing,
    Text,
    Tools,
}

impl HostModel {
    /// A client is connected.
    pub(super) fn connected(
        &self,
        session: SessionId,
        peer: Peer<RoleServer>,
        capabilities: Option<&ClientCapabilities>,
    ) {
        let sampling = capabilities.and_then(|capabilities| capabilities.sampling.as_ref());
        let offers = match sampling {
            None => Offers::Nothing,
            Some(sampling) if sampling.tools.is_none() => Offers::Text,
            Some(_) => Offers::Tools,
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|_, host| !host.peer.is_transport_closed());
        clients.insert(session, Host { peer, offers });
    }

    fn host(&self, session: Option<&SessionId>) -> Option<Host> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        session.and_then(|session| clients.get(session)).cloned()
    }

    async fn answer(&self, call: ModelCall<'_>) -> Result<Reply, ModelFailure> {
        let fatal = |message: &str| ModelFailure::Fatal { message: message.to_owned() };
        let session = call.run.map(|run| &run.session_id);
        let host = self.host(session).ok_or_else(|| fatal("the host is not connected"))?;
        match host.offers {
            Offers::Nothing => Err(fatal(
                "the host lends no model (no `sampling`): start the server without --model host, and set a provider up",
            )),
            Offers::Text => {
                let result = sampled(&host, spoken::params(call.request)).await?;
                Ok(spoken::reply(reply(&result), call.request))
            }
            Offers::Tools => Ok(reply(&sampled(&host, params(call.request)).await?)),
        }
    }
}

/// The answer of a host to a conversation as it is written for it.
async fn sampled(host: &Host, written: Value) -> Result<CreateMessageResult, ModelFailure> {
    let params: CreateMessageRequestParams = serde_json::from_value(written).map_err(|error| {
        let message = format!("the conversation cannot be written for the host's model: {error}");
        ModelFailure::Fatal { message }
    })?;
    host.peer.create_message(params).await.map_err(|error| failure(&error))
}

impl Model for HostModel {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        Box::pin(async move {
            let reply = self.answer(call).await?;
            for part in &reply.content {
                if let AssistantPart::Text { text, .. } = part {
                    chunks(Chunk::Text(text.clone()));
                }
            }
            Ok(reply)
        })
    }
}

/// A host that refuses once refuses again.
fn failure(error: &ServiceError) -> ModelFailure {
    let message = match error {
        ServiceError::McpError(refusal) => format!("the host refused: {}", refusal.message),
        error => format!("the host did not answer: {error}"),
    };
    ModelFailure::Fatal { message }
}

/// A conversation as the host takes it.
fn params(request: &ModelRequest) -> Value {
    let messages = request.messages.messages();
    let mut system = None;
    let mut written = Vec::new();
    for message in messages {
        match &**message {
            Message::System { text } => system = Some(text.clone()),
            other => written.push(message_of(other)),
        }
    }
    let tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let mode = match request.demand {
        Demand::Free => "auto",
        Demand::AnyTool => "required",
    };
    let mut params = json!({"messages": written, "maxTokens": LONGEST_ANSWER});
    if let Some(system) = system {
        params["systemPrompt"] = json!(system);
    }
    if !tools.is_empty() {
        params["tools"] = json!(tools);
        params["toolChoice"] = json!({"mode": mode});
    }
    params
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "name": spec.name.to_string(),
        "description": &*spec.description,
        "inputSchema": &*spec.parameters,
    })
}

fn message_of(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "user", "content": [block(text)]}),
        Message::User { content } => {
            let parts = content.iter().map(|part| match part {
                UserPart::Text { text } => block(text),
                UserPart::Image { image } => {
                    json!({"type": "image", "data": image.data, "mimeType": image.media_type})
                }
            });
            json!({"role": "user", "content": parts.collect::<Vec<_>>()})
        }
        Message::Assistant { content } => {
            let parts = content.iter().filter_map(|part| match part {
                AssistantPart::Text { text, .. } => Some(block(text)),
                AssistantPart::Thinking { .. } => None,
                AssistantPart::ToolCall { call } => {
                    let input = call.arguments().ok().filter(|input| input.is_object()).cloned();
                    let input = input.unwrap_or_else(|| json!({}));
                    Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}))
                }
            });
            json!({"role": "assistant", "content": parts.collect::<Vec<_>>()})
        }
        Message::Tool { results } => {
            let parts: Vec<Value> = results.iter().map(result_of).collect();
            json!({"role": "user", "content": parts})
        }
    }
}

fn result_of(result: &ToolResult) -> Value {
    let mut content = vec![block(&result.text)];
    for image in &result.images {
        content.push(json!({"type": "image", "data": image.data, "mimeType": image.media_type}));
    }
    json!({
        "type": "tool_result",
        "toolUseId": result.call_id,
        "content": content,
        "isError": result.is_error,
    })
}

fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// What the host's model said. Hosts do not say what it used.
fn reply(result: &CreateMessageResult) -> Reply {
    let message = serde_json::to_value(&result.message).unwrap_or_default();
    let blocks = match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        one => vec![one.clone()],
    };
    let content: Vec<AssistantPart> = blocks.iter().filter_map(part).collect();
    let has_calls = content.iter().any(|part| matches!(part, AssistantPart::ToolCall { .. }));
    let stop = match result.stop_reason.as_deref() {
        _ if has_calls => StopReason::ToolUse,
        Some("maxTokens") => StopReason::Length,
        Some("endTurn" | "stopSequence") | None => StopReason::EndTurn,
        Some(_) => StopReason::Other,
    };
    Reply { content, stop, usage: Usage::default(), cost_usd: None }
}

fn part(block: &Value) -> Option<AssistantPart> {
    match block["type"].as_str()? {
        "text" => Some(AssistantPart::text(block["text"].as_str()?)),
        "tool_use" => {
            let id = ToolCallId::new(block["id"].as_str()?);
            let call = ToolCall::new(id, block["name"].as_str()?, block["input"].to_string());
            Some(AssistantPart::ToolCall { call })
        }
        _ => None,
    }
}
