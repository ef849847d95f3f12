//! Why a login or the renewal of a token failed, with what to do about it.

use super::logins::LoginsError;
use crate::model::http::HttpError;

/// Why there is no login.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// An address that must not be used.
    #[error("{what} `{address}` is not used: {problem}")]
    Address {
        /// Which one it is.
        what: &'static str,
        /// The address, without anything secret.
        address: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The server does not describe how to log in.
    #[error("it does not say how to log in: no OAuth metadata at its address")]
    NoOAuth,
    /// The server answers without a login.
    #[error("it needs no login: it answers without a token and has no OAuth metadata")]
    NotNeeded,
    /// The metadata is for another server.
    #[error("its metadata is for another server: {found}")]
    OtherResource {
        /// The server it names.
        found: String,
    },
    /// The authorization server calls itself by another name.
    #[error("the authorization server names `{found}` as its issuer, not `{expected}`")]
    OtherIssuer {
        /// The name it has.
        found: String,
        /// The name it should have.
        expected: String,
    },
    /// The authorization server does not support PKCE with S256.
    #[error("the authorization server does not support PKCE (S256)")]
    NoPkce,
    /// Clients cannot register.
    #[error("the authorization server registers no clients")]
    NoRegistration,
    /// An answer that is not what it should be.
    #[error("{what} answers with {problem}")]
    Garbage {
        /// Who answered.
        what: &'static str,
        /// What is wrong with the answer.
        problem: String,
    },
    /// A request was refused.
    #[error("{what} refuses: {problem}")]
    Refused {
        /// Who refused.
        what: &'static str,
        /// Why.
        problem: String,
    },
    /// The refresh token or the code is no longer valid.
    #[error("the login has expired or was revoked: {problem}")]
    Expired {
        /// What the server said.
        problem: String,
    },
    /// The user said no, or the authorization server did.
    #[error("the authorization was refused: {problem}")]
    Denied {
        /// What the server said.
        problem: String,
    },
    /// The answer belongs to another login.
    #[error("that answer does not belong to this login: {problem}")]
    OtherLogin {
        /// What is different.
        problem: &'static str,
    },
    /// A server cannot be reached.
    #[error("cannot reach {what}: {problem}")]
    Unreachable {
        /// Which one.
        what: &'static str,
        /// Why.
        problem: String,
    },
    /// There is no HTTP client.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The login cannot be stored or read.
    #[error(transparent)]
    Logins(#[from] LoginsError),
    /// No port for the answer of the browser.
    #[error("cannot listen on 127.0.0.1:{port} for the answer of the browser: {problem}")]
    Listen {
        /// The port; 0 is any.
        port: u16,
        /// Why.
        problem: String,
    },
}

impl LoginError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoOAuth => "get a token from its operator and name its variable as \
                 `bearer_token_env_var`, or set `http_headers`"
                .to_owned(),
            Self::NoRegistration => "register a client by hand and set `oauth.client_id` (and \
                 `oauth.callback_port`) in its entry"
                .to_owned(),
            Self::OtherLogin { .. } => {
                "run the login again and use the address it prints".to_owned()
            }
            Self::Expired { .. } => "log in again".to_owned(),
            Self::Listen { .. } => "free the port, or change `oauth.callback_port`".to_owned(),
            Self::Logins(error) => return Some(error.hint()),
            _ => return None,
        })
    }
}
