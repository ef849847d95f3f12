//! `attache completions SHELL`: completion of commands, options and agent names.

use clap::Args;
use clap_complete::{CompletionCandidate, env::Shells};

use crate::{
    cli::Globals,
    environment::Environment,
    failure::{Exit, Failure},
    print,
    setup::Setup,
};

/// Print the script that teaches a shell to complete commands, options and agent names.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache completions bash >> ~/.bashrc
  attache completions zsh > ~/.zfunc/_attache
  attache completions fish > ~/.config/fish/completions/attache.fish")]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh.
    shell: String,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&args.shell) else {
        let known: Vec<&str> = shells.names().collect();
        return Err(Failure::usage(format!("there is no completion for `{}`", args.shell))
            .hint(format!("there are: {}", known.join(", "))));
    };
    let mut script = Vec::new();
    shell
        .write_registration("COMPLETE", "attache", "attache", "attache", &mut script)
        .map_err(|error| Failure::unsuccessful("cannot print the script").because(&error))?;
    print::out(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// The names of the agents there are; none if the setup is broken, for a shell cannot be told why.
pub(crate) fn agent_names() -> Vec<CompletionCandidate> {
    let environment: Environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let globals = Globals { quiet: true, ..Globals::default() };
    let inventory = Setup::new(globals, environment).and_then(|setup| setup.inventory());
    inventory
        .map(|inventory| {
            inventory
                .records
                .iter()
                .map(|record| {
                    let help =
                        record.definition.as_ref().and_then(|agent| agent.when_to_use.clone());
                    CompletionCandidate::new(&record.name).help(help.map(Into::into))
                })
                .collect()
        })
        .unwrap_or_default()
}
