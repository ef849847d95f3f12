//! `attache models`: the providers and their keys, the aliases, and the known models.

use std::collections::BTreeMap;

use attache_kernel::model::catalogue::{self, AS_OF, Home, KnownModel};
use attache_runtime::internal::{
    host::ParentModel,
    model::{provider::ProviderDescription, wire::WireApi},
};
use clap::Args;
use serde::Serialize;

use crate::{
    failure::{Exit, Failure},
    print::{
        self,
        palette::{Tone, paint},
        table::{self, Field, Overflow},
    },
    setup::{OutputFormat, Setup},
};

/// Show the providers and their keys, the aliases and the known models.
///
/// Any model name is accepted. A known model has a context window and a price.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache models
  attache models anthropic
  attache models --json | jq '.providers[] | select(.ready).id'

Put a key into the environment variable shown, or run: attache login PROVIDER
Prices are in US dollars per million tokens; `[model_prices]` of the settings overrides them.")]
pub(crate) struct ModelsArgs {
    /// Show only this provider and its models.
    #[arg(add = super::completions::providers())]
    provider: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    default: Default<'a>,
    providers: Vec<ProviderRow>,
    aliases: Vec<AliasRow>,
    models: Vec<ModelRow>,
    prices_as_of: &'static str,
}

#[derive(Serialize)]
struct Default<'a> {
    /// None if a provider is chosen and no model of it is.
    model: Option<&'a str>,
    provider: &'a str,
    /// Whether the settings name a provider that does not exist.
    #[serde(skip)]
    unknown: bool,
}

#[derive(Serialize)]
struct ProviderRow {
    id: String,
    name: Option<String>,
    wire_api: &'static str,
    base_url: Option<String>,
    /// Where its key comes from; `None` without a key.
    key_from: Option<String>,
    /// The environment variable to put its key into; `None` if nothing is missing.
    missing_key: Option<String>,
    ready: bool,
}

#[derive(Serialize)]
struct AliasRow {
    alias: String,
    model: String,
    builtin: bool,
    /// What an agent that names the alias runs on; `None` without a provider.
    here: Option<Here>,
}

/// A model as it would be used now.
#[derive(Serialize)]
struct Here {
    model: String,
    provider: String,
}

#[derive(Serialize)]
struct ModelRow {
    id: String,
    provider: String,
    context_window: Option<u64>,
    max_output_tokens: Option<u64>,
    input_usd: Option<f64>,
    output_usd: Option<f64>,
    cached_usd: Option<f64>,
}

pub(crate) fn run(args: &ModelsArgs, setup: &Setup) -> Result<Exit, Failure> {
    let all = setup.providers_in_force();
    if let Some(wanted) = &args.provider
        && !all.iter().any(|known| known.id == *wanted)
        && wanted != "offline"
    {
        let known: Vec<_> = all.iter().map(|known| known.id.as_str()).collect();
        return Err(Failure::usage(format!("there is no provider `{wanted}`"))
            .hint(format!("there are: {}, offline", known.join(", "))));
    }
    let shown = |id: &str| args.provider.as_deref().is_none_or(|wanted| wanted == id);
    let parent = setup.parent_model();
    let mut providers: Vec<_> =
        all.iter().filter(|known| shown(&known.id)).map(provider_row).collect();
    if shown("offline") {
        providers.push(offline());
    }
    let unknown =
        parent.provider != "offline" && setup.provider_in_force(&parent.provider).is_none();
    let report = Report {
        default: Default {
            unknown,
            // A provider of the user's own has no model that everybody knows.
            model: Some(parent.model.as_str())
                .filter(|model| *model != parent.provider || parent.provider == "offline"),
            provider: &parent.provider,
        },
        providers,
        aliases: aliases(setup, &parent),
        models: models(setup).into_iter().filter(|model| shown(&model.provider)).collect(),
        prices_as_of: AS_OF,
    };
    match setup.format {
        OutputFormat::Json => print::json(&report)?,
        OutputFormat::Text => print(&report)?,
    }
    Ok(Exit::Success)
}

