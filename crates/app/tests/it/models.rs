//! Which model and which provider an agent gets, from keys, settings and its own file.

use serde_json::json;

use crate::project;

const ANTHROPIC: &str = "ANTHROPIC_API_KEY";
const OPENAI: &str = "OPENAI_API_KEY";
const GEMINI: &str = "GEMINI_API_KEY";

/// The model, the provider and the rule for an agent with that header, keys and settings.
fn effective(keys: &[&str], header: &str, settings: &[&str]) -> serde_json::Value {
    let mut project = project();
    for key in keys {
        project = project.with_env(key, "sk-x");
    }
    project.agent("helper", &format!("description: d\n{header}"));
    let mut arguments = vec!["show", "helper", "--json"];
    arguments.extend(settings.iter().flat_map(|setting| ["-c", *setting]));
    project.json(&arguments)["effective_model"].take()
}

#[test]
fn keys_and_settings_decide_what_is_inherited() {
    for (keys, settings, provider, model) in [
        (&[][..], &[][..], "offline", "offline"),
        (&[ANTHROPIC][..], &[][..], "anthropic", "claude-sonnet-5"),
        (&[OPENAI], &[], "openai", "gpt-5.6-terra"),
        (&["GOOGLE_API_KEY"], &[], "gemini", "gemini-3.6-flash"),
        (&[GEMINI, OPENAI, ANTHROPIC], &[], "anthropic", "claude-sonnet-5"),
        (&[GEMINI, OPENAI], &[], "openai", "gpt-5.6-terra"),
        // The settings name a provider.
        (&[ANTHROPIC, OPENAI], &["model_provider=openai"], "openai", "gpt-5.6-terra"),
        (&[ANTHROPIC], &["model_provider=openai", "model=claude-x"], "openai", "claude-x"),
        (&[ANTHROPIC], &["model_provider=mine", "model=sonnet"], "mine", "sonnet"),
        // They name a model alone: it goes home.
        (&[ANTHROPIC, GEMINI], &["model=gemini-2.5-pro"], "gemini", "gemini-2.5-pro"),
        (&[ANTHROPIC], &["model=gpt-5"], "openai", "gpt-5"),
        (&[], &["model=claude-x"], "anthropic", "claude-x"),
        (&[], &["model=x"], "openai", "x"),
        (&[GEMINI], &["model=x"], "gemini", "x"),
        (&[ANTHROPIC], &["model=offline"], "offline", "offline"),
        (&[ANTHROPIC], &["model=openai/x"], "openai", "x"),
        (
            &[OPENAI],
            &["model=claude-x", "model_providers.openai.base_url=\"http://gateway\""],
            "openai",
            "claude-x",
        ),
        (&["MY_KEY"], &["model_providers.openai.env_key=MY_KEY"], "openai", "gpt-5.6-terra"),
        // Short names.
        (&[OPENAI], &["model=mini"], "openai", "gpt-5.4-mini"),
        (&[OPENAI], &["model=opus"], "anthropic", "claude-opus-5"),
        (&[OPENAI], &["model=big", "model_aliases.big=gpt-9"], "openai", "gpt-9"),
    ] {
        let expected = json!({"model": model, "provider": provider, "chosen_by": "parent"});
        assert_eq!(effective(keys, "", settings), expected, "{keys:?} {settings:?}");
    }
}

#[test]
fn an_agents_model_goes_to_its_own_provider() {
    for (keys, header, settings, provider, model) in [
        (&[ANTHROPIC][..], "model: gpt-9", &[][..], "openai", "gpt-9"),
        (
            &[OPENAI, ANTHROPIC],
            "model: sonnet",
            &["model_provider=openai"],
            "anthropic",
            "claude-sonnet-5",
        ),
        (&[OPENAI], "model: sonnet", &["model_aliases.sonnet=gpt-9"], "openai", "gpt-9"),
        (&[OPENAI], "model: fast", &[], "openai", "gpt-5.6-luna"),
        (&[OPENAI], "model: claude-x", &["model_provider=mine"], "mine", "claude-x"),
        (&[], "model: sonnet", &[], "offline", "sonnet"),
        (&[ANTHROPIC], "model_config: {provider: mine, model: gpt-9}", &[], "mine", "gpt-9"),
    ] {
        let expected = json!({"model": model, "provider": provider, "chosen_by": "definition"});
        assert_eq!(effective(keys, header, settings), expected, "{keys:?} {header} {settings:?}");
    }
}

#[test]
fn a_short_name_whose_maker_is_not_set_up_falls_through() {
    for (keys, settings, provider, model, by) in [
        (&[OPENAI][..], &[][..], "openai", "gpt-5.6-terra", "parent"),
        (&[OPENAI], &["subagents.default_model=gpt-5.4-mini"], "openai", "gpt-5.4-mini", "default"),
        (&[], &["model_provider=ollama", "model=llama"], "ollama", "llama", "parent"),
    ] {
        let expected = json!({"model": model, "provider": provider, "chosen_by": by});
        assert_eq!(effective(keys, "model: sonnet", settings), expected, "{keys:?} {settings:?}");
    }
}

#[test]
fn planning_raises_a_parent_on_haiku() {
    let expected =
        json!({"model": "claude-sonnet-5", "provider": "anthropic", "chosen_by": "parent"});
    assert_eq!(effective(&[ANTHROPIC], "permissionMode: plan", &["model=haiku"]), expected);
}

#[test]
fn the_hint_of_a_missing_key_is_one_line() {
    let project = project().with_env(OPENAI, "sk-x");
    let ran = project.run(&["run", "Explore", "x", "--model", "sonnet", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told: serde_json::Value = serde_json::from_str(ran.stderr.trim()).unwrap();
    let hint = told["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("ANTHROPIC_API_KEY") && hint.contains("[model_aliases]"), "{hint}");
    assert!(!hint.contains('\n') && !hint.contains("hint:"), "{hint}");
}
