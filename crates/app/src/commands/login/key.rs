//! Reading a key: from standard input, or from a terminal that does not show it.

use std::io::{self, IsTerminal as _, Read as _};

use attache_runtime::credentials::Origin;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    failure::Failure,
    print::hidden::{self, Answer},
};

/// More than any key.
const MOST: u64 = 64 * 1024;

/// The key; none if the user thought better of it.
pub(super) fn read(provider: &str, origin: &Origin) -> Result<Option<SecretString>, Failure> {
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
        let mut written = String::new();
        io::stdin().take(MOST).read_to_string(&mut written).map_err(|error| {
            Failure::usage("cannot read the key from standard input").because(&error)
        })?;
        SecretString::from(written)
    };
    let key = written.expose_secret().trim();
    if key.is_empty() {
        return Err(Failure::usage("there is no key")
            .hint(format!("attache login {provider} asks for it on a terminal"))
            .hint(format!("attache login {provider} < FILE reads it")));
    }
    Ok(Some(SecretString::from(key)))
}
