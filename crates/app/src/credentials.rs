//! Credentials as the settings and the environment want them: which providers take a key, whom it
//! may be sent to, and what wins over it; and their errors as failures.

use attache_runtime::internal::model::credentials::{Credentials, CredentialsError, WebOrigin};

use crate::{failure::Failure, settings::ProviderSettings, setup::Setup};

/// The keys below the program's home.
pub(crate) fn load(setup: &Setup) -> Result<Credentials, Failure> {
    Credentials::load(&setup.attache_home).map_err(|error| failure(&error))
}

/// What is said when keys cannot be read or kept.
pub(crate) fn failure(error: &CredentialsError) -> Failure {
    let message = error.to_string();
    let failure = match error {
        CredentialsError::Read { .. } | CredentialsError::Write { .. } => {
            Failure::unsuccessful(message)
        }
        _ => Failure::usage(message),
    };
    let failure = failure.hint(error.hint());
    match std::error::Error::source(error) {
        Some(source) => failure.because(source),
        None => failure,
    }
}

/// The origin a provider's key is sent to: that of its address in the settings, else the built-in one.
pub(crate) fn origin(setup: &Setup, provider: &str) -> Result<WebOrigin, Failure> {
    let settings = setup.settings.model_providers.get(provider);
    let in_force = setup.provider_in_force(provider);
    let keyless =
        settings.is_none() && in_force.as_ref().is_some_and(|known| known.key_variables.is_empty());
    if keyless || provider == "offline" {
        return Err(Failure::usage(format!("`{provider}` needs no key")).hint(format!(
            "for one that does, set model_providers.{provider}.base_url to its address"
        )));
    }
    let Some(base_url) = in_force.and_then(|known| known.base_url) else {
        return Err(no_address(provider, settings, setup));
    };
    WebOrigin::from_url(&base_url).map_err(|problem| {
        // The address may hold a password, and is not repeated.
        Failure::usage(format!(
            "the base_url of `{provider}` has no host that a key could be sent to"
        ))
        .because(&problem)
        .hint(format!("fix model_providers.{provider}.base_url: https://HOST/…"))
    })
}

fn no_address(provider: &str, settings: Option<&ProviderSettings>, setup: &Setup) -> Failure {
    if settings.is_some() {
        return Failure::usage(format!("the provider `{provider}` has no base_url")).hint(format!(
            "set model_providers.{provider}.base_url: a key is kept for an address"
        ));
    }
    let shown = if looks_like_a_key(provider) {
        // Somebody forgot the provider.
        "what was given".to_owned()
    } else {
        format!("`{provider}`")
    };
    Failure::usage(format!("{shown} is not a provider"))
        .hint(format!("there are: {}", known(setup).join(", ")))
        .hint("add others to [model_providers.<id>] in the settings")
}

/// Whether a word is more likely a key than a name, and should not be repeated.
pub(crate) fn looks_like_a_key(word: &str) -> bool {
    word.starts_with("sk-") || word.starts_with("AIza") || word.chars().count() > 30
}

/// The providers a key can be kept for.
pub(crate) fn known(setup: &Setup) -> Vec<String> {
    let providers = setup.providers_in_force().into_iter();
    let takes_a_key = |id: &str, variables: &[String]| {
        !variables.is_empty() || setup.settings.model_providers.contains_key(id)
    };
    providers
        .filter(|known| takes_a_key(&known.id, &known.key_variables))
        .map(|known| known.id)
        .collect()
}

/// The variable that holds a key for a provider and so wins over what is kept.
pub(crate) fn winning_variable(setup: &Setup, provider: &str) -> Option<String> {
    let known = setup.provider_in_force(provider)?;
    let is_set =
        |name: &String| setup.environment.get(name).is_some_and(|key| !key.trim().is_empty());
    known.key_variables.into_iter().find(is_set)
}
