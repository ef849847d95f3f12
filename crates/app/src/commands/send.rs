//! `attache send ID TEXT`: a message for an agent, while it works or after it has ended.

use std::ffi::OsString;

use attache_runtime::internal::store::{MailKind, Posted};
use clap::Args;
use serde_json::json;

use super::run::task;
use crate::{
    background,
    cli::Globals,
    failure::{Exit, Failure},
    print,
    setup::{OutputFormat, Setup},
    transcripts,
};

/// Send a message to an agent.
///
/// A running agent reads it with its next turn, once, and does not end before. A run that has ended, or whose
/// process is gone, is resumed with it in the background, and the id of the new run is printed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache send agent-7f9c \"the tests are in src/tests, too\"
  git diff | attache send last -")]
pub(crate) struct SendArgs {
    /// The run's id, the beginning of one, or `last`.
    #[arg(add = super::completions::runs())]
    id: String,
    /// The message; `-` reads it from standard input.
    #[arg(required = true)]
    text: Vec<String>,
}

pub(crate) fn run(args: &SendArgs, globals: &Globals, setup: &Setup) -> Result<Exit, Failure> {
    let store = transcripts::store(setup);
    let id = transcripts::resolve(&args.id, &store)?;
    let text = text(&args.text)?;
    let posted = store.post(&id, &MailKind::Message { text: text.clone() });
    match posted.map_err(|error| transcripts::failure(&error))? {
        Posted::Left(letter) => {
            let run = store.read(&id).map_err(|error| transcripts::failure(&error))?;
            let run = run.header.run.agent_id;
            match setup.format {
                OutputFormat::Json => print::json(
                    &json!({"agent_id": run, "status": "running", "letter_id": letter}),
                )?,
                OutputFormat::Text => print::out(&format!("{run}\n"))?,
            }
            if !setup.quiet && setup.format == OutputFormat::Text {
                print::aside("the agent reads it with its next turn");
            }
            Ok(Exit::Success)
        }
        Posted::Ended(_) | Posted::Abandoned => {
            let words = ["run", "--background", "--resume", &id, "-f", "-"];
            let words = words.into_iter().map(OsString::from);
            background::launch(globals.words().into_iter().chain(words), Some(&text))
        }
    }
}

fn text(words: &[String]) -> Result<String, Failure> {
    let typed = words.join(" ");
    let text = if typed == "-" { task::input()? } else { typed };
    if text.trim().is_empty() {
        return Err(Failure::usage("the message is empty").hint("attache send ID \"what to say\""));
    }
    Ok(text)
}
