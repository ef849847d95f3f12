//! One server: not started, ready or failed, and started again when it has crashed.
//!
//! Invariant: there is at most one connection to it, whoever uses it. A start that failed is not tried
//! again at once, and a server that crashes again and again is started ever more slowly.

use std::{sync::Arc, time::Duration};

use reqwest::Url;
use secrecy::SecretString;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};

use super::{
    McpSetup, NoLogin,
    connection::Connection,
    entry::{ServerEntry, Transport},
    oauth::{Login, LoginWish},
    remote::address,
    start_error::StartError,
};

/// How long a start that failed stands for the next ones, at first and at most.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
const LONGEST_AFTER_FAILURE: Duration = Duration::from_mins(5);
/// How long is waited before a start after the second crash, and at most.
const AFTER_CRASH: Duration = Duration::from_secs(1);
const LONGEST_AFTER_CRASH: Duration = Duration::from_secs(30);
/// A server that ran for this long has not crashed again and again.
const STEADY: Duration = Duration::from_mins(1);

/// A server that may be used.
#[derive(Debug)]
pub(super) struct Server {
    /// Its name as it was written.
    pub(super) name: String,
    pub(super) entry: ServerEntry,
    setup: Arc<McpSetup>,
    slot: Mutex<Slot>,
}

/// What became of the server so far.
#[derive(Debug, Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    /// Why the last start failed.
    failure: Option<Arc<StartError>>,
    /// Starts that failed in a row.
    failures: u32,
    /// Connections in a row that ended soon.
    crashes: u32,
    not_before: Option<Instant>,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// Nobody has needed it yet.
    NotStarted,
    /// It is being started.
    Starting,
    /// It answers.
    Ready {
        /// How many of its tools are used.
        tools: usize,
    },
    /// The user has to log in first.
    LoginNeeded {
        /// What to do.
        reason: String,
    },
    /// It does not answer.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Server {
    /// A server that was not started.
    pub(super) fn new(name: String, entry: ServerEntry, setup: Arc<McpSetup>) -> Self {
        Self { name, entry, setup, slot: Mutex::default() }
    }

    /// The connection to it. It is started if it is not there; several who want it wait for one start.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, Arc<StartError>> {
        let mut slot = self.slot.lock().await;
        if let Some(connection) = &slot.connection {
            if !connection.is_closed() {
                return Ok(Arc::clone(connection));
            }
            slot.crashed();
        }
        if let Some(not_before) = slot.not_before.filter(|moment| *moment > Instant::now()) {
            if let Some(failure) = &slot.failure {
                return Err(Arc::clone(failure));
            }
            sleep_until(not_before).await;
        }
        match Connection::open(&self.name, &self.entry, &self.setup).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                slot.connection = Some(Arc::clone(&connection));
                (slot.failure, slot.failures, slot.not_before) = (None, 0, None);
                Ok(connection)
            }
            Err(error) => {
                let error = Arc::new(error);
                slot.failed(Arc::clone(&error));
                Err(error)
            }
        }
    }

    /// How it is now, without starting it.
    pub(super) fn state(&self) -> ServerState {
        let Ok(slot) = self.slot.try_lock() else { return ServerState::Starting };
        match (&slot.connection, &slot.failure) {
            (Some(connection), _) if !connection.is_closed() => {
                let tools = connection.known_tools();
                let used = tools.iter().filter(|tool| self.entry.uses(&tool.name));
                ServerState::Ready { tools: used.count() }
            }
            (Some(_), _) => ServerState::Failed { reason: "it ended".to_owned() },
            (None, Some(failure)) => match &**failure {
                StartError::LoginNeeded(reason) => {
                    ServerState::LoginNeeded { reason: reason.clone() }
                }
                failure => ServerState::Failed { reason: failure.to_string() },
            },
            (None, None) => ServerState::NotStarted,
        }
    }

    /// The login to it, if it is on the network and somebody has logged in.
    pub(super) fn login(&self) -> Option<Login> {
        let logins = self.setup.logins.as_ref()?;
        logins.get(&self.address().ok()?).ok().flatten()
    }

    /// Its address, if it is on the network.
    pub(super) fn address(&self) -> Result<Url, NoLogin> {
        match self.entry.transport.as_ref().map_err(Clone::clone)? {
            Transport::Process { .. } => Err(NoLogin::Process),
            transport @ Transport::Http { .. } => Ok(address(transport, &self.setup)?),
        }
    }

    /// What it takes to log in to it.
    pub(super) fn login_wish(&self) -> Result<LoginWish, NoLogin> {
        let transport = self.entry.transport.as_ref().map_err(Clone::clone)?;
        let Transport::Http {
            headers,
            env_headers,
            bearer_token_env_var,
            oauth,
            client_secret_env_var,
            ..
        } = transport
        else {
            return Err(NoLogin::Process);
        };
        let mut names = headers.keys().chain(env_headers.keys());
        if bearer_token_env_var.is_some() {
            return Err(NoLogin::OwnToken("bearer_token_env_var"));
        }
        if names.any(|name| name.eq_ignore_ascii_case("authorization")) {
            return Err(NoLogin::OwnToken("Authorization"));
        }
        let secret = client_secret_env_var.as_deref().map(|name| self.setup.variables.get(name));
        Ok(LoginWish {
            address: self.address()?.to_string(),
            client_secret: secret.transpose()?.map(SecretString::from),
            ..oauth.clone()
        })
    }

    /// Closes the connection, if there is one.
    pub(super) async fn close(&self) {
        let connection = self.slot.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}

