//! `attache login`: stores a provider's key, as an alternative to an environment variable.
//!
//! A key comes from standard input or from a terminal without echo, never from the command line. Only its last
//! four characters are ever shown.

mod key;

use std::path::{Path, PathBuf};

use attache_kernel::path_text;
use attache_runtime::internal::model::credentials::{Credentials, KeyLookup, StoredKey, WebOrigin};
use clap::Args;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use crate::{
    credentials::{self, failure, known, looks_like_a_key, winning_variable},
    failure::{Exit, Failure},
    print::{
        self,
        palette::{Tone, paint},
        table::{self, Field, Overflow},
    },
    setup::{OutputFormat, Setup},
};

/// How many characters of a key are shown, and the minimum length of such a key.
const SHOWN: usize = 4;
const LONG_ENOUGH: usize = 12;

/// Store a provider's key, as an alternative to an environment variable.
///
/// The key is read from standard input, or typed on a terminal without being shown. It is stored in
/// $ATTACHE_HOME/credentials.json, readable by you alone, and is sent only to the address that the
/// provider has now. A key in the environment overrides it. It is never written into a transcript.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache login anthropic                    prompt for the key
  attache login openai < key.txt
  pass show openai | attache login openai -
  attache login lab                          a custom provider, from [model_providers.lab]
  attache login --list                       list the stored keys and whether they are used
  attache logout openai

A key is not accepted on the command line: it would stay in the shell's history.")]
pub(crate) struct LoginArgs {
    /// anthropic, openai, gemini, or an id of your `model_providers`.
    #[arg(
        required_unless_present = "list",
        conflicts_with = "list",
        add = super::completions::providers()
    )]
    provider: Option<String>,
    /// Read the key from standard input; this is the default without a terminal.
    #[arg(value_name = "-", conflicts_with = "list")]
    rest: Vec<String>,
    /// List the stored keys, without showing them.
    #[arg(long)]
    list: bool,
    /// A common mistake, answered with an explanation.
    #[arg(long = "key", alias = "api-key", alias = "token", value_name = "KEY", hide = true)]
    given: Option<String>,
}

/// A stored key, without the key itself.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    provider: &'a str,
    kept_in: Place,
    #[serde(serialize_with = "path_text::path")]
    path: &'a Path,
    origin: &'a WebOrigin,
    ends_with: Option<String>,
    state: State,
    /// The environment variable that overrides it.
    variable: Option<String>,
}

/// Where a key is stored.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    File,
}

/// Whether a stored key is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It is used.
    Used,
    /// An environment variable overrides it.
    EnvironmentWins,
    /// The provider's address has changed.
    OtherOrigin,
    /// The provider does not exist any more, or has no address.
    NoProvider,
}

pub(crate) fn run(args: &LoginArgs, setup: &Setup) -> Result<Exit, Failure> {
    if args.given.is_some() || args.rest.iter().any(|word| word != "-") {
        return Err(on_the_command_line(args.provider.as_deref()));
    }
    let mut credentials = credentials::load(setup)?;
    let Some(provider) = args.provider.as_deref().filter(|_| !args.list) else {
        list(&credentials, setup)?;
        return Ok(Exit::Success);
    };
    let origin = credentials::origin(setup, provider)?;
    let Some(key) = key::read(provider, &origin)? else {
        print::aside("interrupted: nothing was changed");
        return Ok(Exit::Interrupted);
    };
    credentials.set(provider, origin, key).map_err(|error| failure(&error))?;
    let Some((_, stored)) = credentials.iter().find(|(kept, _)| *kept == provider) else {
        return Err(Failure::unsuccessful("another process has removed the key"));
    };
    let kept = Entry::new(provider, stored, &credentials, setup);
    match setup.format {
        OutputFormat::Json => print::json(&kept)?,
        OutputFormat::Text => print::out(&format!("{}\n", kept.told(setup)))?,
    }
    if !setup.quiet {
        for notice in kept.notices() {
            print::aside(&format!("{} {notice}", paint(Tone::Warning, "notice:")));
        }
    }
    Ok(Exit::Success)
}

