//! Profiles: named sets of settings, one of which may be chosen.
//!
//! A profile's values lie over all files. One chosen on the command line lies over the environment
//! as well, since it was typed for this very run; one chosen by a file or by the environment does
//! not. `-c` and flags always win.

use attache_kernel::id::nearest;

use crate::settings::{
    error::SettingsError,
    origin::Origin,
    written::{KeyPath, Node, Table, Value},
};

/// A profile that was chosen.
pub(crate) struct Chosen {
    /// What it sets.
    pub(crate) table: Table,
    /// Who chose it.
    pub(crate) origin: Origin,
}

/// The profile that the layers choose, `all` of them merged.
pub(crate) fn chosen(all: &Table) -> Result<Option<Chosen>, SettingsError> {
    let Some(Node { value: Value::Text(name), origin }) = all.get("profile") else {
        return Ok(None);
    };
    let described = all.get("profiles").and_then(|node| match &node.value {
        Value::Table(profiles) => Some(profiles),
        _ => None,
    });
    let profile = described.and_then(|profiles| profiles.get(name));
    let Some(Node { value: Value::Table(table), .. }) = profile else {
        let known: Vec<String> = described
            .map(|profiles| profiles.keys().map(|name| KeyPath::shown(name)).collect())
            .unwrap_or_default();
        return Err(SettingsError::UnknownProfile {
            nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
            name: name.clone(),
            known,
            origin: origin.clone(),
        });
    };
    let table =
        table.iter().map(|(key, node)| (key.clone(), node.clone().in_profile(name))).collect();
    Ok(Some(Chosen { table, origin: origin.clone() }))
}
