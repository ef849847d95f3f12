//! The environment as a layer.
//!
//! Every setting with a fixed name has a variable: `ATTACHE_`, the key in capitals, `__` for each
//! dot. An empty variable counts as unset. A variable with our prefix that is not a setting gives a
//! notice, so that a slip is seen; one that looks like a restriction is an error.

use attache_kernel::id::nearest;

use super::{
    check::{Reading, Unknown},
    merge::lay_over,
};
use crate::{
    environment::Environment,
    settings::{
        error::SettingsError,
        findings::Findings,
        notice::Notice,
        origin::Origin,
        schema::{self, Kind, Shape},
        written::{KeyPath, Node, Table, Value, toml},
    },
};

const PREFIX: &str = "ATTACHE_";

/// Variables that begin like settings and are read elsewhere.
const OTHERS: [&str; 4] =
    ["ATTACHE_HOME", "ATTACHE_LOG", "ATTACHE_MCP_TOKEN", "ATTACHE_SUBAGENT_MODEL"];

/// Another name for a variable, like the flag of that name.
const ALIASES: [(&str, &str); 1] = [("ATTACHE_PROVIDER", "ATTACHE_MODEL_PROVIDER")];

/// The variable of a key.
pub(crate) fn variable_of(key: &KeyPath) -> String {
    format!("{PREFIX}{}", key.names().join("__").to_uppercase())
}

/// What the environment sets.
pub(crate) fn layer(
    environment: &Environment,
    reading: &Reading<'_>,
    findings: &mut Findings,
) -> Result<Table, SettingsError> {
    let known: Vec<_> = schema::fixed_keys()
        .into_iter()
        .map(|(path, key)| (variable_of(&path), path, key))
        .collect();
    let mut table = Table::new();
    for (variable, text) in aliases_first(environment) {
        if text.is_empty() || OTHERS.contains(&variable) {
            continue;
        }
        let name = full_name(variable);
        let Some((_, path, key)) = known.iter().find(|(known, ..)| known == name) else {
            let nearest = nearest_variable(variable, known.iter().map(|(name, ..)| name.as_str()));
            let written = variable.strip_prefix(PREFIX).unwrap_or(variable).to_lowercase();
            let key = written.split("__").map(str::to_owned).collect();
            let unknown = Unknown {
                key: KeyPath::new(key),
                nearest,
                origin: Origin::Environment { variable: variable.to_owned() },
            };
            if unknown.may_restrict() {
                findings.slipped(vec![unknown]);
            } else {
                findings.notices.push(Notice::unknown_variable(variable, unknown.nearest));
            }
            continue;
        };
        let origin = Origin::Environment { variable: variable.to_owned() };
        let written = path.clone().table_of(value(text, key.shape, &origin));
        let checked = reading.check(written)?;
        findings.slipped(checked.unknown);
        lay_over(&mut table, checked.table);
    }
    Ok(table)
}

/// The variables with our prefix; a variable's other name comes before the variable, which wins.
fn aliases_first(environment: &Environment) -> Vec<(&str, &str)> {
    let mut variables: Vec<_> = environment.starting_with(PREFIX).collect();
    variables.sort_by_key(|(variable, _)| full_name(variable) == *variable);
    variables
}

fn full_name(variable: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == variable).map_or(variable, |(_, name)| name)
}

/// A variable holds text: only where a setting is not text is it read as TOML.
fn value(text: &str, shape: Shape, origin: &Origin) -> Node {
    let as_text = || Node::new(Value::Text(text.to_owned()), origin.clone());
    match shape {
        Shape::Value(Kind::Text | Kind::Word(_) | Kind::Path) => as_text(),
        _ => toml::read_value(text, origin).unwrap_or_else(as_text),
    }
}

/// The prefix is left out of the comparison: it would make everything alike.
fn nearest_variable<'a>(variable: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let wanted = variable.strip_prefix(PREFIX).unwrap_or(variable);
    let bare = known.map(|name| name.strip_prefix(PREFIX).unwrap_or(name));
    nearest(wanted, bare).map(|meant| format!("{PREFIX}{meant}"))
}
