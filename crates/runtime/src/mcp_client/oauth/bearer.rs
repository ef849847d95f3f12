//! The token for one server's requests: taken from the stored login, renewed before it expires and once when it is
//! refused.
//!
//! Invariants: at most one renewal is under way, in all processes. A refresh token that was rejected for good is
//! removed. What a server says is masked of the tokens it was sent.

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::SignedDuration;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync;

use super::{
    error::LoginError,
    grant::{Grant, tokens},
    logins::{Login, Logins},
    reach::Reach,
};
use crate::{clock, mcp_client::clean_text::clean_line, model::http::HttpClient, store::Secrets};

/// A token that expires within this time is renewed first.
const SOON: Duration = Duration::from_secs(30);

/// The token of one server.
#[derive(Debug)]
pub(in crate::mcp_client) struct Bearer {
    address: Url,
    logins: Logins,
    http: HttpClient,
    /// The login as it was last read.
    login: sync::Mutex<Option<Login>>,
    seen: Mutex<Seen>,
}

/// What is known apart from the tokens.
#[derive(Debug, Default)]
struct Seen {
    secrets: Secrets,
    problem: Option<AccessProblem>,
}

/// Why a server lets nobody in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mcp_client) enum AccessProblem {
    /// Nobody has logged in.
    NoLogin,
    /// The login is not valid any more.
    Expired(String),
    /// The login allows too little.
    Scope(Option<String>),
    /// The token cannot be renewed just now.
    NotRenewed(String),
}

impl AccessProblem {
    /// What is wrong and what to do, for the user and the model.
    pub(in crate::mcp_client) fn told(&self, server: &str) -> String {
        let command = format!("`attache mcp login {server}`");
        match self {
            Self::NoLogin => format!(
                "login needed (401): run {command}; for a server without OAuth, put a token into an environment \
                 variable and name it as `bearer_token_env_var` in its entry"
            ),
            Self::Expired(why) => format!("login needed: {why}; run {command}"),
            Self::Scope(Some(scopes)) => format!(
                "its login does not allow this; run `attache mcp login {server} --scopes {}`",
                scopes.split_whitespace().collect::<Vec<_>>().join(",")
            ),
            Self::Scope(None) => format!("its login does not allow this; run {command}"),
            Self::NotRenewed(why) => {
                format!(
                    "its token has expired and cannot be renewed now: {why}; try again, or run {command}"
                )
            }
        }
    }

    /// Whether a new login is the remedy.
    pub(in crate::mcp_client) fn needs_login(&self) -> bool {
        !matches!(self, Self::NotRenewed(_))
    }
}

impl Bearer {
    pub(in crate::mcp_client) fn new(address: Url, logins: Logins, http: HttpClient) -> Self {
        Self { address, logins, http, login: sync::Mutex::default(), seen: Mutex::default() }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the server refused the last time.
    pub(in crate::mcp_client) fn problem(&self) -> Option<AccessProblem> {
        self.seen().problem.clone()
    }

    pub(in crate::mcp_client) fn has_problem(&self, problem: AccessProblem) {
        // The first reason is the true one: what follows is the refusal without a token.
        self.seen().problem.get_or_insert(problem);
    }

    pub(in crate::mcp_client) fn has_no_problem(&self) {
        self.seen().problem = None;
    }

    /// A text of the server without its tokens.
    pub(in crate::mcp_client) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let secrets = self.seen().secrets.clone();
        secrets.mask(text)
    }

    /// The token to send; `None` if there is none. It is renewed if it expires soon.
    pub(in crate::mcp_client) async fn token(&self) -> Option<SecretString> {
        let mut login = self.login.lock().await;
        if login.is_none() {
            self.reload(&mut login);
        }
        let current = login.as_ref()?;
        let expires_soon = current.expires_at().is_some_and(|moment| {
            let soon = SignedDuration::try_from(SOON).unwrap_or_default();
            moment.duration_since(clock::now()) < soon
        });
        if expires_soon {
            self.renew(&mut login).await;
        }
        login.as_ref().map(|login| login.access().clone())
    }

    /// Another token than the one that was refused; `None` if there is none.
    pub(in crate::mcp_client) async fn instead_of(
        &self,
        refused: Option<&SecretString>,
    ) -> Option<SecretString> {
        let is_other = |token: &SecretString| {
            refused.is_none_or(|refused| refused.expose_secret() != token.expose_secret())
        };
        let mut login = self.login.lock().await;
        // Somebody may have logged in, or another call renewed it.
        self.reload(&mut login);
        if login.as_ref().is_some_and(|login| !is_other(login.access())) {
            self.renew(&mut login).await;
        }
        let token = login.as_ref().map(|login| login.access().clone());
        let other = token.filter(is_other);
        if other.is_none() {
            let why = "the server refuses its token".to_owned();
            self.has_problem(match &*login {
                Some(_) => AccessProblem::Expired(why),
                None => AccessProblem::NoLogin,
            });
        }
        other
    }

    fn reload(&self, login: &mut Option<Login>) {
        match self.logins.get(&self.address) {
            Ok(found) => self.keep(login, found),
            Err(error) => {
                self.has_problem(AccessProblem::Expired(error.to_string()));
                *login = None;
            }
        }
    }

    fn keep(&self, login: &mut Option<Login>, found: Option<Login>) {
        if let Some(found) = &found {
            self.seen().secrets = Secrets::new(found.secrets());
        }
        *login = found;
    }

    /// Renews the token, unless another process has. A login that cannot be renewed stays as it is; one that was
    /// rejected for good is removed.
    async fn renew(&self, login: &mut Option<Login>) {
        match self.try_renew(login.as_ref()).await {
            Ok(renewed) => self.keep(login, renewed),
            Err(LoginError::Expired { problem }) => {
                self.has_problem(AccessProblem::Expired(format!(
                    "its login has expired ({problem})"
                )));
                *login = None;
            }
            Err(error) => {
                let problem = clean_line(&error.to_string(), 300);
                self.has_problem(AccessProblem::NotRenewed(problem));
            }
        }
    }

    async fn try_renew(&self, held: Option<&Login>) -> Result<Option<Login>, LoginError> {
        let lock = self.logins.lock(&self.address).await?;
        let Some(stored) = self.logins.get(&self.address)? else { return Ok(None) };
        let is_held = held
            .is_some_and(|held| held.access().expose_secret() == stored.access().expose_secret());
        let Some(token) = stored.refresh().cloned() else { return Ok(Some(stored)) };
        if !is_held {
            return Ok(Some(stored));
        }
        let (reach, _) = Reach::new(self.http.clone(), self.address.as_str())?;
        let endpoint = reach.address("the token endpoint", &stored.token_endpoint)?;
        let grant = Grant::Refresh { token: &token };
        match tokens(&reach, &endpoint, &stored.client, &grant, &stored.resource).await {
            Ok(tokens) => {
                let renewed = stored.renewed(tokens);
                self.logins.put(&renewed, &self.address, &lock)?;
                Ok(Some(renewed))
            }
            Err(error @ LoginError::Expired { .. }) => {
                self.logins.remove_locked(&self.address, &lock)?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }
}
