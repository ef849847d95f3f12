//! `attache completions SHELL`: completion of commands, options, agents, providers, settings and runs.

mod candidates;
mod line;
mod shells;

use clap::Args;

pub(crate) use self::{
    candidates::{agents, dialects, models, overrides, profiles, providers, runs, settings, tools},
    shells::all as all_shells,
};
use crate::{
    failure::{Exit, Failure},
    print,
};

/// Print the completion script of a shell: commands, options and names.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache completions bash >> ~/.bashrc
  attache completions zsh > ~/.zfunc/_attache
  attache completions fish > ~/.config/fish/completions/attache.fish")]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh.
    #[arg(add = candidates::shells())]
    shell: String,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let shells = all_shells();
    let Some(shell) = shells.completer(&args.shell) else {
        let known: Vec<&str> = shells.names().collect();
        return Err(Failure::usage(format!("there are no completions for `{}`", args.shell))
            .hint(format!("supported shells: {}", known.join(", "))));
    };
    let mut script = Vec::new();
    shell
        .write_registration("COMPLETE", "attache", "attache", "attache", &mut script)
        .map_err(|error| Failure::unsuccessful("cannot print the script").because(&error))?;
    print::exact(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
