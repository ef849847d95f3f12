//! Tokens: asked for with a code, and renewed with a refresh token.

use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    challenge::scopes,
    error::LoginError,
    logins::Exposed,
    reach::{Answer, Reach},
};
use crate::{mcp_client::clean_text::clean_line, store::Secrets};

const TOKEN_ENDPOINT: &str = "the token endpoint";
/// The bounds of a token's length: a shorter one cannot be masked, and no header is longer.
const SHORTEST: usize = 8;
const LONGEST: usize = 16 << 10;

/// This program, as an authorization server knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Exposed>,
    #[serde(default)]
    pub(super) proof: ClientProof,
}

/// How a client proves who it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientProof {
    /// Not at all: it is a public client.
    #[default]
    None,
    /// Its secret is a field of the form.
    ClientSecretPost,
    /// Its secret is a password.
    ClientSecretBasic,
}

/// What a token endpoint gives.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    pub(super) access: SecretString,
    pub(super) refresh: Option<SecretString>,
    /// For how many seconds the access token is valid; `None` if it does not say.
    pub(super) seconds: Option<u64>,
    pub(super) scopes: Option<Vec<String>>,
}

/// What is given for tokens.
pub(super) enum Grant<'a> {
    Code { code: &'a SecretString, verifier: &'a SecretString, redirect: &'a str },
    Refresh { token: &'a SecretString },
}

/// Asks for tokens.
pub(super) async fn tokens(
    reach: &Reach,
    endpoint: &Url,
    client: &Client,
    grant: &Grant<'_>,
    resource: &str,
) -> Result<Tokens, LoginError> {
    let mut fields = vec![("client_id", client.id.as_str()), ("resource", resource)];
    let mut sent: Vec<&str> = Vec::new();
    match grant {
        Grant::Code { code, verifier, redirect } => {
            let (code, verifier) = (code.expose_secret(), verifier.expose_secret());
            sent.extend([code, verifier]);
            fields.extend([
                ("grant_type", "authorization_code"),
                ("code", code),
                ("code_verifier", verifier),
                ("redirect_uri", redirect),
            ]);
        }
        Grant::Refresh { token } => {
            let token = token.expose_secret();
            sent.push(token);
            fields.extend([("grant_type", "refresh_token"), ("refresh_token", token)]);
        }
    }
    sent.extend(client.secret.as_ref().map(Exposed::expose));
    let password = proof(client, &mut fields);
    let answer = reach.post_form(TOKEN_ENDPOINT, endpoint, &fields, password).await?;
    if answer.status.is_success() {
        return read(&answer.body);
    }
    Err(refusal(TOKEN_ENDPOINT, &answer, &Secrets::new(sent)))
}

/// Adds the client's secret to a form, or gives it as name and password.
pub(super) fn proof<'a>(
    client: &'a Client,
    fields: &mut Vec<(&'a str, &'a str)>,
) -> Option<(&'a str, &'a str)> {
    let secret = client.secret.as_ref().map(Exposed::expose);
    match (client.proof, secret) {
        (ClientProof::ClientSecretPost, Some(secret)) => {
            fields.push(("client_secret", secret));
            None
        }
        (ClientProof::ClientSecretBasic, Some(secret)) => Some((client.id.as_str(), secret)),
        (ClientProof::None, _) | (_, None) => None,
    }
}

/// Why a request was refused. A server that repeats what it was sent does not get that shown.
pub(super) fn refusal(what: &'static str, answer: &Answer, sent: &Secrets) -> LoginError {
    let text = |key: &str| answer.body.get(key).and_then(Value::as_str);
    let problem = match (text("error"), text("error_description")) {
        (Some(error), Some(description)) => format!("{error}: {description}"),
        (Some(error), None) => error.to_owned(),
        (None, _) => format!("status {}", answer.status),
    };
    let problem = clean_line(&sent.mask(&problem), 300);
    let is_final = matches!(text("error"), Some("invalid_grant" | "invalid_client"));
    if is_final {
        return LoginError::Expired { problem };
    }
    if answer.status.is_server_error() || answer.status == StatusCode::TOO_MANY_REQUESTS {
        return LoginError::Unreachable { what, problem };
    }
    LoginError::Refused { what, problem }
}

fn read(body: &Value) -> Result<Tokens, LoginError> {
    let garbage =
        |problem: &str| LoginError::Garbage { what: TOKEN_ENDPOINT, problem: problem.to_owned() };
    let kind = body.get("token_type").and_then(Value::as_str).unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(garbage("tokens of another kind than Bearer"));
    }
    let token = |key: &str| match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(token)) if is_sendable(token) => Ok(Some(SecretString::from(&**token))),
        Some(_) => Err(garbage("a token that cannot be sent")),
    };
    let seconds = body.get("expires_in").and_then(|seconds| match seconds {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let seconds = seconds.map(|seconds| seconds.clamp(0.0, 1e10) as u64);
    Ok(Tokens {
        access: token("access_token")?.ok_or_else(|| garbage("no access token"))?,
        refresh: token("refresh_token")?,
        seconds,
        scopes: body.get("scope").and_then(Value::as_str).map(scopes),
    })
}

fn is_sendable(token: &str) -> bool {
    (SHORTEST..=LONGEST).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_tokens_that_can_be_sent_and_masked_are_taken() {
        let good =
            json!({"access_token": "at-12345678", "token_type": "bearer", "expires_in": "3600"});
        let tokens = read(&good).unwrap();
        assert_eq!((tokens.seconds, tokens.refresh.is_none()), (Some(3600), true));
        for (key, value) in [
            ("token_type", json!("mac")),
            ("token_type", json!(null)),
            ("access_token", json!(null)),
            ("access_token", json!(5)),
            ("access_token", json!("short")),
            ("access_token", json!("at-123\r\nX: evil")),
            ("access_token", json!("x".repeat(LONGEST + 1))),
            ("refresh_token", json!({"a": 1})),
        ] {
            let mut bad = good.clone();
            bad[key] = value.clone();
            let error = read(&bad).unwrap_err();
            assert!(matches!(error, LoginError::Garbage { .. }), "{key} {value}");
        }
        for (written, seconds) in
            [(json!(-5), Some(0)), (json!(1e300), Some(10_000_000_000)), (json!([]), None)]
        {
            let mut odd = good.clone();
            odd["expires_in"] = written;
            assert_eq!(read(&odd).unwrap().seconds, seconds);
        }
    }

    #[test]
    fn a_refusal_does_not_repeat_what_was_sent() {
        let body = json!({"error": "invalid_grant", "error_description": "no such code c0de-12345678\u{1b}[2J"});
        let answer = Answer { status: StatusCode::BAD_REQUEST, body };
        let error = refusal(TOKEN_ENDPOINT, &answer, &Secrets::new(["c0de-12345678"])).to_string();
        assert!(error.contains("no such code ***") && !error.contains('\u{1b}'), "{error}");
    }
}
