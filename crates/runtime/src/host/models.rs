//! Models: which one an agent runs on, by the settings, the keys that are there and the caller.

use std::collections::BTreeMap;

use attache_kernel::{
    agent::definition::{Definition, ModelConfig, ModelSelector, PermissionMode},
    model::{
        catalogue::Home,
        choice::{
            AskedBy, CallProvider, ChosenBy, ModelChoice, ModelQuestion, ModelRef, ModelRefused,
            Planning, Reached, alias, choose,
        },
        price::Price,
    },
};

use super::{notice::Notice, order::Order};
use crate::model::{
    credentials::{Credentials, KeyLookup, WebOrigin},
    provider::{ApiKey, ProviderDescription, builtin},
};

/// What the user wants of models.
#[derive(Debug, Clone, Default)]
pub struct ModelPolicy {
    /// The model of every subagent; it goes before all other rules.
    pub override_model: Option<String>,
    /// The main agent's model, and the parent's model of a run of its own.
    pub model: Option<String>,
    /// The provider of that model.
    pub model_provider: Option<String>,
    /// The model of an agent that names none.
    pub default_model: Option<String>,
    /// Short names of models.
    pub aliases: BTreeMap<String, String>,
    /// The models a call may ask for; empty allows all.
    pub allowlist: Vec<String>,
    /// Prices by model; none where the user's price is not whole.
    pub prices: BTreeMap<String, Option<Price>>,
    /// Context windows by model.
    pub context_windows: BTreeMap<String, u64>,
}

/// The providers there are, and the keys that were stored for them.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    /// The providers that are reached over the network, with the keys of the environment.
    pub described: Vec<ProviderDescription>,
    /// The keys that were stored.
    pub stored: Option<Credentials>,
    /// Why stored keys cannot be used, and what to do about it.
    pub stored_problem: Option<String>,
}

/// A model with its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentModel {
    /// The model's id.
    pub model: String,
    /// The provider's id.
    pub provider: String,
}

/// What a caller asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ModelCallWish<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) provider: Option<&'a str>,
    pub(super) asked_by: AskedBy,
}

/// Models: the user's wishes and the providers there are.
#[derive(Debug, Clone, Default)]
pub struct Models {
    /// What the user wants of models.
    pub policy: ModelPolicy,
    /// The providers there are.
    pub providers: Providers,
}

impl Providers {
    /// The provider of that id, if there is one.
    pub fn get(&self, id: &str) -> Option<ProviderDescription> {
        self.at(id, None)
    }

    /// The provider of that id, at another address if one is given. A stored key goes only to the
    /// address it was stored for.
    pub fn at(&self, id: &str, endpoint: Option<&str>) -> Option<ProviderDescription> {
        let mut provider = self.described.iter().find(|known| known.id == id)?.clone();
        if let Some(endpoint) = endpoint {
            provider.base_url = Some(endpoint.to_owned());
        }
        if provider.key.is_none() {
            provider.key = self.stored_key(id, provider.base_url.as_deref());
        }
        Some(provider)
    }

    /// All of them, with their keys.
    pub fn all(&self) -> Vec<ProviderDescription> {
        self.described.iter().filter_map(|known| self.get(&known.id)).collect()
    }

    fn stored_key(&self, id: &str, base_url: Option<&str>) -> Option<ApiKey> {
        let origin = WebOrigin::from_url(base_url?).ok()?;
        match self.stored.as_ref()?.key(id, &origin) {
            KeyLookup::Found(key) => {
                Some(ApiKey { secret: key.clone(), from: "attache login".to_owned() })
            }
            KeyLookup::OtherOrigin { .. } | KeyLookup::None => None,
        }
    }

    /// Why a stored key cannot be used, if there is such a key: for that provider, or for any.
    pub fn useless_key(&self, provider: Option<&str>) -> Option<String> {
        if let Some(problem) = &self.stored_problem {
            return Some(problem.clone());
        }
        let keys = self.stored.as_ref()?;
        keys.iter().filter(|(id, _)| provider.is_none_or(|wanted| wanted == *id)).find_map(
            |(id, stored)| {
                let known = self.get(id)?;
                known.key.is_none().then(|| {
                    let now = known.shown_address().unwrap_or_default();
                    format!("the key of `{id}` was stored for {}, not for {now}", stored.origin)
                })
            },
        )
    }

    /// Whether a provider is reached at its maker's address.
    pub fn reached(&self, id: &str) -> Reached {
        let known = self.described.iter().find(|known| known.id == id);
        if known.is_none_or(ProviderDescription::is_at_home) {
            Reached::AtHome
        } else {
            Reached::Elsewhere
        }
    }

    /// Whether a provider can be called: there is an address, and a key where one is needed.
    fn is_ready(&self, known: &ProviderDescription) -> bool {
        let has_key = || {
            known.missing_key().is_none()
                || self.stored_key(&known.id, known.base_url.as_deref()).is_some()
        };
        known.base_url.is_some() && has_key()
    }
}

