//! The table: every known model, by home and newest first.
//!
//! Facts alone, as the providers' lists had them on [`AS_OF`](super::AS_OF); prices in US dollars per
//! million tokens. A window is what may go *in*: of the 400,000 tokens of the GPT-5 family and the
//! 1,050,000 of its successors 128,000 are kept for the answer. A dated version stands here only if it
//! differs from the model without the date.

use super::{
    Home, KnownModel, Sampling,
    Thinking::{self, Adaptive, Budget, Effort, Level},
};
use crate::model::price::{Price, Tier};

const K200: u64 = 200_000;
const M1: u64 = 1_000_000;
const GEMINI: u64 = 1_048_576;
const GPT_4_1: u64 = 1_047_576;
const GPT_4O: u64 = 128_000;
const GPT_5: u64 = 400_000 - 128_000;
const GPT_5_4: u64 = 1_050_000 - 128_000;

pub(super) const MODELS: &[KnownModel] = &[
    // Anthropic.
    unsampled("claude-fable-5", rates(10.0, 50.0, 1.0, 12.5)),
    // Nobody has published what it costs.
    KnownModel { price: None, ..unsampled("claude-mythos-preview", plain(0.0, 0.0)) },
    unsampled("claude-opus-5", rates(5.0, 25.0, 0.5, 6.25)),
    unsampled("claude-opus-4-8", rates(5.0, 25.0, 0.5, 6.25)),
    unsampled("claude-opus-4-7", rates(5.0, 25.0, 0.5, 6.25)),
    claude("claude-opus-4-6", M1, 128_000, Adaptive, rates(5.0, 25.0, 0.5, 6.25)),
    claude("claude-opus-4-5", K200, 64_000, Budget, rates(5.0, 25.0, 0.5, 6.25)),
    claude("claude-opus-4-1", K200, 32_000, Budget, OPUS_4),
    // No bare `claude-opus-4`: a `claude-opus-4-9` that nobody knows must not think as this one does.
    claude("claude-opus-4-0", K200, 32_000, Budget, OPUS_4),
    claude("claude-opus-4-20250514", K200, 32_000, Budget, OPUS_4),
    unsampled("claude-sonnet-5", rates(2.0, 10.0, 0.2, 2.5)),
    claude("claude-sonnet-4-6", M1, 64_000, Adaptive, rates(3.0, 15.0, 0.3, 3.75)),
    // A million tokens only with a beta header, which is not sent.
    claude("claude-sonnet-4-5", K200, 64_000, Budget, SONNET_4),
    claude("claude-sonnet-4-0", K200, 64_000, Budget, SONNET_4),
    claude("claude-sonnet-4-20250514", K200, 64_000, Budget, SONNET_4),
    claude("claude-haiku-4-5", K200, 64_000, Budget, rates(1.0, 5.0, 0.1, 1.25)),
    claude("claude-3-7-sonnet", K200, 64_000, Budget, rates(3.0, 15.0, 0.3, 3.75)),
    claude("claude-3-haiku", K200, 4_096, Thinking::None, rates(0.25, 1.25, 0.03, 0.3)),
    // OpenAI.
    gpt("gpt-5.6", GPT_5_4, 128_000, Effort, GPT_5_6_SOL),
    gpt("gpt-5.6-sol", GPT_5_4, 128_000, Effort, GPT_5_6_SOL),
    gpt(
        "gpt-5.6-terra",
        GPT_5_4,
        128_000,
        Effort,
        above_272k(rates(2.0, 12.0, 0.2, 2.5), rates(4.0, 18.0, 0.4, 5.0)),
    ),
    gpt(
        "gpt-5.6-luna",
        GPT_5_4,
        128_000,
        Effort,
        above_272k(rates(0.2, 1.2, 0.02, 0.25), rates(0.4, 1.8, 0.04, 0.5)),
    ),
    gpt(
        "gpt-5.5",
        GPT_5_4,
        128_000,
        Effort,
        above_272k(cached(5.0, 30.0, 0.5), cached(10.0, 45.0, 1.0)),
    ),
    gpt("gpt-5.5-pro", GPT_5_4, 128_000, Effort, GPT_5_4_PRO),
    gpt(
        "gpt-5.4",
        GPT_5_4,
        128_000,
        Effort,
        above_272k(cached(2.5, 15.0, 0.25), cached(5.0, 22.5, 0.5)),
    ),
    gpt("gpt-5.4-pro", GPT_5_4, 128_000, Effort, GPT_5_4_PRO),
    gpt("gpt-5.4-mini", GPT_5, 128_000, Effort, cached(0.75, 4.5, 0.075)),
    gpt("gpt-5.4-nano", GPT_5, 128_000, Effort, cached(0.2, 1.25, 0.02)),
    gpt("gpt-5.3-codex", GPT_5, 128_000, Effort, cached(1.75, 14.0, 0.175)),
    gpt("gpt-5.3-chat", GPT_4O, 16_384, Thinking::None, cached(1.75, 14.0, 0.175)),
    gpt("gpt-5.2", GPT_5, 128_000, Effort, cached(1.75, 14.0, 0.175)),
    gpt("gpt-5.2-codex", GPT_5, 128_000, Effort, cached(1.75, 14.0, 0.175)),
    gpt("gpt-5.2-pro", GPT_5, 128_000, Effort, plain(21.0, 168.0)),
    gpt("gpt-5.2-chat", GPT_4O, 16_384, Thinking::None, cached(1.75, 14.0, 0.175)),
    gpt("gpt-5.1", GPT_5, 128_000, Effort, cached(1.25, 10.0, 0.125)),
    gpt("gpt-5.1-codex", GPT_5, 128_000, Effort, cached(1.25, 10.0, 0.125)),
    gpt("gpt-5.1-codex-max", GPT_5, 128_000, Effort, cached(1.25, 10.0, 0.125)),
    gpt("gpt-5.1-codex-mini", GPT_5, 128_000, Effort, cached(0.25, 2.0, 0.025)),
    gpt("gpt-5.1-chat", GPT_4O, 16_384, Thinking::None, cached(1.25, 10.0, 0.125)),
    gpt("gpt-5", GPT_5, 128_000, Effort, cached(1.25, 10.0, 0.125)),
    gpt("gpt-5-codex", GPT_5, 128_000, Effort, cached(1.25, 10.0, 0.125)),
    gpt("gpt-5-mini", GPT_5, 128_000, Effort, cached(0.25, 2.0, 0.025)),
    gpt("gpt-5-nano", GPT_5, 128_000, Effort, cached(0.05, 0.4, 0.005)),
    gpt("gpt-5-pro", GPT_5, 128_000, Effort, plain(15.0, 120.0)),
    gpt("gpt-5-chat", GPT_4O, 16_384, Thinking::None, cached(1.25, 10.0, 0.125)),
    gpt("gpt-4.1", GPT_4_1, 32_768, Thinking::None, cached(2.0, 8.0, 0.5)),
    gpt("gpt-4.1-mini", GPT_4_1, 32_768, Thinking::None, cached(0.4, 1.6, 0.1)),
    gpt("gpt-4.1-nano", GPT_4_1, 32_768, Thinking::None, cached(0.1, 0.4, 0.025)),
    gpt("gpt-4o", GPT_4O, 16_384, Thinking::None, cached(2.5, 10.0, 1.25)),
    gpt("gpt-4o-2024-05-13", GPT_4O, 4_096, Thinking::None, plain(5.0, 15.0)),
    gpt("gpt-4o-mini", GPT_4O, 16_384, Thinking::None, cached(0.15, 0.6, 0.075)),
    gpt("o4-mini", K200, 100_000, Effort, cached(1.1, 4.4, 0.275)),
    gpt("o3", K200, 100_000, Effort, cached(2.0, 8.0, 0.5)),
    gpt("o3-pro", K200, 100_000, Effort, plain(20.0, 80.0)),
    gpt("o3-mini", K200, 100_000, Effort, cached(1.1, 4.4, 0.55)),
    gpt("o1", K200, 100_000, Effort, cached(15.0, 60.0, 7.5)),
    gpt("codex-mini", K200, 100_000, Effort, cached(1.5, 6.0, 0.375)),
    // Google.
    gemini("gemini-3.6-flash", GEMINI, 65_536, Level, cached(1.5, 7.5, 0.15)),
    gemini("gemini-3.5-flash", GEMINI, 65_535, Level, cached(1.5, 9.0, 0.15)),
    gemini("gemini-3.5-flash-lite", GEMINI, 65_536, Level, cached(0.3, 2.5, 0.03)),
    gemini("gemini-3.1-pro-preview", GEMINI, 65_536, Level, GEMINI_3_PRO),
    gemini("gemini-3.1-pro-preview-customtools", GEMINI, 65_536, Level, GEMINI_3_PRO),
    gemini("gemini-3.1-flash-lite", GEMINI, 65_536, Level, cached(0.25, 1.5, 0.025)),
    gemini("gemini-3.1-flash-lite-preview", GEMINI, 65_536, Level, cached(0.25, 1.5, 0.025)),
    gemini("gemini-3-pro-preview", GEMINI, 65_535, Level, GEMINI_3_PRO),
    gemini("gemini-3-flash-preview", GEMINI, 65_535, Level, cached(0.5, 3.0, 0.05)),
    gemini(
        "gemini-2.5-pro",
        GEMINI,
        65_535,
        Budget,
        above(K200, cached(1.25, 10.0, 0.125), cached(2.5, 15.0, 0.25)),
    ),
    gemini("gemini-2.5-flash", GEMINI, 65_535, Budget, cached(0.3, 2.5, 0.03)),
    gemini("gemini-2.5-flash-preview-09-2025", GEMINI, 65_535, Budget, cached(0.3, 2.5, 0.075)),
    gemini("gemini-2.5-flash-lite", GEMINI, 65_535, Budget, cached(0.1, 0.4, 0.01)),
];

