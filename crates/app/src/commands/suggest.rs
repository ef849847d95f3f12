//! `attache suggest PROMPT`: which agents a prompt is for.

use attache_kernel::agent::{
    definition::Definition,
    registry::Status,
    suggest::{Suggestion, suggest},
};
use clap::Args;

use super::run::task;
use crate::{
    failure::{Exit, Failure},
    print::{
        self,
        palette::Tone,
        table::{self, Field, Overflow},
    },
    setup::{OutputFormat, Setup},
};

/// Suggest agents for a prompt, best first.
///
/// The words of the prompt are compared with names, keywords and descriptions (BM25); a word in a name counts most.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache suggest \"review this diff for security\"
  attache suggest --limit 1 --json \"write the docs\" | jq -r '.[0].name'")]
pub(crate) struct SuggestArgs {
    /// The task, in your own words; `-` reads it from standard input.
    #[arg(required = true)]
    prompt: Vec<String>,
    /// Maximum number of suggestions.
    #[arg(long, value_name = "N", default_value_t = 5)]
    limit: usize,
}

pub(crate) fn run(args: &SuggestArgs, setup: &Setup) -> Result<Exit, Failure> {
    setup.require_enabled()?;
    let prompt = match args.prompt.join(" ") {
        prompt if prompt == "-" => task::input()?,
        prompt => prompt,
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").hint("attache suggest \"what to do\""));
    }
    let inventory = setup.inventory()?;
    let active: Vec<&Definition> = inventory
        .records
        .iter()
        .filter(|record| record.status == Status::Active)
        .filter_map(|record| record.definition.as_deref())
        .collect();
    let mut suggestions = suggest(&prompt, active.iter().copied());
    suggestions.truncate(args.limit);
    match setup.format {
        OutputFormat::Json => print::json(&suggestions)?,
        OutputFormat::Text if suggestions.is_empty() => {
            print::aside("no agent fits; `attache list` shows all of them");
        }
        OutputFormat::Text => {
            let rows: Vec<_> =
                suggestions.iter().map(|suggestion| row(suggestion, &active)).collect();
            let headings = ["NAME", "SCORE", "MATCHED", "DESCRIPTION"];
            let order = [(3, 16), (2, 10), (0, 16)];
            let table = table::render(&headings, &rows, Overflow::Cut { order: &order });
            print::out(&format!("{table}\n"))?;
        }
    }
    Ok(Exit::Success)
}

fn row(suggestion: &Suggestion, active: &[&Definition]) -> Vec<Field> {
    let description = active
        .iter()
        .find(|agent| agent.agent_type.as_str() == suggestion.name)
        .and_then(|agent| agent.when_to_use.as_deref())
        .unwrap_or_default();
    vec![
        Field::new(&suggestion.name).toned(Tone::Name),
        Field::new(format!("{:.2}", suggestion.score)),
        Field::new(suggestion.matched.join(", ")),
        Field::new(description).cut(60),
    ]
}
