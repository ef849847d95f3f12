//! The transcript store as the settings and the environment want it, and its errors as failures.

use attache_runtime::internal::{
    mcp_client::oauth::Logins,
    model::{credentials::Credentials, provider::builtin},
    store::{FileStore, Options, Secrets, StoreError, Summary},
    tool::web_search::SearchProvider,
};
use secrecy::ExposeSecret as _;

use crate::{failure::Failure, setup::Setup, telemetry};

/// Headers and parameters with one of these in their names hold something secret.
const TELLING: [&str; 6] = ["auth", "key", "token", "secret", "password", "cookie"];

/// The main agent's name.
pub(crate) const MAIN: &str = "attache";

/// The store below the program's home.
pub(crate) fn store(setup: &Setup) -> FileStore {
    let options = Options {
        durability: setup.settings.durability,
        secrets: Secrets::new(secrets(setup)),
        ledger: Some(setup.attache_home.join("usage.jsonl")),
    };
    FileStore::new(setup.attache_home.join("sessions"), options)
}

/// The keys of every provider there is, and those that are kept, whether they are used or not.
fn secrets(setup: &Setup) -> Vec<String> {
    let of_collector = telemetry::secrets(&setup.environment);
    let providers = || setup.settings.model_providers.values();
    let mut variables: Vec<&str> = builtin::key_variables().collect();
    for provider in providers() {
        variables.extend(provider.env_key.as_deref());
        variables.extend(provider.env_http_headers.values().map(String::as_str));
    }
    let tools = &setup.settings.tools;
    let provider = tools.web_search_provider.as_deref().and_then(SearchProvider::from_word);
    variables.extend(tools.web_search_env_key.as_deref());
    variables.extend(provider.and_then(SearchProvider::key_variable));
    let named = variables.iter().filter_map(|name| setup.environment.get(name));
    let in_environment = named.chain(setup.environment.secrets());
    let in_settings = providers()
        .flat_map(|provider| provider.http_headers.iter().chain(&provider.query_params))
        .filter(|(name, _)| {
            let name = name.to_lowercase();
            TELLING.iter().any(|word| name.contains(word))
        })
        .map(|(_, value)| value.expose());
    // `Bearer KEY`: the key alone must not appear either.
    let mut secrets: Vec<String> = in_environment
        .chain(in_settings)
        .chain(of_collector.iter().map(String::as_str))
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect();
    let kept = Credentials::keys_to_mask(&setup.attache_home);
    secrets.extend(kept.iter().map(|key| key.expose_secret().to_owned()));
    secrets.extend(Logins::below(&setup.attache_home).secrets_to_mask());
    secrets
}

/// What is said when a transcript cannot be used.
pub(crate) fn failure(error: &StoreError) -> Failure {
    let message = error.to_string();
    let failure = match error {
        StoreError::Unknown { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::InvalidId { .. }
        | StoreError::OwnedElsewhere { .. }
        | StoreError::BeingResumed { .. }
        | StoreError::NoHeader { .. }
        | StoreError::NewerFormat { .. } => Failure::usage(message),
        _ => Failure::unsuccessful(message),
    };
    let failure = failure.hint(error.hint());
    match std::error::Error::source(error) {
        Some(source) => failure.because(source),
        None => failure,
    }
}

/// `last` is the newest run that somebody started at the command line, not one that an agent started.
pub(crate) fn resolve(id: &str, store: &FileStore) -> Result<String, Failure> {
    resolve_among(id, store, |_| true)
}

/// The same, where `last` is the newest conversation with the main agent.
pub(crate) fn resolve_main(id: &str, store: &FileStore) -> Result<String, Failure> {
    resolve_among(id, store, |run| run.agent_type.as_str() == MAIN)
}

fn resolve_among(
    id: &str,
    store: &FileStore,
    is_meant: impl Fn(&Summary) -> bool,
) -> Result<String, Failure> {
    if id != "last" {
        return Ok(id.to_owned());
    }
    let runs = store.list().map_err(|error| failure(&error))?;
    let mut meant = runs.iter().filter(|run| is_meant(run) && !was_delegated(run, &runs));
    meant.next().map(|newest| newest.agent_id.as_str().to_owned()).ok_or_else(|| {
        Failure::usage("there are no transcripts yet").hint("attache run AGENT TASK writes one")
    })
}

/// The newest run that goes on from that one, if any does; branches aside.
pub(crate) fn continued_by(id: &str, store: &FileStore) -> Result<Option<String>, Failure> {
    let runs = store.list().map_err(|error| failure(&error))?;
    let goes_on = |run: &&Summary| {
        let before = run.resumed_from.as_ref().filter(|_| !run.is_branch);
        before.is_some_and(|before| before.as_str() == id)
    };
    Ok(runs.iter().find(goes_on).map(|run| run.agent_id.as_str().to_owned()))
}

/// Whether another agent that is still on record started a run. A run that went on after the end of its
/// parent was started by hand.
fn was_delegated(run: &Summary, all: &[Summary]) -> bool {
    let parent = all.iter().find(|one| Some(&one.agent_id) == run.parent_id.as_ref());
    let ended_before =
        |parent: &Summary| parent.ended_at.as_ref().is_some_and(|end| *end < run.started_at);
    parent.is_some_and(|parent| !ended_before(parent))
}