fn on_the_command_line(provider: Option<&str>) -> Failure {
    let provider = provider.filter(|name| !looks_like_a_key(name)).unwrap_or("PROVIDER");
    Failure::usage(
        "a key is not accepted on the command line: it would stay in the shell's history",
    )
    .hint(format!(
        "run `attache login {provider}` and type it, or `attache login {provider} < FILE`"
    ))
    .hint("if that was a real key, remove it from the history, or replace it")
}

fn list(credentials: &Credentials, setup: &Setup) -> Result<(), Failure> {
    let kept: Vec<Entry<'_>> = credentials
        .iter()
        .map(|(provider, stored)| Entry::new(provider, stored, credentials, setup))
        .collect();
    if setup.format == OutputFormat::Json {
        return print::json(&kept);
    }
    if kept.is_empty() {
        let known = known(setup).join(", ");
        return print::out(&format!(
            "no key is stored; `attache login PROVIDER` stores one for: {known}\n"
        ));
    }
    let rows: Vec<_> = kept.iter().map(|kept| kept.row(setup)).collect();
    let headings = ["PROVIDER", "KEY", "STATE", "ONLY FOR", "KEPT IN"];
    let overflow = Overflow::Wrap { whole: &[0, 1] };
    print::out(&format!("{}\n", table::render(&headings, &rows, overflow)))
}

impl<'a> Entry<'a> {
    fn new(
        provider: &'a str,
        stored: &'a StoredKey,
        credentials: &'a Credentials,
        setup: &Setup,
    ) -> Self {
        let variable = winning_variable(setup, provider);
        let now = credentials::origin(setup, provider);
        let state = match now.map(|now| credentials.key(provider, &now)) {
            Err(_) => State::NoProvider,
            Ok(KeyLookup::OtherOrigin { .. } | KeyLookup::None) => State::OtherOrigin,
            Ok(KeyLookup::Found(_)) if variable.is_some() => State::EnvironmentWins,
            Ok(KeyLookup::Found(_)) => State::Used,
        };
        Self {
            provider,
            kept_in: Place::File,
            path: credentials.file(),
            origin: &stored.origin,
            ends_with: ending(&stored.key),
            state,
            variable,
        }
    }

    fn shown_key(&self) -> String {
        self.ends_with.as_ref().map_or_else(|| "***".to_owned(), |ending| format!("…{ending}"))
    }

    fn told(&self, setup: &Setup) -> String {
        let path: PathBuf = setup.shown(self.path);
        format!(
            "{} the key of {} ({}) in {}, only for {}",
            paint(Tone::Good, "stored"),
            paint(Tone::Name, self.provider),
            self.shown_key(),
            path.display(),
            self.origin
        )
    }

    fn row(&self, setup: &Setup) -> Vec<Field> {
        let state = match (self.state, &self.variable) {
            (State::EnvironmentWins, Some(variable)) => format!("not used: {variable} is set"),
            (State::OtherOrigin, _) => "not used: base_url has changed".to_owned(),
            (State::NoProvider, _) => "not used: no such provider".to_owned(),
            (State::Used | State::EnvironmentWins, _) => "used".to_owned(),
        };
        let mut shown = Field::new(state);
        if self.state != State::Used {
            shown = shown.toned(Tone::Warning);
        }
        vec![
            Field::new(self.provider).toned(Tone::Name),
            Field::new(self.shown_key()),
            shown,
            Field::new(self.origin.to_string()),
            Field::new(setup.shown(self.path).display().to_string()),
        ]
    }

    fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        if let Some(variable) = &self.variable {
            notices.push(format!("{variable} is set and overrides the stored key"));
        }
        if self.origin.is_readable_on_the_way() {
            notices.push(format!(
                "{} is not encrypted: others on the network can read the key",
                self.origin
            ));
        }
        notices
    }
}

/// The last characters of a key; `None` for a short key.
fn ending(key: &SecretString) -> Option<String> {
    let letters: Vec<char> = key.expose_secret().chars().collect();
    let from = letters.len().checked_sub(SHOWN).filter(|_| letters.len() > LONG_ENOUGH)?;
    letters.get(from..).map(|last| last.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_key_shows_its_end() {
        let ending = |key: &str| ending(&SecretString::from(key));
        assert_eq!(ending("123456789012"), None);
        assert_eq!(ending("1234567890123").as_deref(), Some("0123"));
    }
}
