//! Why a server is not there, in words for the user and the model.

use std::time::Duration;

use super::{entry::EntryError, oauth::AccessProblem};
use crate::{model::http::HttpError, process::LaunchError};

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// Its entry cannot be used.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// Its program was not started.
    #[error("{0}")]
    Launch(String),
    /// There is no HTTP client.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// It did not answer in time.
    #[error("it did not answer within {} s; `startup_timeout_sec` gives it more time{}", .limit.as_secs_f64(), wrote(.errors))]
    Silent {
        /// How long it was waited for.
        limit: Duration,
        /// The end of what it wrote to its error output.
        errors: String,
    },
    /// It answered, but not as a server does, or it ended.
    #[error("{problem}{}", wrote(.errors))]
    Handshake {
        /// What went wrong.
        problem: String,
        /// The end of what it wrote to its error output.
        errors: String,
    },
    /// The user has to log in.
    #[error("{0}")]
    LoginNeeded(String),
}

impl StartError {
    /// A server on the network that lets nobody in.
    pub(super) fn no_access(server: &str, problem: &AccessProblem) -> Self {
        let told = problem.told(server);
        if problem.needs_login() {
            Self::LoginNeeded(told)
        } else {
            Self::Handshake { problem: told, errors: String::new() }
        }
    }
}

impl From<LaunchError> for StartError {
    fn from(error: LaunchError) -> Self {
        Self::Launch(error.to_string())
    }
}

fn wrote(errors: &str) -> String {
    if errors.is_empty() { String::new() } else { format!("; it wrote: {errors}") }
}
