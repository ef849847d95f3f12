//! How a profile is chosen, and what it overrides.

use serde_json::json;

use super::World;

const FAST: &str =
    "model = \"file\"\n[profiles.fast]\nmodel = \"fast\"\n[profiles.fast.subagents]\nmax_depth = 3";

#[test]
fn a_profile_lies_over_all_files() {
    for (world, origin) in [
        (World::new().user(FAST).project("model = \"project\"").profile("fast"), "file"),
        (World::new().user(&format!("profile = \"fast\"\n{FAST}")), "one line lower"),
        (World::new().user(FAST).variable("ATTACHE_PROFILE", "fast"), "file"),
        (World::new().user(FAST).typed("profile=fast"), "file"),
    ] {
        let line = if origin == "file" { 3 } else { 4 };
        let expected = format!("profile fast (home/.attache/config.toml:{line})");
        assert_eq!(world.shown("model"), (json!("fast"), expected));
        assert_eq!(world.shown("subagents.max_depth").0, json!(3));
        assert_eq!(world.shown("subagents.max_concurrent").0, json!(16));
        assert_eq!(world.shown("profile").0, json!("fast"));
        assert_eq!(world.shown("profiles").0, json!(["fast"]));
    }
}

#[test]
fn a_typed_profile_lies_over_the_environment_and_another_does_not() {
    let chosen_by_file = World::new()
        .user(&format!("profile = \"fast\"\n{FAST}"))
        .variable("ATTACHE_MODEL", "variable");
    assert_eq!(chosen_by_file.shown("model").0, json!("variable"));
    let typed = chosen_by_file.profile("fast");
    assert_eq!(typed.shown("model").0, json!("fast"));
    let typed = typed.typed("model=typed");
    assert_eq!(typed.shown("model").0, json!("typed"));
    let typed = typed.flag("--model", "model", "flag");
    assert_eq!(typed.shown("model").0, json!("flag"));
}

#[test]
fn the_flag_chooses_over_all_others() {
    let profiles = "profile = \"a\"\n[profiles.a]\nmodel = \"a\"\n[profiles.b]\nmodel = \"b\"\n\
                    [profiles.c]\nmodel = \"c\"\n[profiles.d]\nmodel = \"d\"";
    let world = World::new().user(profiles);
    assert_eq!(world.shown("model").0, json!("a"));
    let world = world.variable("ATTACHE_PROFILE", "b");
    assert_eq!(world.shown("model").0, json!("b"));
    let world = world.typed("profile=c");
    assert_eq!(world.shown("model").0, json!("c"));
    let world = world.profile("d");
    assert_eq!(world.shown("model").0, json!("d"));
    assert_eq!(world.shown("profile"), (json!("d"), "--profile".to_owned()));
}

#[test]
fn a_profile_is_merged_from_all_files() {
    let world = World::new()
        .codex("[profiles.p]\nmodel = \"codex\"\nmodel_provider = \"codex\"")
        .user("[profiles.p]\nmodel = \"user\"")
        .profile("p");
    assert_eq!(world.shown("model").0, json!("user"));
    assert_eq!(
        world.shown("model_provider"),
        (json!("codex"), "profile p (home/.codex/config.toml:3)".to_owned())
    );
}

#[test]
fn an_unknown_profile_is_an_error_that_lists_the_known_ones() {
    let world = World::new().user("[profiles.fast]\n[profiles.slow]").profile("fats");
    assert_eq!(
        world.error(),
        (
            "--profile: there is no profile `fats`".into(),
            "did you mean `fast`? known profiles: fast, slow".into()
        )
    );
    let world = World::new().user("\nprofile = \"x\"");
    assert_eq!(
        world.error(),
        (
            "home/.attache/config.toml:2:11: there is no profile `x`".into(),
            "no profile is defined; write [profiles.NAME]".into()
        )
    );
}

#[test]
fn a_profile_has_no_profiles() {
    let world = World::new().user("[profiles.a]\nprofile = \"b\"\n[profiles.a.profiles.b]");
    let slips = world.slips();
    assert!(slips[0].ends_with(":2: there is no setting `profiles.a.profile`"), "{slips:?}");
    assert!(slips[1].ends_with(":3: there is no setting `profiles.a.profiles`"), "{slips:?}");
}