fn provider_row(known: &ProviderDescription) -> ProviderRow {
    let bad = known.env_key_is_not_a_name.then(|| "a variable's name in env_key".to_owned());
    let missing = bad
        .or_else(|| known.missing_key().map(str::to_owned))
        // A header without a value is left out; without a key, the header may carry the key.
        .or_else(|| known.missing_header.clone().filter(|_| known.key.is_none()));
    ProviderRow {
        id: known.id.clone(),
        name: known.name.clone(),
        wire_api: match known.wire_api {
            WireApi::Responses => "responses",
            WireApi::Chat => "chat",
            WireApi::Anthropic => "anthropic",
            WireApi::Gemini => "gemini",
        },
        base_url: known.shown_address(),
        key_from: known.key.as_ref().map(|key| key.from.clone()),
        ready: missing.is_none() && known.base_url.is_some(),
        missing_key: missing,
    }
}

/// The built-in model without a provider.
fn offline() -> ProviderRow {
    ProviderRow {
        id: "offline".to_owned(),
        name: Some("built in: searches and reads files, no language model".to_owned()),
        wire_api: "none",
        base_url: None,
        key_from: None,
        missing_key: None,
        ready: true,
    }
}

/// The aliases of the settings, then the built-in ones that the settings do not override.
fn aliases(setup: &Setup, parent: &ParentModel) -> Vec<AliasRow> {
    let written = &setup.settings.model_aliases;
    let builtin = catalogue::all_aliases(&parent.provider);
    let builtin = builtin.iter().filter(|alias| !written.contains_key(alias.name));
    let row = |alias: &str, model: &str, builtin| AliasRow {
        alias: alias.to_owned(),
        model: model.to_owned(),
        builtin,
        here: setup
            .meaning_of_alias(alias, parent)
            .map(|choice| Here { model: choice.model, provider: choice.provider }),
    };
    let written = written.iter().map(|(alias, model)| row(alias, model, false));
    written.chain(builtin.map(|alias| row(alias.name, alias.model, true))).collect()
}

/// The built-in models, and those with a price or a window in the settings.
fn models(setup: &Setup) -> Vec<ModelRow> {
    let settings = &setup.settings;
    let mut rows: BTreeMap<(String, String), ModelRow> = BTreeMap::new();
    for known in catalogue::all() {
        rows.insert((known.home.as_str().to_owned(), known.id.to_owned()), model_row(known));
    }
    let named = settings.model_prices.keys().chain(settings.model_context_windows.keys());
    for id in named {
        let home = Home::of_model(id).map_or("", Home::as_str).to_owned();
        let row = rows.entry((home.clone(), id.clone())).or_insert_with(|| ModelRow {
            id: id.clone(),
            provider: home,
            context_window: None,
            max_output_tokens: None,
            input_usd: None,
            output_usd: None,
            cached_usd: None,
        });
        if let Some(price) = settings.model_prices.get(id) {
            (row.input_usd, row.output_usd, row.cached_usd) =
                (price.input, price.output, price.cached);
        }
        if let Some(window) = settings.model_context_windows.get(id) {
            row.context_window = Some(*window);
        }
    }
    rows.into_values().collect()
}

fn model_row(known: &KnownModel) -> ModelRow {
    let price = catalogue::price_of(known.id);
    ModelRow {
        id: known.id.to_owned(),
        provider: known.home.as_str().to_owned(),
        context_window: Some(known.context_window),
        max_output_tokens: Some(known.max_output_tokens),
        input_usd: price.map(|price| price.input),
        output_usd: price.map(|price| price.output),
        cached_usd: price.and_then(|price| price.cache_read),
    }
}

