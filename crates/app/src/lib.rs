//! The `attache` program: parse, dispatch, exit code.
//!
//! It is a library only so that it is compiled beside the runtime: a program waits for all of its libraries.

mod approval;
mod background;
mod cli;
mod commands;
mod core_dumps;
mod credentials;
mod duration;
mod environment;
mod failure;
mod instance;
mod log;
mod mcp;
mod no_effect;
mod open_files;
mod print;
mod run_tree;
mod settings;
mod setup;
mod telemetry;
mod transcripts;
mod tui;

use std::{ffi::OsString, process::ExitCode};

use attache_runtime::internal::sandbox::{Rehearsal, run_if_helper};
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::{
    cli::{Cli, overrides_gathered, refusal},
    environment::Environment,
    failure::{Exit, Failure},
};

/// Does what the command line asks for.
pub fn main() -> ExitCode {
    let arguments = environment::arguments();
    run_if_helper(&arguments);
    core_dumps::forbid();
    if arguments.get(1).is_some_and(|first| first == instance::MARK) {
        return ended(instance::run(), &arguments);
    }
    // The main agent has commands, so its run waits for what this finds out.
    let is_main = arguments.iter().skip(1).any(|word| word == "exec");
    let rehearsal = is_main.then(Rehearsal::begin).flatten();
    let mut arguments = overrides_gathered(arguments);
    if arguments.len() == 1 && tui::has_terminal() {
        // On a terminal the bare program talks.
        arguments.push("chat".into());
    }
    clap_complete::CompleteEnv::with_factory(Cli::command)
        .shells(commands::completions::all_shells())
        .complete();
    let environment = Environment::of_process();
    let parsed = Cli::command().try_get_matches_from(&arguments).and_then(|matches| {
        let mut cli = Cli::from_arg_matches(&matches)?;
        cli.notice_order(&matches);
        Ok(cli)
    });
    let result = match parsed {
        Ok(cli) => commands::run(cli, &environment, rehearsal),
        Err(error) => refusal::tell(&error, &arguments, environment),
    };
    ended(result, &arguments)
}

/// The exit code, once a failure was told.
fn ended(result: Result<Exit, Failure>, arguments: &[OsString]) -> ExitCode {
    match result {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(failure) => {
            print::aside(&failure.told(refusal::format(arguments)));
            ExitCode::from(failure.exit.code())
        }
    }
}
