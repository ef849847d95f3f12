//! Origins: whom a key may be sent to, by scheme, host and port.
//!
//! The HTTP client parses the address again, by its own rules. So an address that two parsers could
//! take for two hosts has no origin at all: no user name, no backslash, no blank, no
//! escape, no letter beyond ASCII. Two spellings of one host may be two origins; never the other way.

use std::{fmt, net::Ipv6Addr, str::FromStr};

use serde::{Deserialize, Serialize};

/// Scheme, host and port of an address, in one spelling: `https://api.example.com`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WebOrigin {
    scheme: Scheme,
    host: String,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Scheme {
    Http,
    Https,
}

/// Why an address has no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// It begins with neither `https://` nor `http://`.
    #[error("it does not begin with https:// or http://")]
    Scheme,
    /// It names nobody.
    #[error("it has no host")]
    NoHost,
    /// It holds a user name or a password.
    #[error("it holds a user name or a password before an @")]
    UserInfo,
    /// Its host holds something that others might read differently.
    #[error("its host holds something else than letters, digits, dots and hyphens")]
    Host,
    /// Its port is not a valid port.
    #[error("its port is not a number up to 65535")]
    Port,
}

impl WebOrigin {
    /// The origin of an address.
    pub fn from_url(url: &str) -> Result<Self, OriginError> {
        let (scheme, rest) = url.split_once("://").ok_or(OriginError::Scheme)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return Err(OriginError::Scheme),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(OriginError::UserInfo);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => {
                let (address, after) = inner.split_once(']').ok_or(OriginError::Host)?;
                let address: Ipv6Addr = address.parse().map_err(|_| OriginError::Host)?;
                (format!("[{address}]"), after.strip_prefix(':').map_or((after, ""), |it| ("", it)))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host.to_ascii_lowercase(), ("", port)),
                None => (authority.to_ascii_lowercase(), ("", "")),
            },
        };
        let (trailing, port) = port;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        if !trailing.is_empty() || (!host.starts_with('[') && !host.chars().all(plain)) {
            return Err(OriginError::Host);
        }
        if !host.contains(|letter: char| letter.is_ascii_alphanumeric() || letter == ':') {
            return Err(OriginError::NoHost);
        }
        let port = match port {
            "" => scheme.default_port(),
            digits if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                digits.parse().map_err(|_| OriginError::Port)?
            }
            _ => return Err(OriginError::Port),
        };
        Ok(Self { scheme, host, port })
    }

    /// Whether others on the network can read what is sent: it is not encrypted and goes to another
    /// machine.
    pub fn is_readable_on_the_way(&self) -> bool {
        let here = ["localhost", "[::1]"].contains(&self.host.as_str())
            || self.host.strip_prefix("127.").is_some_and(|rest| {
                rest.bytes().all(|letter| letter.is_ascii_digit() || letter == b'.')
            });
        self.scheme == Scheme::Http && !here
    }
}

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme.as_str(), self.host)?;
        if self.port == self.scheme.default_port() {
            return Ok(());
        }
        write!(formatter, ":{}", self.port)
    }
}

impl FromStr for WebOrigin {
    type Err = OriginError;

    fn from_str(url: &str) -> Result<Self, OriginError> {
        Self::from_url(url)
    }
}

impl TryFrom<String> for WebOrigin {
    type Error = OriginError;

    fn try_from(url: String) -> Result<Self, OriginError> {
        Self::from_url(&url)
    }
}

impl From<WebOrigin> for String {
    fn from(origin: WebOrigin) -> Self {
        origin.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_read_as_another_host_has_no_origin() {
        for (url, error) in [
            ("", OriginError::Scheme),
            ("api.openai.com", OriginError::Scheme),
            ("//api.openai.com", OriginError::Scheme),
            ("https:api.openai.com", OriginError::Scheme),
            ("https:/api.openai.com", OriginError::Scheme),
            ("ftp://api.openai.com", OriginError::Scheme),
            (" https://api.openai.com", OriginError::Scheme),
            ("ht\ntps://api.openai.com", OriginError::Scheme),
            ("https://", OriginError::NoHost),
            ("https:///evil.example/", OriginError::NoHost),
            ("https://:443", OriginError::NoHost),
            ("https://?@evil.example", OriginError::NoHost),
            ("https://..", OriginError::NoHost),
            ("https://api.openai.com@evil.example/", OriginError::UserInfo),
            ("https://key:secret@evil.example/", OriginError::UserInfo),
            ("https://evil.example\\@api.openai.com", OriginError::UserInfo),
            ("https://evil.example\\.openai.com", OriginError::Host),
            ("https://evil.example\\", OriginError::Host),
            ("https://api.openai.com\t.evil.example", OriginError::Host),
            ("https://api.open ai.com", OriginError::Host),
            ("https://api%2eopenai.com", OriginError::Host),
            ("https://api。openai.com", OriginError::Host),
            ("https://аpi.openai.com", OriginError::Host),
            ("https://[::1", OriginError::Host),
            ("https://[::1]evil.example", OriginError::Host),
            ("https://[fe80::1%25eth0]", OriginError::Host),
            ("https://[not::an::address]", OriginError::Host),
            ("https://api.openai.com:65536", OriginError::Port),
            ("https://api.openai.com:+443", OriginError::Port),
            ("https://api.openai.com:80:443", OriginError::Port),
            ("https://::1", OriginError::NoHost),
        ] {
            assert_eq!(WebOrigin::from_url(url), Err(error), "{url:?}");
        }
    }

    #[test]
    fn one_origin_has_one_spelling() {
        for (url, origin) in [
            ("https://api.openai.com", "https://api.openai.com"),
            ("HTTPS://API.OpenAI.com:443/v1?a=b#c", "https://api.openai.com"),
            ("https://api.openai.com:/v1", "https://api.openai.com"),
            ("https://api.openai.com?x=https://evil.example@", "https://api.openai.com"),
            ("https://api.openai.com#@evil.example", "https://api.openai.com"),
            ("https://api.openai.com:00443", "https://api.openai.com"),
            ("http://localhost:80", "http://localhost"),
            ("https://localhost:80", "https://localhost:80"),
            ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434"),
            ("http://[0:0:0:0:0:0:0:1]:8080/v1", "http://[::1]:8080"),
            ("https://my_gateway.internal/openai", "https://my_gateway.internal"),
        ] {
            let found = WebOrigin::from_url(url).map(|origin| origin.to_string());
            assert_eq!(found.as_deref(), Ok(origin), "{url}");
            assert_eq!(WebOrigin::from_url(origin).map(String::from).as_deref(), Ok(origin));
        }
    }

    #[test]
    fn another_scheme_host_or_port_is_another_origin() {
        let urls = [
            "https://api.example",
            "http://api.example",
            "https://api.example:8443",
            "https://api.example.evil",
            "https://sub.api.example",
            "https://api.example.",
        ];
        for (index, one) in urls.iter().enumerate() {
            for other in urls.iter().skip(index + 1) {
                assert_ne!(WebOrigin::from_url(one), WebOrigin::from_url(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn only_this_machine_may_do_without_encryption() {
        let readable =
            |url: &str| WebOrigin::from_url(url).map(|origin| origin.is_readable_on_the_way());
        for url in ["http://api.example", "http://10.0.0.1:8000", "http://127.evil.example"] {
            assert_eq!(readable(url), Ok(true), "{url}");
        }
        for url in ["https://a.b", "http://localhost:1", "http://127.0.0.1", "http://[::1]:1"] {
            assert_eq!(readable(url), Ok(false), "{url}");
        }
    }
}
