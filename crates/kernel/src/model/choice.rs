//! The model choice: one chain of rules, and the rule that decided.
//!
//! Environment, call, definition, the configured default, the parent: the first that names a model
//! wins; `inherit` falls through. The result always says which rule it was.
//!
//! Where the run stands on a built-in provider that makes models of its own, the catalogue's short
//! names hold and a model of another family goes to its own provider. A provider of the user's own may
//! have models by any of those names itself, so there a name is taken as it is written.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    agent::definition::{ModelConfig, ModelSelector, ModelWish},
    model::catalogue::{Home, builtin_aliases, maker_alias},
};

/// The variables that override every subagent's model, strongest first.
pub const OVERRIDE_VARIABLES: [&str; 3] =
    ["ATTACHE_SUBAGENT_MODEL", "CODEX_SUBAGENT_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL"];

/// Everything the choice depends on.
#[derive(Debug, Clone)]
pub struct ModelQuestion<'a> {
    /// The value of the first override variable that is set.
    pub env: Option<&'a str>,
    /// The model the caller asked for.
    pub call: Option<&'a str>,
    /// Whether the caller names the provider, too: then its model is taken as it is written.
    pub call_provider: CallProvider,
    /// Who asks for the call's model.
    pub asked_by: AskedBy,
    /// What calls may ask for; empty allows all.
    pub allowlist: &'a [String],
    /// What the definition says.
    pub definition: &'a ModelConfig,
    /// `subagents.default_model`.
    pub default_model: Option<&'a str>,
    /// What the parent runs on.
    pub parent: ModelRef<'a>,
    /// `[model_aliases]`.
    pub aliases: &'a BTreeMap<String, String>,
    /// The providers that `provider/model` may name.
    pub providers: &'a [String],
    /// The providers that are set up: there is an address, and a key where one is needed.
    pub ready: &'a [String],
    /// Whether the parent plans, where a small model is raised.
    pub planning: Planning,
}

/// Whether the caller names the provider of its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallProvider {
    /// It does.
    Named,
    /// It does not.
    #[default]
    Unnamed,
}

/// Who asks for the model of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AskedBy {
    /// A person: the model is used, or it is an error.
    #[default]
    Person,
    /// An agent, through a tool: a short name whose maker is not set up falls through.
    Agent,
}

/// A model with its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRef<'a> {
    /// The model's id.
    pub model: &'a str,
    /// The provider's id.
    pub provider: &'a str,
    /// Whether that provider is reached at an address of its own.
    pub reached: Reached,
}

/// Where a built-in provider is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reached {
    /// At its maker's address.
    #[default]
    AtHome,
    /// At an address of the user's, which may have anybody's models.
    Elsewhere,
}

/// Whether the parent plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planning {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// The model a run uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// The model's id, aliases resolved.
    pub model: String,
    /// The provider's id.
    pub provider: String,
    /// The rule that decided.
    pub chosen_by: ChosenBy,
    /// What was asked for, as it was written; none if nothing was.
    #[serde(skip)]
    pub asked: Option<String>,
    /// The short name that was passed over since its maker is not set up.
    #[serde(skip)]
    pub passed_over: Option<String>,
}

/// The rule that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChosenBy {
    /// An override variable.
    Env,
    /// The caller.
    Call,
    /// The definition.
    Definition,
    /// `subagents.default_model`.
    Default,
    /// The parent.
    Parent,
}

impl ChosenBy {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::Call => "call",
            Self::Definition => "definition",
            Self::Default => "default",
            Self::Parent => "parent",
        }
    }
}

/// A call asked for a model it may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model `{model}` is not on the allowlist: {}", .allowed.join(", "))]
pub struct ModelRefused {
    /// What was asked for.
    pub model: String,
    /// What is allowed.
    pub allowed: Vec<String>,
}

/// Chooses the model of a run.
pub fn choose(question: &ModelQuestion<'_>) -> Result<ModelChoice, ModelRefused> {
    let definition = question.definition.model.as_ref().map(ModelSelector::as_str);
    let asked = question.env.or(question.call).or(definition).or(question.default_model);
    let mut passed_over = None;
    let choice = choose_by_rule(question, definition, &mut passed_over)?;
    Ok(ModelChoice { asked: asked.map(str::to_owned), passed_over, ..choice })
}

