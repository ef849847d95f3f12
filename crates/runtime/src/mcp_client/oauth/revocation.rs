//! Logging out: the login is removed from this machine, and its tokens are revoked where the authorization server has an
//! endpoint for that (RFC 7009).
//!
//! Invariant: the login is removed first. Whatever the server says, this program does not use its tokens again.

use reqwest::Url;

use super::{
    error::LoginError,
    grant::{Client, proof, refusal},
    logins::{Login, Logins},
    reach::Reach,
};
use crate::{model::http::HttpClient, store::Secrets};

const ENDPOINT: &str = "the revocation endpoint";

/// What became of the tokens of a login that was removed.
#[derive(Debug)]
pub enum Revocation {
    /// The authorization server does not accept them any more.
    Done,
    /// The authorization server names no endpoint for it.
    NotOffered,
    /// It did not work.
    Failed(LoginError),
}

/// Removes the login to the server at that address, and revokes its tokens; `None` if there is no login.
pub async fn log_out(
    http: &HttpClient,
    logins: &Logins,
    address: &Url,
) -> Result<Option<Revocation>, LoginError> {
    // A file that must not be used is removed all the same.
    let login = logins.get(address).unwrap_or_default();
    if !logins.remove(address).await? {
        return Ok(None);
    }
    let Some(login) = login else { return Ok(Some(Revocation::NotOffered)) };
    let Some(endpoint) = &login.revocation_endpoint else {
        return Ok(Some(Revocation::NotOffered));
    };
    let revoked = revoke(http, address, &login, endpoint).await;
    Ok(Some(revoked.map_or_else(Revocation::Failed, |()| Revocation::Done)))
}

async fn revoke(
    http: &HttpClient,
    address: &Url,
    login: &Login,
    endpoint: &str,
) -> Result<(), LoginError> {
    use secrecy::ExposeSecret as _;

    let (reach, _) = Reach::new(http.clone(), address.as_str())?;
    let endpoint = reach.address(ENDPOINT, endpoint)?;
    let refresh = login.refresh().map(|token| (token, "refresh_token"));
    // The refresh token first: it makes new access tokens.
    for (token, kind) in refresh.into_iter().chain([(login.access(), "access_token")]) {
        let Client { id, .. } = &login.client;
        let mut fields = vec![
            ("token", token.expose_secret()),
            ("token_type_hint", kind),
            ("client_id", id.as_str()),
        ];
        let password = proof(&login.client, &mut fields);
        let answer = reach.submit_form(ENDPOINT, &endpoint, &fields, password).await?;
        if !answer.status.is_success() {
            return Err(refusal(ENDPOINT, &answer, &Secrets::new(login.secrets())));
        }
    }
    Ok(())
}