fn print(report: &Report<'_>) -> Result<(), Failure> {
    let Default { model, provider, unknown } = report.default;
    let default = match model {
        _ if unknown => format!(
            "There is no provider {provider}: add [model_providers.{provider}] to the settings."
        ),
        Some("offline") if provider == "offline" => {
            "The built-in agents use offline, which only searches and reads; other agents need a \
             provider, or --model offline."
                .to_owned()
        }
        Some(model) => format!("A run uses {model} on {provider}, unless its agent names another."),
        None => format!(
            "No model is named for the provider {provider}: set `model` in the settings, or use --model."
        ),
    };
    print::out(&format!("{default}\n\n"))?;
    let rows = report.providers.iter().map(|row| {
        let key = match (&row.key_from, &row.missing_key) {
            (_, Some(missing)) => Field::new(format!("needs {missing}")).toned(Tone::Warning),
            (Some(from), None) => Field::new(format!("key from {from}")).toned(Tone::Good),
            (None, None) => Field::new("needs no key").toned(Tone::Good),
        };
        let id = Field::new(&row.id).toned(Tone::Name);
        let address = row.base_url.as_deref().or(row.name.as_deref()).unwrap_or("no base_url");
        vec![id, Field::new(row.wire_api), key, Field::new(address)]
    });
    let headings = ["PROVIDER", "API", "KEY", "ADDRESS"];
    let overflow = Overflow::Cut { order: &[(3, 20), (2, 12)] };
    print::out(&format!("{}\n\n", table::render(&headings, &rows.collect::<Vec<_>>(), overflow)))?;
    if !report.aliases.is_empty() {
        let rows = report.aliases.iter().map(|row| {
            let from = if row.builtin { "built in" } else { "settings" };
            let alias = Field::new(&row.alias).toned(Tone::Name);
            let here = match &row.here {
                Some(here) => Field::new(format!("{} on {}", here.model, here.provider)),
                None => Field::new("no provider is set up").toned(Tone::Warning),
            };
            vec![alias, Field::new(&row.model), here, Field::new(from)]
        });
        let overflow = Overflow::Cut { order: &[(1, 16), (2, 16)] };
        let headings = ["ALIAS", "MODEL", "USED HERE", "FROM"];
        let table = table::render(&headings, &rows.collect::<Vec<_>>(), overflow);
        print::out(&format!("{table}\n\n"))?;
    }
    if !report.models.is_empty() {
        let usd = |amount: Option<f64>| amount.map_or("–".to_owned(), |usd| format!("{usd}"));
        let tokens = |count: Option<u64>| count.map_or("–".to_owned(), thousands);
        let rows = report.models.iter().map(|row| {
            vec![
                Field::new(&row.id).toned(Tone::Name),
                Field::new(&row.provider),
                Field::new(tokens(row.context_window)),
                Field::new(tokens(row.max_output_tokens)),
                Field::new(usd(row.input_usd)),
                Field::new(usd(row.cached_usd)),
                Field::new(usd(row.output_usd)),
            ]
        });
        let headings = ["MODEL", "PROVIDER", "WINDOW", "OUTPUT", "$ IN", "$ CACHED", "$ OUT"];
        let overflow = Overflow::Cut { order: &[(0, 16)] };
        print::out(&format!(
            "{}\n",
            table::render(&headings, &rows.collect::<Vec<_>>(), overflow)
        ))?;
        let note = format!("Prices per million tokens as of {}.", report.prices_as_of);
        print::out(&format!("{}\n", paint(Tone::Faint, &note)))?;
    }
    Ok(())
}

/// `200k`, `1M`.
fn thousands(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", f64::from(u32::try_from(tokens / 1_000).unwrap_or(u32::MAX)) / 1e3)
            .replace(".0M", "M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_tokens_are_short() {
        for (tokens, expected) in [
            (512, "512"),
            (272_000, "272k"),
            (1_000_000, "1M"),
            (1_048_576, "1M"),
            (2_500_000, "2.5M"),
        ] {
            assert_eq!(thousands(tokens), expected);
        }
    }
}