fn choose_by_rule(
    question: &ModelQuestion<'_>,
    definition: Option<&str>,
    passed_over: &mut Option<String>,
) -> Result<ModelChoice, ModelRefused> {
    let rules = [
        (ChosenBy::Env, question.env),
        (ChosenBy::Call, question.call),
        (ChosenBy::Definition, definition),
        (ChosenBy::Default, question.default_model),
    ];
    for (chosen_by, wish) in rules {
        let Some(wish) = wish else { continue };
        match question.named(wish, chosen_by) {
            Named::Nothing => {}
            Named::NotSetUp { model } => {
                if chosen_by == ChosenBy::Call {
                    question.allow(wish, &model)?;
                }
                passed_over.get_or_insert_with(|| wish.trim().to_owned());
            }
            Named::Model(model) => {
                if chosen_by == ChosenBy::Call {
                    question.allow(wish, &model)?;
                }
                return Ok(question.place(&model, chosen_by));
            }
            Named::AtMaker(choice) => {
                if chosen_by == ChosenBy::Call {
                    question.allow(wish, &choice.model)?;
                }
                return Ok(choice);
            }
        }
    }
    // A definition may name a provider and leave the model to the parent, unless that provider cannot
    // have the parent's model.
    let parent = question.parent;
    let there = question.definition.provider.as_deref().and_then(Home::of_provider);
    if let (Some(there), Some(home)) = (there, Home::of_model(parent.model))
        && there != home
        && question.parent_home().is_some()
    {
        return Ok(question.place(there.default_model(), ChosenBy::Definition));
    }
    if question.plans_on_little() {
        // Where nobody says what that is, nothing larger is known.
        if let Some(sonnet) = question.alias("sonnet", ChosenBy::Parent) {
            return Ok(question.place(&sonnet, ChosenBy::Parent));
        }
    }
    Ok(question.place(parent.model, ChosenBy::Parent))
}

/// The model a short name means to a run that stands on that provider: what the settings say, else
/// what the catalogue says of a built-in provider.
pub fn alias(name: &str, settings: &BTreeMap<String, String>, provider: &str) -> Option<String> {
    let written = settings.get(name).or_else(|| settings.get(&name.to_ascii_lowercase()));
    // The settings may give a short name for a short name.
    let name = written.map_or(name, String::as_str);
    let builtin =
        builtin_aliases(provider).iter().find(|alias| alias.name.eq_ignore_ascii_case(name));
    builtin.map(|alias| alias.model.to_owned()).or_else(|| written.cloned())
}

/// What a selector names.
enum Named {
    /// Nothing: the next rule is asked.
    Nothing,
    /// A short name for that model, whose maker is not set up.
    NotSetUp { model: String },
    /// A model, wherever it is to be had.
    Model(String),
    /// A model of a maker that the parent does not run on.
    AtMaker(ModelChoice),
}

impl ModelChoice {
    /// A model of a provider, chosen by that rule.
    pub fn new(model: impl Into<String>, provider: impl Into<String>, chosen_by: ChosenBy) -> Self {
        let (model, provider) = (model.into(), provider.into());
        Self { model, provider, chosen_by, asked: None, passed_over: None }
    }
}

