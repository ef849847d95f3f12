//! The documents say what the program does.

use std::{fs, path::Path};

use attache_kernel::{
    agent::definition::Code, model::catalogue::Home, rights::tool_name::BuiltinTool,
};

fn document(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_diagnostic_code_is_documented() {
    let text = document("docs/formats/diagnostics.md");
    for code in Code::ALL {
        assert!(
            text.contains(&format!("| `{code}` |")),
            "{code} is not in docs/formats/diagnostics.md"
        );
    }
    let rows = text.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, Code::ALL.len(), "a documented code that does not exist");
}

#[test]
fn every_tool_and_alias_is_documented() {
    let text = document("docs/formats/definition.md");
    for tool in BuiltinTool::ALL {
        assert!(text.contains(&format!("| `{}` |", tool.as_str())), "{}", tool.as_str());
        for alias in tool.aliases() {
            assert!(text.contains(&format!("`{alias}`")), "the alias {alias} is not documented");
        }
    }
}

#[test]
fn default_models_and_short_names_are_documented() {
    let text = document("docs/settings.md");
    for home in Home::ALL {
        let start = format!("| `{}` |", home.as_str());
        let row = text.lines().find(|line| line.starts_with(&start)).unwrap();
        assert!(row.contains(&format!("| `{}` |", home.default_model())), "{row}");
        for alias in home.aliases() {
            let said = format!("`{}` (`{}`)", alias.name, alias.model);
            let everywhere = ["sonnet", "opus", "haiku"].contains(&alias.name);
            let place = if everywhere { text.as_str() } else { row };
            assert!(place.contains(&said), "{said} is not documented for {}", home.as_str());
        }
    }
}

#[test]
fn every_key_the_parser_knows_is_documented() {
    let text = document("docs/formats/definition.md");
    let source = document("crates/kernel/src/agent/definition/keys.rs");
    let folded: String = text
        .chars()
        .filter(|letter| *letter != '_' && *letter != '-')
        .collect::<String>()
        .to_lowercase();
    let table =
        source.split("fn read_folded").nth(1).unwrap().split("fn marks_an_agent").next().unwrap();
    let keys: Vec<&str> = table.split('"').skip(1).step_by(2).collect();
    assert!(keys.len() > 80);
    for key in keys {
        assert!(
            folded.contains(&format!("`{key}`")),
            "the key {key} is not in docs/formats/definition.md"
        );
    }
}