impl Slot {
    fn crashed(&mut self) {
        let lasted = self.connection.take().map(|connection| connection.since.elapsed());
        if lasted.is_some_and(|lasted| lasted >= STEADY) {
            self.crashes = 0;
        }
        // The first time it is started again at once.
        let wait = self
            .crashes
            .checked_sub(1)
            .map(|again| doubled(AFTER_CRASH, again).min(LONGEST_AFTER_CRASH));
        self.not_before = wait.map(|wait| Instant::now() + wait);
        self.crashes = self.crashes.saturating_add(1);
    }

    fn failed(&mut self, error: Arc<StartError>) {
        if matches!(*error, StartError::LoginNeeded(_)) {
            // The user may have logged in by the next time.
            self.failures = 0;
        }
        let wait = doubled(AFTER_FAILURE, self.failures).min(LONGEST_AFTER_FAILURE);
        self.not_before = Some(Instant::now() + wait);
        self.failures = self.failures.saturating_add(1);
        self.failure = Some(error);
    }
}

fn doubled(wait: Duration, times: u32) -> Duration {
    wait.saturating_mul(1 << times.min(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(slot: &Slot) -> u64 {
        let moment = slot.not_before.unwrap_or_else(Instant::now);
        moment.saturating_duration_since(Instant::now()).as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_crashes_again_and_again_is_started_ever_more_slowly() {
        let mut slot = Slot::default();
        let waited: Vec<u64> = (0..8)
            .map(|_| {
                slot.crashed();
                waits(&slot)
            })
            .collect();
        assert_eq!(waited, [0, 1, 2, 4, 8, 16, 30, 30]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_that_fails_is_tried_again_ever_more_slowly_unless_a_login_is_missing() {
        let mut slot = Slot::default();
        let mut after = |error: StartError| {
            slot.failed(Arc::new(error));
            waits(&slot)
        };
        let waited: Vec<u64> = (0..8).map(|_| after(StartError::Launch(String::new()))).collect();
        assert_eq!(waited, [5, 10, 20, 40, 80, 160, 300, 300]);
        for _ in 0..3 {
            assert_eq!(after(StartError::LoginNeeded(String::new())), 5);
        }
    }
}