impl Models {
    /// Whether there is such a provider.
    pub fn knows_provider(&self, provider: &str) -> bool {
        provider == "offline" || self.providers.described.iter().any(|known| known.id == provider)
    }

    /// What a run of its own has for a parent's model: the user's, else that of the provider whose key
    /// is there, else `offline`.
    pub fn parent_model(&self) -> ParentModel {
        let policy = &self.policy;
        let by_key = Home::ALL.into_iter().find(|home| self.has_key(*home));
        let Some(written) = &policy.model else {
            let by_key = || by_key.map_or("offline", Home::as_str).to_owned();
            let provider = policy.model_provider.clone().unwrap_or_else(by_key);
            let home = Home::of_provider(&provider);
            let model =
                home.map_or_else(|| provider.clone(), |home| home.default_model().to_owned());
            return ParentModel { model, provider };
        };
        let stands = by_key.unwrap_or(Home::Anthropic).as_str();
        let stands = policy.model_provider.as_deref().unwrap_or(stands);
        let model = alias(written, &policy.aliases, stands);
        let model = model.unwrap_or_else(|| written.clone());
        if let Some(provider) = policy.model_provider.clone() {
            return ParentModel { model, provider };
        }
        match model.split_once('/') {
            Some((provider, rest)) if self.knows_provider(provider) => {
                ParentModel { model: rest.to_owned(), provider: provider.to_owned() }
            }
            _ => ParentModel { provider: self.provider_of(&model, by_key).to_owned(), model },
        }
    }

    /// Whether nobody said what to run on, and no key says it either.
    pub(super) fn nothing_is_set_up(&self) -> bool {
        let policy = &self.policy;
        policy.model.is_none()
            && policy.model_provider.is_none()
            && self.parent_model().provider == "offline"
    }

