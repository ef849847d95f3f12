//! `docs/settings.md` says of every key what the schema says.

use std::fs;

use super::World;
use crate::settings::{
    layer::variables::variable_of,
    schema::{BuiltIn, Key, Keys, ROOT, Shape, fixed_keys},
};

fn documentation() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    fs::read_to_string(path).unwrap()
}

/// The row of a table that begins with the key.
fn row<'a>(documentation: &'a str, key: &str) -> &'a str {
    documentation
        .lines()
        .find(|line| line.starts_with(&format!("| `{key}` |")))
        .unwrap_or_else(|| panic!("no row for {key}"))
}

#[test]
fn every_key_that_is_shown_is_documented() {
    let documentation = documentation();
    for entry in World::new().load().settings.entries() {
        assert!(documentation.contains(&format!("`{}", entry.key)), "{}", entry.key);
    }
}

#[test]
fn every_key_has_a_row_with_type_default_and_what_a_project_may_do() {
    fn walk(documentation: &str, at: &str, keys: Keys) {
        for key in keys.iter() {
            described(documentation, &format!("{at}{}", key.name), key);
        }
    }
    fn described(documentation: &str, path: &str, key: &Key) {
        match key.shape {
            // A profile has the keys of the settings themselves.
            Shape::Named(_, Shape::Section(_)) if key.name == "profiles" => {}
            Shape::Section(keys) | Shape::Open(keys) => {
                walk(documentation, &format!("{path}."), keys);
            }
            Shape::Named(name, Shape::Section(keys) | Shape::Open(keys)) => {
                walk(documentation, &format!("{path}.<{name}>."), *keys);
            }
            Shape::Named(name, _) => {
                row(documentation, &format!("{path}.<{name}>"));
            }
            Shape::Value(kind) => {
                let row = row(documentation, path);
                assert!(row.contains(&kind.expected()), "type: {row}");
                let default = match key.built_in {
                    BuiltIn::Unset => "| – |".to_owned(),
                    BuiltIn::Text(text) => format!("| `\"{text}\"` |"),
                    BuiltIn::Whole(number) => format!("| `{number}` |"),
                    BuiltIn::Amount(amount) => format!("| `{amount:?}` |"),
                    BuiltIn::Switch(on) => format!("| `{on}` |"),
                    BuiltIn::EmptyList => "| `[]` |".to_owned(),
                };
                if !path.contains('<') {
                    assert!(row.contains(&default), "default {default}: {row}");
                    let label = format!("| {} |", key.project.label());
                    assert!(row.contains(&label), "project {label}: {row}");
                }
            }
        }
    }
    walk(&documentation(), "", ROOT);
}

#[test]
fn the_variables_in_the_documentation_exist() {
    let known: Vec<_> = fixed_keys().iter().map(|(path, _)| variable_of(path)).collect();
    let others =
        ["ATTACHE_HOME", "ATTACHE_MCP_TOKEN", "ATTACHE_PROVIDER", "ATTACHE_SUBAGENT_MODEL"];
    let documentation = documentation();
    let named = documentation.split('`').filter(|part| {
        part.starts_with("ATTACHE_")
            && part.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
    });
    for variable in named {
        assert!(
            known.iter().any(|known| known == variable)
                || others.contains(&variable)
                || variable == "ATTACHE_",
            "{variable}"
        );
    }
}

#[test]
fn every_example_loads_without_a_notice() {
    let documentation = documentation();
    let examples: Vec<_> = documentation
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        assert_eq!(World::new().user(example).notices(), [], "{example}");
    }
}
