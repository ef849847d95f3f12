//! Whether the chosen model answers: one request with the smallest possible answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use attache_kernel::{
    agent::definition::{Definition, Trust},
    id::AgentName,
    model::choice::{ChosenBy, ModelChoice},
    run::{Demand, ModelFailure, ModelRequest, conversation::Conversation, message::Message},
};
use attache_runtime::internal::{
    host::Asker,
    model::{ModelCall, wire::WireApi},
};
use serde_json::json;

use super::Check;
use crate::{
    failure::Failure,
    open_files,
    setup::{Setup, order_failure},
};

/// The maximum wait for an answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// How a request went.
enum Answered {
    /// It was answered after this time.
    In(Duration),
    /// It was refused, or the connection failed.
    Failed(ModelFailure),
    /// Nothing came in time.
    Not,
    /// It could not be sent.
    Unsent(Failure),
}

/// A field of the request that limits the answer, and its value in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit {
    field: &'static str,
    tokens: u32,
}

/// Asks the model a bare run would use for one word.
pub(super) fn check(setup: &Setup) -> Result<Check, Failure> {
    let parent = setup.parent_model();
    if parent.provider == "offline" {
        return Ok(Check::ok("online", "not tried: `offline` needs no network"));
    }
    let choice = ModelChoice::new(parent.model, parent.provider, ChosenBy::Parent);
    let api = setup.provider_in_force(&choice.provider).map(|provider| provider.wire_api);
    let (limit, other) = limits(api, &choice);
    let mut answered = ask(setup, &choice, limit)?;
    if let (Answered::Failed(ModelFailure::Fatal { message }), Some(other)) = (&answered, other)
        && message.contains(limit.field)
    {
        answered = ask(setup, &choice, other)?;
    }
    let name = format!("{} on {}", choice.model, choice.provider);
    Ok(match answered {
        Answered::In(time) => {
            Check::ok("online", format!("{name} answered in {} ms", time.as_millis()))
        }
        Answered::Failed(
            ModelFailure::Transient { message, .. }
            | ModelFailure::ContextLength { message }
            | ModelFailure::Fatal { message },
        ) => Check::error("online", message, "attache models shows addresses and keys"),
        Answered::Not => Check::error(
            "online",
            format!("{name} did not answer within {} s", PATIENCE.as_secs()),
            "check the network, the proxy and base_url",
        ),
        Answered::Unsent(failure) => Check::error("online", failure.message(), failure.advice()),
    })
}

fn ask(setup: &Setup, choice: &ModelChoice, limit: Limit) -> Result<Answered, Failure> {
    let mut definition = Definition::named(AgentName::new("doctor"));
    definition.model_config.parameters.insert(limit.field.to_owned(), json!(limit.tokens));
    let asker = Asker { definition: &definition, trust: Trust::Trusted, cost_cap: None };
    let connected = setup.switchboard().connect(choice, asker, &setup.models, &mut Vec::new());
    let connection = match connected {
        Ok(connection) => connection,
        Err(error) => return Ok(Answered::Unsent(order_failure(&error.into()))),
    };
    let messages: Conversation = [Arc::new(Message::user("Say ok."))].into_iter().collect();
    let request = ModelRequest {
        messages,
        tools: Arc::new([]),
        demand: Demand::Free,
        attempt: 1,
        not_before: Duration::ZERO,
        deadline: None,
    };
    open_files::require_enough()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let began = Instant::now();
    let mut unseen = |_| {};
    let call = ModelCall {
        request: &request,
        model: &choice.model,
        config: &definition.model_config,
        cache_key: "doctor",
        run: None,
        max_output_tokens: None,
    };
    let answer = runtime.block_on(async {
        tokio::time::timeout(PATIENCE, connection.model.call(call, &mut unseen)).await
    });
    Ok(match answer {
        Ok(Ok(_)) => Answered::In(began.elapsed()),
        Ok(Err(failure)) => Answered::Failed(failure),
        Err(_) => Answered::Not,
    })
}

/// The limit to send, and the one to send if the first is refused: servers of the Chat API accept one field or
/// the other.
fn limits(api: Option<WireApi>, choice: &ModelChoice) -> (Limit, Option<Limit>) {
    let old = Limit { field: "max_tokens", tokens: 1 };
    let new = Limit { field: "max_completion_tokens", tokens: 1 };
    match api {
        // A smaller value is refused.
        Some(WireApi::Responses) | None => (Limit { field: "max_output_tokens", tokens: 16 }, None),
        Some(WireApi::Chat) if choice.provider == "openai" || takes_new_field(&choice.model) => {
            (new, Some(old))
        }
        Some(WireApi::Chat) => (old, Some(new)),
        Some(WireApi::Anthropic) => (old, None),
        Some(WireApi::Gemini) => (Limit { field: "maxOutputTokens", tokens: 1 }, None),
    }
}

/// Whether this is an OpenAI model that refuses `max_tokens`, on any provider.
fn takes_new_field(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    ["gpt-5", "o1", "o3", "o4"].iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_goes_by_the_model_and_the_other_one_is_left() {
        for (provider, model, first, second) in [
            ("lab", "llama", "max_tokens", "max_completion_tokens"),
            ("lab", "gpt-4o", "max_tokens", "max_completion_tokens"),
            ("lab", "gpt-5.4-mini", "max_completion_tokens", "max_tokens"),
            ("lab", "openai/O3-mini", "max_completion_tokens", "max_tokens"),
            ("lab", "o1", "max_completion_tokens", "max_tokens"),
            ("openai", "gpt-4o", "max_completion_tokens", "max_tokens"),
        ] {
            let choice = ModelChoice::new(model, provider, ChosenBy::Parent);
            let (limit, other) = limits(Some(WireApi::Chat), &choice);
            assert_eq!((limit.field, other.unwrap().field), (first, second), "{model}");
            assert_eq!(limits(Some(WireApi::Anthropic), &choice).1, None);
        }
    }
}
