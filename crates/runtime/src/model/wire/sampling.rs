//! How a model is to choose its words: the `temperature` and `topP` of an agent, as far as the model takes them.
//!
//! A model that does not take one refuses the whole request. So at its home it is left out, and the user is
//! told. Another server under the same name is sent what is written, and so is what stands in `parameters`.

use attache_kernel::{
    agent::definition::ModelConfig,
    model::catalogue::{self, Home, Sampling, Thinking},
};

use super::{
    Traits,
    thinking::{Wish, wish},
};

/// The least `top_p` that Anthropic takes while a model thinks.
const LEAST_WHILE_THINKING: f64 = 0.95;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sampled {
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
}

/// What of an agent's wishes a model takes.
pub(super) fn sampled(config: &ModelConfig, traits: Traits) -> Sampled {
    let ModelConfig { temperature, top_p, .. } = *config;
    let thinks = thinks(config, traits.thinking);
    match traits.sampling {
        Sampling::Neither => Sampled::default(),
        Sampling::WhileNotThinking if thinks != Some(false) => Sampled::default(),
        Sampling::Both | Sampling::WhileNotThinking => Sampled { temperature, top_p },
        Sampling::One if thinks == Some(true) => Sampled {
            temperature: None,
            top_p: top_p.filter(|share| *share >= LEAST_WHILE_THINKING),
        },
        Sampling::One => Sampled { temperature, top_p: top_p.filter(|_| temperature.is_none()) },
    }
}

/// The fields of an agent's file that are not sent.
pub(crate) fn unsampled(config: &ModelConfig, traits: Traits) -> Vec<&'static str> {
    let sent = sampled(config, traits);
    let fields =
        [("temperature", config.temperature, sent.temperature), ("topP", config.top_p, sent.top_p)];
    let left_out = fields.into_iter().filter(|(_, asked, sent)| asked.is_some() && sent.is_none());
    left_out.map(|(field, _, _)| field).collect()
}

/// What a model takes at its home.
pub(crate) fn sampling_at_home(model: &str) -> Sampling {
    match (catalogue::find(model), Home::of_model(model)) {
        (Some(known), _) => known.sampling,
        (None, Some(Home::Anthropic)) => Sampling::One,
        (None, Some(Home::OpenAi | Home::Gemini) | None) => Sampling::Both,
    }
}

/// Whether the model is told to think; `None` where nothing is said.
fn thinks(config: &ModelConfig, known: Option<Thinking>) -> Option<bool> {
    if let Some(thinking) = config.parameters.get("thinking") {
        return Some(thinking["type"] != "disabled");
    }
    wish(config, known).map(|wish| wish != Wish::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair = (Option<f64>, Option<f64>);

    fn sent(model: &str, asked: Pair, effort: &str) -> Pair {
        let thinking = catalogue::find(model).map(|known| known.thinking);
        let traits = Traits { thinking, sampling: sampling_at_home(model), ..Traits::default() };
        let effort = (!effort.is_empty()).then(|| effort.to_owned());
        let config =
            ModelConfig { temperature: asked.0, top_p: asked.1, effort, ..ModelConfig::default() };
        let Sampled { temperature, top_p } = sampled(&config, traits);
        (temperature, top_p)
    }

    #[test]
    fn a_model_is_sent_what_it_takes() {
        let (low, high) = (Some(0.1), Some(0.97));
        let cases = [
            ("gemini-3.6-flash", (low, high), "high", (low, high)),
            ("gpt-4.1", (low, high), "", (low, high)),
            ("gpt-5", (low, high), "", (None, None)),
            ("gpt-5.1", (low, None), "none", (low, None)),
            ("gpt-5.1", (low, None), "low", (None, None)),
            ("claude-sonnet-4-5", (low, high), "", (low, None)),
            ("claude-sonnet-4-5", (None, low), "", (None, low)),
            ("claude-sonnet-4-5", (low, low), "high", (None, None)),
            ("claude-sonnet-4-5", (low, high), "high", (None, high)),
            ("claude-haiku-4-5-20251001", (low, high), "none", (low, None)),
            ("claude-opus-4-6", (low, None), "", (low, None)),
            ("claude-opus-4-7", (low, high), "", (None, None)),
            ("claude-opus-4-7", (low, high), "none", (None, None)),
            ("a-model-of-my-own", (low, high), "high", (low, high)),
        ];
        for (model, asked, effort, expected) in cases {
            assert_eq!(sent(model, asked, effort), expected, "{model} {asked:?} {effort}");
        }
    }
}
