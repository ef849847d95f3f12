//! `attache send ID TEXT`: a message for an agent, while it works or after it has ended.

use std::ffi::OsString;

use attache_runtime::internal::store::{FileStore, MailKind, Posted};
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

/// How many runs after a run a message is passed on to.
const MOST_RESUMED: usize = 1000;

/// Send a message to an agent.
///
/// A running agent reads it with its next turn, once, and does not end before. A run that has ended, or whose
/// process is gone, is resumed with it in the background, and the id of the new run is printed. If another run
/// goes on from it, that one is sent the message.
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
    let (id, posted) = post(&store, id, &MailKind::Message { text: text.clone() })?;
    match posted {
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

/// Leaves a letter for a run, or for the one that goes on from it; with the run it was left for, or that is
/// to be resumed with it.
fn post(store: &FileStore, id: String, letter: &MailKind) -> Result<(String, Posted), Failure> {
    let failed = |error| transcripts::failure(&error);
    let mut reader = id;
    for _ in 0..MOST_RESUMED {
        let posted = store.post(&reader, letter).map_err(failed)?;
        if matches!(posted, Posted::Left(_)) {
            return Ok((reader, posted));
        }
        let whole = store.read(&reader).map_err(failed)?.header.run.agent_id;
        match transcripts::continued_by(whole.as_str(), store)? {
            Some(next) => reader = next,
            None => return Ok((reader, posted)),
        }
    }
    Ok((reader, Posted::Abandoned))
}

fn text(words: &[String]) -> Result<String, Failure> {
    let typed = words.join(" ");
    let text = if typed == "-" { task::input()? } else { typed };
    if text.trim().is_empty() {
        return Err(Failure::usage("the message is empty").hint("attache send ID \"what to say\""));
    }
    Ok(text)
}
