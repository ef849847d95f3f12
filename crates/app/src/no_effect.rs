//! What is accepted today and does nothing yet: one table of settings, one of definition keys.
//!
//! Nothing is ignored in silence: a value other than the default gives a notice. Remove a line with the change
//! that gives it an effect.

use attache_kernel::agent::definition::{Definition, ExecutionMode, Scope};

use crate::settings::{Entry, Settings};

/// Settings without an effect, and why. A key stands for everything below it.
const SETTINGS: [(&str, &str); 5] = [
    ("mcp_servers", "MCP servers are not started yet"),
    ("tools.subagent_tools", "there are no delegation tools yet"),
    ("subagents.max_depth", "agents cannot start agents yet"),
    ("subagents.max_concurrent", "only one agent runs at a time yet"),
    ("subagents.auto_route", "prompts are not routed yet"),
];

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

/// What the settings say without an effect, a sentence for each reason.
pub(crate) fn of_settings(settings: &Settings) -> Vec<String> {
    let entries = settings.entries();
    SETTINGS
        .iter()
        .filter_map(|(key, why)| {
            let below = format!("{key}.");
            let is_meant = |entry: &&Entry| entry.key == *key || entry.key.starts_with(&below);
            let mut set = entries.iter().filter(is_meant).filter(|entry| entry.is_set_on_purpose());
            let origin = &set.next()?.origin;
            Some(format!("`{key}` has no effect yet: {why} (set by {origin})"))
        })
        .collect()
}

/// Why a setting has no effect yet, if it has none.
pub(crate) fn of_setting(key: &str) -> Option<&'static str> {
    let is_meant = |known: &str| key == known || key.starts_with(&format!("{known}."));
    SETTINGS.iter().find(|(known, _)| is_meant(known)).map(|(_, why)| *why)
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
