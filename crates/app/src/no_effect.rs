//! Keys of agent files that are accepted today and do nothing yet.
//!
//! Nothing is ignored in silence. Agent files are written for other programs, too, so each key gives a
//! notice. Remove a line with the change that gives it an effect.

use attache_kernel::agent::definition::{Definition, Scope};

/// A key, whether a definition uses it, and why it does nothing.
type DefinitionKey = (&'static str, fn(&Definition) -> bool, &'static str);

/// Keys of a definition without an effect.
const DEFINITION_KEYS: [DefinitionKey; 3] = [
    ("hooks", |it| it.hooks.is_some(), "hooks are not run"),
    ("skills", |it| !it.skills.is_empty(), "skills are not loaded"),
    ("memory", |it| it.memory.is_some(), "nothing is remembered between runs"),
];

/// What a definition says without an effect, a sentence for each key.
pub(crate) fn of_definition(definition: &Definition) -> Vec<String> {
    if definition.source == Scope::Builtin {
        // They are written for what is there, and for what comes next.
        return Vec::new();
    }
    let used = DEFINITION_KEYS.iter().filter(|(_, is_used, _)| is_used(definition));
    used.map(|(key, _, why)| format!("`{key}` has no effect yet: {why}")).collect()
}
