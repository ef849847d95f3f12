//! Discovery: from a server's address to the endpoints of its authorization server.
//!
//! The metadata of the protected resource (RFC 9728) names the authorization server, whose own metadata
//! (RFC 8414, or OpenID Connect discovery) names the endpoints. Servers from before the first one are their own
//! authorization server; those without any metadata have the endpoints of the protocol version 2025-03-26.

use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{challenge::Challenge, error::LoginError, reach::Reach};
use crate::mcp_client::clean_text::clean_line;

/// Who is asked in errors.
const RESOURCE: &str = "the server's metadata";
const ISSUER: &str = "the metadata of the authorization server";

/// What is known of a server and its authorization server.
#[derive(Debug, Clone)]
pub(super) struct Discovered {
    /// The server as tokens name it.
    pub(super) resource: String,
    /// The name of the authorization server.
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    /// As it is written: it is checked when it is used.
    pub(super) revocation_endpoint: Option<String>,
    /// The scopes that the server asks for; `None` leaves them to the authorization server.
    pub(super) scopes: Option<Vec<String>>,
    /// Whether refresh tokens must be asked for with `offline_access`.
    pub(super) offers_offline_access: bool,
    /// Ways in which clients may prove who they are; empty if it does not say.
    pub(super) client_authentication: Vec<String>,
    /// Whether the answer of the browser always names the issuer (RFC 9207).
    pub(super) names_issuer: bool,
    /// There is no metadata, and the endpoints are only likely.
    pub(super) is_guessed: bool,
}

/// RFC 9728.
#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    scopes_supported: Option<Vec<String>>,
}

/// RFC 8414.
#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Finds out how to log in to a server.
pub(super) async fn discover(reach: &Reach, server: &Url) -> Result<Discovered, LoginError> {
    let (status, challenges) = reach.knock(server, &greeting()).await?;
    let challenge = Challenge::among(&challenges);
    let resource = resource(reach, server, challenge.resource_metadata.as_deref()).await?;
    let scopes = challenge
        .scopes
        .or_else(|| resource.as_ref().and_then(|resource| resource.scopes_supported.clone()));
    let named = resource.as_ref().and_then(|found| found.authorization_servers.first());
    let issuer = match named {
        Some(issuer) => issuer.clone(),
        None => server.origin().ascii_serialization(),
    };
    let metadata = issuer_metadata(reach, &issuer, named.is_some()).await?;
    let resource_name = match &resource {
        Some(resource) => resource.resource.clone(),
        None => server.to_string(),
    };
    let is_guessed = metadata.is_none();
    let metadata = match metadata {
        Some(metadata) => metadata,
        None if named.is_some() => return Err(LoginError::NoOAuth),
        None if status == StatusCode::UNAUTHORIZED => before_metadata(&issuer),
        None if status.is_success() => return Err(LoginError::NotNeeded),
        None => return Err(LoginError::NoOAuth),
    };
    if !metadata.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(LoginError::NoPkce);
    }
    let issuer = metadata.issuer;
    let registration = metadata.registration_endpoint.as_deref();
    Ok(Discovered {
        resource: resource_name,
        issuer,
        authorization_endpoint: reach
            .address("the authorization endpoint", &metadata.authorization_endpoint)?,
        token_endpoint: reach.address("the token endpoint", &metadata.token_endpoint)?,
        registration_endpoint: registration
            .map(|address| reach.address("the registration endpoint", address))
            .transpose()?,
        revocation_endpoint: metadata.revocation_endpoint,
        scopes,
        offers_offline_access: has(&metadata.scopes_supported, "offline_access"),
        client_authentication: metadata.token_endpoint_auth_methods_supported,
        names_issuer: metadata.authorization_response_iss_parameter_supported,
        is_guessed,
    })
}

fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|listed| listed == word)
}

/// A first message, to be refused by a server that wants a token.
fn greeting() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "attache", "version": env!("CARGO_PKG_VERSION")},
    }})
}

/// The endpoints that servers without metadata have.
fn before_metadata(issuer: &str) -> IssuerMetadata {
    let at = |path: &str| format!("{issuer}/{path}");
    IssuerMetadata {
        issuer: issuer.to_owned(),
        authorization_endpoint: at("authorize"),
        token_endpoint: at("token"),
        registration_endpoint: Some(at("register")),
        revocation_endpoint: None,
        scopes_supported: Vec::new(),
        code_challenge_methods_supported: vec!["S256".to_owned()],
        token_endpoint_auth_methods_supported: Vec::new(),
        authorization_response_iss_parameter_supported: false,
    }
}

