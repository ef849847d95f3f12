//! How much a model is to think, in the words of each provider.
//!
//! An agent says it as an effort or as a number of tokens; each model understands one of the two. What
//! was not written is not sent.

use attache_kernel::{agent::definition::ModelConfig, model::catalogue::Thinking};

/// What an agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish<'a> {
    /// An effort, as the provider names it.
    Effort(&'a str),
    /// A number of tokens.
    Tokens(u64),
    /// Both, for whichever the model understands; without tokens as many as it likes.
    Both {
        /// The effort.
        effort: &'a str,
        /// The tokens.
        tokens: Option<u64>,
    },
    /// As many tokens as it likes.
    Unlimited,
    /// None at all.
    Nothing,
}

/// What an agent asks for, if anything. Of a model that is known not to think nothing is asked, since it
/// would refuse.
pub(super) fn wish(config: &ModelConfig, known: Option<Thinking>) -> Option<Wish<'_>> {
    if known == Some(Thinking::None) {
        return None;
    }
    match (config.thinking_budget, config.effort.as_deref().map(str::trim)) {
        (Some(0), _) => Some(Wish::Nothing),
        (None, Some(effort)) if is_none(effort) => Some(Wish::Nothing),
        (Some(tokens), Some(effort)) if !is_none(effort) && !effort.is_empty() => {
            Some(Wish::Both { effort, tokens: u64::try_from(tokens).ok() })
        }
        (Some(tokens), _) => Some(u64::try_from(tokens).map_or(Wish::Unlimited, Wish::Tokens)),
        (None, None | Some("")) => None,
        (None, Some(effort)) => Some(Wish::Effort(effort)),
    }
}

fn is_none(effort: &str) -> bool {
    matches!(effort, "none" | "off" | "disabled")
}

/// The fields of an agent's file that ask a model to think which is known not to: they are not sent.
pub(crate) fn unheeded(config: &ModelConfig, known: Option<Thinking>) -> Vec<&'static str> {
    match (known, wish(config, None)) {
        (Some(Thinking::None), Some(wish)) if wish != Wish::Nothing => {}
        _ => return Vec::new(),
    }
    let effort = config.effort.as_deref().is_some_and(|effort| !effort.trim().is_empty());
    let fields = [("effort", effort), ("thinkingBudget", config.thinking_budget.is_some())];
    fields.into_iter().filter_map(|(field, is_set)| is_set.then_some(field)).collect()
}

/// The wish as an effort.
pub(super) fn as_effort(wish: Wish<'_>) -> &str {
    match wish {
        Wish::Effort(effort) | Wish::Both { effort, .. } => effort,
        Wish::Nothing => "none",
        Wish::Tokens(0..=2048) => "low",
        Wish::Tokens(2049..=12288) => "medium",
        Wish::Tokens(_) | Wish::Unlimited => "high",
    }
}

/// The wish as a number of tokens; `None` leaves it to the model.
pub(super) fn as_tokens(wish: Wish<'_>) -> Option<u64> {
    match wish {
        Wish::Tokens(tokens) => Some(tokens),
        Wish::Both { tokens, .. } => tokens,
        Wish::Unlimited => None,
        Wish::Nothing => Some(0),
        Wish::Effort(effort) => tokens_of(effort),
    }
}

/// The tokens an effort stands for; `None` for an unknown effort. Its provider is asked then,
/// and says what it thinks of it.
pub(super) fn tokens_of(effort: &str) -> Option<u64> {
    Some(match effort.to_ascii_lowercase().as_str() {
        "minimal" => 1024,
        "low" => 2048,
        "medium" => 8192,
        "high" => 24_576,
        "xhigh" | "max" => 32_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_a_model_that_does_not_think_is_named() {
        let config = |thinking_budget, effort: Option<&str>| ModelConfig {
            thinking_budget,
            effort: effort.map(str::to_owned),
            ..ModelConfig::default()
        };
        for (config, expected) in [
            (config(None, None), &[][..]),
            (config(None, Some("high")), &["effort"]),
            (config(Some(-1), None), &["thinkingBudget"]),
            (config(Some(4096), Some("low")), &["effort", "thinkingBudget"]),
            // A model that does not think can be asked not to think.
            (config(None, Some("off")), &[]),
            (config(Some(0), Some("high")), &[]),
            (config(None, Some(" ")), &[]),
        ] {
            assert_eq!(unheeded(&config, Some(Thinking::None)), expected, "{config:?}");
            assert_eq!(unheeded(&config, Some(Thinking::Effort)), [""; 0]);
            assert_eq!(unheeded(&config, None), [""; 0]);
        }
    }

    #[test]
    fn tokens_and_efforts_mean_each_other() {
        let config = |thinking_budget, effort: Option<&str>| ModelConfig {
            thinking_budget,
            effort: effort.map(str::to_owned),
            ..ModelConfig::default()
        };
        for (config, expected) in [
            (config(None, None), None),
            (config(None, Some(" ")), None),
            (config(Some(0), Some("high")), Some(Wish::Nothing)),
            (config(Some(-1), None), Some(Wish::Unlimited)),
            (config(Some(4096), None), Some(Wish::Tokens(4096))),
            (config(Some(4096), Some("off")), Some(Wish::Tokens(4096))),
            (
                config(Some(1000), Some("high")),
                Some(Wish::Both { effort: "high", tokens: Some(1000) }),
            ),
            (config(Some(-1), Some("low")), Some(Wish::Both { effort: "low", tokens: None })),
            (config(None, Some("xhigh")), Some(Wish::Effort("xhigh"))),
            (config(None, Some("none")), Some(Wish::Nothing)),
        ] {
            assert_eq!(wish(&config, None), expected);
            assert_eq!(wish(&config, Some(Thinking::Effort)), expected);
            assert_eq!(wish(&config, Some(Thinking::None)), None);
        }
        let both = Wish::Both { effort: "high", tokens: Some(1000) };
        assert_eq!((as_effort(both), as_tokens(both)), ("high", Some(1000)));
        for effort in ["low", "medium", "high"] {
            let tokens = as_tokens(Wish::Effort(effort)).unwrap();
            assert_eq!(as_effort(Wish::Tokens(tokens)), effort);
        }
        assert_eq!((as_effort(Wish::Nothing), as_tokens(Wish::Nothing)), ("none", Some(0)));
        assert_eq!(as_tokens(Wish::Unlimited), None);
        assert_eq!((tokens_of("Max"), tokens_of("hihg")), (Some(32_000), None));
        assert_eq!(wish(&config(None, Some("off")), None), Some(Wish::Nothing));
    }
}
