//! Credentials: the providers' keys that the user had the program keep.
//!
//! They lie in one file below the program's home that its owner alone can read; one that others can
//! read, or that is a link, is not used. A key belongs to a provider *and* to the origin it was given
//! for: if a provider's address changes, the key is not sent to the new one.

mod origin;

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File},
    io::{self, Read as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::retry_on_intr,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

pub use self::origin::WebOrigin;
use crate::disk::{
    private_file::{self, Privacy, Refusal},
    remedy::remedy,
};

/// The file below the program's home.
const FILE: &str = "credentials.json";
/// The version of its format.
const VERSION: u32 = 1;
/// Nobody has that many keys.
const LARGEST: u64 = 1024 * 1024;
/// The shortest key: a shorter one could not be masked in what is written down.
const SHORTEST: usize = 8;
/// The longest key: no header is longer.
const LONGEST: usize = 16 * 1024;

/// The keys that are kept. They are never shown, also not by `Debug`.
#[derive(Debug, Clone)]
pub struct Credentials {
    file: PathBuf,
    keys: BTreeMap<String, StoredKey>,
}

/// A key that is kept.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredKey {
    /// Whom it may be sent to.
    pub origin: WebOrigin,
    /// The key.
    pub key: SecretString,
}

/// What is kept for a provider at an origin.
#[derive(Debug, Clone, Copy)]
pub enum KeyLookup<'a> {
    /// This key.
    Found(&'a SecretString),
    /// A key that may only be sent elsewhere.
    OtherOrigin {
        /// Where it may be sent.
        kept_for: &'a WebOrigin,
    },
    /// Nothing.
    None,
}

/// Why keys cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// Others can read the file.
    #[error("{} can be read or changed by others (mode {mode:03o})", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file belongs to somebody else.
    #[error("{} belongs to another user ({owner})", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The other user's number.
        owner: u32,
    },
    /// Something else lies in its place.
    #[error("{} is {what}, and not a file of its own", path.display())]
    NoFile {
        /// The place.
        path: PathBuf,
        /// What lies there.
        what: &'static str,
    },
    /// The file is not one of ours. What it holds is never repeated.
    #[error("{} is damaged: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        problem: String,
    },
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is not a key. It is never repeated.
    #[error("that is not a key: {problem}")]
    NoKey {
        /// Why.
        problem: &'static str,
    },
}

impl CredentialsError {
    fn refused(path: &Path, refusal: Refusal) -> Self {
        let path = path.to_path_buf();
        match refusal {
            Refusal::Exposed { mode } => Self::Exposed { path, mode },
            Refusal::Foreign { owner } => Self::Foreign { path, owner },
            Refusal::NotAFile { what } => Self::NoFile { path, what },
            Refusal::Unreadable(source) => Self::Read { path, source },
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Exposed { path, .. } => format!(
                "chmod 600 '{}'; if others had access to this machine, replace the keys in it",
                path.display()
            ),
            Self::Foreign { path, .. } => {
                format!("make it yours, or move {} away and log in again", path.display())
            }
            Self::NoFile { path, .. } => {
                format!("remove {}; `attache login PROVIDER` makes a new one", path.display())
            }
            Self::Damaged { path, .. } => {
                format!("move {} away; keys must then be given again", path.display())
            }
            Self::Read { path, source } | Self::Write { path, source } => remedy(path, source),
            Self::NoKey { .. } => "give the key alone, in one line".to_owned(),
        }
    }
}

#[derive(Deserialize)]
struct OnDisk {
    version: u32,
    #[serde(default)]
    keys: BTreeMap<String, StoredKey>,
}

#[derive(Serialize)]
struct ToDisk<'a> {
    version: u32,
    keys: BTreeMap<&'a str, KeyToDisk<'a>>,
}

#[derive(Serialize)]
struct KeyToDisk<'a> {
    origin: &'a WebOrigin,
    key: &'a str,
}

impl Credentials {
    /// What is kept below that home; nothing if there is no file yet.
    pub fn load(attache_home: &Path) -> Result<Self, CredentialsError> {
        let file = attache_home.join(FILE);
        let keys = read(&file, Privacy::Secret)?;
        Ok(Self { file, keys })
    }

    /// Every key that is kept below that home, for masking alone: also those that others can read,
    /// and are therefore not used. A file that cannot be understood has none.
    pub fn keys_to_mask(attache_home: &Path) -> Vec<SecretString> {
        let keys = read(&attache_home.join(FILE), Privacy::None).unwrap_or_default();
        keys.into_values().map(|stored| stored.key).collect()
    }