const OPUS_4: Price = rates(15.0, 75.0, 1.5, 18.75);
const SONNET_4: Price = above(K200, rates(3.0, 15.0, 0.3, 3.75), rates(6.0, 22.5, 0.6, 7.5));
const GPT_5_6_SOL: Price = above_272k(rates(5.0, 30.0, 0.5, 6.25), rates(10.0, 45.0, 1.0, 12.5));
const GPT_5_4_PRO: Price = above_272k(cached(30.0, 180.0, 3.0), cached(60.0, 270.0, 6.0));
const GEMINI_3_PRO: Price = above(K200, cached(2.0, 12.0, 0.2), cached(4.0, 18.0, 0.4));

/// A model of the generation that only takes an effort: it cannot be told how to choose its words.
const fn unsampled(id: &'static str, price: Price) -> KnownModel {
    KnownModel { sampling: Sampling::Neither, ..claude(id, M1, 128_000, Adaptive, price) }
}

const fn claude(
    id: &'static str,
    window: u64,
    output: u64,
    thinking: Thinking,
    price: Price,
) -> KnownModel {
    model(Home::Anthropic, id, window, output, thinking, price)
}

const fn gpt(
    id: &'static str,
    window: u64,
    output: u64,
    thinking: Thinking,
    price: Price,
) -> KnownModel {
    model(Home::OpenAi, id, window, output, thinking, price)
}

