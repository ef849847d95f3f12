//! The model choice: one chain of rules, and the rule that decided.
//!
//! Environment, call, definition, the configured default, the parent: the first that names a model
//! wins; `inherit` falls through. The result always says which rule it was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::definition::{ModelConfig, ModelSelector, ModelWish};

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
    /// The providers that can be reached.
    pub providers: &'a [String],
    /// Whether the parent plans, where a small model is raised.
    pub planning: Planning,
}

/// A model with its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRef<'a> {
    /// The model's id.
    pub model: &'a str,
    /// The provider's id.
    pub provider: &'a str,
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
    let rules = [
        (ChosenBy::Env, question.env),
        (ChosenBy::Call, question.call),
        (ChosenBy::Definition, definition),
        (ChosenBy::Default, question.default_model),
    ];
    for (chosen_by, wish) in rules {
        let Some(model) = wish.and_then(|wish| question.named(wish)) else { continue };
        if chosen_by == ChosenBy::Call {
            question.allow(wish.unwrap_or_default(), &model)?;
        }
        return Ok(question.place(&model, chosen_by));
    }
    // A definition may name a provider and leave the model to the parent.
    let parent = question.parent;
    if question.planning == Planning::Yes && parent.model.contains("haiku") {
        let sonnet = question.alias("sonnet").unwrap_or_else(|| "sonnet".to_owned());
        return Ok(question.place(&sonnet, ChosenBy::Parent));
    }
    Ok(question.place(parent.model, ChosenBy::Parent))
}

impl ModelQuestion<'_> {
    /// The model a selector names, aliases resolved; none falls through to the next rule.
    fn named(&self, wish: &str) -> Option<String> {
        let selector = ModelSelector::new(wish);
        match selector.wish() {
            ModelWish::Inherit | ModelWish::Auto => None,
            ModelWish::Fast => self.alias("fast"),
            ModelWish::Named(name) => Some(self.alias(name).unwrap_or_else(|| name.to_owned())),
        }
    }

    fn alias(&self, name: &str) -> Option<String> {
        let exact = self.aliases.get(name);
        exact.or_else(|| self.aliases.get(&name.to_ascii_lowercase())).cloned()
    }

    fn allow(&self, wish: &str, model: &str) -> Result<(), ModelRefused> {
        let listed = |name: &str| self.allowlist.iter().any(|allowed| allowed == name);
        if self.allowlist.is_empty() || listed(model) || listed(wish.trim()) {
            return Ok(());
        }
        Err(ModelRefused { model: wish.trim().to_owned(), allowed: self.allowlist.to_vec() })
    }

    /// Where a model is to be had: the definition's provider if the definition decided, a `provider/`
    /// in front of the model if there is such a provider, else the parent's.
    fn place(&self, model: &str, chosen_by: ChosenBy) -> ModelChoice {
        let own = match chosen_by {
            ChosenBy::Definition | ChosenBy::Default | ChosenBy::Parent => {
                self.definition.provider.as_deref()
            }
            ChosenBy::Env | ChosenBy::Call => None,
        };
        if let Some(provider) = own {
            return ModelChoice {
                model: model.to_owned(),
                provider: provider.to_owned(),
                chosen_by,
            };
        }
        for builtin in ["offline", "replay"] {
            if model == builtin
                || model.strip_prefix(builtin).is_some_and(|rest| rest.starts_with(':'))
            {
                return ModelChoice {
                    model: model.to_owned(),
                    provider: builtin.to_owned(),
                    chosen_by,
                };
            }
        }
        match model.split_once('/') {
            Some((provider, rest)) if self.providers.iter().any(|known| known == provider) => {
                ModelChoice { model: rest.to_owned(), provider: provider.to_owned(), chosen_by }
            }
            _ => ModelChoice {
                model: model.to_owned(),
                provider: self.parent.provider.to_owned(),
                chosen_by,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        env: Option<&'static str>,
        call: Option<&'static str>,
        definition: Option<&'static str>,
        default: Option<&'static str>,
    }

    fn chosen(case: &Case) -> (String, ChosenBy) {
        let definition = ModelConfig {
            model: case.definition.map(ModelSelector::new),
            ..ModelConfig::default()
        };
        let aliases = BTreeMap::from([("opus".to_owned(), "claude-opus".to_owned())]);
        let choice = choose(&ModelQuestion {
            env: case.env,
            call: case.call,
            allowlist: &[],
            definition: &definition,
            default_model: case.default,
            parent: ModelRef { model: "p", provider: "here" },
            aliases: &aliases,
            providers: &[],
            planning: Planning::No,
        })
        .unwrap();
        (choice.model, choice.chosen_by)
    }

    #[test]
    fn the_first_rule_that_names_a_model_decides() {
        let all =
            Case { env: Some("e"), call: Some("c"), definition: Some("d"), default: Some("f") };
        assert_eq!(chosen(&all), ("e".to_owned(), ChosenBy::Env));
        assert_eq!(chosen(&Case { env: None, ..all }), ("c".to_owned(), ChosenBy::Call));
        let no_call = Case { env: Some("inherit"), call: Some(" Inherit "), ..all };
        assert_eq!(chosen(&no_call), ("d".to_owned(), ChosenBy::Definition));
        let no_definition = Case { definition: Some("inherit"), ..no_call };
        assert_eq!(chosen(&no_definition), ("f".to_owned(), ChosenBy::Default));
        let nothing = Case { definition: Some("auto"), default: None, ..no_call };
        assert_eq!(chosen(&nothing), ("p".to_owned(), ChosenBy::Parent));
        let alias = Case { definition: Some("Opus"), ..no_call };
        assert_eq!(chosen(&alias), ("claude-opus".to_owned(), ChosenBy::Definition));
        let fast = Case { definition: Some("fast"), default: None, ..no_call };
        assert_eq!(chosen(&fast), ("p".to_owned(), ChosenBy::Parent));
    }

    #[test]
    fn a_call_outside_the_allowlist_is_refused_with_the_list() {
        let definition = ModelConfig::default();
        let allowlist = ["a".to_owned(), "b".to_owned()];
        let mut question = ModelQuestion {
            env: None,
            call: Some("z"),
            allowlist: &allowlist,
            definition: &definition,
            default_model: None,
            parent: ModelRef { model: "claude-haiku-5", provider: "anthropic" },
            aliases: &BTreeMap::new(),
            providers: &["openai".to_owned()],
            planning: Planning::Yes,
        };
        assert!(choose(&question).unwrap_err().to_string().ends_with("a, b"));
        question.call = Some("a");
        assert_eq!(choose(&question).unwrap().chosen_by, ChosenBy::Call);
        question.call = None;
        assert_eq!(choose(&question).unwrap().model, "sonnet", "planning raises haiku");
        question.env = Some("openai/gpt-x");
        let choice = choose(&question).unwrap();
        assert_eq!((choice.model.as_str(), choice.provider.as_str()), ("gpt-x", "openai"));
    }
}
