//! The answer of the browser: a request to a port of this machine, or its address as the user pastes it.
//!
//! Invariant: an answer counts only with the state of this login. Everything else that arrives at the port is
//! answered and forgotten, so that no page can end a login.

use std::{net::Ipv4Addr, time::Duration};

use reqwest::Url;
use secrecy::SecretString;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::error::LoginError;
use crate::mcp_client::clean_text::clean_line;

/// The path of the redirect.
const PATH: &str = "/callback";
/// The longest head of a request that is read.
const LONGEST_HEAD: usize = 16 << 10;
/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// A port that waits for the browser.
#[derive(Debug)]
pub(super) struct Callback {
    listener: TcpListener,
    redirect: String,
}

/// What an answer must have.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) state: String,
    pub(super) issuer: String,
    /// The issuer must be named.
    pub(super) names_issuer: bool,
}

impl Callback {
    pub(super) async fn listen(port: u16) -> Result<Self, LoginError> {
        let failed =
            |error: std::io::Error| LoginError::Listen { port, problem: error.to_string() };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, redirect: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// The address that the browser is sent to.
    pub(super) fn redirect(&self) -> &str {
        &self.redirect
    }

    /// Waits for the browser.
    pub(super) async fn answer(&self, expected: &Expected) -> Result<SecretString, LoginError> {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else { continue };
            if let Ok(Some(answer)) = timeout(PATIENCE, self.serve(stream, expected)).await {
                return answer;
            }
        }
    }

    /// Answers one request; `None` if it is not the answer.
    async fn serve(
        &self,
        mut stream: TcpStream,
        expected: &Expected,
    ) -> Option<Result<SecretString, LoginError>> {
        let head = head(&mut stream).await?;
        let mut words = head.split_ascii_whitespace();
        let (method, target) = (words.next()?, words.next()?);
        let origin = self.redirect.strip_suffix(PATH)?;
        let is_meant = method == "GET" && target.starts_with('/');
        let answer = match is_meant.then(|| self.pasted(&format!("{origin}{target}"), expected)) {
            None | Some(Err(LoginError::OtherLogin { .. })) => None,
            Some(answer) => Some(answer),
        };
        let (status, text) = match &answer {
            Some(Ok(_)) => ("200 OK", "Logged in. You can close this page and go back to attache."),
            Some(Err(_)) => ("200 OK", "The login was refused. You can close this page."),
            None => ("404 Not Found", "This is not the answer to a login."),
        };
        let page = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        );
        // The browser may be gone already.
        stream.write_all(page.as_bytes()).await.unwrap_or_default();
        stream.shutdown().await.unwrap_or_default();
        answer
    }

    /// The code in the address that the browser was sent to.
    pub(super) fn pasted(
        &self,
        address: &str,
        expected: &Expected,
    ) -> Result<SecretString, LoginError> {
        let other = |problem| LoginError::OtherLogin { problem };
        let address = Url::parse(address.trim()).map_err(|_| other("it is not an address"))?;
        let mut bare = address.clone();
        bare.set_query(None);
        bare.set_fragment(None);
        if bare.as_str() != self.redirect {
            return Err(other("it is not the address that the browser was sent to"));
        }
        let value = |name: &str| {
            let mut pairs = address.query_pairs().filter(|(key, _)| key == name);
            pairs.next().map(|(_, value)| value.into_owned())
        };
        if value("state").as_deref() != Some(&expected.state) {
            return Err(other("its state is another one"));
        }
        match value("iss") {
            Some(issuer)
                if issuer.trim_end_matches('/') != expected.issuer.trim_end_matches('/') =>
            {
                return Err(other("it comes from another authorization server"));
            }
            None if expected.names_issuer => {
                return Err(other("it does not name the authorization server"));
            }
            Some(_) | None => {}
        }
        if let Some(error) = value("error") {
            let words = value("error_description").unwrap_or_default();
            let separator = if words.is_empty() { "" } else { ": " };
            let problem = clean_line(&format!("{error}{separator}{words}"), 300);
            return Err(LoginError::Denied { problem });
        }
        let code = value("code").filter(|code| !code.is_empty());
        Ok(SecretString::from(code.ok_or_else(|| other("it has no code"))?))
    }
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(piece.get(..read)?);
        if head.len() > LONGEST_HEAD {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[tokio::test]
    async fn an_answer_counts_only_for_its_own_login() {
        let callback = Callback::listen(0).await.unwrap();
        let expected = Expected {
            state: "s-1".to_owned(),
            issuer: "https://login.example".to_owned(),
            names_issuer: false,
        };
        let redirect = callback.redirect().to_owned();
        let read = |address: &str| callback.pasted(address, &expected);
        for good in ["?code=c%201&state=s-1", "?state=s-1&code=c+1&iss=https%3A%2F%2Flogin.example"]
        {
            let code = read(&format!(" {redirect}{good}\n")).unwrap();
            assert_eq!(code.expose_secret(), "c 1");
        }
        for (wrong, problem) in [
            (format!("{redirect}?code=c"), "state"),
            (format!("{redirect}?code=c&state=s-2"), "state"),
            (format!("{redirect}?code=c&state=s-2&state=s-1"), "state"),
            (format!("{redirect}?state=s-1"), "no code"),
            (format!("{redirect}?code=&state=s-1"), "no code"),
            (
                format!("{redirect}?code=c&state=s-1&iss=https://evil.example"),
                "another authorization",
            ),
            ("http://evil.example/callback?code=c&state=s-1".to_owned(), "not the address"),
            (format!("{redirect}/x?code=c&state=s-1"), "not the address"),
            ("c0de".to_owned(), "not an address"),
        ] {
            let error = read(&wrong).unwrap_err();
            assert!(matches!(error, LoginError::OtherLogin { .. }), "{wrong}");
            assert!(error.to_string().contains(problem), "{wrong}: {error}");
        }
        let strict = Expected { names_issuer: true, ..expected.clone() };
        assert!(callback.pasted(&format!("{redirect}?code=c&state=s-1"), &strict).is_err());
        let denied =
            read(&format!("{redirect}?error=access_denied&error_description=no%1B[2J&state=s-1"));
        let told = denied.unwrap_err().to_string();
        assert!(told.contains("access_denied: no") && !told.contains('\u{1b}'), "{told}");
    }
}
