//! Logins on disk: one directory per server address below `$ATTACHE_HOME/mcp_logins`.
//!
//! Invariants: a file is readable by its owner alone, and one that others can read is not used. It holds the
//! address it is for, and is used for no other. A change is made under a lock of the directory, which is also held
//! while a token is renewed: two processes never spend the same refresh token.

use std::{
    fmt::{self, Write as _},
    fs::{self, DirBuilder, File},
    io::{self, Read as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use reqwest::Url;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use super::grant::{Client, Tokens};
use crate::{
    clock,
    disk::{
        private_file::{self, Privacy, Refusal},
        remedy::remedy,
    },
};

const FOLDER: &str = "mcp_logins";
const FILE: &str = "login.json";
/// The version of the format.
const VERSION: u32 = 1;
/// The largest file that is read.
const LARGEST: u64 = 256 << 10;
/// How long another process may hold the lock, and how often it is tried.
const PATIENCE: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(50);

/// A secret that is written to a private file. It is shown nowhere else.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Exposed(SecretString);

impl Exposed {
    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(super) fn secret(&self) -> &SecretString {
        &self.0
    }
}

impl From<SecretString> for Exposed {
    fn from(secret: SecretString) -> Self {
        Self(secret)
    }
}

impl Serialize for Exposed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl fmt::Debug for Exposed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// A login to one server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Login {
    version: u32,
    /// The server's address.
    address: String,
    /// Who gave the tokens.
    issuer: String,
    pub(super) token_endpoint: String,
    /// Where its tokens are revoked, if the authorization server says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: Client,
    /// The server as its tokens name it.
    pub(super) resource: String,
    access_token: Exposed,
    refresh_token: Option<Exposed>,
    /// In seconds since 1970.
    expires_at: Option<i64>,
    scopes: Vec<String>,
}

/// What a login was made with.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) issuer: String,
    pub(super) token_endpoint: Url,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: Client,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
}

/// Why logins cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum LoginsError {
    /// The file must not be used.
    #[error("{} is not used: {problem}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The file cannot be read or written.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has it.
    #[error("another process is using {} for too long", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
}

impl LoginsError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { path, .. } => {
                format!("remove {} and log in again", path.display())
            }
            Self::Io { path, source } => remedy(path, source),
            Self::Locked { .. } => "end the other process, or try again".to_owned(),
        }
    }
}

impl Login {
    pub(super) fn new(address: &Url, terms: Terms, tokens: Tokens) -> Self {
        let login = Self {
            version: VERSION,
            address: key(address),
            issuer: terms.issuer,
            token_endpoint: terms.token_endpoint.to_string(),
            revocation_endpoint: terms.revocation_endpoint,
            client: terms.client,
            resource: terms.resource,
            access_token: tokens.access.clone().into(),
            refresh_token: None,
            expires_at: None,
            scopes: terms.scopes,
        };
        login.renewed(tokens)
    }

    /// The same login with new tokens. A refresh token stays valid if no other is given.
    pub(super) fn renewed(self, tokens: Tokens) -> Self {
        let Tokens { access, refresh, seconds, scopes } = tokens;
        let lasts =
            seconds.map(|seconds| clock::now().as_second().saturating_add_unsigned(seconds));
        Self {
            access_token: access.into(),
            refresh_token: refresh.map(Exposed::from).or(self.refresh_token),
            expires_at: lasts,
            scopes: scopes.unwrap_or(self.scopes),
            ..self
        }
    }

    /// The token that is sent.
    pub(super) fn access(&self) -> &SecretString {
        self.access_token.secret()
    }

    /// The token that renews it.
    pub(super) fn refresh(&self) -> Option<&SecretString> {
        self.refresh_token.as_ref().map(Exposed::secret)
    }

    /// Until when the access token is valid; `None` if the server did not say.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at.and_then(|seconds| Timestamp::from_second(seconds).ok())
    }

    /// Whether the token is renewed when it has expired.
    pub fn can_be_renewed(&self) -> bool {
        self.refresh_token.is_some()
    }

    /// What the token allows.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Who gave the token.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Everything that must not be shown.
    pub(super) fn secrets(&self) -> Vec<String> {
        let secrets =
            [Some(&self.access_token), self.refresh_token.as_ref(), self.client.secret.as_ref()];
        secrets.into_iter().flatten().map(|secret| secret.expose().to_owned()).collect()
    }
}

