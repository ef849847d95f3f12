//! `attache mcp add`, `list` and `remove`: the servers whose tools agents use.

use attache_runtime::internal::{
    mcp_client::{ServerReport, ServerState},
    store::Secrets,
};
use clap::Args;
use serde_json::{Value, json};

use super::login;
use crate::{
    commands::config::edit::unopened,
    failure::{Exit, Failure},
    print::{
        self, harmless,
        palette::{Tone, paint},
    },
    settings::SettingsFile,
    setup::{OutputFormat, Setup, settings_failure},
};

/// A server to be added.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  attache mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  attache mcp add tickets --env TOKEN='${TICKETS_TOKEN}' -- tickets-mcp
  attache mcp add docs --url https://docs.example.com/mcp --bearer-token-env-var DOCS_TOKEN

${NAME} in a value is filled in from your environment when the server is started.")]
pub(crate) struct AddArgs {
    /// The server's name: letters, digits, - and _.
    name: String,
    /// A variable for the server's process.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,
    /// The address of a server on the network, instead of a command.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// The variable that holds the bearer token of a server on the network.
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    bearer_token_env_var: Option<String>,
    /// A header for a server on the network.
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    header: Vec<String>,
    /// The command that starts the server, after --.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A server to be removed.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoveArgs {
    /// The server's name.
    name: String,
}

pub(super) fn add(args: &AddArgs, setup: &Setup) -> Result<Exit, Failure> {
    let name = &args.name;
    check_name(name)?;
    let mut values: Vec<(String, toml::Value)> = Vec::new();
    match (&args.url, args.command.split_first()) {
        (None, None) => {
            return Err(Failure::usage("there is neither a command nor --url").hint(format!(
                "attache mcp add {name} -- COMMAND…, or: attache mcp add {name} --url URL"
            )));
        }
        (Some(url), _) => values.push(("url".to_owned(), url.as_str().into())),
        (None, Some((program, rest))) => {
            values.push(("command".to_owned(), program.as_str().into()));
            if !rest.is_empty() {
                values.push(("args".to_owned(), rest.to_vec().into()));
            }
        }
    }
    if let Some(variable) = &args.bearer_token_env_var {
        values.push(("bearer_token_env_var".to_owned(), variable.as_str().into()));
    }
    for (table, option, pairs) in
        [("env", "--env", &args.env), ("http_headers", "--header", &args.header)]
    {
        for pair in pairs {
            let (key, value) = pair
                .split_once('=')
                .filter(|(key, _)| is_plain(key))
                .ok_or_else(|| Failure::usage(format!("{option} takes NAME=VALUE")))?;
            values.push((format!("{table}.{key}"), value.into()));
        }
    }
    let mut file = open(setup)?;
    let failed = |error| settings_failure(&error);
    if file.unset(&format!("mcp_servers.{name}")).map_err(failed)? {
        return Err(Failure::usage(format!("there is an MCP server `{name}` already"))
            .hint(format!("attache mcp remove {name}")));
    }
    for (key, value) in values {
        file.set(&format!("mcp_servers.{name}.{key}"), &value.to_string()).map_err(failed)?;
    }
    file.save().map_err(failed)?;
    tell(
        setup,
        &json!({ "name": name, "added": true }),
        &file,
        &format!("added the MCP server {name} to"),
    )
}

pub(super) fn remove(args: &RemoveArgs, setup: &Setup) -> Result<Exit, Failure> {
    let name = &args.name;
    check_name(name)?;
    let mut file = open(setup)?;
    if !file.unset(&format!("mcp_servers.{name}")).map_err(|error| settings_failure(&error))? {
        let failure =
            Failure::usage(format!("your settings have no MCP server `{}`", harmless(name)));
        let files = setup.settings.files_of_mcp_server(name);
        return Err(match files.first() {
            Some(file) => failure.hint(format!("it is in {}; remove it there", file.display())),
            None => failure.hint("`attache mcp list` shows the servers there are"),
        });
    }
    login::forget(name, setup)?;
    file.save().map_err(|error| settings_failure(&error))?;
    tell(
        setup,
        &json!({ "name": name, "removed": true }),
        &file,
        &format!("removed the MCP server {name} from"),
    )
}

