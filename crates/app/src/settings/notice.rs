//! A notice: something in the settings that is ignored, and what to do about it.
//!
//! A notice never stops the program; the caller prints each once, on stderr.

use std::path::{Path, PathBuf};

use super::{error::SettingsError, layer::check::Unknown};

/// How many keys a message names; a file may have thousands that mean nothing here.
const MOST_NAMED: usize = 40;

/// Something that is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The file; `None` for the environment.
    pub(crate) file: Option<PathBuf>,
    /// The keys, or the variables, it is about.
    pub(crate) keys: Vec<String>,
    /// What happened, as a sentence fragment.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

impl Notice {
    /// Keys of a file that do not exist.
    pub(super) fn unknown_keys(file: &Path, unknown: &[Unknown]) -> Option<Self> {
        let named = unknown.iter().map(placed);
        (!unknown.is_empty()).then(|| Self {
            file: Some(file.to_owned()),
            keys: keys(unknown),
            message: format!("unknown and ignored: {}", listed(named)),
            hint: meant(unknown),
        })
    }

    /// Keys of an untrusted project's file that do not exist and may be restrictions.
    pub(super) fn unclear_restrictions(file: &Path, unknown: &[Unknown]) -> Option<Self> {
        let message = "not understood, and perhaps a restriction, so every call is asked about";
        Some(Self {
            message: format!("{message}: {}", listed(unknown.iter().map(placed))),
            ..Self::unknown_keys(file, unknown)?
        })
    }

    /// A variable that looks like a setting and is not one.
    pub(super) fn unknown_variable(variable: &str, nearest: Option<String>) -> Self {
        Self {
            file: None,
            keys: vec![variable.to_owned()],
            message: format!("the environment variable {variable} is not a setting and is ignored"),
            hint: nearest.map(|nearest| format!("did you mean {nearest}?")),
        }
    }

    /// Keys that an untrusted project may not set, or not to this value.
    pub(super) fn withheld_keys(file: &Path, keys: Vec<String>) -> Option<Self> {
        let named = keys.iter().map(|key| format!("`{key}`"));
        let message = format!("ignored until the project is trusted: {}", listed(named));
        (!keys.is_empty()).then(|| Self {
            file: Some(file.to_owned()),
            keys,
            message,
            hint: Some("attache trust --project".into()),
        })
    }

    /// A file of an untrusted project that cannot be used.
    pub(super) fn broken_file(error: &SettingsError) -> Self {
        Self {
            // The message names the place.
            file: None,
            keys: Vec::new(),
            message: format!("the project's settings file is ignored: {error}"),
            hint: error.hint(),
        }
    }

    /// The same of a file that may hold restrictions.
    pub(super) fn broken_settings(error: &SettingsError) -> Self {
        let notice = Self::broken_file(error);
        let so = "every call is asked about, since what it denies is not known";
        Self { message: format!("{}; {so}", notice.message), ..notice }
    }

    /// An approval policy of Codex that does not exist here.
    pub(super) fn foreign_policy(file: &Path, policy: &str) -> Self {
        Self {
            file: Some(file.to_owned()),
            keys: vec!["approval_policy".to_owned()],
            message: format!("`approval_policy` {policy} is not known here, so the usual holds"),
            hint: Some("attache config set approval_policy on-request".into()),
        }
    }

    /// An MCP file that has keys, but not the one that counts.
    pub(super) fn no_servers(file: &Path, keys: Vec<String>) -> Option<Self> {
        (!keys.is_empty()).then(|| Self {
            file: Some(file.to_owned()),
            keys,
            message: "it has no `mcpServers`, so it is not used".into(),
            hint: Some("put the servers under \"mcpServers\"".into()),
        })
    }
}

fn keys(unknown: &[Unknown]) -> Vec<String> {
    unknown.iter().map(|unknown| unknown.key.to_string()).collect()
}

/// A key with its line.
fn placed(unknown: &Unknown) -> String {
    match unknown.origin.place() {
        Some(place) => format!("`{}` (line {})", unknown.key, place.line),
        None => format!("`{}`", unknown.key),
    }
}

/// What was probably meant by unknown keys.
fn meant(unknown: &[Unknown]) -> Option<String> {
    let mut meant = unknown
        .iter()
        .filter_map(|unknown| {
            let nearest = unknown.nearest.as_ref()?;
            Some(format!("`{nearest}` for `{}`", unknown.key))
        })
        .peekable();
    meant.peek()?;
    Some(format!("did you mean {}?", listed(meant)))
}

fn listed(mut names: impl Iterator<Item = String>) -> String {
    let named = names.by_ref().take(MOST_NAMED).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
