//! The connection: which model answers, once the choice is made.

use std::{path::Path, sync::Arc};

use attache_kernel::{
    model_choice::{ChosenBy, ModelChoice},
    outcome::ModelUsed,
};
use attache_runtime::model::{Model, offline::OfflineModel, replay::ReplayModel};

use crate::{failure::Failure, print, setup::Setup};

/// What answers a run, and what its result says of it.
pub(super) struct Connection {
    pub(super) model: Arc<dyn Model>,
    pub(super) used: ModelUsed,
}

/// The model an earlier run used.
pub(super) fn as_before(used: &ModelUsed) -> ModelChoice {
    ModelChoice {
        model: used.id.clone(),
        provider: used.provider.clone(),
        chosen_by: used.chosen_by,
    }
}

/// Connects to the chosen model.
pub(super) fn connect(choice: &ModelChoice, setup: &Setup) -> Result<Connection, Failure> {
    if let Some(file) = choice.model.strip_prefix("replay:") {
        let path = setup.working_directory.join(Path::new(file));
        let model = ReplayModel::load(&path).map_err(|error| {
            Failure::usage(format!("cannot replay {}", path.display())).because(&error)
        })?;
        return Ok(Connection { model: Arc::new(model), used: used(choice, &choice.model) });
    }
    if choice.provider != "offline" {
        return Err(unsupported(choice, setup));
    }
    if choice.model == "offline" {
        if choice.chosen_by == ChosenBy::Parent && !setup.quiet {
            print::aside(
                "no model provider is set up: the built-in `offline` model searches and reads",
            );
        }
        return Ok(Connection { model: Arc::new(OfflineModel), used: used(choice, "offline") });
    }
    match choice.chosen_by {
        // Somebody asked for this very model, now.
        ChosenBy::Env | ChosenBy::Call => Err(Failure::usage(format!(
            "there is no provider for the model `{}`",
            choice.model
        ))
        .hint("set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or use --model offline")),
        ChosenBy::Definition | ChosenBy::Default | ChosenBy::Parent => {
            if !setup.quiet {
                print::aside(&format!(
                    "no model provider is set up for `{}`: the built-in `offline` model searches and reads",
                    choice.model
                ));
            }
            let fallback = ModelUsed {
                id: "offline".to_owned(),
                provider: "offline".to_owned(),
                chosen_by: ChosenBy::Parent,
            };
            Ok(Connection { model: Arc::new(OfflineModel), used: fallback })
        }
    }
}

fn used(choice: &ModelChoice, id: &str) -> ModelUsed {
    ModelUsed { id: id.to_owned(), provider: choice.provider.clone(), chosen_by: choice.chosen_by }
}

fn unsupported(choice: &ModelChoice, setup: &Setup) -> Failure {
    let provider = &choice.provider;
    match setup.missing_key(provider) {
        Some(variable) => {
            Failure::usage(format!("the provider `{provider}` needs a key in {variable}"))
                .hint(format!("set {variable}, or use --model offline"))
        }
        None if !setup.knows_provider(provider) => Failure::usage(format!(
            "there is no provider `{provider}`"
        ))
        .hint(format!("add [model_providers.{provider}] to the settings, or use --model offline")),
        None => {
            Failure::usage(format!("this version cannot talk to the provider `{provider}` yet"))
                .hint("use --model offline")
        }
    }
}