/// The metadata of the server: where it says, else at the well-known places.
async fn resource(
    reach: &Reach,
    server: &Url,
    named: Option<&str>,
) -> Result<Option<ResourceMetadata>, LoginError> {
    let places = match named {
        Some(named) => vec![reach.address("the address of the server's metadata", named)?],
        None => well_known(server, &["oauth-protected-resource"], Order::PathFirst),
    };
    for place in places {
        if let Some(document) = reach.document(RESOURCE, &place).await? {
            let metadata: ResourceMetadata = read(RESOURCE, document)?;
            check_resource(server, &metadata.resource)?;
            return Ok(Some(metadata));
        }
    }
    match named {
        Some(_) => Err(LoginError::Garbage {
            what: RESOURCE,
            problem: "nothing, although the server names its address".to_owned(),
        }),
        None => Ok(None),
    }
}

/// The server must be the resource, or below it.
fn check_resource(server: &Url, written: &str) -> Result<(), LoginError> {
    let fits = Url::parse(written).is_ok_and(|resource| {
        let path = resource.path().trim_end_matches('/');
        let rest = server.path().strip_prefix(path);
        resource.origin() == server.origin()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if fits { Ok(()) } else { Err(LoginError::OtherResource { found: clean_line(written, 200) }) }
}

async fn issuer_metadata(
    reach: &Reach,
    issuer: &str,
    is_named: bool,
) -> Result<Option<IssuerMetadata>, LoginError> {
    let address = reach.address("the authorization server", issuer)?;
    let kinds = ["oauth-authorization-server", "openid-configuration"];
    for place in well_known(&address, &kinds, Order::KindFirst) {
        let Some(document) = reach.document(ISSUER, &place).await? else { continue };
        let metadata: IssuerMetadata = read(ISSUER, document)?;
        let is_same = metadata.issuer.trim_end_matches('/') == issuer.trim_end_matches('/');
        // A server that names nobody is its own authorization server, below whatever path.
        let is_own = !is_named
            && Url::parse(&metadata.issuer).is_ok_and(|found| found.origin() == address.origin());
        if !is_same && !is_own {
            return Err(LoginError::OtherIssuer {
                found: clean_line(&metadata.issuer, 200),
                expected: clean_line(issuer, 200),
            });
        }
        return Ok(Some(metadata));
    }
    Ok(None)
}

fn read<T: for<'de> Deserialize<'de>>(
    what: &'static str,
    document: Value,
) -> Result<T, LoginError> {
    serde_json::from_value(document).map_err(|error| LoginError::Garbage {
        what,
        problem: format!(
            "an object that is not metadata ({})",
            clean_line(&error.to_string(), 100)
        ),
    })
}

/// In which order well-known places are looked at.
#[derive(Clone, Copy)]
enum Order {
    /// The path's own metadata, then that of the whole host.
    PathFirst,
    /// Each kind with the path inserted, then OpenID Connect's with the path before it.
    KindFirst,
}

fn well_known(address: &Url, kinds: &[&str], order: Order) -> Vec<Url> {
    let path = address.path().trim_end_matches('/').to_owned();
    let at = |path: &str| {
        let mut place = address.clone();
        place.set_path(path);
        place.set_query(None);
        place
    };
    let mut places: Vec<Url> =
        kinds.iter().map(|kind| at(&format!("/.well-known/{kind}{path}"))).collect();
    if !path.is_empty() {
        match order {
            Order::PathFirst => {
                places.extend(kinds.iter().map(|kind| at(&format!("/.well-known/{kind}"))));
            }
            Order::KindFirst => {
                places.push(at(&format!("{path}/.well-known/openid-configuration")));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn metadata_is_looked_for_at_the_places_of_the_standards() {
        let places = |address: &str, kinds: &[&str], order| {
            let places = well_known(&url(address), kinds, order);
            places.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            places("https://h/a/mcp?x=1", &["oauth-protected-resource"], Order::PathFirst),
            [
                "https://h/.well-known/oauth-protected-resource/a/mcp",
                "https://h/.well-known/oauth-protected-resource"
            ]
        );
        let kinds = ["oauth-authorization-server", "openid-configuration"];
        assert_eq!(
            places("https://h/t/", &kinds, Order::KindFirst),
            [
                "https://h/.well-known/oauth-authorization-server/t",
                "https://h/.well-known/openid-configuration/t",
                "https://h/t/.well-known/openid-configuration"
            ]
        );
        assert_eq!(places("https://h", &kinds, Order::KindFirst).len(), 2);
    }

    #[test]
    fn metadata_counts_for_its_own_server_alone() {
        let server = url("https://h/a/mcp");
        for resource in
            ["https://h/a/mcp", "https://h/a", "https://h", "https://h/", "https://h:443/a/"]
        {
            assert!(check_resource(&server, resource).is_ok(), "{resource}");
        }
        for resource in [
            "https://h/a/mc",
            "https://h/b",
            "https://x/a/mcp",
            "http://h/a/mcp",
            "https://h:8/",
            "",
            "x",
        ] {
            assert!(check_resource(&server, resource).is_err(), "{resource}");
        }
    }
}
