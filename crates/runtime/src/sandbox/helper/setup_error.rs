//! Why a helper could not set up the sandbox. The command is not started then.

use std::{io, path::Path};

/// A step that failed, and what the system said.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}: {source}")]
pub(super) struct SetupError {
    step: String,
    #[source]
    source: io::Error,
}

impl SetupError {
    pub(super) fn new(step: impl Into<String>, source: io::Error) -> Self {
        Self { step: step.into(), source }
    }
}

/// Names the step that failed.
pub(super) trait Step<T> {
    fn step(self, step: &str) -> Result<T, SetupError>;

    /// The step concerns a path.
    fn step_at(self, step: &str, path: &Path) -> Result<T, SetupError>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, step: &str) -> Result<T, SetupError> {
        self.map_err(|error| SetupError::new(step, error.into()))
    }

    fn step_at(self, step: &str, path: &Path) -> Result<T, SetupError> {
        self.map_err(|error| SetupError::new(format!("{step} {}", path.display()), error.into()))
    }
}
