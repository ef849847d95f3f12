//! A failure: what was wrong, why, what to do about it, and the exit code it means.

use std::fmt;

use serde_json::json;

use crate::{
    print::palette::{Tone, paint, unpainted},
    setup::OutputFormat,
};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Success,
    /// The work failed, or ended without its goal.
    Unsuccessful,
    /// The user stopped it.
    Interrupted,
    /// The command line, the settings or a definition is wrong.
    Usage,
}

impl Exit {
    /// The number the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Unsuccessful => 1,
            Self::Usage => 2,
            Self::Interrupted => 130,
        }
    }
}

/// Why a command cannot go on.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
}

impl Failure {
    /// Something the caller can fix: a wrong word, a wrong file.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), causes: Vec::new(), hints: Vec::new() }
    }

    /// Something outside of the caller's control failed.
    pub(crate) fn unsuccessful(message: impl Into<String>) -> Self {
        Self { exit: Exit::Unsuccessful, ..Self::usage(message) }
    }

    /// The same with the errors behind it.
    #[must_use]
    pub(crate) fn because(mut self, error: &dyn std::error::Error) -> Self {
        self.causes.push(error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            self.causes.push(cause.to_string());
            source = cause.source();
        }
        self
    }

    /// The same with advice.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What was wrong and why, in one line.
    pub(crate) fn message(&self) -> String {
        let parts = std::iter::once(&self.message).chain(&self.causes);
        parts.map(String::as_str).collect::<Vec<_>>().join(": ")
    }

    /// What to do about it.
    pub(crate) fn advice(&self) -> String {
        self.hints.join("; ")
    }

    /// The failure as it is told on stderr: a line and its hints, or with `--json` one object.
    pub(crate) fn told(&self, format: OutputFormat) -> String {
        match format {
            OutputFormat::Text => format!("{} {self}", paint(Tone::Bad, "error:")),
            OutputFormat::Json => {
                let hint = Some(self.advice()).filter(|hint| !hint.is_empty());
                json!({"error": {"message": unpainted(&self.message()), "hint": hint}}).to_string()
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.message)?;
        for cause in &self.causes {
            write!(formatter, "\n  because: {cause}")?;
        }
        for hint in &self.hints {
            write!(formatter, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}
