//! What of a value may be shown. Where in doubt, it is masked.

use serde_json::Value as Json;

use crate::settings::{
    meaning::Secret,
    schema::Secrecy,
    written::{KeyPath, Value},
};

/// Parts of names that tell a secret.
const TELLING: [&str; 8] =
    ["key", "token", "secret", "password", "passwd", "authorization", "credential", "cookie"];

/// Ends of names whose values are only the names of variables.
const NAMING_A_VARIABLE: [&str; 3] = ["env_var", "env_vars", "env_key"];

/// The value as it may be shown.
pub(super) fn shown(secrecy: Secrecy, at: &KeyPath, value: &Value) -> Json {
    let json = value.to_json();
    match secrecy {
        Secrecy::Plain => json,
        Secrecy::Secret => masked(json),
        Secrecy::ByName => by_name(at.names().last().map(String::as_str).unwrap_or_default(), json),
        Secrecy::Address => match json {
            Json::String(text) => address(&text).into(),
            other => other,
        },
        Secrecy::Arguments => match json {
            Json::Array(items) => arguments(items),
            other => other,
        },
    }
}

fn by_name(name: &str, value: Json) -> Json {
    match value {
        value if tells_secret(name) => masked(value),
        Json::Object(entries) => entries
            .into_iter()
            .map(|(name, value)| {
                let value = by_name(&name, value);
                (name, value)
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Json::Array(items) => items.into_iter().map(|item| by_name(name, item)).collect(),
        Json::String(text) => address(&text).into(),
        other => other,
    }
}

fn masked(value: Json) -> Json {
    match value {
        Json::Null | Json::Bool(_) => value,
        Json::Object(entries) => entries
            .into_iter()
            .map(|(name, value)| (name, masked(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Json::Array(items) => items.into_iter().map(masked).collect(),
        Json::Number(_) | Json::String(_) => Secret::MASK.into(),
    }
}

fn tells_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    !NAMING_A_VARIABLE.iter().any(|end| name.ends_with(end))
        && (TELLING.iter().any(|part| name.contains(part))
            || name == "auth"
            || name.ends_with("_auth"))
}

/// A command's arguments, without the values of options whose names tell a secret.
fn arguments(items: Vec<Json>) -> Json {
    let mut value_is_secret = false;
    items
        .into_iter()
        .map(|item| {
            let Json::String(text) = item else {
                return item;
            };
            let is_option = text.starts_with('-');
            if std::mem::take(&mut value_is_secret) && !is_option {
                return Secret::MASK.into();
            }
            match text.split_once('=') {
                Some((name, _)) if tells_secret(name) => format!("{name}={}", Secret::MASK).into(),
                Some(_) => address(&text).into(),
                None => {
                    value_is_secret = is_option && tells_secret(&text);
                    // `Authorization: Bearer …` is one argument.
                    match text.split_once(':') {
                        Some((name, _)) if tells_secret(name) => {
                            format!("{name}: {}", Secret::MASK).into()
                        }
                        _ => address(&text).into(),
                    }
                }
            }
        })
        .collect()
}

/// An address without its password and without parameters whose names tell a secret.
fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{}@{host}", Secret::MASK),
        None => authority.to_owned(),
    };
    let rest = match rest.split_once('?') {
        Some((path, query)) => {
            let parameters: Vec<_> = query
                .split('&')
                .map(|parameter| match parameter.split_once('=') {
                    Some((name, _)) if tells_secret(name) => format!("{name}={}", Secret::MASK),
                    _ => parameter.to_owned(),
                })
                .collect();
            format!("{path}?{}", parameters.join("&"))
        }
        None => rest.to_owned(),
    };
    format!("{scheme}://{authority}{rest}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_that_tell_a_secret() {
        for name in ["api_key", "API-KEY", "x-api-key", "token", "Authorization", "clientSecret"] {
            assert!(tells_secret(name), "{name}");
        }
        for name in ["env_key", "bearer_token_env_var", "env_vars", "api-version", "region"] {
            assert!(!tells_secret(name), "{name}");
        }
    }

    #[test]
    fn addresses_lose_passwords_and_keys() {
        for (written, shown) in [
            ("https://api.example.com/v1", "https://api.example.com/v1"),
            ("https://u:p@host:1/v1", "https://***@host:1/v1"),
            ("https://h?a=1&api_key=x&b=2", "https://h?a=1&api_key=***&b=2"),
            ("https://h/a@b", "https://h/a@b"),
            ("no address", "no address"),
        ] {
            assert_eq!(address(written), shown);
        }
    }

    #[test]
    fn arguments_lose_the_values_of_secret_options() {
        let written = [
            "-y",
            "pkg",
            "--api-key",
            "s1",
            "--token=s2",
            "--header",
            "Authorization: Bearer s3",
            "--verbose",
            "--key",
            "--port",
            "80",
            "API_KEY=s4",
        ];
        let shown = arguments(written.into_iter().map(Json::from).collect());
        assert_eq!(
            shown,
            json!([
                "-y",
                "pkg",
                "--api-key",
                "***",
                "--token=***",
                "--header",
                "Authorization: ***",
                "--verbose",
                "--key",
                "--port",
                "80",
                "API_KEY=***"
            ])
        );
    }
}
