//! An MCP server, in the words of Codex; `.mcp.json` files say the same in their own.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use super::{Secret, reader::Reader};
use crate::settings::{error::SettingsError, schema::MCP_SERVER};

/// What the settings say of an MCP server. `${NAME}` in a text is kept as written: it is filled in
/// when the server is started, so that no secret enters the settings by it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpServerSettings {
    /// The program, for a server that is a process.
    pub(crate) command: Option<String>,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Variables it is given.
    pub(crate) env: BTreeMap<String, Secret>,
    /// The directory it is started in.
    pub(crate) cwd: Option<PathBuf>,
    /// The address, for a server on the network.
    pub(crate) url: Option<String>,
    /// The variable that holds its bearer token.
    pub(crate) bearer_token_env_var: Option<String>,
    /// Headers sent with every request.
    pub(crate) http_headers: BTreeMap<String, Secret>,
    /// Headers whose values are in environment variables.
    pub(crate) env_http_headers: BTreeMap<String, String>,
    /// The scopes that a login asks for.
    pub(crate) scopes: Option<Vec<String>>,
    /// The server as the tokens of a login name it.
    pub(crate) oauth_resource: Option<String>,
    /// This program as the authorization server knows it.
    pub(crate) oauth_client_id: Option<String>,
    /// The variable that holds the password of that client.
    pub(crate) oauth_client_secret_env_var: Option<String>,
    /// The port that the browser comes back to.
    pub(crate) oauth_callback_port: Option<u16>,
    /// Whether it is used.
    pub(crate) enabled: bool,
    /// The only tools that are used; `None` is all.
    pub(crate) enabled_tools: Option<Vec<String>>,
    /// Tools that are not used.
    pub(crate) disabled_tools: Vec<String>,
    /// How long it may take to start.
    pub(crate) startup_timeout_sec: Option<f64>,
    /// How long one of its tools may run; `tool_timeout_seconds` if `None`.
    pub(crate) tool_timeout_sec: Option<f64>,
    /// What else was written of it.
    pub(crate) extra: Extra,
}

/// Unknown keys, kept as written.
#[derive(Clone, PartialEq)]
pub(crate) struct Extra(pub(crate) BTreeMap<String, serde_json::Value>);

/// Shows the keys only: any value may be a secret.
impl fmt::Debug for Extra {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl McpServerSettings {
    pub(super) fn read(server: &Reader<'_>) -> Result<Self, SettingsError> {
        let oauth = server.section("oauth");
        Ok(Self {
            command: server.optional("command")?,
            args: server.optional("args")?.unwrap_or_default(),
            env: server.map("env")?,
            cwd: server.optional("cwd")?,
            url: server.optional("url")?,
            bearer_token_env_var: server.optional("bearer_token_env_var")?,
            http_headers: server.map("http_headers")?,
            env_http_headers: server.map("env_http_headers")?,
            scopes: server.optional("scopes")?,
            oauth_resource: server.optional("oauth_resource")?,
            oauth_client_id: oauth.optional("client_id")?,
            oauth_client_secret_env_var: oauth.optional("client_secret_env_var")?,
            oauth_callback_port: oauth
                .optional("callback_port")?
                .map(|port: u32| u16::try_from(port).unwrap_or_default())
                .filter(|port| *port > 0),
            enabled: server.optional("enabled")?.unwrap_or(true),
            enabled_tools: server.optional("enabled_tools")?,
            disabled_tools: server.optional("disabled_tools")?.unwrap_or_default(),
            startup_timeout_sec: server.optional("startup_timeout_sec")?,
            tool_timeout_sec: server.optional("tool_timeout_sec")?,
            extra: Extra(server.others(MCP_SERVER)),
        })
    }
}
