//! `attache mcp login` and `logout`: the user's login to an MCP server on the network.
//!
//! Tokens are never shown. The address for the browser is printed; a browser is opened only on a terminal.

use std::{
    io,
    process::{Command, Stdio},
    time::Duration,
};

use attache_runtime::internal::{
    mcp_client::{
        NoLogin,
        oauth::{self, Begun, Login, LoginError, LoginWish, Logins, Revocation},
    },
    store::Secrets,
};
use clap::Args;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::{
    failure::{Exit, Failure},
    print::{
        self, harmless,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
};

/// A server to log in to.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  attache mcp add tickets --url https://tickets.example.com/mcp
  attache mcp login tickets
  attache mcp login tickets --scopes tickets:read,tickets:write
  attache mcp list                     shows until when you are logged in

The browser may run on another machine: its last address begins with http://127.0.0.1 and cannot be
opened there. Copy it from the browser and paste it here.")]
pub(crate) struct LoginArgs {
    /// The server's name.
    name: String,
    /// The scopes to ask for, instead of those that the server or its entry names.
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    scopes: Option<Vec<String>>,
    /// Stop waiting for the browser after this time: 90, 90s, 5m or 1h30m.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = crate::duration::seconds)]
    timeout: u32,
    /// Do not open a browser.
    #[arg(long)]
    no_browser: bool,
}

/// A server to log out from.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogoutArgs {
    /// The server's name.
    name: String,
}

/// What became of waiting for the browser.
enum Waited {
    Answered(SecretString),
    Failed(LoginError),
    TimedOut,
    Interrupted,
}

pub(super) fn login(args: &LoginArgs, setup: &Setup) -> Result<Exit, Failure> {
    let name = &args.name;
    let mut wish = wish(name, setup)?;
    if let Some(scopes) = &args.scopes {
        wish.scopes = Some(scopes.iter().filter(|scope| !scope.is_empty()).cloned().collect());
    }
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let begun = Box::pin(oauth::begin(&setup.http, wish)).await;
        let begun = begun.map_err(|error| failure(name, &error))?;
        tell(name, &begun);
        if !args.no_browser && print::is_interactive() {
            open_browser(begun.address());
        }
        let code = match wait(&begun, Duration::from_secs(args.timeout.into())).await {
            Waited::Answered(code) => code,
            Waited::Failed(error) => return Err(failure(name, &error)),
            Waited::TimedOut => {
                let message = format!("no answer of the browser within {} s", args.timeout);
                return Err(Failure::unsuccessful(message)
                    .hint("run the login again; --timeout gives it more time"));
            }
            Waited::Interrupted => return Ok(None),
        };
        let logins = Logins::below(&setup.attache_home);
        let stored = Box::pin(begun.finish(&code, &logins)).await;
        stored.map(Some).map_err(|error| failure(name, &error))
    });
    // The thread that waits for a pasted address ends with the program.
    runtime.shutdown_background();
    let Some(login) = done? else {
        print::aside("interrupted: nothing was changed");
        return Ok(Exit::Interrupted);
    };
    match setup.format {
        OutputFormat::Json => print::json(&json!({ "name": name, "login": as_json(&login) }))?,
        OutputFormat::Text => print::out(&format!(
            "{} to {}: {}\n",
            paint(Tone::Good, "logged in"),
            paint(Tone::Name, name),
            in_words(&login)
        ))?,
    }
    Ok(Exit::Success)
}

pub(super) fn logout(args: &LogoutArgs, setup: &Setup) -> Result<Exit, Failure> {
    let name = &args.name;
    let servers = setup.mcp_servers(&Secrets::default());
    let address = servers.login_address(name).map_err(|error| no_login(name, &error))?;
    let logins = Logins::below(&setup.attache_home);
    let left = leave(name, oauth::log_out(&setup.http, &logins, &address))?;
    let is_revoked = matches!(left, Some(Revocation::Done));
    match setup.format {
        OutputFormat::Json => {
            print::json(
                &json!({ "name": name, "removed": left.is_some(), "revoked": is_revoked }),
            )?;
        }
        OutputFormat::Text if is_revoked => {
            print::out(&format!("logged out from {name}, tokens revoked\n"))?;
        }
        OutputFormat::Text if left.is_some() => print::out(&format!("logged out from {name}\n"))?,
        OutputFormat::Text => print::out(&format!("there is no login to {name}\n"))?,
    }
    Ok(Exit::Success)
}

