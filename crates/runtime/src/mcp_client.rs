//! The MCP client: tools of servers that the user's settings, a trusted project or a trusted agent name.
//!
//! Invariant: there is one connection per server and runtime, shared by all runs. A server is started by
//! the first run that may use one of its tools, and ends with the runtime. A run keeps the tools that it
//! began with.

mod asking;
mod bounded_reader;
pub(crate) mod clean_text;
mod connection;
mod entry;
mod error_output;
mod handler;
pub(crate) mod oauth;
mod remote;
mod result;
mod sampling;
mod search;
mod server;
mod server_tool;
mod start_error;
mod tool;
mod tool_names;
mod toolbox;
mod transport_words;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::join_all;
use reqwest::Url;
use serde_json::Value;

use self::oauth::{Login, LoginWish, Logins};
pub(crate) use self::search::{finders_of, put_aside};
use self::server::Server;
pub(crate) use self::toolbox::{FailedServer, Toolbox};
pub use self::{
    entry::{EntryError, EntryOrigin, ServerEntry, Transport, Variables, check_type},
    server::ServerState,
};
use crate::{model::http::HttpClient, process::CommandSetup};

/// What servers are started with.
#[derive(Debug, Default)]
pub struct McpSetup {
    /// How processes are started.
    pub commands: Arc<CommandSetup>,
    /// How addresses are reached.
    pub http: HttpClient,
    /// The user's environment, for what entries name of it.
    pub variables: Variables,
    /// Where processes are started.
    pub working_directory: PathBuf,
    /// The logins to servers on the network; `None` uses none.
    pub logins: Option<Logins>,
}

/// The servers there are. A copy has the same ones.
#[derive(Debug, Clone, Default)]
pub struct McpServers {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    setup: Arc<McpSetup>,
    configured: BTreeMap<String, Arc<Server>>,
    /// Servers that agent files describe, by name and description.
    inline: Mutex<BTreeMap<(String, String), Arc<Server>>>,
}

/// Why nobody can log in to a server.
#[derive(Debug, thiserror::Error)]
pub enum NoLogin {
    /// There is no such server.
    #[error("there is no MCP server of that name")]
    Unknown,
    /// It is a process.
    #[error("it is started as a process, and is not a server on the network")]
    Process,
    /// Its entry has a token.
    #[error("its entry has a token of its own (`{0}`), which is sent instead of a login")]
    OwnToken(&'static str),
    /// Its entry cannot be used.
    #[error(transparent)]
    Entry(#[from] EntryError),
}

/// A server and how it is.
#[derive(Debug, Clone)]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: ServerState,
    /// The tools that are used, by the names that models see.
    pub tools: Vec<String>,
    /// The login to it, if there is one.
    pub login: Option<Login>,
}

impl McpServers {
    /// Servers by name, none of which is started.
    pub fn new(entries: BTreeMap<String, ServerEntry>, setup: McpSetup) -> Self {
        let setup = Arc::new(setup);
        let configured = entries.into_iter().map(|(name, entry)| {
            let server = Server::new(name.clone(), entry, Arc::clone(&setup));
            (name, Arc::new(server))
        });
        let configured = configured.collect();
        Self { shared: Arc::new(Shared { setup, configured, inline: Mutex::default() }) }
    }

    /// Whether a server of that name is configured.
    pub fn is_configured(&self, name: &str) -> bool {
        self.shared.configured.contains_key(name)
    }

    /// What it takes to log in to a configured server.
    pub fn login_wish(&self, name: &str) -> Result<LoginWish, NoLogin> {
        let server = self.shared.configured.get(name).ok_or(NoLogin::Unknown)?;
        server.login_wish()
    }

    /// The address that a login to a configured server is for.
    pub fn login_address(&self, name: &str) -> Result<Url, NoLogin> {
        let server = self.shared.configured.get(name).ok_or(NoLogin::Unknown)?;
        server.address()
    }

    /// The servers that are being started.
    pub(crate) fn starting(&self) -> Vec<String> {
        let servers = self.shared.configured.values().cloned().chain(self.inline_servers());
        let starting = servers.filter(|server| server.state() == ServerState::Starting);
        starting.map(|server| server.name.clone()).collect()
    }

    /// Starts the configured servers, and tells how they are.
    pub async fn check(&self) -> Vec<ServerReport> {
        let servers: Vec<_> = self.shared.configured.values().cloned().collect();
        let toolbox = Toolbox::of_servers(servers.clone()).await;
        let reports = servers.iter().map(|server| ServerReport {
            name: server.name.clone(),
            state: server.state(),
            tools: toolbox.names_of(&server.name).map(ToString::to_string).collect(),
            login: server.login(),
        });
        reports.collect()
    }

    /// The tools of those servers, which are started side by side where they are not there yet. Servers
    /// that an agent describes come before configured ones of the same name.
    pub(crate) async fn toolbox(&self, names: &[String], inline: &[(String, Value)]) -> Toolbox {
        let servers = names.iter().filter_map(|name| {
            let own = inline.iter().find(|(own, _)| own == name);
            match own {
                Some((name, description)) => Some(self.inline(name, description)),
                None => self.shared.configured.get(name).cloned(),
            }
        });
        Toolbox::of_servers(servers.collect()).await
    }

    fn inline(&self, name: &str, description: &Value) -> Arc<Server> {
        let mut inline = self.shared.inline.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), description.to_string());
        let server = inline.entry(key).or_insert_with(|| {
            let entry = ServerEntry::from_json(description);
            Arc::new(Server::new(name.to_owned(), entry, Arc::clone(&self.shared.setup)))
        });
        Arc::clone(server)
    }

    fn inline_servers(&self) -> Vec<Arc<Server>> {
        let inline = self.shared.inline.lock().unwrap_or_else(PoisonError::into_inner);
        inline.values().cloned().collect()
    }

    /// Closes all connections and gives the servers a moment to end by themselves.
    pub async fn close(&self) {
        let servers = self.shared.configured.values().cloned().chain(self.inline_servers());
        join_all(servers.map(|server| async move { server.close().await })).await;
    }
}
