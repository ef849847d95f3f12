//! Who may ask: the name the client calls the server by, the page it comes from, and its token.
//!
//! Invariant: a page in a browser cannot make the user's own browser ask: neither from another origin, nor by a
//! name of its own that leads to this machine.

use std::{fmt, net::IpAddr};

use hyper::{
    HeaderMap,
    header::{AUTHORIZATION, HOST, HeaderName, ORIGIN},
};
use sha2::{Digest as _, Sha256};

/// A bearer token; only its digest is kept.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token([u8; 32]);

impl Token {
    pub(crate) fn new(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    pub(super) fn digest(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("there is nothing here; the server is at /mcp")]
    NoSuchPath,
    #[error(
        "the Host header names another server; start this one with --allow-host NAME to be called so"
    )]
    Host,
    #[error(
        "pages of that Origin may not ask; start the server with --allow-host NAME to let them"
    )]
    Origin,
    #[error("the token is missing or wrong; send it as `Authorization: Bearer TOKEN`")]
    Token,
    #[error("too many requests; wait a moment")]
    TooOften,
    #[error("too many sessions; end one, or wait")]
    TooManySessions,
}

/// Who may ask.
#[derive(Debug)]
pub(super) struct Guard {
    token: Option<Token>,
    /// Further names of the server.
    hosts: Vec<String>,
}

impl Guard {
    pub(super) fn new(token: Option<Token>, hosts: Vec<String>) -> Self {
        Self { token, hosts }
    }

    pub(super) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Whether a request with those headers may be carried out.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, &HOST).map_err(|()| Refusal::Host)?;
        if !host.is_some_and(|host| self.may_be_called(host)) {
            return Err(Refusal::Host);
        }
        match text(headers, &ORIGIN) {
            Ok(None) => {}
            Ok(Some(origin)) if self.may_come_from(origin) => {}
            Ok(Some(_)) | Err(()) => return Err(Refusal::Origin),
        }
        let given = text(headers, &AUTHORIZATION).map_err(|()| Refusal::Token)?;
        match (&self.token, given) {
            (None, _) => Ok(()),
            (Some(token), Some(given)) if bearer(given).as_ref() == Some(token) => Ok(()),
            (Some(_), _) => Err(Refusal::Token),
        }
    }

    /// An address is no name that leads elsewhere tomorrow.
    fn may_be_called(&self, authority: &str) -> bool {
        let name = without_port(authority);
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        name.eq_ignore_ascii_case("localhost")
            || address.unwrap_or(name).parse::<IpAddr>().is_ok()
            || self.is_named(name)
    }

    fn is_named(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }

    fn may_come_from(&self, origin: &str) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let name = without_port(authority);
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_local = name.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.is_loopback());
        ["http", "https"].contains(&scheme) && (is_local || self.is_named(name))
    }
}

/// The one value of a header.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

fn bearer(given: &str) -> Option<Token> {
    let (scheme, token) = given.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Token::new(token.trim()))
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (name.ends_with(']') || !name.contains(':')) =>
        {
            name
        }
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn names_that_may_lead_elsewhere_are_refused() {
        let guard = Guard::new(None, vec!["agents.example".to_owned()]);
        for host in
            ["evil.example", "localhost.evil.example", "evil.example:80", "", "127.0.0.1.evil"]
        {
            let checked = guard.check(&headers(&[("host", host)]));
            assert_eq!(checked, Err(Refusal::Host), "{host}");
        }
        assert_eq!(guard.check(&HeaderMap::new()), Err(Refusal::Host));
        for host in ["localhost:80", "127.0.0.1:4", "[::1]:9", "LOCALHOST", "agents.example:1"] {
            assert_eq!(guard.check(&headers(&[("host", host)])), Ok(()), "{host}");
        }
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        let guard = Guard::new(None, Vec::new());
        let of = |origin| headers(&[("host", "localhost"), ("origin", origin)]);
        for origin in
            ["https://evil.example", "null", "http://localhost.evil.example", "file://", "x"]
        {
            assert_eq!(guard.check(&of(origin)), Err(Refusal::Origin), "{origin}");
        }
        for origin in ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:1"] {
            assert_eq!(guard.check(&of(origin)), Ok(()), "{origin}");
        }
    }

    #[test]
    fn a_wrong_token_is_refused() {
        let guard = Guard::new(Some(Token::new("secret")), Vec::new());
        for given in ["Bearer", "Bearer wrong", "secret", "Basic secret", "Bearer secret2"] {
            let checked = guard.check(&headers(&[("host", "localhost"), ("authorization", given)]));
            assert_eq!(checked, Err(Refusal::Token), "{given}");
        }
        assert_eq!(guard.check(&headers(&[("host", "localhost")])), Err(Refusal::Token));
        let right = headers(&[("host", "localhost"), ("authorization", "bearer secret")]);
        assert_eq!(guard.check(&right), Ok(()));
        let two = headers(&[
            ("host", "localhost"),
            ("authorization", "Bearer secret"),
            ("authorization", "Bearer other"),
        ]);
        let mut both = right;
        both.extend(two);
        both.append(AUTHORIZATION, "Bearer third".parse().unwrap());
        assert_eq!(guard.check(&both), Err(Refusal::Token));
    }
}
