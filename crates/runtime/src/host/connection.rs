//! The connection: from a chosen model to one that answers.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use attache_kernel::{
    agent::definition::{Definition, Scope, Trust},
    model::{
        catalogue::{self, Sampling},
        choice::{ChosenBy, ModelChoice, ModelRefused},
        price::Price,
    },
    run::{assignment::ModelLimits, outcome::ModelUsed},
};

use super::{
    models::Models,
    notice::{Notice, fixed_sampling, not_sent},
};
use crate::model::{
    Model,
    http::HttpClient,
    provider::{Provider, ProviderDescription, ProviderError},
    remote::{RemoteError, RemoteModel},
    replay::{ReplayError, ReplayModel},
    wire::{Traits, sampling_at_home},
};

/// What models are reached through.
#[derive(Debug, Clone)]
pub struct Switchboard {
    /// The connections all models share.
    pub http: HttpClient,
    /// Models of this process by name, such as `offline`.
    pub local: BTreeMap<String, Arc<dyn Model>>,
    /// What the path of a `replay:` model is relative to.
    pub working_directory: PathBuf,
}

/// What answers a run, and what its result says of it.
#[derive(Debug)]
pub struct Connection {
    /// What answers.
    pub model: Arc<dyn Model>,
    /// Which model that is, and which rule chose it.
    pub used: ModelUsed,
    /// What is known about calling it.
    pub limits: ModelLimits,
    /// The stall timeout, where its provider has one of its own.
    pub stall: Option<Duration>,
}

/// Whose model it is.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The agent.
    pub definition: &'a Definition,
    /// Whether it is trusted.
    pub trust: Trust,
    /// What caps its cost, if anything does.
    pub cost_cap: Option<CostCap>,
}

/// What caps the cost of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostCap {
    /// The run's own cap.
    Run,
    /// The cap on the whole tree of agents.
    Tree,
}

impl std::fmt::Display for CostCap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Run => "maxCostUsd",
            Self::Tree => "subagents.max_tree_cost_usd",
        })
    }
}

/// Why no model answers.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The caller may not have it.
    #[error(transparent)]
    NotAllowed(#[from] ModelRefused),
    /// Nothing is set up, and the agent is not built in.
    #[error("no model provider is set up, and the agent `{agent}` needs a language model")]
    NothingSetUp {
        /// The agent.
        agent: String,
    },
    /// Nobody serves that model.
    #[error("there is no provider for the model `{0}`")]
    NoProviderFor(String),
    /// There is no such provider.
    #[error("there is no provider `{provider}`")]
    UnknownProvider {
        /// The provider.
        provider: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// No model is named.
    #[error("no model is named for the provider `{0}`")]
    NoModel(String),
    /// The settings hold a key where a variable's name belongs.
    #[error("model_providers.{0}.env_key is not the name of a variable")]
    EnvKeyNotAName(String),
    /// The key is missing.
    #[error("the provider `{provider}` needs a key in {variable}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The variable.
        variable: String,
        /// Why a stored key cannot be used.
        stored: Option<String>,
        /// The model, where its maker's key would be needed for it alone.
        model: String,
        /// The rule that chose it.
        chosen_by: ChosenBy,
    },
    /// A stored key cannot be used, and nothing else is set up.
    #[error("a stored key cannot be used: {0}")]
    UselessKey(String),
    /// The provider cannot be called.
    #[error("{error}")]
    Provider {
        /// The provider.
        provider: String,
        /// Why.
        error: ProviderError,
    },
    /// There is no HTTP.
    #[error("the provider cannot be called")]
    Http(#[source] RemoteError),
    /// The agent's parameters cannot be sent.
    #[error("the agent `{agent}`: {error}")]
    Parameter {
        /// The agent.
        agent: String,
        /// Why.
        error: RemoteError,
    },
    /// The cost is capped, and no price is known: nothing would hold the cap.
    #[error("`{cap}` cannot be enforced: no price is known for the model `{model}`")]
    CostNotCapped {
        /// What caps the cost.
        cap: CostCap,
        /// The model.
        model: String,
    },
    /// The recording cannot be replayed.
    #[error("cannot replay {}", path.display())]
    Replay {
        /// The recording.
        path: PathBuf,
        /// Why.
        #[source]
        error: ReplayError,
    },
}

impl ConnectError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        const KEYS: &str =
            "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or use --model offline";
        Some(match self {
            Self::NotAllowed(_) => {
                "ask for one of these, or change subagents.model_allowlist".to_owned()
            }
            Self::NothingSetUp { .. } => {
                format!("{KEYS}: it searches and reads, and judges nothing")
            }
            Self::NoProviderFor(_) => KEYS.to_owned(),
            Self::UnknownProvider { provider, known } => format!(
                "there are: {}, offline; others go into [model_providers.{provider}] of the settings",
                known.join(", ")
            ),
            Self::NoModel(_) => "set `model` in the settings, or use --model".to_owned(),
            Self::EnvKeyNotAName(_) => {
                "it names the variable that holds the key; the key itself does not belong there"
                    .to_owned()
            }
            Self::NoKey { provider, variable, stored, model, chosen_by } => {
                let mut hints: Vec<String> = stored.iter().cloned().collect();
                hints.push(format!(
                    "set {variable}, run `attache login {provider}`, or use --model offline"
                ));
                match chosen_by {
                    ChosenBy::Definition => hints.push(format!(
                        "to run it on another model: --model, or [model_aliases] \"{model}\" = \"…\""
                    )),
                    ChosenBy::Env | ChosenBy::Call => hints.push(format!(
                        "to make it a name for another model: [model_aliases] \"{model}\" = \"…\""
                    )),
                    ChosenBy::Default | ChosenBy::Parent => {}
                }
                hints.join("; ")
            }
            Self::UselessKey(_) => "fix that, log in again, or use --model offline".to_owned(),
            Self::Provider { provider, error } => match error {
                ProviderError::NoAddress { .. } => {
                    format!("set model_providers.{provider}.base_url")
                }
                ProviderError::Address { .. } => format!("fix model_providers.{provider}.base_url"),
                ProviderError::KeyInTheClear { .. } => format!(
                    "use https://, or allow it with model_providers.{provider}.allow_http = true"
                ),
                ProviderError::Header { .. } => {
                    format!("fix the key or the headers of `{provider}`")
                }
            },
            Self::Parameter { .. } => "take it out of modelConfig.parameters".to_owned(),
            Self::CostNotCapped { cap, model } => format!(
                "set `input` and `output` in [model_prices.\"{model}\"] of the settings (US dollars per \
                 million tokens), or remove `{cap}`"
            ),
            Self::Replay { error, .. } => error.hint().to_owned(),
            Self::Http(_) => return None,
        })
    }
}

