//! Which model is chosen, and by which rule.

use super::*;

/// Every maker is set up.
fn ready() -> Vec<String> {
    Home::ALL.map(|home| home.as_str().to_owned()).to_vec()
}

struct Case {
    env: Option<&'static str>,
    call: Option<&'static str>,
    definition: Option<&'static str>,
    default: Option<&'static str>,
}

fn chosen(case: &Case) -> (String, ChosenBy) {
    let definition =
        ModelConfig { model: case.definition.map(ModelSelector::new), ..ModelConfig::default() };
    let aliases = BTreeMap::from([("opus".to_owned(), "claude-opus".to_owned())]);
    let choice = choose(&ModelQuestion {
        env: case.env,
        call: case.call,
        call_provider: CallProvider::Unnamed,
        asked_by: AskedBy::Person,
        allowlist: &[],
        definition: &definition,
        default_model: case.default,
        parent: ModelRef { model: "p", provider: "here", reached: Reached::AtHome },
        aliases: &aliases,
        providers: &[],
        ready: &ready(),
        planning: Planning::No,
    })
    .unwrap();
    (choice.model, choice.chosen_by)
}

#[test]
fn the_first_rule_that_names_a_model_decides() {
    let all = Case { env: Some("e"), call: Some("c"), definition: Some("d"), default: Some("f") };
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

struct Place {
    parent: (&'static str, &'static str),
    own_provider: Option<&'static str>,
    call: Option<&'static str>,
    model: Option<&'static str>,
}

fn placed(case: &Place, planning: Planning) -> (String, String, ChosenBy) {
    let definition = ModelConfig {
        model: case.model.map(ModelSelector::new),
        provider: case.own_provider.map(str::to_owned),
        ..ModelConfig::default()
    };
    let alias = |name: &str, model: &str| (name.to_owned(), model.to_owned());
    let choice = choose(&ModelQuestion {
        env: None,
        call: case.call,
        call_provider: CallProvider::Unnamed,
        asked_by: AskedBy::Person,
        allowlist: &[],
        definition: &definition,
        default_model: None,
        parent: ModelRef {
            provider: case.parent.0,
            model: case.parent.1,
            reached: Reached::AtHome,
        },
        aliases: &BTreeMap::from([
            alias("opus", "my-opus"),
            alias("cheap", "haiku"),
            alias("best", "gpt-9"),
        ]),
        providers: &["openai".to_owned(), "gemini".to_owned(), "mine".to_owned()],
        ready: &ready(),
        planning,
    })
    .unwrap();
    (choice.provider, choice.model, choice.chosen_by)
}

#[test]
fn a_model_goes_home_between_built_in_providers() {
    const CLAUDE: (&str, &str) = ("anthropic", "claude-x");
    const GPT: (&str, &str) = ("openai", "gpt-x");
    const MINE: (&str, &str) = ("mine", "m");
    for (parent, own_provider, model, provider, chosen) in [
        // Families have homes.
        (CLAUDE, None, "gpt-9", "openai", "gpt-9"),
        (CLAUDE, None, "O3", "openai", "O3"),
        (GPT, None, "claude-y", "anthropic", "claude-y"),
        (GPT, None, "gemini-y", "gemini", "gemini-y"),
        (GPT, None, "gpt-y", "openai", "gpt-y"),
        (GPT, None, "llama", "openai", "llama"),
        (CLAUDE, None, "gpt-oss-20b", "anthropic", "gpt-oss-20b"),
        // What somebody wrote is stronger.
        (CLAUDE, Some("mine"), "gpt-9", "mine", "gpt-9"),
        (CLAUDE, None, "mine/gpt-9", "mine", "gpt-9"),
        (GPT, None, "gemini/claude-y", "gemini", "claude-y"),
        (("openai", "claude-x"), None, "claude-x", "openai", "claude-x"),
        // Elsewhere a name is only a name.
        (MINE, None, "claude-y", "mine", "claude-y"),
        (("ollama", "m"), None, "gpt-9", "ollama", "gpt-9"),
        (("offline", "offline"), None, "gpt-9", "offline", "gpt-9"),
        // Short names: the settings' own first, the catalogue's on built-in providers.
        (CLAUDE, None, "opus", "anthropic", "my-opus"),
        (MINE, None, "Opus", "mine", "my-opus"),
        (CLAUDE, None, "Sonnet", "anthropic", "claude-sonnet-5"),
        (GPT, None, "sonnet", "anthropic", "claude-sonnet-5"),
        (GPT, None, "mini", "openai", "gpt-5.4-mini"),
        (("gemini", "g"), None, "flash", "gemini", "gemini-3.6-flash"),
        (CLAUDE, None, "cheap", "anthropic", "claude-haiku-4-5"),
        (MINE, None, "cheap", "mine", "haiku"),
        (CLAUDE, None, "best", "openai", "gpt-9"),
        (MINE, None, "best", "mine", "gpt-9"),
        (CLAUDE, None, "fast", "anthropic", "claude-haiku-4-5"),
        (GPT, None, "fast", "openai", "gpt-5.6-luna"),
        (("gemini", "g"), None, "FAST", "gemini", "gemini-3.5-flash-lite"),
        // They are those of the provider the definition names.
        (CLAUDE, Some("mine"), "sonnet", "mine", "sonnet"),
        (CLAUDE, Some("openai"), "fast", "openai", "gpt-5.6-luna"),
        (MINE, Some("gemini"), "pro", "gemini", "gemini-2.5-pro"),
    ] {
        let case = Place { parent, own_provider, call: None, model: Some(model) };
        let expected = (provider.to_owned(), chosen.to_owned(), ChosenBy::Definition);
        assert_eq!(placed(&case, Planning::No), expected, "{model} under {parent:?}");
        if own_provider.is_none() {
            let call = Place { call: Some(model), model: None, ..case };
            let expected = (provider.to_owned(), chosen.to_owned(), ChosenBy::Call);
            assert_eq!(placed(&call, Planning::No), expected, "{model} under {parent:?}");
        }
    }
}

#[test]
fn what_is_inherited_stays_with_the_parent() {
    for (parent, own_provider, provider, model, chosen_by) in [
        (("openai", "claude-x"), None, "openai", "claude-x", ChosenBy::Parent),
        (("mine", "claude-x"), None, "mine", "claude-x", ChosenBy::Parent),
        (("anthropic", "claude-x"), Some("mine"), "mine", "claude-x", ChosenBy::Parent),
        (("mine", "claude-x"), Some("openai"), "openai", "claude-x", ChosenBy::Parent),
        (("openai", "gpt-x"), Some("openai"), "openai", "gpt-x", ChosenBy::Parent),
        // OpenAI has no Claude: naming it alone means a model of its own.
        (
            ("anthropic", "claude-x"),
            Some("openai"),
            "openai",
            "gpt-5.6-terra",
            ChosenBy::Definition,
        ),
    ] {
        let case = Place { parent, own_provider, call: None, model: None };
        let expected = (provider.to_owned(), model.to_owned(), chosen_by);
        assert_eq!(placed(&case, Planning::No), expected, "{parent:?}");
    }
    let fast = Place { parent: ("mine", "m"), own_provider: None, call: None, model: Some("fast") };
    let expected = ("mine".to_owned(), "m".to_owned(), ChosenBy::Parent);
    assert_eq!(placed(&fast, Planning::No), expected, "nobody knows a fast model there");
}

#[test]
fn planning_raises_haiku_to_the_sonnet_of_the_place() {
    for (parent, model) in [
        (("anthropic", "claude-haiku-4-5"), "claude-sonnet-5"),
        // Nobody says what that is there: `sonnet` would be sent as it stands.
        (("mine", "claude-haiku-4-5"), "claude-haiku-4-5"),
        (("anthropic", "claude-opus-5"), "claude-opus-5"),
    ] {
        let case = Place { parent, own_provider: None, call: None, model: None };
        let expected = (parent.0.to_owned(), model.to_owned(), ChosenBy::Parent);
        assert_eq!(placed(&case, Planning::Yes), expected, "{parent:?}");
        let inherited = (parent.0.to_owned(), parent.1.to_owned(), ChosenBy::Parent);
        assert_eq!(placed(&case, Planning::No), inherited, "{parent:?}");
    }
}

#[test]
fn a_call_outside_the_allowlist_is_refused_with_the_list() {
    let definition = ModelConfig::default();
    let allowlist = ["a".to_owned(), "b".to_owned()];
    let mut question = ModelQuestion {
        env: None,
        call: Some("z"),
        call_provider: CallProvider::Unnamed,
        asked_by: AskedBy::Person,
        allowlist: &allowlist,
        definition: &definition,
        default_model: None,
        parent: ModelRef {
            model: "claude-haiku-5",
            provider: "anthropic",
            reached: Reached::AtHome,
        },
        aliases: &BTreeMap::from([("sonnet".to_owned(), "my-sonnet".to_owned())]),
        providers: &["openai".to_owned()],
        ready: &ready(),
        planning: Planning::Yes,
    };
    assert!(choose(&question).unwrap_err().to_string().ends_with("a, b"));
    question.call = Some("a");
    assert_eq!(choose(&question).unwrap().chosen_by, ChosenBy::Call);
    question.call = None;
    assert_eq!(choose(&question).unwrap().model, "my-sonnet", "planning raises haiku");
    question.env = Some("openai/gpt-x");
    let choice = choose(&question).unwrap();
    assert_eq!((choice.model.as_str(), choice.provider.as_str()), ("gpt-x", "openai"));
}

#[test]
fn planning_on_a_provider_of_ones_own_goes_by_its_settings() {
    let definition = ModelConfig::default();
    let aliases = BTreeMap::from([("sonnet".to_owned(), "my-sonnet".to_owned())]);
    let none = BTreeMap::new();
    for (planning, aliases, model, stays) in [
        (Planning::Yes, &aliases, "my-sonnet", false),
        (Planning::Yes, &none, "claude-haiku-4-5", true),
        (Planning::No, &none, "claude-haiku-4-5", false),
    ] {
        let question = ModelQuestion {
            env: None,
            call: None,
            call_provider: CallProvider::Unnamed,
            asked_by: AskedBy::Person,
            allowlist: &[],
            definition: &definition,
            default_model: None,
            parent: ModelRef {
                model: "claude-haiku-4-5",
                provider: "mine",
                reached: Reached::Elsewhere,
            },
            aliases,
            providers: &[],
            ready: &ready(),
            planning,
        };
        let choice = choose(&question).unwrap();
        assert_eq!((choice.model.as_str(), question.stays_small(&choice)), (model, stays));
        let called = ModelQuestion { call: Some("claude-haiku-4-5"), ..question };
        assert!(!called.stays_small(&choose(&called).unwrap()), "somebody asked for it");
    }
}

#[test]
fn the_allowlist_knows_a_model_with_the_provider_it_goes_to_anyway() {
    let definition = ModelConfig::default();
    let allowlist = ["a1", "gpt-9", "y/b", "org/c"].map(str::to_owned);
    let aliases = BTreeMap::from([("big".to_owned(), "x/a1".to_owned())]);
    let providers = ["x", "y", "openai", "anthropic"].map(str::to_owned);
    for (parent, call, allowed) in [
        ("x", "a1", true),
        ("x", "x/a1", true),
        ("x", "big", true),
        ("x", "y/b", true),
        ("x", "org/c", true),
        ("x", "x/org/c", true),
        // Elsewhere it is another model.
        ("x", "y/a1", false),
        ("y", "x/a1", false),
        ("x", "x/b", false),
        ("x", "org/a1", false),
        ("x", "openai/gpt-9", false),
        // A model goes home between the makers.
        ("anthropic", "openai/gpt-9", true),
        ("anthropic", "anthropic/gpt-9", false),
    ] {
        let choice = choose(&ModelQuestion {
            env: None,
            call: Some(call),
            call_provider: CallProvider::Unnamed,
            asked_by: AskedBy::Person,
            allowlist: &allowlist,
            definition: &definition,
            default_model: None,
            parent: ModelRef { model: "m", provider: parent, reached: Reached::AtHome },
            aliases: &aliases,
            providers: &providers,
            ready: &ready(),
            planning: Planning::No,
        });
        assert_eq!(choice.is_ok(), allowed, "{call} under {parent}: {choice:?}");
    }
}

#[test]
fn a_gateway_keeps_what_is_asked_of_it_unless_its_maker_is_set_up() {
    let all: &[&str] = &["anthropic", "openai", "gemini"];
    for (ready, wish, model, provider) in [
        (&["anthropic"][..], "gpt-x", "gpt-x", "anthropic"),
        (&["anthropic", "gemini"], "gpt-x", "gpt-x", "anthropic"),
        (all, "gpt-x", "gpt-x", "openai"),
        (all, "gemini-x", "gemini-x", "gemini"),
        (all, "m", "m", "anthropic"),
        (all, "own-model", "own-model", "anthropic"),
        (all, "sonnet", "claude-sonnet-5", "anthropic"),
    ] {
        let ready: Vec<String> = ready.iter().map(|id| (*id).to_owned()).collect();
        let definition =
            ModelConfig { model: Some(ModelSelector::new(wish)), ..ModelConfig::default() };
        let choice = choose(&ModelQuestion {
            env: None,
            call: None,
            call_provider: CallProvider::Unnamed,
            asked_by: AskedBy::Person,
            allowlist: &[],
            definition: &definition,
            default_model: None,
            parent: ModelRef { model: "m", provider: "anthropic", reached: Reached::Elsewhere },
            aliases: &BTreeMap::new(),
            providers: &[],
            ready: &ready,
            planning: Planning::No,
        })
        .unwrap();
        assert_eq!((choice.model.as_str(), choice.provider.as_str()), (model, provider));
    }
}

/// Where an agent that names a short name runs, under a parent and with these providers set up.
fn short_name(
    wish: &str,
    parent: (&str, &str),
    ready: &[&str],
    default: Option<&str>,
) -> ModelChoice {
    let definition =
        ModelConfig { model: Some(ModelSelector::new(wish)), ..ModelConfig::default() };
    let ready: Vec<String> = ready.iter().map(|id| (*id).to_owned()).collect();
    choose(&ModelQuestion {
        env: None,
        call: None,
        call_provider: CallProvider::Unnamed,
        asked_by: AskedBy::Person,
        allowlist: &[],
        definition: &definition,
        default_model: default,
        parent: ModelRef { provider: parent.0, model: parent.1, reached: Reached::AtHome },
        aliases: &BTreeMap::from([("opus".to_owned(), "my-opus".to_owned())]),
        providers: &[],
        ready: &ready,
        planning: Planning::No,
    })
    .unwrap()
}

#[test]
fn a_short_name_whose_maker_is_not_set_up_falls_through() {
    const GPT: (&str, &str) = ("openai", "gpt-x");
    const MINE: (&str, &str) = ("mine", "m");
    for (wish, parent, ready, expected) in [
        ("sonnet", GPT, &["openai"][..], ("openai", "gpt-x", true)),
        ("Haiku", GPT, &["openai"], ("openai", "gpt-x", true)),
        ("sonnet", MINE, &["mine"], ("mine", "m", true)),
        ("mini", ("anthropic", "claude-x"), &["anthropic"], ("anthropic", "claude-x", true)),
        // The maker is set up, whatever the parent runs on.
        ("sonnet", GPT, &["openai", "anthropic"], ("anthropic", "claude-sonnet-5", false)),
        ("sonnet", MINE, &["mine", "anthropic"], ("anthropic", "claude-sonnet-5", false)),
        // The user says what it means, or a model is named in full.
        ("opus", MINE, &["mine"], ("mine", "my-opus", false)),
        ("claude-sonnet-5", GPT, &["openai"], ("anthropic", "claude-sonnet-5", false)),
        // Nothing is set up at all: that is for the caller to say.
        ("sonnet", ("offline", "offline"), &[], ("offline", "sonnet", false)),
    ] {
        let choice = short_name(wish, parent, ready, None);
        let (provider, model, falls_through) = expected;
        assert_eq!((choice.provider.as_str(), choice.model.as_str()), (provider, model), "{wish}");
        assert_eq!(choice.passed_over.is_some(), falls_through, "{wish} under {parent:?}");
        let by = if falls_through { ChosenBy::Parent } else { ChosenBy::Definition };
        assert_eq!(choice.chosen_by, by, "{wish} under {parent:?}");
        assert_eq!(choice.asked.as_deref(), Some(wish));
    }
    let default = short_name("sonnet", GPT, &["openai"], Some("gpt-default"));
    assert_eq!((default.model.as_str(), default.chosen_by), ("gpt-default", ChosenBy::Default));
    assert_eq!(default.passed_over.as_deref(), Some("sonnet"));
}

#[test]
fn who_asks_by_a_short_name_gets_that_model_or_an_error_of_its_maker() {
    for (parent, wish, provider, model) in [
        (("mine", "m"), "sonnet", "anthropic", "claude-sonnet-5"),
        (("ollama", "m"), "Haiku", "anthropic", "claude-haiku-4-5"),
        (("anthropic", "claude-x"), "mini", "openai", "gpt-5.4-mini"),
        // Who names the provider, or uses a name of the settings, means what is written.
        (("mine", "m"), "mine/sonnet", "mine", "sonnet"),
        (("mine", "m"), "opus", "mine", "my-opus"),
    ] {
        let call = Place { parent, own_provider: None, call: Some(wish), model: None };
        let expected = (provider.to_owned(), model.to_owned(), ChosenBy::Call);
        assert_eq!(placed(&call, Planning::No), expected, "{wish} under {parent:?}");
    }
}

#[test]
fn a_short_name_that_an_agent_asks_for_falls_through_and_a_full_name_does_not() {
    let definition =
        ModelConfig { model: Some(ModelSelector::new("gpt-own")), ..ModelConfig::default() };
    let allowlist = ["sonnet".to_owned()];
    let ready = ["openai".to_owned()];
    let mut question = ModelQuestion {
        env: None,
        call: Some("sonnet"),
        call_provider: CallProvider::Unnamed,
        asked_by: AskedBy::Agent,
        allowlist: &[],
        definition: &ModelConfig::default(),
        default_model: None,
        parent: ModelRef { model: "gpt-x", provider: "openai", reached: Reached::AtHome },
        aliases: &BTreeMap::new(),
        providers: &[],
        ready: &ready,
        planning: Planning::No,
    };
    let told = |question: &ModelQuestion<'_>| {
        let choice = choose(question).unwrap();
        (choice.provider, choice.model, choice.chosen_by, choice.passed_over)
    };
    let passed =
        |model: &str, by| ("openai".to_owned(), model.to_owned(), by, Some("sonnet".to_owned()));
    assert_eq!(told(&question), passed("gpt-x", ChosenBy::Parent));
    question.allowlist = &allowlist;
    assert_eq!(told(&question), passed("gpt-x", ChosenBy::Parent), "the call may ask for it");
    question.default_model = Some("gpt-default");
    assert_eq!(told(&question), passed("gpt-default", ChosenBy::Default));
    question.definition = &definition;
    assert_eq!(told(&question), passed("gpt-own", ChosenBy::Definition));
    question.call = Some("opus");
    assert_eq!(choose(&question).unwrap_err().allowed, allowlist, "not on the list");
    question.allowlist = &[];
    question.call = Some("claude-sonnet-5");
    let full = ("anthropic".to_owned(), "claude-sonnet-5".to_owned(), ChosenBy::Call, None);
    assert_eq!(told(&question), full, "that is an error of its provider");
    let (call, asked_by) = (Some("sonnet"), AskedBy::Person);
    let person = told(&ModelQuestion { call, asked_by, ..question.clone() });
    assert_eq!((person.0.as_str(), person.2), ("anthropic", ChosenBy::Call));
    let both = ["openai".to_owned(), "anthropic".to_owned()];
    let set_up = told(&ModelQuestion { call, ready: &both, ..question });
    assert_eq!((set_up.0.as_str(), set_up.2, set_up.3), ("anthropic", ChosenBy::Call, None));
}
