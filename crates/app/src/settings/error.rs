//! What is wrong with the settings, where, and what to do about it.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::origin::{Origin, Place};

/// Why the settings could not be loaded.
#[derive(Debug, Error)]
pub(crate) enum SettingsError {
    /// The file is there and cannot be read.
    #[error("cannot read the settings file {path}", path = path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It is not a regular file.
    #[error("{path} is not a regular file", path = path.display())]
    NotAFile { path: PathBuf },
    /// The file is larger than the limit.
    #[error("{path} is larger than {limit} bytes", path = path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    /// The file is not text, or not of its format.
    #[error("{place}: not valid {format}: {message}")]
    Syntax { place: Place, format: &'static str, message: String },
    /// A known key with a value it cannot have.
    #[error("{}`{key}` must be {expected}, not {found}", at(origin))]
    WrongValue {
        key: String,
        expected: String,
        found: String,
        origin: Box<Origin>,
        nearest: Option<String>,
    },
    /// A path in a list that would do nothing.
    #[error("{}`{path}` in `{key}` {unusable}", at(origin))]
    UnusablePath { key: String, path: String, unusable: UnusablePath, origin: Box<Origin> },
    /// A key of the user's own settings that does not exist.
    #[error("{origin}: there is no setting `{key}`")]
    UnknownKey { key: String, nearest: Option<String>, origin: Origin },
    /// A rule that denies or asks, and cannot be read.
    #[error("{origin}: `{entry}` in `permissions.{list}` is not a rule: {problem}")]
    BadRule { list: &'static str, entry: String, problem: String, origin: Origin },
    /// A `-c` that is not `KEY=VALUE`.
    #[error("-c {text}: {problem}")]
    MalformedOverride { text: String, problem: &'static str },
    /// A value that is to be written down is empty.
    #[error("the value of `{key}` is empty")]
    Empty { key: String },
    /// A key that cannot be parsed.
    #[error("`{key}` is not a key: {problem}")]
    MalformedKey { key: String, problem: &'static str },
    /// The settings file cannot be changed.
    #[error("cannot change {path}: {problem}", path = path.display())]
    Unwritable { path: PathBuf, problem: String },
    /// The disk refuses the change.
    #[error("cannot change {path}: {source}", path = path.display())]
    Unwritten { path: PathBuf, source: io::Error },
    /// Somebody else changed the file while it was edited.
    #[error("{path} was changed by another program meanwhile", path = path.display())]
    ChangedMeanwhile { path: PathBuf },
    /// The chosen profile does not exist.
    #[error("{}there is no profile `{name}`", at(origin))]
    UnknownProfile { name: String, known: Vec<String>, nearest: Option<String>, origin: Origin },
    /// A key without a value that must have one; the built-in layer gives it.
    #[error("`{key}` has no value")]
    Unset { key: String },
}

/// Why a path would do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum UnusablePath {
    #[error("is empty")]
    Empty,
    #[error("is a pattern, and only paths count there")]
    Pattern,
    #[error("is relative, and these settings hold in every project")]
    Relative,
    #[error("is the whole disk, which cannot be opened to commands in the sandbox")]
    Everything,
}

impl UnusablePath {
    fn hint(self, key: &str) -> String {
        match self {
            Self::Empty => "remove it, or write a path".into(),
            Self::Pattern if key.ends_with("sandbox_deny_read") => {
                "name files or folders; patterns can be rules: [permissions] deny = [\"Read(*.pem)\"]".into()
            }
            Self::Pattern => "name folders".into(),
            Self::Relative => {
                "write an absolute path or ~/…; a project's own .attache/config.toml takes relative paths".into()
            }
            Self::Everything => {
                "name the folders that are needed, or use sandbox_mode = \"danger-full-access\"".into()
            }
        }
    }
}

impl SettingsError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { .. } => Some("check the file's permissions, or remove it".into()),
            Self::NotAFile { path } => {
                Some(format!("put a regular file at {}, or remove it", path.display()))
            }
            Self::TooLarge { .. } => Some("check that this is the right file".into()),
            Self::Syntax { place, .. } => Some(format!("correct line {}", place.line)),
            Self::WrongValue { expected, origin, nearest, .. } => Some(match nearest {
                Some(nearest) => format!("did you mean \"{nearest}\"?"),
                None => correction(origin, expected),
            }),
            Self::UnusablePath { key, unusable, .. } => Some(unusable.hint(key)),
            Self::UnknownKey { nearest, .. } => Some(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => "`attache config` lists every setting".into(),
            }),
            Self::BadRule { .. } => Some("correct the rule, or remove it".into()),
            Self::MalformedOverride { .. } => {
                Some("write it as KEY=VALUE, e.g. -c subagents.default_max_turns=20".into())
            }
            Self::UnknownProfile { known, nearest, .. } => {
                Some(profiles(known, nearest.as_deref()))
            }
            Self::Empty { key } => Some(format!("`attache config unset {key}` removes it")),
            Self::MalformedKey { .. } => Some("`attache config` lists every setting".into()),
            Self::Unwritable { .. } => Some("`attache config edit` opens the file".into()),
            Self::Unwritten { .. } => {
                Some("make its folder writable, or set ATTACHE_HOME to another folder".into())
            }
            Self::ChangedMeanwhile { .. } => Some("make the changes again".into()),
            Self::Unset { .. } => None,
        }
    }
}

/// The beginning of a message about something that was written there.
fn at(origin: &Origin) -> String {
    match origin.place() {
        Some(place) => format!("{place}: "),
        None => format!("{origin}: "),
    }
}

fn correction(origin: &Origin, expected: &str) -> String {
    match origin {
        Origin::Environment { variable } => format!("set {variable} to {expected}, or unset it"),
        Origin::Flag { name } if name.starts_with("--") => format!("give {name} {expected}"),
        Origin::Override | Origin::Flag { .. } => format!("write {expected}"),
        Origin::BuiltIn | Origin::File(_) | Origin::Profile { .. } => {
            format!("write {expected} there, or remove the key")
        }
    }
}

fn profiles(known: &[String], nearest: Option<&str>) -> String {
    let listed = known.join(", ");
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`? known profiles: {listed}"),
        None if known.is_empty() => "no profile is defined; write [profiles.NAME]".into(),
        None => format!("known profiles: {listed}"),
    }
}
