//! `attache logout`: removes a provider's stored key.

use clap::Args;
use serde::Serialize;

use crate::{
    credentials::{self, failure, known, looks_like_a_key, winning_variable},
    failure::{Exit, Failure},
    print::{
        self, harmless,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
};

/// Remove a provider's key that `attache login` stored.
///
/// It is not an error if no key is stored.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache logout openai
  attache login --list                       list the stored keys")]
pub(crate) struct LogoutArgs {
    /// The provider.
    #[arg(add = super::completions::providers())]
    provider: String,
}

#[derive(Serialize)]
struct Report<'a> {
    provider: &'a str,
    removed: bool,
}

pub(crate) fn run(args: &LogoutArgs, setup: &Setup) -> Result<Exit, Failure> {
    let provider = args.provider.as_str();
    let mut credentials = credentials::load(setup)?;
    let kept: Vec<String> = credentials.iter().map(|(provider, _)| provider.to_owned()).collect();
    let removed = credentials.remove(provider).map_err(|error| failure(&error))?;
    if removed.is_none() && !known(setup).iter().any(|known| known == provider) {
        return Err(unknown(provider, &kept, setup));
    }
    match setup.format {
        OutputFormat::Json => print::json(&Report { provider, removed: removed.is_some() })?,
        OutputFormat::Text => {
            let told = match &removed {
                Some(origin) => {
                    let forgot = paint(Tone::Warning, "removed");
                    format!("{forgot} the key of {provider} for {origin}")
                }
                None => format!("no key is stored for {provider}"),
            };
            print::out(&format!("{told}\n"))?;
        }
    }
    if let Some(variable) = winning_variable(setup, provider).filter(|_| !setup.quiet) {
        print::aside(&format!(
            "{} {variable} is set, and its key is still used",
            paint(Tone::Warning, "notice:")
        ));
    }
    Ok(Exit::Success)
}

fn unknown(provider: &str, kept: &[String], setup: &Setup) -> Failure {
    let shown = if looks_like_a_key(provider) {
        "the given word".to_owned()
    } else {
        format!("`{}`", harmless(provider))
    };
    let failure = Failure::usage(format!("{shown} is not a provider"));
    if kept.is_empty() {
        return failure
            .hint(format!("no key is stored; known providers: {}", known(setup).join(", ")));
    }
    failure.hint(format!("keys are stored for: {}", kept.join(", ")))
}
