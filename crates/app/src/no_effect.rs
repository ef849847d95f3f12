//! What is accepted today and does nothing yet: one table of settings, one of definition keys.
//!
//! Nothing is ignored in silence. These were written for other programs, too, so each gives a notice: MCP
//! servers, and keys of agent files. Remove a line with the change that gives it an effect.

use attache_kernel::agent::definition::{Definition, ExecutionMode, Scope};

use crate::settings::{Entry, Settings};

/// Settings without an effect that give a notice, and why. A key stands for everything below it.
const TOLD: [(&str, &str); 1] = [("mcp_servers", "MCP servers are not started yet")];

/// A key, whether a definition uses it, and why it does nothing.
type DefinitionKey = (&'static str, fn(&Definition) -> bool, &'static str);

/// Keys of a definition without an effect.
const DEFINITION_KEYS: [DefinitionKey; 5] = [
    (
        "executionMode",
        |it| it.execution_mode != ExecutionMode::default(),
        "every agent runs in this process",
    ),
    ("hooks", |it| it.hooks.is_some(), "hooks are not run"),
    ("skills", |it| !it.skills.is_empty(), "skills are not loaded"),
    ("memory", |it| it.memory.is_some(), "nothing is remembered between runs"),
    ("mcpServers", |it| !it.mcp_servers.is_empty(), "MCP servers are not started"),
];

/// The settings of a table that were set on purpose, a sentence for each.
fn set_in_vain(table: &[(&str, &str)], settings: &Settings) -> Vec<String> {
    let entries = settings.entries();
    let sentence = |(key, why): &(&str, &str)| {
        let is_meant = |entry: &&Entry| is_below(&entry.key, key);
        let mut set = entries.iter().filter(is_meant).filter(|entry| entry.is_set_on_purpose());
        let origin = &set.next()?.origin;
        Some(format!("`{key}` has no effect yet: {why} (set by {origin})"))
    };
    table.iter().filter_map(sentence).collect()
}

fn is_below(key: &str, known: &str) -> bool {
    key == known || key.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'))
}

/// What the settings say without an effect, to be told.
pub(crate) fn of_settings(settings: &Settings) -> Vec<String> {
    set_in_vain(&TOLD, settings)
}

/// Why a setting has no effect yet, if it has none.
pub(crate) fn of_setting(key: &str) -> Option<&'static str> {
    TOLD.iter().find(|(known, _)| is_below(key, known)).map(|(_, why)| *why)
}

/// What a definition says without an effect, a sentence for each key.
pub(crate) fn of_definition(definition: &Definition) -> Vec<String> {
    if definition.source == Scope::Builtin {
        // They are written for what is there, and for what comes next.
        return Vec::new();
    }
    let used = DEFINITION_KEYS.iter().filter(|(_, is_used, _)| is_used(definition));
    used.map(|(key, _, why)| format!("`{key}` has no effect yet: {why}")).collect()
}