    /// The key that may be sent to that origin for that provider.
    pub fn key(&self, provider: &str, origin: &WebOrigin) -> KeyLookup<'_> {
        match self.keys.get(provider) {
            Some(stored) if stored.origin == *origin => KeyLookup::Found(&stored.key),
            Some(stored) => KeyLookup::OtherOrigin { kept_for: &stored.origin },
            None => KeyLookup::None,
        }
    }

    /// Every key, for masking.
    pub fn all_keys(&self) -> impl Iterator<Item = &SecretString> {
        self.keys.values().map(|stored| &stored.key)
    }

    /// What is kept for each provider, by its name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &StoredKey)> {
        self.keys.iter().map(|(provider, stored)| (provider.as_str(), stored))
    }

    /// Where they are kept.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Keeps a key for a provider at an origin, in the place of any other it had.
    pub fn set(
        &mut self,
        provider: &str,
        origin: WebOrigin,
        key: SecretString,
    ) -> Result<(), CredentialsError> {
        check(key.expose_secret())?;
        let stored = StoredKey { origin, key };
        self.change(|keys| drop(keys.insert(provider.to_owned(), stored)))
    }

    /// Forgets the key of a provider, and gives the origin it was kept for; none if there was none.
    pub fn remove(&mut self, provider: &str) -> Result<Option<WebOrigin>, CredentialsError> {
        if !self.keys.contains_key(provider) {
            return Ok(None);
        }
        let mut removed = None;
        self.change(|keys| removed = keys.remove(provider).map(|stored| stored.origin))?;
        Ok(removed)
    }

    /// Changes what is on disk. Other processes may do the same at the same time: it is read again
    /// under a lock.
    fn change(
        &mut self,
        change: impl FnOnce(&mut BTreeMap<String, StoredKey>),
    ) -> Result<(), CredentialsError> {
        let failed = |source| CredentialsError::Write { path: self.file.clone(), source };
        let home = self.file.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(failed)?;
        // The folder is locked, and no file beside it that somebody could have put there.
        let folder = File::open(home).map_err(failed)?;
        retry_on_intr(|| flock(&folder, FlockOperation::LockExclusive))
            .map_err(|error| failed(error.into()))?;
        let mut keys = read(&self.file, Privacy::Secret)?;
        change(&mut keys);
        if keys.is_empty() {
            match fs::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error))?,
                Ok(()) | Err(_) => {}
            }
        } else {
            write(&self.file, &keys).map_err(failed)?;
        }
        folder.sync_all().map_err(failed)?;
        self.keys = keys;
        Ok(())
    }
}

/// Passes what can be sent as a key, and masked where it is written down.
fn check(key: &str) -> Result<(), CredentialsError> {
    let problem = if key.is_empty() {
        "it is empty"
    } else if key.chars().any(char::is_whitespace) {
        "it holds a blank or a line break"
    } else if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        "it holds something else than plain letters, digits and signs"
    } else if key.starts_with(['"', '\'']) {
        "it begins with a quotation mark"
    } else if key.len() < SHORTEST {
        "it has fewer than 8 characters, too few to be masked in transcripts"
    } else if key.len() > LONGEST {
        "it is too long"
    } else {
        return Ok(());
    };
    Err(CredentialsError::NoKey { problem })
}

fn read(path: &Path, privacy: Privacy) -> Result<BTreeMap<String, StoredKey>, CredentialsError> {
    let opened = private_file::open(path, privacy);
    let Some(file) = opened.map_err(|refusal| CredentialsError::refused(path, refusal))? else {
        return Ok(BTreeMap::new());
    };
    let failed = |source| CredentialsError::Read { path: path.to_path_buf(), source };
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).map_err(failed)?;
    // Wiped from memory once it is taken apart, as far as that can be done.
    parse(&SecretString::from(text))
        .map_err(|problem| CredentialsError::Damaged { path: path.to_path_buf(), problem })
}

/// The keys in a text. What is wrong is told by its place alone: the text holds keys.
fn parse(text: &SecretString) -> Result<BTreeMap<String, StoredKey>, String> {
    let on_disk: OnDisk = serde_json::from_str(text.expose_secret()).map_err(|error| {
        format!("line {}, column {} is not as expected", error.line(), error.column())
    })?;
    if on_disk.version != VERSION {
        return Err(format!("version {} is not known", on_disk.version));
    }
    Ok(on_disk.keys)
}

/// Puts a whole new file in the place of the old one.
fn write(path: &Path, keys: &BTreeMap<String, StoredKey>) -> io::Result<()> {
    let keys = keys.iter().map(|(provider, stored)| {
        let StoredKey { origin, key } = stored;
        (provider.as_str(), KeyToDisk { origin, key: key.expose_secret() })
    });
    let to_disk = ToDisk { version: VERSION, keys: keys.collect() };
    let text = SecretString::from(serde_json::to_string_pretty(&to_disk)? + "\n");
    private_file::replace(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_is_refused_and_not_repeated() {
        for wrong in [
            "",
            "short77",
            "Bearer sk-ant-123456",
            "sk-ant-1\nsk-ant-2",
            "\"sk-ant-123456\"",
            "sk-ant-12345é",
            "sk-ant-12345\u{1b}",
            &"x".repeat(LONGEST + 1),
        ] {
            let error = check(wrong).unwrap_err();
            let text = format!("{error} {error:?} {}", error.hint());
            assert!(wrong.is_empty() || !text.contains(wrong), "{text}");
        }
        assert!(check("sk-ant-12+/=_.:~").is_ok());
    }
}
