//! The `attache` program: parse, dispatch, exit code.

mod cli;
mod commands;
mod connection;
mod credentials;
mod environment;
mod failure;
mod print;
#[cfg_attr(not(test), expect(dead_code, reason = "runs and models read the rest"))]
mod settings;
mod setup;
mod transcripts;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::{cli::Cli, environment::Environment, print::palette};

fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(Cli::command).complete();
    let cli = Cli::parse();
    let environment: Environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    match commands::run(cli, environment) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(failure) => {
            print::aside(&format!("{} {failure}", palette::paint(palette::Tone::Bad, "error:")));
            ExitCode::from(failure.exit.code())
        }
    }
}
