//! `--model` and `--provider`: what may be written there, alone and together.

use crate::failure::Failure;

/// A name that is not empty, without blanks around it.
pub(crate) fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it is empty; leave the option away, or name one".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// Refuses a model and a provider that cannot be meant together: the built-in models have no provider.
pub(crate) fn require_agreement(
    model: Option<&str>,
    provider: Option<&str>,
) -> Result<(), Failure> {
    let (Some(model), Some(provider)) = (model, provider) else { return Ok(()) };
    let builtin = model.split(':').next().filter(|word| ["offline", "replay"].contains(word));
    match (builtin, provider) {
        (Some("offline"), "offline") => Ok(()),
        (_, "offline") => Err(Failure::usage(format!(
            "--provider offline has one model, `offline`, and not `{model}`"
        ))
        .hint("leave --model away, or name the provider of that model")),
        (Some(builtin), _) => Err(Failure::usage(format!(
            "--model {builtin} is built in, and no model of the provider `{provider}`"
        ))
        .hint("leave --provider away, or name a model that the provider has")),
        (None, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_models_have_no_provider() {
        for (model, provider, agrees) in [
            (Some("m"), Some("f"), true),
            (Some("m"), None, true),
            (None, Some("offline"), true),
            (Some("offline"), Some("offline"), true),
            (Some("m"), Some("offline"), false),
            (Some("offline"), Some("f"), false),
            (Some("replay:x.jsonl"), Some("f"), false),
            (Some("replay:x.jsonl"), Some("offline"), false),
            (Some("offliner"), Some("f"), true),
        ] {
            assert_eq!(
                require_agreement(model, provider).is_ok(),
                agrees,
                "{model:?} {provider:?}"
            );
        }
        assert_eq!(name(" m "), Ok("m".to_owned()));
        assert!(name("  ").is_err());
    }
}
