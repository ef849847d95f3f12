//! Models: what an agent runs on when it is run from here.

use attache_kernel::{
    definition::{Definition, PermissionMode},
    model_choice::{ModelChoice, ModelQuestion, ModelRef, OVERRIDE_VARIABLES, Planning, choose},
};

use super::Setup;
use crate::failure::Failure;

/// What a subagent runs on unless something says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentModel {
    pub(crate) model: String,
    pub(crate) provider: String,
}

/// A provider the program knows by itself.
struct BuiltinProvider {
    id: &'static str,
    variables: &'static [&'static str],
    default_model: &'static str,
}

const BUILTIN_PROVIDERS: [BuiltinProvider; 3] = [
    BuiltinProvider {
        id: "anthropic",
        variables: &["ANTHROPIC_API_KEY"],
        default_model: "claude-sonnet-4-5",
    },
    BuiltinProvider { id: "openai", variables: &["OPENAI_API_KEY"], default_model: "gpt-5.1" },
    BuiltinProvider {
        id: "gemini",
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        default_model: "gemini-2.5-pro",
    },
];

/// The providers that need no settings.
const BUILTIN_PROVIDER_IDS: [&str; 5] = ["openai", "anthropic", "gemini", "ollama", "offline"];

impl Setup {
    /// The model an agent runs on when the caller asks for this one.
    pub(crate) fn choose_model(
        &self,
        definition: &Definition,
        model: Option<&str>,
        provider: Option<&str>,
    ) -> Result<ModelChoice, Failure> {
        let parent = self.parent_model();
        let choice = self.question(definition, &parent, model, choose);
        let mut choice = choice.map_err(|refused| {
            Failure::usage(refused.to_string())
                .hint("ask for one of these, or change subagents.model_allowlist")
        })?;
        if let Some(provider) = provider {
            provider.clone_into(&mut choice.provider);
        }
        Ok(choice)
    }

    pub(super) fn question<Answer>(
        &self,
        definition: &Definition,
        parent: &ParentModel,
        call: Option<&str>,
        answer: impl FnOnce(&ModelQuestion<'_>) -> Answer,
    ) -> Answer {
        let subagents = &self.settings.subagents;
        let providers = self.providers(parent);
        let planning = match definition.permission_mode {
            Some(PermissionMode::Plan) => Planning::Yes,
            _ => Planning::No,
        };
        answer(&ModelQuestion {
            env: OVERRIDE_VARIABLES.iter().find_map(|name| {
                self.environment.get(name).filter(|value| !value.trim().is_empty())
            }),
            call,
            allowlist: &subagents.model_allowlist,
            definition: &definition.model_config,
            default_model: subagents.default_model.as_deref(),
            parent: ModelRef { model: &parent.model, provider: &parent.provider },
            aliases: &self.settings.model_aliases,
            providers: &providers,
            planning,
        })
    }

    /// The variable a provider's key is missing from.
    pub(crate) fn missing_key(&self, provider: &str) -> Option<String> {
        let configured = self.settings.model_providers.get(provider);
        let variables: Vec<String> = match configured.and_then(|known| known.env_key.clone()) {
            Some(variable) => vec![variable],
            None => BUILTIN_PROVIDERS
                .iter()
                .filter(|known| known.id == provider)
                .flat_map(|known| known.variables.iter().map(|name| (*name).to_owned()))
                .collect(),
        };
        let is_set =
            |name: &String| self.environment.get(name).is_some_and(|key| !key.trim().is_empty());
        if variables.iter().any(is_set) { None } else { variables.into_iter().next() }
    }

    /// Whether there is such a provider.
    pub(crate) fn knows_provider(&self, provider: &str) -> bool {
        self.settings.model_providers.contains_key(provider)
            || ["offline", "ollama"].contains(&provider)
            || BUILTIN_PROVIDERS.iter().any(|known| known.id == provider)
    }

    /// The providers that `provider/model` may name: those of the settings and those built in. A
    /// gateway of the user's own has models with such names itself.
    fn providers(&self, parent: &ParentModel) -> Vec<String> {
        let mut providers: Vec<String> = self.settings.model_providers.keys().cloned().collect();
        if BUILTIN_PROVIDER_IDS.contains(&parent.provider.as_str()) {
            providers.extend(BUILTIN_PROVIDER_IDS.map(str::to_owned));
        }
        providers
    }

    /// What a bare run uses: the settings, else the provider whose key is there, else `offline`.
    pub(crate) fn parent_model(&self) -> ParentModel {
        let keyed = |variables: &[&str]| {
            variables
                .iter()
                .any(|name| self.environment.get(name).is_some_and(|key| !key.trim().is_empty()))
        };
        let by_key = BUILTIN_PROVIDERS.iter().find(|provider| keyed(provider.variables));
        let provider = match (&self.settings.model_provider, &self.settings.model, by_key) {
            (Some(provider), _, _) => provider.clone(),
            (None, Some(model), _) if model == "offline" => "offline".to_owned(),
            (None, _, Some(provider)) => provider.id.to_owned(),
            (None, Some(_), None) => "openai".to_owned(),
            (None, None, None) => "offline".to_owned(),
        };
        let default = BUILTIN_PROVIDERS.iter().find(|known| known.id == provider);
        let model = self.settings.model.clone().unwrap_or_else(|| {
            default.map_or_else(|| provider.clone(), |known| known.default_model.to_owned())
        });
        ParentModel { model, provider }
    }
}

/// The variables that hold the keys of the providers the program knows by itself.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> {
    BUILTIN_PROVIDERS.iter().flat_map(|provider| provider.variables.iter().copied())
}