/// Starts the servers, tells how they are, and ends them.
pub(super) fn list(setup: &Setup) -> Result<Exit, Failure> {
    let reports = check(setup)?;
    let disabled = setup.settings.mcp_servers.iter().filter(|(_, server)| !server.enabled);
    let disabled: Vec<&String> = disabled.map(|(name, _)| name).collect();
    if setup.format == OutputFormat::Json {
        let mut all: Vec<Value> = reports.iter().map(as_json).collect();
        all.extend(
            disabled.iter().map(|name| json!({"name": name, "state": "disabled", "reason": null, "tools": [], "login": null})),
        );
        print::json(&all)?;
        return Ok(Exit::Success);
    }
    if reports.is_empty() && disabled.is_empty() {
        print::out("no MCP servers; add one with: attache mcp add NAME -- COMMAND…\n")?;
    }
    for report in &reports {
        let name = paint(Tone::Name, &harmless(&report.name));
        match &report.state {
            ServerState::Failed { reason } => {
                print::out(&format!(
                    "{name}  {}  {}\n",
                    paint(Tone::Bad, "failed"),
                    harmless(reason)
                ))?;
            }
            ServerState::LoginNeeded { .. } => {
                print::out(&format!(
                    "{name}  {}  attache mcp login {}\n",
                    paint(Tone::Warning, "login needed"),
                    harmless(&report.name)
                ))?;
            }
            _ => {
                print::out(&format!(
                    "{name}  {}  {}\n",
                    paint(Tone::Good, "ready"),
                    in_words(report)
                ))?;
                for tool in &report.tools {
                    print::out(&format!("  {tool}\n"))?;
                }
            }
        }
    }
    for name in disabled {
        print::out(&format!(
            "{}  {}\n",
            paint(Tone::Name, &harmless(name)),
            paint(Tone::Faint, "disabled")
        ))?;
    }
    Ok(Exit::Success)
}

/// How the servers are, each of which is started for it.
pub(crate) fn check(setup: &Setup) -> Result<Vec<ServerReport>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start the async runtime").because(&error))?;
    let servers = setup.mcp_servers(&Secrets::default());
    Ok(runtime.block_on(async {
        let reports = Box::pin(servers.check()).await;
        servers.close().await;
        reports
    }))
}

/// How a server is, and until when somebody is logged in to it.
pub(crate) fn in_words(report: &ServerReport) -> String {
    let state = match &report.state {
        ServerState::NotStarted => "not started".to_owned(),
        ServerState::Starting => "starting".to_owned(),
        ServerState::Ready { tools: 1 } => "1 tool".to_owned(),
        ServerState::Ready { tools } => format!("{tools} tools"),
        ServerState::LoginNeeded { reason } | ServerState::Failed { reason } => reason.clone(),
    };
    match &report.login {
        Some(login) => format!("{state}, {}", login::in_words(login)),
        None => state,
    }
}

fn as_json(report: &ServerReport) -> Value {
    let (state, reason) = match &report.state {
        ServerState::NotStarted => ("not_started", None),
        ServerState::Starting => ("starting", None),
        ServerState::Ready { .. } => ("ready", None),
        ServerState::LoginNeeded { reason } => ("login_needed", Some(reason)),
        ServerState::Failed { reason } => ("failed", Some(reason)),
    };
    let login = report.login.as_ref().map(login::as_json);
    json!({"name": report.name, "state": state, "reason": reason, "tools": report.tools, "login": login})
}

fn is_plain(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    !name.is_empty() && name.chars().all(plain)
}

fn check_name(name: &str) -> Result<(), Failure> {
    if is_plain(name) {
        return Ok(());
    }
    Err(Failure::usage(format!("`{}` cannot be the name of an MCP server", harmless(name)))
        .hint("use letters, digits, - and _"))
}

fn open(setup: &Setup) -> Result<SettingsFile<'_>, Failure> {
    SettingsFile::open(&setup.attache_home, setup.home.as_deref()).map_err(|error| unopened(&error))
}

fn tell(
    setup: &Setup,
    result: &Value,
    file: &SettingsFile<'_>,
    done: &str,
) -> Result<Exit, Failure> {
    match setup.format {
        OutputFormat::Json => print::json(result)?,
        OutputFormat::Text => print::out(&format!("{done} {}\n", file.path().display()))?,
    }
    Ok(Exit::Success)
}
