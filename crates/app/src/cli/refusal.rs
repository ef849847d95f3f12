//! What is said when the command line cannot be read: what was wrong and the nearest thing that works.

use std::ffi::OsString;

use attache_kernel::id::{AgentName, nearest};
use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{Cli, Globals};
use crate::{
    environment::Environment,
    failure::{Exit, Failure},
    print::{self, Stream},
    setup::{OutputFormat, Setup},
};

/// Tells what clap has to tell: help, the version, or an error.
pub(crate) fn tell(
    error: &clap::Error,
    arguments: &[OsString],
    environment: Environment,
) -> Result<Exit, Failure> {
    let page = || error.render().ansi().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print::page(Stream::Out, &page()).map(|()| Exit::Success)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if format(arguments) == OutputFormat::Text =>
        {
            print::page(Stream::Err, &page()).map(|()| Exit::Usage)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Err(Failure::usage("there is no command").hint("`attache --help` lists the commands"))
        }
        ErrorKind::InvalidSubcommand => Err(unknown_command(error, environment)),
        _ => Err(failure(&error.render().to_string())),
    }
}

/// How the words after `attache` want errors to be told.
pub(crate) fn format(arguments: &[OsString]) -> OutputFormat {
    let mut words = arguments.iter().skip(1).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let chosen = match word.to_str() {
            Some("--json") => return OutputFormat::Json,
            Some("--output-format") => words.next().and_then(|format| format.to_str()),
            Some(word) => word.strip_prefix("--output-format="),
            None => None,
        };
        if matches!(chosen, Some("json" | "stream-json")) {
            return OutputFormat::Json;
        }
    }
    OutputFormat::Text
}

/// Clap's own words, taken apart into message and hints.
fn failure(rendered: &str) -> Failure {
    let mut message = Vec::new();
    let mut hints = Vec::new();
    for paragraph in rendered.trim().split("\n\n") {
        let text = paragraph.trim();
        if let Some(first) = text.strip_prefix("error: ") {
            message.push(first.to_owned());
        } else if text.starts_with("tip: ") {
            hints.extend(text.lines().map(|tip| tip.trim().trim_start_matches("tip: ").to_owned()));
        } else if let Some(usage) = text.strip_prefix("Usage: ") {
            hints.push(format!("usage: {usage}"));
        } else if !text.starts_with("For more information") {
            message.push(text.to_owned());
        }
    }
    let failure = Failure::usage(message.join("\n"));
    let failure = hints.into_iter().fold(failure, Failure::hint);
    failure.hint("see --help")
}

/// A first word that is not a command: a slip, or an agent's name.
fn unknown_command(error: &clap::Error, environment: Environment) -> Failure {
    let wanted = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(wanted)) => wanted.clone(),
        _ => String::new(),
    };
    let commands = Cli::command();
    let is_top_level = !error.render().to_string().contains("Usage: attache config");
    let failure = Failure::usage(format!("there is no command `{wanted}`"));
    let names: Vec<String> = agent_names(environment);
    let is_agent = |name: &&String| {
        AgentName::new(name.as_str()).key() == AgentName::new(wanted.as_str()).key()
    };
    if let Some(agent) = names.iter().find(is_agent).filter(|_| is_top_level) {
        return failure
            .hint(format!("`{agent}` is an agent: attache run {} \"what to do\"", quoted(agent)));
    }
    let names_of_commands: Vec<&str> =
        commands.get_subcommands().map(clap::Command::get_name).collect();
    let meant = near_command(&wanted, &names_of_commands);
    if let Some(meant) = meant.filter(|_| is_top_level) {
        return failure.hint(format!("did you mean `attache {meant}`?"));
    }
    match nearest(&wanted, names.iter().map(String::as_str)) {
        Some(agent) => failure
            .hint(format!("did you mean the agent: attache run {} \"what to do\"?", quoted(agent))),
        None => failure.hint("`attache --help` lists the commands, `attache list` the agents"),
    }
}

/// The command with the fewest changes, where they are few: `rn` is `run`, not `transcript`.
fn near_command<'a>(wanted: &str, commands: &[&'a str]) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let changes = |command: &str| strsim::damerau_levenshtein(&wanted, command);
    let closest = commands.iter().min_by_key(|command| changes(command))?;
    let few = wanted.chars().count().div_ceil(3).max(1);
    if changes(closest) <= few { Some(closest) } else { nearest(&wanted, commands.iter().copied()) }
}

/// A name as a shell takes it.
fn quoted(name: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    if name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// The names of the agents there are; none if the setup is broken.
fn agent_names(environment: Environment) -> Vec<String> {
    let globals = Globals { quiet: true, ..Globals::default() };
    let inventory = Setup::despite_slips(globals, environment).and_then(|setup| setup.inventory());
    inventory.map_or_else(
        |_| Vec::new(),
        |inventory| inventory.records.iter().map(|record| record.name.clone()).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_leads_to_the_command_that_was_meant() {
        let commands = ["run", "list", "show", "transcript", "trust", "untrust", "completions"];
        for (wanted, meant) in [
            ("rn", Some("run")),
            ("urn", Some("run")),
            ("RUN", Some("run")),
            ("lst", Some("list")),
            ("transcripts", Some("transcript")),
            ("complete", Some("completions")),
            ("frobnicate", None),
            ("", None),
        ] {
            assert_eq!(near_command(wanted, &commands), meant, "{wanted}");
        }
    }

    #[test]
    fn words_of_clap_become_message_and_hints() {
        let told = failure(
            "error: unexpected argument '--jsn' found\n\n  tip: a similar argument exists: '--json'\n\nUsage: attache list\n\nFor more information, try '--help'.\n",
        );
        assert_eq!(told.message(), "unexpected argument '--jsn' found");
        assert_eq!(
            told.advice(),
            "a similar argument exists: '--json'; usage: attache list; see --help"
        );
    }
}
