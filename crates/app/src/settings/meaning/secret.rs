//! A value that must not be shown.

use std::fmt;

/// A value that must not be shown: it can be used, but not printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// What is shown in its place.
    pub(crate) const MASK: &'static str = "***";

    /// A secret.
    pub(crate) fn new(value: String) -> Self {
        Self(value)
    }

    /// The value itself, to be sent or handed to a process.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Self::MASK)
    }
}
