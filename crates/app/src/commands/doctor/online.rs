//! Whether the chosen model answers: one request, for as little as can be asked.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use attache_kernel::{
    conversation::Conversation,
    definition::{Definition, Trust},
    id::AgentName,
    message::Message,
    model_choice::{ChosenBy, ModelChoice},
    run::{
        ModelFailure, ModelRequest,
        assignment::{Assignment, Environment, Finish, SessionSource},
    },
};
use attache_runtime::{
    model::{ModelCall, wire::WireApi},
    runtime::{new_run_id, new_session_id},
};
use serde_json::{Map, json};

use super::Check;
use crate::{
    connection::{self, Asker},
    failure::Failure,
    setup::Setup,
};

/// Longer than that nobody waits for a word.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks the model a bare run would use for one word.
pub(super) fn check(setup: &Setup) -> Result<Check, Failure> {
    let parent = setup.parent_model();
    if parent.provider == "offline" {
        return Ok(Check::ok("online", "nothing to try: `offline` needs no network"));
    }
    let choice =
        ModelChoice { model: parent.model, provider: parent.provider, chosen_by: ChosenBy::Parent };
    let definition = Arc::new(asking_for_little(setup, &choice));
    let asker = Asker { definition: &definition, trust: Trust::Trusted };
    let connection = match connection::connect(&choice, asker, setup) {
        Ok(connection) => connection,
        Err(failure) => return Ok(Check::error("online", failure.message(), failure.advice())),
    };
    let assignment = Assignment {
        agent_id: new_run_id(),
        session_id: new_session_id(),
        parent_id: None,
        resumed_from: None,
        source: SessionSource::Exec,
        depth: 0,
        definition,
        finish: Finish::TextAnswer,
        task: String::new(),
        description: None,
        inputs: Map::new(),
        environment: Environment::default(),
        model: connection.used,
        model_limits: connection.limits,
        tools: Vec::new(),
        withheld_tools: Vec::new(),
        shown_tools: None,
    };
    let messages: Conversation = [Arc::new(Message::user("Say ok."))].into_iter().collect();
    let request = ModelRequest {
        messages,
        tools: Arc::new([]),
        attempt: 1,
        not_before: Duration::ZERO,
        deadline: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let began = Instant::now();
    let mut unseen = |_| {};
    let call = ModelCall { request: &request, assignment: &assignment };
    let answer = runtime.block_on(async {
        tokio::time::timeout(PATIENCE, connection.model.call(call, &mut unseen)).await
    });
    let name = format!("{} on {}", choice.model, choice.provider);
    Ok(match answer {
        Ok(Ok(_)) => {
            Check::ok("online", format!("{name} answered in {} ms", began.elapsed().as_millis()))
        }
        Ok(Err(
            ModelFailure::Transient { message, .. }
            | ModelFailure::ContextLength { message }
            | ModelFailure::Fatal { message },
        )) => Check::error("online", message, "attache models shows addresses and keys"),
        Err(_) => Check::error(
            "online",
            format!("{name} did not answer within {} s", PATIENCE.as_secs()),
            "check the network, the proxy and base_url",
        ),
    })
}

/// An agent that asks for as short an answer as its provider gives.
fn asking_for_little(setup: &Setup, choice: &ModelChoice) -> Definition {
    let mut definition = Definition::named(AgentName::new("doctor"));
    let api = setup.provider_in_force(&choice.provider).map(|provider| provider.wire_api);
    let (key, tokens) = match api {
        // Less is refused.
        Some(WireApi::Responses) | None => ("max_output_tokens", 16),
        Some(WireApi::Chat) if choice.provider == "openai" => ("max_completion_tokens", 1),
        Some(WireApi::Chat | WireApi::Anthropic) => ("max_tokens", 1),
        Some(WireApi::Gemini) => ("maxOutputTokens", 1),
    };
    definition.model_config.parameters.insert(key.to_owned(), json!(tokens));
    definition
}
