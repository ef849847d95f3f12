//! The connection: which model answers, once the choice is made.

use std::{path::Path, sync::Arc, time::Duration};

use attache_kernel::{
    agent::definition::{Definition, Scope, Trust},
    model::{
        catalogue,
        choice::{ChosenBy, ModelChoice, Reached},
        price::Price,
    },
    run::{assignment::ModelLimits, outcome::ModelUsed},
};
use attache_offline::OfflineModel;
use attache_runtime::model::{
    Model,
    provider::{Provider, ProviderError},
    remote::RemoteModel,
    replay::ReplayModel,
    wire::Traits,
};

use crate::{
    failure::Failure,
    print,
    setup::{ProviderInForce, Setup, unheeded},
};

/// What answers a run, and what its result says of it.
pub(crate) struct Connection {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) used: ModelUsed,
    pub(crate) limits: ModelLimits,
    /// How long it may be silent, where its provider has a limit of its own.
    pub(crate) stall: Option<Duration>,
}

impl Connection {
    fn local(model: Arc<dyn Model>, used: ModelUsed) -> Self {
        Self { model, used, limits: ModelLimits::default(), stall: None }
    }
}

/// Whose model it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) trust: Trust,
}

/// The model an earlier run used.
pub(crate) fn as_before(used: &ModelUsed) -> ModelChoice {
    ModelChoice {
        model: used.id.clone(),
        provider: used.provider.clone(),
        chosen_by: used.chosen_by,
    }
}

/// Connects to the chosen model.
pub(crate) fn connect(
    choice: &ModelChoice,
    asker: Asker<'_>,
    setup: &Setup,
) -> Result<Connection, Failure> {
    if let Some(file) = choice.model.strip_prefix("replay:") {
        let path = setup.working_directory.join(Path::new(file));
        let model = ReplayModel::load(&path).map_err(|error| {
            Failure::usage(format!("cannot replay {}", path.display())).because(&error)
        })?;
        return Ok(Connection::local(Arc::new(model), used(choice, &choice.model)));
    }
    if choice.provider != "offline" {
        return remote(choice, asker, setup);
    }
    let nobody_chose = choice.chosen_by == ChosenBy::Parent
        && setup.settings.model.is_none()
        && setup.settings.model_provider.is_none();
    if nobody_chose && let Some(why) = setup.useless_key(None) {
        return Err(Failure::usage(format!("a stored key cannot be used: {why}"))
            .hint("mend that, log in again, or use --model offline"));
    }
    if choice.model == "offline" {
        if choice.chosen_by == ChosenBy::Parent && !setup.quiet {
            print::aside(
                "no model provider is set up: the built-in `offline` model searches and reads",
            );
        }
        return Ok(Connection::local(Arc::new(OfflineModel), used(choice, "offline")));
    }
    match choice.chosen_by {
        // Somebody asked for this very model, now.
        ChosenBy::Env | ChosenBy::Call => match catalogue::home_of(&choice.model) {
            // Its maker has it, and wants a key.
            Some(home) => {
                remote(&ModelChoice { provider: home.to_owned(), ..choice.clone() }, asker, setup)
            }
            None => Err(Failure::usage(format!(
                "there is no provider for the model `{}`",
                choice.model
            ))
            .hint(
                "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or use --model offline",
            )),
        },
        ChosenBy::Definition | ChosenBy::Default | ChosenBy::Parent => {
            if !setup.quiet {
                print::aside(&format!(
                    "no model provider is set up for `{}`: the built-in `offline` model searches and reads",
                    choice.model
                ));
            }
            let fallback = ModelUsed {
                id: "offline".to_owned(),
                provider: "offline".to_owned(),
                chosen_by: ChosenBy::Parent,
            };
            Ok(Connection::local(Arc::new(OfflineModel), fallback))
        }
    }
}

fn used(choice: &ModelChoice, id: &str) -> ModelUsed {
    ModelUsed { id: id.to_owned(), provider: choice.provider.clone(), chosen_by: choice.chosen_by }
}