impl ModelQuestion<'_> {
    /// Whether the parent's small model was to be raised, and stays since nothing larger is known there.
    pub fn stays_small(&self, choice: &ModelChoice) -> bool {
        self.plans_on_little()
            && choice.chosen_by == ChosenBy::Parent
            && choice.model == self.parent.model
            && self.alias("sonnet", ChosenBy::Parent).is_none()
    }

    fn plans_on_little(&self) -> bool {
        self.planning == Planning::Yes && self.parent.model.contains("haiku")
    }

    /// The model a selector names, aliases resolved.
    fn named(&self, wish: &str, chosen_by: ChosenBy) -> Named {
        let selector = ModelSelector::new(wish);
        let name = match selector.wish() {
            ModelWish::Inherit | ModelWish::Auto => return Named::Nothing,
            ModelWish::Fast => {
                return self.alias("fast", chosen_by).map_or(Named::Nothing, Named::Model);
            }
            ModelWish::Named(name) => name,
        };
        let found = self.alias(name, chosen_by);
        // A model that a person asks for by name is used, or it is an error: a short name that means
        // nothing to the parent's provider is its maker's, whether or not that one is set up.
        let may_fall_through = match chosen_by {
            ChosenBy::Env => false,
            ChosenBy::Call => self.asked_by == AskedBy::Agent,
            ChosenBy::Definition | ChosenBy::Default | ChosenBy::Parent => true,
        };
        if let (None, false, CallProvider::Unnamed) = (&found, may_fall_through, self.call_provider)
            && self.parent.provider != "offline"
            && let Some(maker) = maker_alias(name)
        {
            let home = maker.home.as_str();
            return Named::AtMaker(ModelChoice::new(maker.model, home, chosen_by));
        }
        let Some(maker) =
            maker_alias(name).filter(|_| may_fall_through && self.parent.provider != "offline")
        else {
            return Named::Model(found.unwrap_or_else(|| name.to_owned()));
        };
        if self.aliases.keys().any(|known| known.eq_ignore_ascii_case(name)) {
            return Named::Model(found.unwrap_or_else(|| name.to_owned()));
        }
        let is_ready = |provider: &str| self.ready.iter().any(|ready| ready == provider);
        match found {
            // A provider that the file itself names is meant.
            found if self.own_provider(chosen_by).is_some() => {
                Named::Model(found.unwrap_or_else(|| name.to_owned()))
            }
            Some(model) if is_ready(&self.place(&model, chosen_by).provider) => Named::Model(model),
            None if is_ready(maker.home.as_str()) => {
                Named::AtMaker(ModelChoice::new(maker.model, maker.home.as_str(), chosen_by))
            }
            Some(_) | None => Named::NotSetUp { model: maker.model.to_owned() },
        }
    }

    fn alias(&self, name: &str, chosen_by: ChosenBy) -> Option<String> {
        let provider = self.own_provider(chosen_by).unwrap_or(self.parent.provider);
        let found = alias(name, self.aliases, provider)?;
        // At an address of the user's only the maker's own short names are sure.
        let strange = provider == self.parent.provider
            && self.parent.reached == Reached::Elsewhere
            && Home::of_model(&found) != Home::of_provider(provider)
            && !self.aliases.keys().any(|known| known.eq_ignore_ascii_case(name));
        (!strange).then_some(found)
    }

    /// The built-in provider the parent runs on, if it is one that makes models of its own.
    fn parent_home(&self) -> Option<Home> {
        Home::of_provider(self.parent.provider).filter(|_| self.parent.reached == Reached::AtHome)
    }

    /// The provider the definition names. It holds for what the caller has not chosen.
    fn own_provider(&self, chosen_by: ChosenBy) -> Option<&str> {
        match chosen_by {
            ChosenBy::Definition | ChosenBy::Default | ChosenBy::Parent => {
                self.definition.provider.as_deref()
            }
            ChosenBy::Env | ChosenBy::Call => None,
        }
    }

    fn allow(&self, wish: &str, model: &str) -> Result<(), ModelRefused> {
        let listed = |name: &str| self.allowlist.iter().any(|allowed| allowed == name);
        if self.allowlist.is_empty() || listed(model) || listed(wish.trim()) {
            return Ok(());
        }
        // A provider in front says nothing new if the model would go there without it.
        if let Some((provider, rest)) = model.split_once('/')
            && listed(rest)
            && self.place(model, ChosenBy::Call).provider == provider
            && self.place(rest, ChosenBy::Call).provider == provider
        {
            return Ok(());
        }
        Err(ModelRefused { model: wish.trim().to_owned(), allowed: self.allowlist.to_vec() })
    }

    /// Where a model is to be had: the definition's provider if the definition decided, a `provider/`
    /// in front of the model if there is such a provider, else its home or the parent's.
    fn place(&self, model: &str, chosen_by: ChosenBy) -> ModelChoice {
        if let Some(provider) = self.own_provider(chosen_by) {
            return ModelChoice::new(model, provider, chosen_by);
        }
        for builtin in ["offline", "replay"] {
            if model == builtin
                || model.strip_prefix(builtin).is_some_and(|rest| rest.starts_with(':'))
            {
                return ModelChoice::new(model, builtin, chosen_by);
            }
        }
        match model.split_once('/') {
            Some((provider, rest)) if self.providers.iter().any(|known| known == provider) => {
                ModelChoice::new(rest, provider, chosen_by)
            }
            _ => ModelChoice::new(model, self.home_or_parent(model), chosen_by),
        }
    }

    /// Between built-in providers a model goes where its family is at home. What the parent runs on, it
    /// runs where the parent does. A built-in provider at an address of the user's may have anybody's
    /// models, and is asked for those whose maker is not set up.
    fn home_or_parent(&self, model: &str) -> &str {
        let is_ready = |home: Home| self.ready.iter().any(|ready| ready == home.as_str());
        match (Home::of_provider(self.parent.provider), Home::of_model(model)) {
            (Some(_), Some(home)) if model != self.parent.model => match self.parent.reached {
                Reached::Elsewhere if !is_ready(home) => self.parent.provider,
                Reached::Elsewhere | Reached::AtHome => home.as_str(),
            },
            _ => self.parent.provider,
        }
    }
}
