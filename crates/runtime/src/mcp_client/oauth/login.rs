//! A login: discovery, registration, the address for the browser, and the tokens for its answer.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{
    callback::{Callback, Expected},
    error::LoginError,
    grant::{Client, ClientProof, Grant, tokens},
    logins::{Login, Logins, Terms},
    metadata::{Discovered, discover},
    reach::Reach,
};
use crate::{mcp_client::clean_text::clean_line, model::http::HttpClient};

const REGISTRATION: &str = "the registration endpoint";

/// What somebody wants to log in to.
#[derive(Debug, Clone, Default)]
pub struct LoginWish {
    /// The server's address.
    pub address: String,
    /// The scopes to ask for; `None` asks for those the server names.
    pub scopes: Option<Vec<String>>,
    /// The server as tokens are to name it; `None` uses the name in its metadata.
    pub resource: Option<String>,
    /// This program as the authorization server knows it; `None` registers it.
    pub client_id: Option<String>,
    /// The password of that client, if it has one.
    pub client_secret: Option<SecretString>,
    /// The port that the browser comes back to; `None` takes a free one.
    pub callback_port: Option<u16>,
}

/// A login that waits for the answer of the browser.
#[derive(Debug)]
pub struct Begun {
    reach: Reach,
    server: Url,
    terms: Terms,
    callback: Callback,
    expected: Expected,
    verifier: SecretString,
    address: String,
}

/// Finds out how to log in, and prepares it. Nothing is stored.
pub async fn begin(http: &HttpClient, wish: LoginWish) -> Result<Begun, LoginError> {
    let (reach, server) = Reach::new(http.clone(), &wish.address)?;
    let discovered = discover(&reach, &server).await?;
    let callback = Callback::listen(wish.callback_port.unwrap_or_default()).await?;
    let client = match wish.client_id {
        Some(id) => by_hand(id, wish.client_secret, &discovered),
        None => match register(&reach, &discovered, callback.redirect()).await {
            Err(_) if discovered.is_guessed => return Err(LoginError::NoOAuth),
            registered => registered?,
        },
    };
    let mut scopes = wish.scopes.or_else(|| discovered.scopes.clone()).unwrap_or_default();
    let offline = "offline_access";
    if discovered.offers_offline_access && !scopes.iter().any(|scope| scope == offline) {
        scopes.push(offline.to_owned());
    }
    let verifier = SecretString::from(random());
    let expected = Expected {
        state: random(),
        issuer: discovered.issuer.clone(),
        names_issuer: discovered.names_issuer,
    };
    let resource = wish.resource.unwrap_or_else(|| discovered.resource.clone());
    let mut address = discovered.authorization_endpoint.clone();
    {
        let mut pairs = address.query_pairs_mut();
        pairs
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", callback.redirect())
            .append_pair("state", &expected.state)
            .append_pair("code_challenge", &challenge(&verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &resource);
        if !scopes.is_empty() {
            pairs.append_pair("scope", &scopes.join(" "));
        }
    }
    let address = address.to_string();
    let Discovered { issuer, token_endpoint, revocation_endpoint, .. } = discovered;
    let terms = Terms { issuer, token_endpoint, revocation_endpoint, client, resource, scopes };
    Ok(Begun { reach, server, terms, callback, expected, verifier, address })
}

impl Begun {
    /// The address to be opened in a browser.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address that the browser is sent to in the end.
    pub fn redirect(&self) -> &str {
        self.callback.redirect()
    }

    /// Waits until the browser comes back, and gives the code.
    pub async fn answer(&self) -> Result<SecretString, LoginError> {
        self.callback.answer(&self.expected).await
    }

    /// The code in the address that the browser was sent to.
    pub fn pasted(&self, address: &str) -> Result<SecretString, LoginError> {
        self.callback.pasted(address, &self.expected)
    }

    /// Changes the code into tokens, and stores them.
    pub async fn finish(self, code: &SecretString, logins: &Logins) -> Result<Login, LoginError> {
        let redirect = self.callback.redirect();
        let grant = Grant::Code { code, verifier: &self.verifier, redirect };
        let Terms { token_endpoint, client, resource, .. } = &self.terms;
        let given = tokens(&self.reach, token_endpoint, client, &grant, resource).await?;
        let login = Login::new(&self.server, self.terms, given);
        let lock = logins.lock(&self.server).await?;
        logins.put(&login, &self.server, &lock)?;
        Ok(login)
    }
}

/// A client that somebody registered by hand.
fn by_hand(id: String, secret: Option<SecretString>, discovered: &Discovered) -> Client {
    let offered = &discovered.client_authentication;
    let takes = |way: &str| offered.iter().any(|offer| offer == way);
    let proof = match &secret {
        None => ClientProof::None,
        Some(_) if takes("client_secret_post") && !takes("client_secret_basic") => {
            ClientProof::ClientSecretPost
        }
        Some(_) => ClientProof::ClientSecretBasic,
    };
    Client { id, secret: secret.map(Into::into), proof }
}

/// 64 random characters.
fn random() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn challenge(verifier: &SecretString) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose_secret()))
}

/// Registers this program with the authorization server (RFC 7591).
async fn register(
    reach: &Reach,
    discovered: &Discovered,
    redirect: &str,
) -> Result<Client, LoginError> {
    let Some(endpoint) = &discovered.registration_endpoint else {
        return Err(LoginError::NoRegistration);
    };
    let offered = &discovered.client_authentication;
    let is_offered = |way: &&str| offered.is_empty() || offered.iter().any(|offer| offer == way);
    let ways = ["none", "client_secret_post", "client_secret_basic"];
    let way = ways.into_iter().find(is_offered).unwrap_or("none");
    let wish = json!({
        "client_name": "Attaché",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": way,
        "application_type": "native",
    });
    let answer = reach.post_json(REGISTRATION, endpoint, &wish).await?;
    let text = |key: &str| answer.body.get(key).and_then(Value::as_str);
    if !answer.status.is_success() {
        let problem = text("error_description").or_else(|| text("error"));
        let problem = problem.map_or_else(|| format!("status {}", answer.status), str::to_owned);
        let problem = clean_line(&problem, 300);
        return Err(LoginError::Refused { what: REGISTRATION, problem });
    }
    let id = text("client_id").filter(|id| !id.is_empty() && id.len() <= 2048);
    let id = id.ok_or_else(|| LoginError::Garbage {
        what: REGISTRATION,
        problem: "no client_id".to_owned(),
    })?;
    let secret = text("client_secret").filter(|secret| !secret.is_empty());
    let proof = match (secret, text("token_endpoint_auth_method").unwrap_or(way)) {
        (None, _) | (_, "none") => ClientProof::None,
        (Some(_), "client_secret_post") => ClientProof::ClientSecretPost,
        (Some(_), _) => ClientProof::ClientSecretBasic,
    };
    let secret = secret.filter(|_| proof != ClientProof::None);
    let secret = secret.map(|secret| SecretString::from(secret).into());
    Ok(Client { id: id.to_owned(), secret, proof })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = SecretString::from("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(random() != random() && random().len() == 64);
    }
}