impl Switchboard {
    /// Connects to the chosen model.
    pub fn connect(
        &self,
        choice: &ModelChoice,
        asker: Asker<'_>,
        models: &Models,
        notices: &mut Vec<Notice>,
    ) -> Result<Connection, ConnectError> {
        if let Some(file) = choice.model.strip_prefix("replay:") {
            let path = self.working_directory.join(file);
            return match ReplayModel::load(&path) {
                Ok(model) => Ok(local(Arc::new(model), used(choice))),
                Err(error) => Err(ConnectError::Replay { path, error }),
            };
        }
        if choice.model != "offline"
            && let Some(model) = self.local.get(&choice.model)
        {
            let used = ModelUsed { provider: "local".to_owned(), ..used(choice) };
            return Ok(local(Arc::clone(model), used));
        }
        if choice.provider != "offline" {
            return self.remote(choice, asker, models, notices);
        }
        if models.nothing_is_set_up()
            && choice.chosen_by == ChosenBy::Parent
            && let Some(why) = models.providers.useless_key(None)
        {
            return Err(ConnectError::UselessKey(why));
        }
        let is_asked_for = matches!(choice.chosen_by, ChosenBy::Env | ChosenBy::Call);
        let fallback = match choice.model.as_str() {
            _ if is_asked_for => None,
            "offline" => Some(Notice::OfflineAnswers { asked: None }),
            asked => Some(Notice::OfflineAnswers { asked: Some(asked.to_owned()) }),
        };
        let is_builtin = asker.definition.source == Scope::Builtin;
        if fallback.is_some() && !is_builtin && models.nothing_is_set_up() {
            let agent = asker.definition.agent_type.to_string();
            return Err(ConnectError::NothingSetUp { agent });
        }
        if is_asked_for && choice.model != "offline" {
            // Its maker has it, and wants a key.
            return match catalogue::home_of(&choice.model) {
                Some(home) => {
                    let choice = ModelChoice { provider: home.to_owned(), ..choice.clone() };
                    self.remote(&choice, asker, models, notices)
                }
                None => Err(ConnectError::NoProviderFor(choice.model.clone())),
            };
        }
        let Some(model) = self.local.get("offline") else {
            return Err(ConnectError::NoProviderFor(choice.model.clone()));
        };
        let is_named = choice.model == "offline";
        // A user who set it as the model knows.
        let is_said = choice.chosen_by == ChosenBy::Parent || !is_named;
        notices.extend(fallback.filter(|_| is_said));
        let used = ModelUsed {
            id: "offline".to_owned(),
            provider: "offline".to_owned(),
            chosen_by: if is_named { choice.chosen_by } else { ChosenBy::Parent },
            asked: choice.asked.clone(),
        };
        Ok(local(Arc::clone(model), used))
    }