fn remote(choice: &ModelChoice, asker: Asker<'_>, setup: &Setup) -> Result<Connection, Failure> {
    let endpoint = endpoint(asker, setup);
    let known =
        setup.provider_at(&choice.provider, endpoint).ok_or_else(|| unknown(choice, setup))?;
    if choice.model == choice.provider || choice.model.trim().is_empty() {
        return Err(Failure::usage(format!("no model is named for the provider `{}`", known.id))
            .hint("set `model` in the settings, or use --model"));
    }
    let description = known.described().ok_or_else(|| {
        Failure::usage(format!("the provider `{}` has no address", known.id))
            .hint(format!("set model_providers.{}.base_url", known.id))
    })?;
    if known.env_key_is_no_name {
        return Err(Failure::usage(format!(
            "model_providers.{}.env_key is not the name of a variable",
            known.id
        ))
        .hint("it names the variable that holds the key; the key itself does not belong there"));
    }
    if let Some(variable) = known.missing_key() {
        let failure =
            Failure::usage(format!("the provider `{}` needs a key in {variable}", known.id));
        let failure = match setup.useless_key(Some(&known.id)) {
            Some(why) => failure.hint(why),
            None => failure,
        };
        return Err(failure.hint(format!(
            "set {variable}, run `attache login {}`, or use --model offline",
            known.id
        )));
    }
    let provider = Provider::new(description).map_err(|error| refused(&error, &known))?;
    let facts = catalogue::find(&choice.model);
    let at_home = catalogue::home_of(&choice.model) == Some(known.id.as_str())
        && setup.reached(&known.id) == Reached::AtHome
        && endpoint.is_none();
    let openai = known.id == "openai"
        || known.base_url.as_deref().is_some_and(|url| url.contains("openai.com"));
    let traits = Traits {
        thinking: facts.map(|known| known.thinking),
        max_output_tokens: facts.map(|known| known.max_output_tokens),
        openai,
    };
    let price = price(&choice.model, at_home, setup);
    let capped = asker.definition.run_config.max_cost_usd.is_some()
        || setup.settings.subagents.max_tree_cost_usd.is_some();
    if price.is_none() && capped && !setup.quiet {
        print::aside(&format!(
            "notice: no price is known for `{model}`: its cost cannot be capped (set [model_prices.\"{model}\"])",
            model = choice.model
        ));
    }
    if let Some(notice) = unheeded(asker.definition, &choice.model).filter(|_| !setup.quiet) {
        print::aside(&format!("notice: {notice}"));
    }
    let model = RemoteModel::new(Arc::new(provider), &setup.http, traits, price)
        .map_err(|error| Failure::usage("the provider cannot be called").because(&error))?;
    model.check(&asker.definition.model_config).map_err(|error| {
        Failure::usage(format!("the agent `{}`: {error}", asker.definition.agent_type))
            .hint("take it out of modelConfig.parameters")
    })?;
    let windows = &setup.settings.model_context_windows;
    Ok(Connection {
        model: Arc::new(model),
        used: used(choice, &choice.model),
        limits: ModelLimits {
            max_retries: known.max_retries.unwrap_or(ModelLimits::default().max_retries),
            max_stream_retries: known.max_stream_retries,
            context_window: windows
                .get(&choice.model)
                .copied()
                .or_else(|| facts.map(|known| known.context_window)),
        },
        stall: known.stall_ms.map(|ms| Duration::from_millis(u64::from(ms))),
    })
}

/// The address the agent asks for, if it may: it would receive the conversation and the key.
fn endpoint<'a>(asker: Asker<'a>, setup: &Setup) -> Option<&'a str> {
    let wanted = asker.definition.model_config.endpoint.as_deref()?;
    let is_own = matches!(asker.definition.source, Scope::Builtin | Scope::User);
    if asker.trust == Trust::Trusted || is_own {
        return Some(wanted);
    }
    if !setup.quiet {
        print::aside(&format!(
            "the endpoint of `{name}` is not used: the agent is not trusted (attache trust {name})",
            name = asker.definition.agent_type
        ));
    }
    None
}

/// The price of the settings, else that of the table; a gateway may ask for another.
fn price(model: &str, at_home: bool, setup: &Setup) -> Option<Price> {
    match setup.settings.model_prices.get(model) {
        Some(written) => Some(Price {
            input: written.input?,
            output: written.output?,
            cache_read: written.cached,
            cache_write: written.cache_write,
            above: None,
        }),
        None if at_home => catalogue::price_of(model).copied(),
        None => None,
    }
}

fn unknown(choice: &ModelChoice, setup: &Setup) -> Failure {
    let provider = &choice.provider;
    let known: Vec<_> = setup.providers_in_force().into_iter().map(|known| known.id).collect();
    Failure::usage(format!("there is no provider `{provider}`")).hint(format!(
        "there are: {}, offline; others go into [model_providers.{provider}] of the settings",
        known.join(", ")
    ))
}

fn refused(error: &ProviderError, provider: &ProviderInForce) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        ProviderError::Address { .. } => {
            failure.hint(format!("mend model_providers.{}.base_url", provider.id))
        }
        ProviderError::KeyInTheClear { .. } => failure.hint(format!(
            "use https://, or allow it with model_providers.{}.allow_http = true",
            provider.id
        )),
        ProviderError::Header { .. } => {
            failure.hint(format!("mend the key or the headers of `{}`", provider.id))
        }
    }
}
