//! The catalogue of known models: windows, prices and ways of thinking as of one day, and where a
//! model is at home.
//!
//! A price is never guessed: it is given for a model of the table or a dated version of one. A window
//! or a way of thinking may be taken from the model's nearest relative, since a wrong one is corrected by
//! the provider's answer. What the catalogue does not know it says nothing about.

mod table;
#[cfg(test)]
mod tests;

use self::table::MODELS;
use crate::model::price::Price;

/// The day the facts of the table held.
pub const AS_OF: &str = "2026-08-08";

/// A model of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownModel {
    /// The id at its home, without a date.
    pub id: &'static str,
    /// Where it is at home.
    pub home: Home,
    /// The most tokens a request may carry.
    pub context_window: u64,
    /// The most tokens an answer may have, thinking included.
    pub max_output_tokens: u64,
    /// How it thinks.
    pub thinking: Thinking,
    /// Whether it can be told how to choose its words.
    pub sampling: Sampling,
    /// Read by [`price_of`] alone, so that nobody takes the price of a relative.
    price: Option<Price>,
}

/// How a model thinks, and so how it is told how much to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// It does not, or cannot be told how much.
    None,
    /// Up to a number of tokens: Anthropic's `budget_tokens`, Gemini's `thinkingBudget`.
    Budget,
    /// As much as it finds right: Anthropic's adaptive thinking with `output_config.effort`.
    Adaptive,
    /// On a level: Gemini's `thinkingLevel`.
    Level,
    /// With an effort: OpenAI's `reasoning.effort`.
    Effort,
}

/// What a model takes of `temperature` and `top_p`. What it does not take it refuses, and the request with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// Both.
    #[default]
    Both,
    /// One of them, and next to nothing of them while it thinks.
    One,
    /// Both while it does not think, none while it does.
    WhileNotThinking,
    /// None.
    Neither,
}

/// The built-in providers that make models of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// Claude.
    Anthropic,
    /// GPT, Codex and the o series.
    OpenAi,
    /// Gemini.
    Gemini,
}

impl Home {
    /// All of them, in the order they are asked for a key.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Gemini];

    /// The provider's id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
        }
    }

    /// The home a provider's id means. A provider of the user's own has none.
    pub fn of_provider(provider: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|home| home.as_str() == provider)
    }

    /// The home of a model, by its family.
    pub fn of_model(model: &str) -> Option<Self> {
        let model = model.trim().to_ascii_lowercase();
        let begins = |families: &[&str]| families.iter().any(|family| model.starts_with(family));
        let (family, _) = model.split_once('-').unwrap_or((&model, ""));
        if begins(&["gpt-oss"]) {
            // Open weights: they run anywhere.
            None
        } else if begins(&["claude-"]) {
            Some(Self::Anthropic)
        } else if begins(&["gemini-"]) {
            Some(Self::Gemini)
        } else if begins(&["gpt-", "codex-", "chatgpt-"]) || ["o1", "o3", "o4"].contains(&family) {
            Some(Self::OpenAi)
        } else {
            None
        }
    }

    /// The model a run has there if nobody names one: the balanced one of its newest generation.
    pub fn default_model(self) -> &'static str {
        match self {
            Self::Anthropic => "claude-sonnet-5",
            // `sol` costs two and a half times as much, `luna` is the small one: `terra` stands between
            // them, as sonnet does between opus and haiku, and at sonnet's price.
            Self::OpenAi => "gpt-5.6-terra",
            // The newest `pro` is a preview, and those are switched off at short notice.
            Self::Gemini => "gemini-3.6-flash",
        }
    }

    /// The short names that hold where the parent runs there, unless the settings say otherwise.
    pub fn aliases(self) -> &'static [Alias] {
        match self {
            Self::Anthropic => {
                &[SONNET, OPUS, HAIKU, Alias { name: "fast", model: "claude-haiku-4-5" }]
            }
            Self::OpenAi => &[
                SONNET,
                OPUS,
                HAIKU,
                Alias { name: "fast", model: "gpt-5.6-luna" },
                Alias { name: "mini", model: "gpt-5.4-mini" },
                Alias { name: "nano", model: "gpt-5.4-nano" },
            ],
            Self::Gemini => &[
                SONNET,
                OPUS,
                HAIKU,
                Alias { name: "fast", model: "gemini-3.5-flash-lite" },
                Alias { name: "flash", model: "gemini-3.6-flash" },
                Alias { name: "pro", model: "gemini-2.5-pro" },
            ],
        }
    }
}

/// A short name of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    /// The name, in lower case.
    pub name: &'static str,
    /// The model's id.
    pub model: &'static str,
}