const fn gemini(
    id: &'static str,
    window: u64,
    output: u64,
    thinking: Thinking,
    price: Price,
) -> KnownModel {
    model(Home::Gemini, id, window, output, thinking, price)
}

const fn model(
    home: Home,
    id: &'static str,
    context_window: u64,
    max_output_tokens: u64,
    thinking: Thinking,
    price: Price,
) -> KnownModel {
    let sampling = match (home, thinking) {
        (Home::Anthropic, _) => Sampling::One,
        (Home::OpenAi, Effort) => Sampling::WhileNotThinking,
        (Home::OpenAi | Home::Gemini, _) => Sampling::Both,
    };
    let price = Some(price);
    KnownModel { id, home, context_window, max_output_tokens, thinking, sampling, price }
}

const fn plain(input: f64, output: f64) -> Price {
    Price { input, output, cache_read: None, cache_write: None, above: None }
}

const fn cached(input: f64, output: f64, cache_read: f64) -> Price {
    Price { cache_read: Some(cache_read), ..plain(input, output) }
}

const fn rates(input: f64, output: f64, cache_read: f64, cache_write: f64) -> Price {
    Price { cache_write: Some(cache_write), ..cached(input, output, cache_read) }
}

const fn above_272k(price: Price, long: Price) -> Price {
    above(272_000, price, long)
}

const fn above(from_tokens: u64, price: Price, long: Price) -> Price {
    let Price { input, output, cache_read, cache_write, .. } = long;
    Price { above: Some(Tier { from_tokens, input, output, cache_read, cache_write }), ..price }
}
