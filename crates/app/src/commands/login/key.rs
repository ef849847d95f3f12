//! Reading a key: from standard input, or from a terminal that does not show it.

use std::io::{self, IsTerminal as _, Read as _};

use attache_runtime::internal::model::credentials::WebOrigin;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    failure::Failure,
    print::{
        hidden::{self, Answer},
        number::size,
    },
};

/// The maximum size of a key.
const MOST: u64 = 64 * 1024;

/// The key; `None` if the user interrupted.
pub(super) fn read(provider: &str, origin: &WebOrigin) -> Result<Option<SecretString>, Failure> {
    let written = if io::stdin().is_terminal() {
        let asked = hidden::ask(&format!("Key of {provider} for {origin} (not shown): "));
        let answer = asked.map_err(|error| {
            Failure::unsuccessful("cannot ask for the key on this terminal")
                .because(&error)
                .hint(format!("attache login {provider} < FILE"))
        })?;
        match answer {
            Answer::Given(written) => written,
            Answer::Interrupted => return Ok(None),
        }
    } else {
        let mut written = Vec::new();
        io::stdin().take(MOST).read_to_end(&mut written).map_err(|error| {
            Failure::usage("cannot read the key from standard input").because(&error)
        })?;
        let found = written.len() as u64;
        let written = String::from_utf8(written).map_err(|_| {
            Failure::usage(format!("standard input is not a key ({} of binary data)", size(found)))
                .hint("give the key alone, in one line")
        })?;
        SecretString::from(written)
    };
    let key = written.expose_secret().trim();
    if key.is_empty() {
        return Err(Failure::usage("there is no key")
            .hint(format!("`attache login {provider}` prompts for it on a terminal"))
            .hint(format!("`attache login {provider} < FILE` reads it from a file")));
    }
    Ok(Some(SecretString::from(key)))
}