    /// The provider of a model the settings name without one: its home, unless there is a key for a
    /// provider the settings send elsewhere, which may have that model too.
    fn provider_of(&self, model: &str, by_key: Option<Home>) -> &'static str {
        let sent_elsewhere =
            |home: &Home| self.providers.reached(home.as_str()) == Reached::Elsewhere;
        let home = Home::of_model(model);
        match (home, by_key) {
            _ if model == "offline" => "offline",
            (Some(home), _) if self.has_key(home) => home.as_str(),
            (Some(_), Some(by_key)) if sent_elsewhere(&by_key) => by_key.as_str(),
            (home, by_key) => home.or(by_key).unwrap_or(Home::OpenAi).as_str(),
        }
    }

    fn has_key(&self, home: Home) -> bool {
        let provider = self.providers.get(home.as_str());
        provider.is_some_and(|provider| provider.missing_key().is_none())
    }

    /// The same for the main agent, which is not a subagent: it runs on the user's model.
    pub(super) fn for_main(&self) -> Self {
        let mut models = self.clone();
        models.policy.override_model = None;
        models.policy.default_model = None;
        models.policy.allowlist = Vec::new();
        models
    }

    /// The model a definition runs on if nobody asks for another.
    pub fn usual(&self, definition: &Definition, parent: &ParentModel) -> Option<ModelChoice> {
        self.question(definition, parent, ModelCallWish::default(), |question| {
            choose(question).ok()
        })
    }

    /// The model of an agent whose file names that alias, without override variables.
    pub fn meaning(&self, alias: &str, parent: &ParentModel) -> Option<ModelChoice> {
        let config =
            ModelConfig { model: Some(ModelSelector::new(alias)), ..ModelConfig::default() };
        self.asked(&config, Planning::No, parent, ModelCallWish::default(), |question| {
            choose(&ModelQuestion { env: None, ..question.clone() }).ok()
        })
    }

    /// The model an agent runs on below that parent when the caller asks for this.
    pub(super) fn choose(
        &self,
        definition: &Definition,
        parent: ParentModel,
        wish: ModelCallWish<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<ModelChoice, ModelRefused> {
        if wish.provider == Some("offline") && wish.model.is_none() {
            // There is one model there.
            return Ok(ModelChoice {
                asked: definition
                    .model_config
                    .model
                    .as_ref()
                    .map(|asked| asked.as_str().to_owned()),
                ..ModelChoice::new("offline", "offline", ChosenBy::Call)
            });
        }
        let parent = match wish.provider {
            Some(provider) => parent.moved_to(provider),
            None => parent,
        };
        let (mut choice, stays) = self.question(definition, &parent, wish, |question| {
            let choice = choose(question)?;
            let stays = question.stays_small(&choice);
            Ok::<_, ModelRefused>((choice, stays))
        })?;
        if stays {
            notices.push(Notice::PlanningStaysSmall {
                model: choice.model.clone(),
                provider: choice.provider.clone(),
            });
        }
        if let Some(alias) = &choice.passed_over {
            notices.push(Notice::AliasPassedOver {
                alias: alias.clone(),
                agent: definition.agent_type.to_string(),
                model: choice.model.clone(),
                provider: choice.provider.clone(),
            });
        }
        if let Some(provider) = wish.provider {
            provider.clone_into(&mut choice.provider);
            if choice.chosen_by == ChosenBy::Parent {
                choice.chosen_by = ChosenBy::Call;
            }
            self.check_allowed(&choice)?;
        }
        Ok(choice)
    }

    /// What an agent that is started with this order is told about the model that was asked for, if that
    /// is a short name which falls through.
    pub(super) fn passed_over(&self, definition: &Definition, order: &Order) -> Option<Notice> {
        order.model.as_ref()?;
        let mut notices = Vec::new();
        let chosen = self.choose(definition, self.parent_model(), order.model_wish(), &mut notices);
        chosen.ok()?;
        notices.into_iter().find(|notice| notice.is_about_alias(order.model.as_deref()))
    }

    /// Naming a provider asks for a model there: the allowlist must have it, with or without the provider.
    fn check_allowed(&self, choice: &ModelChoice) -> Result<(), ModelRefused> {
        let allowed = &self.policy.allowlist;
        let full = format!("{}/{}", choice.provider, choice.model);
        let bare_is_meant = self.parent_model().provider == choice.provider;
        let listed = |name: &str| allowed.iter().any(|known| known == name);
        let passes = allowed.is_empty()
            || choice.chosen_by != ChosenBy::Call
            || listed(&full)
            || (bare_is_meant && listed(&choice.model));
        if passes {
            return Ok(());
        }
        Err(ModelRefused { model: full, allowed: allowed.clone() })
    }

    fn question<Answer>(
        &self,
        definition: &Definition,
        parent: &ParentModel,
        wish: ModelCallWish<'_>,
        answer: impl FnOnce(&ModelQuestion<'_>) -> Answer,
    ) -> Answer {
        let planning = match definition.permission_mode {
            Some(PermissionMode::Plan) => Planning::Yes,
            _ => Planning::No,
        };
        self.asked(&definition.model_config, planning, parent, wish, answer)
    }

    fn asked<Answer>(
        &self,
        definition: &ModelConfig,
        planning: Planning,
        parent: &ParentModel,
        wish: ModelCallWish<'_>,
        answer: impl FnOnce(&ModelQuestion<'_>) -> Answer,
    ) -> Answer {
        let providers = self.nameable_providers(parent);
        let ready: Vec<String> = self
            .providers
            .described
            .iter()
            .filter(|known| self.providers.is_ready(known))
            .map(|known| known.id.clone())
            .collect();
        answer(&ModelQuestion {
            env: self.policy.override_model.as_deref(),
            call: wish.model,
            call_provider: match wish.provider {
                Some(_) => CallProvider::Named,
                None => CallProvider::Unnamed,
            },
            asked_by: wish.asked_by,
            allowlist: &self.policy.allowlist,
            definition,
            default_model: self.policy.default_model.as_deref(),
            parent: ModelRef {
                model: &parent.model,
                provider: &parent.provider,
                reached: self.providers.reached(&parent.provider),
            },
            aliases: &self.policy.aliases,
            providers: &providers,
            ready: &ready,
            planning,
        })
    }

    /// The providers that `provider/model` may name: the user's own and those built in. A gateway of
    /// the user's own has models with such names itself.
    fn nameable_providers(&self, parent: &ParentModel) -> Vec<String> {
        let own = self.providers.described.iter().filter(|known| known.is_from_settings);
        let mut providers: Vec<String> = own.map(|known| known.id.clone()).collect();
        if builtin::ids().any(|known| known == parent.provider) {
            providers.extend(builtin::ids().map(str::to_owned));
        }
        providers
    }
}

impl ParentModel {
    /// The same on another provider, with a model that provider can have.
    fn moved_to(self, provider: &str) -> Self {
        let of_elsewhere = |home: &Home| {
            self.provider == "offline"
                || Home::of_model(&self.model).is_some_and(|own| own != *home)
        };
        let model = match Home::of_provider(provider).filter(of_elsewhere) {
            Some(home) => home.default_model().to_owned(),
            // Nobody has named a model yet, and nobody knows one of that provider.
            None if self.provider == "offline" => provider.to_owned(),
            None => self.model,
        };
        Self { model, provider: provider.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_provider_gets_a_model_it_can_have() {
        for (from, model, to, expected) in [
            ("anthropic", "claude-x", "openai", "gpt-5.6-terra"),
            ("offline", "offline", "gemini", "gemini-3.6-flash"),
            ("anthropic", "claude-x", "anthropic", "claude-x"),
            ("anthropic", "claude-x", "mine", "claude-x"),
            ("mine", "llama", "openai", "llama"),
            ("offline", "offline", "ollama", "ollama"),
        ] {
            let parent = ParentModel { model: model.to_owned(), provider: from.to_owned() };
            let moved = ParentModel { model: expected.to_owned(), provider: to.to_owned() };
            assert_eq!(parent.moved_to(to), moved, "{model} from {from} to {to}");
        }
    }
}
