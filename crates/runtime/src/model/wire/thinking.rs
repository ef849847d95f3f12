//! How much a model is to think, in the words of each provider.
//!
//! An agent says it as an effort or as a number of tokens; each model understands one of the two. What
//! was not written is not sent.

use attache_kernel::definition::ModelConfig;

/// What an agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish<'a> {
    /// An effort, as the provider names it.
    Effort(&'a str),
    /// So many tokens.
    Tokens(u64),
    /// As many tokens as it likes.
    Unlimited,
    /// None at all.
    Nothing,
}

/// What an agent asks for, if anything. Tokens are the more exact wish.
pub(super) fn wish(config: &ModelConfig) -> Option<Wish<'_>> {
    match (config.thinking_budget, config.effort.as_deref().map(str::trim)) {
        (Some(0), _) => Some(Wish::Nothing),
        (Some(tokens), _) => Some(u64::try_from(tokens).map_or(Wish::Unlimited, Wish::Tokens)),
        (None, Some(effort)) if !effort.is_empty() => Some(Wish::Effort(effort)),
        (None, _) => None,
    }
}

/// The wish as an effort.
pub(super) fn as_effort(wish: Wish<'_>) -> &str {
    match wish {
        Wish::Effort(effort) => effort,
        Wish::Nothing => "none",
        Wish::Tokens(0..=2048) => "low",
        Wish::Tokens(2049..=12288) => "medium",
        Wish::Tokens(_) | Wish::Unlimited => "high",
    }
}

/// The wish as a number of tokens; none is as many as the model likes.
pub(super) fn as_tokens(wish: Wish<'_>) -> Option<u64> {
    match wish {
        Wish::Tokens(tokens) => Some(tokens),
        Wish::Unlimited => None,
        Wish::Nothing => Some(0),
        Wish::Effort(effort) => Some(match effort.to_ascii_lowercase().as_str() {
            "none" => 0,
            "minimal" => 1024,
            "low" => 2048,
            "medium" => 8192,
            "high" => 24_576,
            _ => 32_000,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (config(None, Some("xhigh")), Some(Wish::Effort("xhigh"))),
        ] {
            assert_eq!(wish(&config), expected);
        }
        for effort in ["none", "low", "medium", "high"] {
            let tokens = as_tokens(Wish::Effort(effort)).unwrap();
            let wish = if tokens == 0 { Wish::Nothing } else { Wish::Tokens(tokens) };
            assert_eq!(as_effort(wish), effort);
        }
        assert_eq!(as_tokens(Wish::Unlimited), None);
    }
}
