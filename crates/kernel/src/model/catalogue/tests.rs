//! Tables: every fact of the catalogue, every way a model is written, and names that must not be found.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_model_stands_once_under_a_name_that_is_found() {
    let mut ids = BTreeSet::new();
    for known in MODELS {
        assert!(ids.insert(known.id), "{} stands twice", known.id);
        assert_eq!(find(known.id), Some(known), "{}", known.id);
        assert_eq!(Home::of_model(known.id), Some(known.home), "{}", known.id);
        assert!(!known.id.ends_with("-latest"), "{}: `-latest` is left out", known.id);
    }
    assert!(ids.len() >= 50);
}

#[test]
fn every_fact_is_plausible() {
    for known in MODELS {
        let id = known.id;
        assert!(known.context_window >= 100_000 && known.max_output_tokens >= 4_096, "{id}");
        assert!(known.max_output_tokens < known.context_window, "{id}");
        let Some(price) = known.price else {
            assert_eq!(id, "claude-mythos-preview", "the one model without a price");
            continue;
        };
        let tier = price.above.map(|tier| {
            assert!(tier.from_tokens < 300_000 && tier.input > price.input, "{id}");
            assert!(tier.output > price.output, "{id}");
            assert_eq!(tier.cache_read.is_some(), price.cache_read.is_some(), "{id}");
            assert_eq!(tier.cache_write.is_some(), price.cache_write.is_some(), "{id}");
            Price {
                input: tier.input,
                output: tier.output,
                cache_read: tier.cache_read,
                cache_write: tier.cache_write,
                above: None,
            }
        });
        for price in [Some(price), tier].into_iter().flatten() {
            assert!(price.input > 0.0 && price.output > price.input, "{id}");
            assert!(price.cache_read.is_none_or(|read| read > 0.0 && read <= price.input), "{id}");
            assert!(price.cache_write.is_none_or(|write| write >= price.input), "{id}");
        }
    }
}

#[test]
fn names_of_a_known_model_have_its_price() {
    for (name, id) in [
        ("claude-sonnet-5", "claude-sonnet-5"),
        (" Claude-Sonnet-4-5 ", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-3-haiku-20240307", "claude-3-haiku"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-opus-4-20250514", "claude-opus-4-20250514"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-opus-4.1", "claude-opus-4-1"),
        ("GPT-5.5-2026-04-23", "gpt-5.5"),
        ("openai/gpt-5.4-pro-2026-03-05", "gpt-5.4-pro"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-5.1-chat-latest", "gpt-5.1-chat"),
        ("codex-mini-latest", "codex-mini"),
        ("o3-2025-04-16", "o3"),
        ("models/gemini-2.5-flash-lite-preview-09-2025", "gemini-2.5-flash-lite"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash-preview-09-2025"),
    ] {
        let found = find(name).map(|known| known.id);
        assert_eq!(found, Some(id), "{name}");
        assert!(price_of(name).is_some(), "{name}");
        assert_eq!(price_of(name), price_of(id), "{name}");
    }
}

#[test]
fn a_relative_lends_its_window_and_never_its_price() {
    for (name, id) in [
        ("claude-opus-5-1", "claude-opus-5"),
        ("claude-haiku-4-5-20251001-thinking", "claude-haiku-4-5"),
        ("gpt-5.6-terra-max", "gpt-5.6-terra"),
        ("gpt-5.6-nova-2026-12-01", "gpt-5.6"),
        ("gpt-5.1-codex-max-fast", "gpt-5.1-codex-max"),
        ("o3-deep-research", "o3"),
        ("google/gemini-3.6-flash-image", "gemini-3.6-flash"),
        ("gemini-2.5-flash-lite-preview-06-17", "gemini-2.5-flash-lite"),
    ] {
        assert_eq!(find(name).map(|known| known.id), Some(id), "{name}");
        assert_eq!(price_of(name), None, "{name}");
    }
    assert_eq!(find("claude-mythos-preview").map(|known| known.thinking), Some(Thinking::Adaptive));
    assert_eq!(price_of("claude-mythos-preview"), None, "known, but not its price");
}

#[test]
fn what_nobody_knows_is_not_found() {
    for name in [
        "",
        "-",
        "/",
        "openai/",
        "llama-4-maverick",
        "gpt-oss-120b",
        "gpt-50",
        "gpt-5.60",
        "gpt-4oo",
        "o30",
        "claude",
        "claude-sonnet-40",
        "claude-opus-4-9",
        "gemini-flash-latest",
        "my-gpt-5",
        "-latest",
        "-2026-01-01",
        "20250101",
    ] {
        assert_eq!(find(name), None, "{name}");
        assert_eq!(price_of(name), None, "{name}");
    }
}

#[test]
fn dates_are_taken_off_and_versions_are_not() {
    for (name, rest) in [
        ("a-20250929", Some("a")),
        ("a-2026-04-23", Some("a")),
        ("a-latest", Some("a")),
        ("a-preview-09-2025", Some("a")),
        ("a-preview", None),
        ("a-09-2025", None),
        ("a-4-5", None),
        ("a-12345678", None),
        ("a-2026-4-23", None),
        ("a-1999-04-23", None),
        ("20250929", None),
    ] {
        assert_eq!(undated(name), rest, "{name}");
    }
}

#[test]
fn families_have_a_home() {
    for (model, home) in [
        ("claude-sonnet-99", Some("anthropic")),
        ("Claude-3-opus", Some("anthropic")),
        ("gpt-9", Some("openai")),
        ("o1", Some("openai")),
        ("o3-mini", Some("openai")),
        ("O4-mini", Some("openai")),
        ("codex-mini-latest", Some("openai")),
        ("chatgpt-4o-latest", Some("openai")),
        ("gemini-flash-latest", Some("gemini")),
        ("gpt-oss-120b", None),
        ("gpt-oss:20b", None),
        ("o1x", None),
        ("gemma-3", None),
        ("sonnet", None),
        ("claude", None),
        ("anthropic/claude-sonnet-5", None),
        ("", None),
    ] {
        assert_eq!(home_of(model), home, "{model}");
    }
}

#[test]
fn defaults_and_aliases_are_models_of_the_table() {
    for home in Home::ALL {
        assert_eq!(Home::of_provider(home.as_str()), Some(home));
        let default = default_model(home.as_str()).unwrap();
        assert_eq!(MODELS.iter().find(|known| known.id == default).unwrap().home, home);
        let mut names = BTreeSet::new();
        for alias in builtin_aliases(home.as_str()) {
            assert!(names.insert(alias.name), "{} means one model", alias.name);
            assert_eq!(alias.name, alias.name.to_ascii_lowercase());
            let known = MODELS.iter().find(|known| known.id == alias.model);
            assert!(known.is_some(), "{} means {}", alias.name, alias.model);
            assert!(price_of(alias.model).is_some());
        }
        let fast = home.aliases().iter().find(|alias| alias.name == "fast").unwrap();
        assert_eq!(Home::of_model(fast.model), Some(home), "fast stays at home");
        let cost = |model| price_of(model).unwrap().output;
        assert!(cost(fast.model) < cost(default), "fast is the cheaper one");
        assert!(["sonnet", "opus", "haiku"].iter().all(|name| names.contains(name)));
    }
    for other in ["ollama", "offline", "mine", ""] {
        assert_eq!(default_model(other), None);
        assert_eq!(builtin_aliases(other), []);
    }
}