// Agent files of Claude Code use these names on any provider.
const SONNET: Alias = Alias { name: "sonnet", model: "claude-sonnet-5" };
const OPUS: Alias = Alias { name: "opus", model: "claude-opus-5" };
const HAIKU: Alias = Alias { name: "haiku", model: "claude-haiku-4-5" };

/// Every model of the table.
pub fn all() -> impl Iterator<Item = &'static KnownModel> {
    MODELS.iter()
}

/// The model of that name: its own entry, else that of its nearest relative, the longest id the name
/// begins with (`gpt-5.6-terra-fast` is like `gpt-5.6-terra`). Good for windows and thinking; a price
/// is had from [`price_of`].
pub fn find(model: &str) -> Option<&'static KnownModel> {
    let name = bare(model);
    entry(&name).or_else(|| relative(&name))
}

/// The price of that very model, if it is known.
pub fn price_of(model: &str) -> Option<&'static Price> {
    entry(&bare(model)).and_then(|known| known.price.as_ref())
}

/// The id of the built-in provider where a model is at home, by its family.
pub fn home_of(model: &str) -> Option<&'static str> {
    Home::of_model(model).map(Home::as_str)
}

/// The model a run has at a built-in provider if nobody names one.
pub fn default_model(provider: &str) -> Option<&'static str> {
    Home::of_provider(provider).map(Home::default_model)
}

/// The short names that hold where the parent runs on that provider; none outside the built-in ones.
pub fn builtin_aliases(provider: &str) -> &'static [Alias] {
    Home::of_provider(provider).map_or(&[], Home::aliases)
}

/// Every built-in short name once, those of that provider first.
pub fn all_aliases(provider: &str) -> Vec<Alias> {
    let own = builtin_aliases(provider).iter();
    let others = Home::ALL.into_iter().flat_map(Home::aliases).filter(|alias| alias.name != "fast");
    let mut all: Vec<Alias> = Vec::new();
    for alias in own.chain(others) {
        if all.iter().all(|known| known.name != alias.name) {
            all.push(*alias);
        }
    }
    all
}

/// A short name that has one maker, and the model it means there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MakerAlias {
    /// The maker.
    pub home: Home,
    /// The model's id.
    pub model: &'static str,
}

/// What a built-in short name means at its maker; none for any other name, and for `fast`, which
/// every maker has.
pub fn maker_alias(name: &str) -> Option<MakerAlias> {
    Home::ALL.into_iter().find_map(|home| {
        let means = |alias: &&Alias| {
            alias.name != "fast"
                && alias.name.eq_ignore_ascii_case(name.trim())
                && Home::of_model(alias.model) == Some(home)
        };
        let alias = home.aliases().iter().find(means)?;
        Some(MakerAlias { home, model: alias.model })
    })
}

/// A name as the table writes it: lower case, without `provider/` or `models/`, and Claude's versions
/// with a dash (gateways write `claude-sonnet-4.5`).
fn bare(model: &str) -> String {
    let name = model.trim().to_ascii_lowercase();
    let name = name.rsplit_once('/').map_or(name.as_str(), |(_, name)| name);
    if name.starts_with("claude-") { name.replace('.', "-") } else { name.to_owned() }
}

fn entry(name: &str) -> Option<&'static KnownModel> {
    let by_id = |id: &str| MODELS.iter().find(|known| known.id == id);
    by_id(name).or_else(|| undated(name).and_then(by_id))
}

fn relative(name: &str) -> Option<&'static KnownModel> {
    let begins =
        |known: &&KnownModel| name.strip_prefix(known.id).is_some_and(|rest| rest.starts_with('-'));
    MODELS.iter().filter(begins).max_by_key(|known| known.id.len())
}

/// A name without the suffix that says which version of the model it is: `-20250929`, `-2026-04-23`,
/// `-preview-09-2025` or `-latest`.
fn undated(name: &str) -> Option<&str> {
    let number =
        |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let year = |text: &str| number(text, 4) && text.starts_with("20");
    if let Some(rest) = name.strip_suffix("-latest") {
        return Some(rest);
    }
    let (rest, last) = name.rsplit_once('-')?;
    if number(last, 8) && last.starts_with("20") {
        return Some(rest);
    }
    let (rest, month) = rest.rsplit_once('-')?;
    if !number(month, 2) {
        return None;
    }
    if year(last) {
        return rest.strip_suffix("-preview");
    }
    let (rest, first) = rest.rsplit_once('-')?;
    (year(first) && number(last, 2)).then_some(rest)
}
