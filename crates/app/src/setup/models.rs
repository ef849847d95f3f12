//! Models: what an agent runs on when it is run from here.

use attache_kernel::{
    agent::definition::{Definition, PermissionMode},
    model::{
        catalogue::{self, Home},
        choice::{
            ChosenBy, ModelChoice, ModelQuestion, ModelRef, ModelRefused, OVERRIDE_VARIABLES,
            Planning, Reached, alias, choose,
        },
    },
};
use attache_runtime::model::wire;

use super::{Setup, providers::builtin_provider_ids};
use crate::{failure::Failure, print};

/// What an agent asks of its model and the model cannot do, in words.
pub(crate) fn unheeded(definition: &Definition, model: &str) -> Option<String> {
    let thinking = catalogue::find(model).map(|known| known.thinking);
    let fields = wire::unheeded(&definition.model_config, thinking);
    let verb = if fields.len() > 1 { "are" } else { "is" };
    let fields: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
    let fields = fields.join(" and ");
    (!fields.is_empty())
        .then(|| format!("{fields} {verb} not sent: `{model}` cannot be told how much to think"))
}

fn not_allowed(refused: &ModelRefused) -> Failure {
    Failure::usage(refused.to_string())
        .hint("ask for one of these, or change subagents.model_allowlist")
}

/// What a subagent runs on unless something says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentModel {
    pub(crate) model: String,
    pub(crate) provider: String,
}

impl Setup {
    /// The model an agent runs on when the caller asks for this one.
    pub(crate) fn choose_model(
        &self,
        definition: &Definition,
        model: Option<&str>,
        provider: Option<&str>,
    ) -> Result<ModelChoice, Failure> {
        let parent = match provider {
            Some(provider) => self.parent_model().moved_to(provider),
            None => self.parent_model(),
        };
        let choice = self.question(definition, &parent, model, |question| {
            let choice = choose(question)?;
            let stays = question.stays_small(&choice);
            Ok((choice, stays))
        });
        let (mut choice, stays) = choice.map_err(|refused| not_allowed(&refused))?;
        if stays && !self.quiet {
            print::aside(&format!(
                "notice: planning stays on `{}`: nothing says what `sonnet` is on `{}` (set model_aliases.sonnet)",
                choice.model, choice.provider
            ));
        }
        if let Some(provider) = provider {
            provider.clone_into(&mut choice.provider);
            if choice.chosen_by == ChosenBy::Parent {
                choice.chosen_by = ChosenBy::Call;
            }
            self.check_allowed(&choice)?;
        }
        Ok(choice)
    }

    /// Whoever names a provider asks for a model there: the allowlist must hold it, with or without it.
    fn check_allowed(&self, choice: &ModelChoice) -> Result<(), Failure> {
        let allowed = &self.settings.subagents.model_allowlist;
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
        Err(not_allowed(&ModelRefused { model: full, allowed: allowed.clone() }))
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
                let falls_through = |value: &str| {
                    ["", "inherit", "auto"].contains(&value.trim().to_ascii_lowercase().as_str())
                };
                self.environment.get(name).filter(|value| !falls_through(value))
            }),
            call,
            allowlist: &subagents.model_allowlist,
            definition: &definition.model_config,
            default_model: subagents.default_model.as_deref(),
            parent: ModelRef {
                model: &parent.model,
                provider: &parent.provider,
                reached: self.reached(&parent.provider),
            },
            aliases: &self.settings.model_aliases,
            providers: &providers,
            planning,
        })
    }

    /// Whether there is such a provider.
    pub(crate) fn knows_provider(&self, provider: &str) -> bool {
        self.settings.model_providers.contains_key(provider)
            || builtin_provider_ids().any(|known| known == provider)
    }

    /// The providers that `provider/model` may name: those of the settings and those built in. A
    /// gateway of the user's own has models with such names itself.
    fn providers(&self, parent: &ParentModel) -> Vec<String> {
        let mut providers: Vec<String> = self.settings.model_providers.keys().cloned().collect();
        if builtin_provider_ids().any(|known| known == parent.provider) {
            providers.extend(builtin_provider_ids().map(str::to_owned));
        }
        providers
    }

    /// What a bare run uses: the settings, else the provider whose key is there, else `offline`.
    pub(crate) fn parent_model(&self) -> ParentModel {
        let settings = &self.settings;
        let by_key = Home::ALL.into_iter().find(|home| self.has_key(*home));
        let Some(written) = &settings.model else {
            let by_key = || by_key.map_or("offline", Home::as_str).to_owned();
            let provider = settings.model_provider.clone().unwrap_or_else(by_key);
            let home = Home::of_provider(&provider);
            let model =
                home.map_or_else(|| provider.clone(), |home| home.default_model().to_owned());
            return ParentModel { model, provider };
        };
        let stands = by_key.unwrap_or(Home::Anthropic).as_str();
        let stands = settings.model_provider.as_deref().unwrap_or(stands);
        let model = alias(written, &settings.model_aliases, stands);
        let model = model.unwrap_or_else(|| written.clone());
        if let Some(provider) = settings.model_provider.clone() {
            return ParentModel { model, provider };
        }
        match model.split_once('/') {
            Some((provider, rest)) if self.knows_provider(provider) => {
                ParentModel { model: rest.to_owned(), provider: provider.to_owned() }
            }
            _ => ParentModel { provider: self.provider_of(&model, by_key).to_owned(), model },
        }
    }

    /// The provider of a model the settings name without one: its home, unless there is a key for a
    /// provider the settings send elsewhere, which may have that model too.
    fn provider_of(&self, model: &str, by_key: Option<Home>) -> &'static str {
        let sent_elsewhere = |home: &Home| self.reached(home.as_str()) == Reached::Elsewhere;
        let home = Home::of_model(model);
        match (home, by_key) {
            _ if model == "offline" => "offline",
            (Some(home), _) if self.has_key(home) => home.as_str(),
            (Some(_), Some(by_key)) if sent_elsewhere(&by_key) => by_key.as_str(),
            (home, by_key) => home.or(by_key).unwrap_or(Home::OpenAi).as_str(),
        }
    }

    fn has_key(&self, home: Home) -> bool {
        let provider = self.provider_in_force(home.as_str());
        provider.is_some_and(|provider| provider.missing_key().is_none())
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
