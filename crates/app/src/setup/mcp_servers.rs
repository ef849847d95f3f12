//! The MCP servers that the settings name.

use std::{path::Path, sync::Arc, time::Duration};

use attache_runtime::internal::{
    mcp_client::{
        EntryError, EntryOrigin, McpServers, McpSetup, ServerEntry, Transport, Variables,
        check_type,
        oauth::{LoginWish, Logins},
    },
    store::Secrets,
};
use secrecy::SecretString;

use super::Setup;
use crate::settings::{McpServerSettings, Secret, Settings};

/// The servers that are switched on. This program is not a server of its own agents: `mcp install codex` puts
/// it into Codex's settings, which are read here as well.
pub(super) fn in_use(settings: &Settings) -> impl Iterator<Item = (&String, &McpServerSettings)> {
    settings.mcp_servers.iter().filter(|(_, server)| server.enabled && !is_this_program(server))
}

fn is_this_program(server: &McpServerSettings) -> bool {
    let name = server.command.as_deref().and_then(|command| Path::new(command).file_name());
    name.is_some_and(|name| name == "attache")
        && server.args.first().is_some_and(|argument| argument == "mcp")
}

impl Setup {
    /// The servers that are switched on, none of which is started.
    pub(crate) fn mcp_servers(&self, secrets: &Secrets) -> McpServers {
        let entries = in_use(&self.settings)
            .map(|(name, server)| (name.clone(), self.mcp_entry(name, server)));
        let setup = McpSetup {
            commands: Arc::new(self.commands(secrets)),
            http: self.http.clone(),
            variables: Variables(
                self.environment.all().map(|(name, value)| (name.into(), value.into())).collect(),
            ),
            working_directory: self.working_directory.clone(),
            logins: Some(Logins::below(&self.attache_home)),
        };
        McpServers::new(entries.collect(), setup)
    }

    fn mcp_entry(&self, name: &str, server: &McpServerSettings) -> ServerEntry {
        let mut files = self.settings.files_of_mcp_server(name).into_iter();
        let is_of_project =
            files.any(|file| self.project.files.iter().any(|known| known.path == file));
        let origin = if is_of_project { EntryOrigin::Project } else { EntryOrigin::User };
        let entry = ServerEntry::new(transport(server), origin);
        ServerEntry {
            enabled_tools: server.enabled_tools.clone(),
            disabled_tools: server.disabled_tools.clone(),
            startup_timeout: duration(server.startup_timeout_sec).unwrap_or(entry.startup_timeout),
            tool_timeout: duration(server.tool_timeout_sec),
            ..entry
        }
    }
}

fn transport(server: &McpServerSettings) -> Result<Transport, EntryError> {
    check_type(server.extra.0.get("type").and_then(serde_json::Value::as_str))?;
    let secret =
        |(name, value): (&String, &Secret)| (name.clone(), SecretString::from(value.expose()));
    match (&server.command, &server.url) {
        (None, None) => Err(EntryError::NoTransport),
        (Some(_), Some(_)) => Err(EntryError::TwoTransports),
        (Some(command), None) => Ok(Transport::Process {
            command: command.clone(),
            args: server.args.clone(),
            env: server.env.iter().map(secret).collect(),
            cwd: server.cwd.clone(),
        }),
        (None, Some(url)) => Ok(Transport::Http {
            url: url.clone(),
            headers: server.http_headers.iter().map(secret).collect(),
            env_headers: server.env_http_headers.clone(),
            bearer_token_env_var: server.bearer_token_env_var.clone(),
            oauth: LoginWish {
                address: String::new(),
                scopes: server.scopes.clone(),
                resource: server.oauth_resource.clone(),
                client_id: server.oauth_client_id.clone(),
                client_secret: None,
                callback_port: server.oauth_callback_port,
            },
            client_secret_env_var: server.oauth_client_secret_env_var.clone(),
        }),
    }
}

fn duration(seconds: Option<f64>) -> Option<Duration> {
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}
