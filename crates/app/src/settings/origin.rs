//! Where a value comes from: the layer, and the place in it.
//!
//! Every value that was written carries its origin from the moment it is read, so that a mistake can
//! be pointed at and `attache config` can say who set what.

use std::{fmt, path::Path, sync::Arc};

use serde::{Serialize, Serializer};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The built-in default.
    BuiltIn,
    /// A file.
    File(Place),
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A `-c KEY=VALUE` on the command line.
    Override,
    /// A flag of its own on the command line.
    Flag {
        /// The flag as it is typed, e.g. `--model`.
        name: &'static str,
    },
    /// A profile that was chosen.
    Profile {
        /// The profile's name.
        name: String,
        /// Where the profile says it.
        within: Box<Self>,
    },
}

impl Origin {
    /// The place in a file, if it is one.
    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            Self::File(place) => Some(place),
            Self::Profile { within, .. } => within.place(),
            Self::BuiltIn | Self::Environment { .. } | Self::Override | Self::Flag { .. } => None,
        }
    }

    /// Whether it was typed on the command line.
    pub(crate) fn is_command_line(&self) -> bool {
        match self {
            Self::Override | Self::Flag { .. } => true,
            Self::BuiltIn | Self::File(_) | Self::Environment { .. } | Self::Profile { .. } => {
                false
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => formatter.write_str("built-in"),
            Self::File(Place { path, line, .. }) => write!(formatter, "{}:{line}", path.display()),
            Self::Environment { variable } => write!(formatter, "environment {variable}"),
            Self::Override => formatter.write_str("-c"),
            Self::Flag { name } => formatter.write_str(name),
            Self::Profile { name, within } => write!(formatter, "profile {name} ({within})"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A place in a file; line and column count from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file.
    pub(crate) path: Arc<Path>,
    /// The line.
    pub(crate) line: u32,
    /// The column.
    pub(crate) column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}
