//! The `attache` program: parse, dispatch, exit code.

mod cli;
mod commands;
mod connection;
mod credentials;
mod duration;
mod environment;
mod failure;
mod no_effect;
mod print;
#[cfg_attr(not(test), expect(dead_code, reason = "runs and models read the rest"))]
mod settings;
mod setup;
mod transcripts;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::{
    cli::{Cli, refusal},
    environment::Environment,
};

fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(Cli::command)
        .shells(commands::completions::all_shells())
        .complete();
    let arguments: Vec<_> = std::env::args_os().collect();
    let environment: Environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let ended = match Cli::try_parse_from(&arguments) {
        Ok(cli) => commands::run(cli, environment),
        Err(error) => refusal::tell(&error, &arguments, environment),
    };
    match ended {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(failure) => {
            print::aside(&failure.told(refusal::format(&arguments)));
            ExitCode::from(failure.exit.code())
        }
    }
}