/// The logins of a user.
#[derive(Debug, Clone)]
pub struct Logins {
    folder: PathBuf,
}

/// A server's login is not changed by others until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _folder: File,
}

impl Logins {
    /// Those below the program's home.
    pub fn below(attache_home: &Path) -> Self {
        Self { folder: attache_home.join(FOLDER) }
    }

    fn folder_of(&self, address: &Url) -> PathBuf {
        let digest = Sha256::digest(key(address));
        let name = digest.iter().take(16).fold(String::new(), |mut name, byte| {
            // Writing to a string does not fail.
            write!(name, "{byte:02x}").unwrap_or_default();
            name
        });
        self.folder.join(name)
    }

    /// The login to the server at that address.
    pub fn get(&self, address: &Url) -> Result<Option<Login>, LoginsError> {
        let path = self.folder_of(address).join(FILE);
        let login = read(&path, Privacy::Secret)?;
        Ok(login.filter(|login| login.address == key(address)))
    }

    /// Everything in them that must not be shown; a file that cannot be understood has nothing.
    pub fn secrets_to_mask(&self) -> Vec<String> {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let logins = folders
            .filter_map(|folder| read(&folder.path().join(FILE), Privacy::None).ok().flatten());
        logins.flat_map(|login| login.secrets()).collect()
    }

    pub(super) async fn lock(&self, address: &Url) -> Result<Lock, LoginsError> {
        let path = self.folder_of(address);
        let failed = |source| LoginsError::Io { path: path.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
        let folder = File::open(&path).map_err(failed)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { _folder: folder }),
                Err(Errno::WOULDBLOCK) if Instant::now() < until => sleep(AGAIN).await,
                Err(Errno::WOULDBLOCK) => return Err(LoginsError::Locked { path }),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
    }

    /// Stores a login in the place of the one there was.
    pub(super) fn put(&self, login: &Login, address: &Url, _: &Lock) -> Result<(), LoginsError> {
        let path = self.folder_of(address).join(FILE);
        let failed = |source| LoginsError::Io { path: path.clone(), source };
        let text = serde_json::to_string_pretty(login).map_err(|error| failed(error.into()))?;
        private_file::replace(&path, &SecretString::from(text + "\n")).map_err(failed)
    }

    /// Removes the login to the server at that address, and tells whether there was one.
    pub(super) async fn remove(&self, address: &Url) -> Result<bool, LoginsError> {
        let folder = self.folder_of(address);
        if !folder.exists() {
            return Ok(false);
        }
        let lock = self.lock(address).await?;
        self.remove_locked(address, &lock)
    }

    pub(super) fn remove_locked(&self, address: &Url, _: &Lock) -> Result<bool, LoginsError> {
        let folder = self.folder_of(address);
        let path = folder.join(FILE);
        let removed = match fs::remove_file(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(source) => return Err(LoginsError::Io { path, source }),
        };
        // One that is not empty stays.
        fs::remove_dir(&folder).unwrap_or_default();
        Ok(removed)
    }
}

/// An address in one spelling. A query counts: it may choose the account.
fn key(address: &Url) -> String {
    let mut address = address.clone();
    address.set_fragment(None);
    address.to_string()
}

fn read(path: &Path, privacy: Privacy) -> Result<Option<Login>, LoginsError> {
    let refused = |problem: String| LoginsError::Refused { path: path.to_path_buf(), problem };
    let file = private_file::open(path, privacy).map_err(|refusal| match refusal {
        Refusal::Exposed { mode } => refused(format!("others can read or change it ({mode:03o})")),
        Refusal::Foreign { owner } => refused(format!("it belongs to another user ({owner})")),
        Refusal::NotAFile { what } => refused(format!("it is {what}")),
        Refusal::Unreadable(source) => LoginsError::Io { path: path.to_path_buf(), source },
    })?;
    let Some(file) = file else { return Ok(None) };
    let mut text = String::new();
    let read = file.take(LARGEST).read_to_string(&mut text);
    read.map_err(|source| LoginsError::Io { path: path.to_path_buf(), source })?;
    let text = SecretString::from(text);
    let login: Login = serde_json::from_str(text.expose_secret()).map_err(|error| {
        // What it holds is never repeated.
        refused(format!("line {}, column {} is not as expected", error.line(), error.column()))
    })?;
    if login.version != VERSION {
        return Err(refused(format!("its version {} is not known", login.version)));
    }
    Ok(Some(login))
}
