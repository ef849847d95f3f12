//! The words that can stand in one place: agents, models, providers, settings, profiles, runs, tools.
//!
//! Case does not matter. A broken setup has no words: a shell cannot be told why.

use std::ffi::OsStr;

use attache_kernel::{
    agent::definition::Dialect, model::catalogue, rights::tool_name::BuiltinTool,
};
use clap_complete::{ArgValueCompleter, CompletionCandidate};

use crate::{
    cli::Globals,
    environment::Environment,
    print::{harmless, table::clip},
    settings::{KeyWords, key_words},
    setup::Setup,
    transcripts,
};

/// How much of a description is shown.
const HELP: usize = 80;

/// A word, and what it is.
type Word = (String, Option<String>);

/// Names of agents.
pub(crate) fn agents() -> ArgValueCompleter {
    from_setup(|setup| {
        let inventory = setup.inventory().ok()?;
        let word = |record: &attache_kernel::agent::registry::Record| {
            let help = record.definition.as_ref().and_then(|agent| agent.when_to_use.clone());
            (record.name.clone(), help)
        };
        Some(inventory.records.iter().map(word).collect())
    })
}

/// Ids of providers.
pub(crate) fn providers() -> ArgValueCompleter {
    from_setup(|setup| {
        let known = setup.providers_in_force();
        let mut words: Vec<Word> = known.into_iter().map(|known| (known.id, known.name)).collect();
        words.push(("offline".to_owned(), Some("no language model".to_owned())));
        Some(words)
    })
}

/// Names of tools.
pub(crate) fn tools() -> ArgValueCompleter {
    fixed(|| BuiltinTool::ALL.iter().map(|tool| tool.as_str().to_owned()).collect())
}

/// Dialects of agent files.
pub(crate) fn dialects() -> ArgValueCompleter {
    fixed(|| Dialect::ALL.iter().map(ToString::to_string).collect())
}

/// Shells that there is a script for.
pub(crate) fn shells() -> ArgValueCompleter {
    fixed(|| super::all_shells().names().map(str::to_owned).collect())
}

/// Models: those that are known, and the short names of the settings.
pub(crate) fn models() -> ArgValueCompleter {
    from_setup(|setup| {
        let known = catalogue::all()
            .map(|known| (known.id.to_owned(), Some(known.home.as_str().to_owned())));
        let aliases = setup.settings.model_aliases.iter();
        let aliases = aliases.map(|(name, model)| (name.clone(), Some(model.clone())));
        let offline = ("offline".to_owned(), Some("no language model".to_owned()));
        Some(known.chain(aliases).chain([offline]).collect())
    })
}

/// Names of profiles.
pub(crate) fn profiles() -> ArgValueCompleter {
    from_setup(|setup| {
        let entry = setup.settings.entries().into_iter().find(|entry| entry.key == "profiles")?;
        let names = entry.value.as_array()?.iter().filter_map(|name| name.as_str());
        Some(names.map(|name| (name.to_owned(), None)).collect())
    })
}

/// Ids of runs, the newest first, and `last`.
pub(crate) fn runs() -> ArgValueCompleter {
    const MOST: usize = 30;
    from_setup(|setup| {
        let runs = transcripts::store(setup).list().ok()?.into_iter().take(MOST);
        let last = ("last".to_owned(), Some("the newest run".to_owned()));
        let words = runs.map(|run| {
            let about = format!("{}: {}", run.agent_type, run.description);
            (run.agent_id.as_str().to_owned(), Some(about))
        });
        Some(std::iter::once(last).chain(words).collect())
    })
}

/// Keys of settings.
pub(crate) fn settings() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let words = key_words().into_iter().map(|known| (known.key, Some(known.expected)));
        matching(current, words.collect())
    })
}

/// `KEY=VALUE`: keys, and after the `=` the words a key takes.
pub(crate) fn overrides() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let written = current.to_string_lossy();
        let words = match written.split_once('=') {
            None => key_words()
                .into_iter()
                .map(|known| (format!("{}=", known.key), Some(known.expected)))
                .collect(),
            Some((key, _)) => {
                let values = |known: KeyWords| known.values.into_iter();
                let known = key_words().into_iter().find(|known| known.key == key);
                let values = known.into_iter().flat_map(values);
                values.map(|value| (format!("{key}={value}"), None)).collect()
            }
        };
        matching(current, words)
    })
}

fn fixed(words: fn() -> Vec<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        matching(current, words().into_iter().map(|word| (word, None)).collect())
    })
}

fn from_setup(words: fn(&Setup) -> Option<Vec<Word>>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let environment = Environment::of_process();
        let globals = Globals { quiet: true, ..Globals::default() };
        let setup = Setup::despite_slips(globals, environment).ok();
        matching(current, setup.as_ref().and_then(words).unwrap_or_default())
    })
}

/// The words that begin as typed. One that cannot be shown as it is, is left out.
fn matching(current: &OsStr, words: Vec<Word>) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy().to_lowercase();
    let fits = |word: &Word| {
        word.0.to_lowercase().starts_with(&typed)
            && harmless(&word.0) == word.0
            && !word.0.contains(['\n', '\t'])
    };
    words
        .into_iter()
        .filter(fits)
        .map(|(word, help)| {
            CompletionCandidate::new(word).help(help.map(|help| clip(&help, HELP).into()))
        })
        .collect()
}