    fn remote(
        &self,
        choice: &ModelChoice,
        asker: Asker<'_>,
        models: &Models,
        notices: &mut Vec<Notice>,
    ) -> Result<Connection, ConnectError> {
        let endpoint = endpoint(asker, notices);
        let known = models.providers.at(&choice.provider, endpoint).ok_or_else(|| {
            let known = models.providers.described.iter().map(|known| known.id.clone());
            ConnectError::UnknownProvider {
                provider: choice.provider.clone(),
                known: known.collect(),
            }
        })?;
        check_ready(&known, choice, models)?;
        let facts = catalogue::find(&choice.model);
        let at_home = catalogue::home_of(&choice.model) == Some(known.id.as_str())
            && known.is_at_home()
            && endpoint.is_none();
        let price = price(&choice.model, at_home, models);
        if let (None, Some(cap)) = (price, asker.cost_cap) {
            return Err(ConnectError::CostNotCapped { cap, model: choice.model.clone() });
        }
        notices.extend(not_sent(asker.definition, &choice.model));
        let traits = Traits {
            thinking: facts.map(|known| known.thinking),
            sampling: if at_home { sampling_at_home(&choice.model) } else { Sampling::Both },
            max_output_tokens: facts.map(|known| known.max_output_tokens),
            openai: known.id == "openai"
                || known.base_url.as_deref().is_some_and(|url| url.contains("openai.com")),
        };
        notices.extend(fixed_sampling(asker.definition, &choice.model, traits));
        let limits = ModelLimits {
            max_retries: known.max_retries.unwrap_or(ModelLimits::default().max_retries),
            max_stream_retries: known.max_stream_retries,
            context_window: models
                .policy
                .context_windows
                .get(&choice.model)
                .copied()
                .or_else(|| facts.map(|known| known.context_window)),
            input_usd_per_million: price.map(|price| price.input),
        };
        let stall = known.stall_ms.map(|ms| Duration::from_millis(u64::from(ms)));
        let id = known.id.clone();
        let provider =
            Provider::new(known).map_err(|error| ConnectError::Provider { provider: id, error })?;
        let model = RemoteModel::new(Arc::new(provider), &self.http, traits, price)
            .map_err(ConnectError::Http)?
            .named_by(named_by(choice));
        model.check(&asker.definition.model_config).map_err(|error| ConnectError::Parameter {
            agent: asker.definition.agent_type.to_string(),
            error,
        })?;
        Ok(Connection { model: Arc::new(model), used: used(choice), limits, stall })
    }
}

fn check_ready(
    known: &ProviderDescription,
    choice: &ModelChoice,
    models: &Models,
) -> Result<(), ConnectError> {
    if choice.model == choice.provider || choice.model.trim().is_empty() {
        return Err(ConnectError::NoModel(known.id.clone()));
    }
    if known.base_url.is_none() {
        let error = ProviderError::NoAddress { provider: known.id.clone() };
        return Err(ConnectError::Provider { provider: known.id.clone(), error });
    }
    if known.env_key_is_not_a_name {
        return Err(ConnectError::EnvKeyNotAName(known.id.clone()));
    }
    let Some(variable) = known.missing_key() else { return Ok(()) };
    Err(ConnectError::NoKey {
        provider: known.id.clone(),
        variable: variable.to_owned(),
        stored: models.providers.useless_key(Some(&known.id)),
        model: choice.asked.clone().unwrap_or_else(|| choice.model.clone()),
        chosen_by: choice.chosen_by,
    })
}

/// Where a model's name comes from, and the ways out if there is no such model.
fn named_by(choice: &ModelChoice) -> String {
    let asked = choice.asked.as_deref().unwrap_or(&choice.model);
    let from = match choice.chosen_by {
        ChosenBy::Env => "a variable such as ATTACHE_SUBAGENT_MODEL",
        ChosenBy::Call => "the call",
        ChosenBy::Definition => "the agent's file",
        ChosenBy::Default => "subagents.default_model",
        ChosenBy::Parent => "the settings or the provider's default",
    };
    let model = &choice.model;
    format!(
        "the model `{model}` comes from {from}: use --model, or set \"{asked}\" in [model_aliases]"
    )
}

fn local(model: Arc<dyn Model>, used: ModelUsed) -> Connection {
    Connection { model, used, limits: ModelLimits::default(), stall: None }
}

fn used(choice: &ModelChoice) -> ModelUsed {
    ModelUsed {
        id: choice.model.clone(),
        provider: choice.provider.clone(),
        chosen_by: choice.chosen_by,
        asked: choice.asked.clone(),
    }
}

/// The address the agent asks for, if it may: it would receive the conversation and the key.
fn endpoint<'a>(asker: Asker<'a>, notices: &mut Vec<Notice>) -> Option<&'a str> {
    let wanted = asker.definition.model_config.endpoint.as_deref()?;
    let is_own = matches!(asker.definition.source, Scope::Builtin | Scope::User);
    if asker.trust == Trust::Trusted || is_own {
        return Some(wanted);
    }
    notices.push(Notice::EndpointNotUsed { agent: asker.definition.agent_type.to_string() });
    None
}

/// The user's price, else that of the table; a gateway may ask for another.
fn price(model: &str, at_home: bool, models: &Models) -> Option<Price> {
    match models.policy.prices.get(model) {
        Some(written) => *written,
        None if at_home => catalogue::price_of(model).copied(),
        None => None,
    }
}