/// Removes a login, and tells if its tokens are still valid.
fn leave(
    name: &str,
    leaving: impl Future<Output = Result<Option<Revocation>, LoginError>>,
) -> Result<Option<Revocation>, Failure> {
    let left = runtime()?.block_on(leaving).map_err(|error| failure(name, &error))?;
    let why = match &left {
        None | Some(Revocation::Done) => return Ok(left),
        Some(Revocation::NotOffered) => "the server names no address for it".to_owned(),
        Some(Revocation::Failed(error)) => harmless(&error.to_string()).into_owned(),
    };
    print::aside(&format!(
        "the tokens are removed from this machine but not revoked ({why}): a copy of them is valid until they expire"
    ));
    Ok(left)
}

/// Removes the login to a server that is removed. Its entry must still be there.
pub(super) fn forget(name: &str, setup: &Setup) -> Result<(), Failure> {
    let servers = setup.mcp_servers(&Secrets::default());
    let Ok(address) = servers.login_address(name) else { return Ok(()) };
    let logins = Logins::below(&setup.attache_home);
    leave(name, oauth::log_out(&setup.http, &logins, &address)).map(drop)
}

/// A login in words: `logged in until …`.
pub(crate) fn in_words(login: &Login) -> String {
    let renewal = if login.can_be_renewed() { ", renewed by itself" } else { "" };
    match login.expires_at() {
        Some(moment) => format!("logged in until {moment}{renewal}"),
        None => format!("logged in{renewal}"),
    }
}

pub(crate) fn as_json(login: &Login) -> Value {
    json!({
        "until": login.expires_at().map(|moment| moment.to_string()),
        "renewable": login.can_be_renewed(),
        "scopes": login.scopes(),
        "issuer": login.issuer(),
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::unsuccessful("the program cannot wait for anything").because(&error)
    })
}

fn wish(name: &str, setup: &Setup) -> Result<LoginWish, Failure> {
    let servers = setup.mcp_servers(&Secrets::default());
    servers.login_wish(name).map_err(|error| no_login(name, &error))
}

fn no_login(name: &str, error: &NoLogin) -> Failure {
    let name = harmless(name);
    let failure =
        Failure::usage(format!("cannot log in to the MCP server `{name}`")).because(error);
    match error {
        NoLogin::Unknown => failure
            .hint("`attache mcp list` shows the servers there are")
            .hint(format!("attache mcp add {name} --url URL")),
        NoLogin::Process => failure.hint("servers on the network have a `url` in their entry"),
        NoLogin::OwnToken(key) => failure.hint(format!("remove `{key}` from its entry first")),
        NoLogin::Entry(_) => failure.hint(format!("fix mcp_servers.{name}")),
    }
}

fn failure(name: &str, error: &LoginError) -> Failure {
    let failure =
        Failure::unsuccessful(format!("not logged in to `{}`", harmless(name))).because(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn tell(name: &str, begun: &Begun) {
    print::aside(&format!("open this address to log in to {}:", harmless(name)));
    print::aside(&format!("  {}", harmless(begun.address())));
    print::aside(&format!(
        "waiting for the browser at {}; if it runs elsewhere, paste the address it ends at",
        begun.redirect()
    ));
}

/// Opens the address in a browser, if there is a program for it. It is printed as well.
fn open_browser(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It ends by itself, and nothing depends on it.
    drop(command.spawn());
}

/// Waits for the browser, or for its address on standard input.
async fn wait(begun: &Begun, patience: Duration) -> Waited {
    let pasted = async {
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            loop {
                line.clear();
                match io::stdin().read_line(&mut line) {
                    Ok(0) | Err(_) => return None,
                    Ok(_) if line.trim().is_empty() => {}
                    Ok(_) => return Some(line),
                }
            }
        });
        match line.await {
            Ok(Some(line)) => begun.pasted(&line),
            // Nobody pastes anything: the browser may still come.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    };
    let answered = async {
        tokio::select! {
            answer = begun.answer() => answer,
            answer = pasted => answer,
        }
    };
    tokio::select! {
        answer = answered => match answer {
            Ok(code) => Waited::Answered(code),
            Err(error) => Waited::Failed(error),
        },
        () = tokio::time::sleep(patience) => Waited::TimedOut,
        _ = tokio::signal::ctrl_c() => Waited::Interrupted,
    }
}
