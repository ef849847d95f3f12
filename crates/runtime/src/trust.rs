//! Trust: which files the user vouches for, by path and content.
//!
//! It is kept under the program's own home, never in a project, and a file that has changed since is
//! not trusted. Agent files and project settings are trusted in the same way.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The version of the file's format.
const VERSION: u32 = 1;

/// The content of a file, as a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// The fingerprint of these bytes.
    pub fn of(content: &[u8]) -> Self {
        use std::fmt::Write as _;
        let digest = Sha256::digest(content);
        let mut text = String::with_capacity(64);
        for byte in digest {
            // Writing to a string cannot fail, and an empty fingerprint matches nothing.
            if write!(text, "{byte:02x}").is_err() {
                return Self(String::new());
            }
        }
        Self(text)
    }

    /// The fingerprint in hexadecimal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What the user vouches for.
#[derive(Debug, Clone, Default)]
pub struct TrustStore {
    file: PathBuf,
    trusted: BTreeMap<PathBuf, ContentHash>,
}

/// Why trust cannot be read or recorded.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not one of ours.
    #[error("{} is damaged: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The file's name cannot be written down.
    #[error("{} cannot be trusted: its path is not valid UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl TrustError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Read { path, .. } | Self::Write { path, .. } => {
                format!("check the owner and the permissions of {}", path.display())
            }
            Self::NotText { .. } => "rename the file".to_owned(),
            Self::Damaged { path, .. } => {
                format!("move {} away; agents must then be trusted again", path.display())
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct OnDisk {
    version: u32,
    trusted: BTreeMap<PathBuf, ContentHash>,
}

impl TrustStore {
    /// What is recorded under that home; nothing if there is no file yet.
    pub fn load(home: &Path) -> Result<Self, TrustError> {
        let file = home.join("trust.json");
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { file, trusted: BTreeMap::new() });
            }
            Err(source) => return Err(TrustError::Read { path: file, source }),
        };
        let damaged = |message: String| TrustError::Damaged { path: file.clone(), message };
        let on_disk: OnDisk =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if on_disk.version != VERSION {
            return Err(damaged(format!("version {} is not known", on_disk.version)));
        }
        Ok(Self { file, trusted: on_disk.trusted })
    }

    /// Whether nothing is trusted at all.
    pub fn is_empty(&self) -> bool {
        self.trusted.is_empty()
    }

    /// Whether anything is recorded of that file, and so whether its content is worth a look.
    pub fn knows(&self, path: &Path) -> bool {
        !self.is_empty() && self.knows_canonical(&canonical(path))
    }

    /// The same of a path that is canonical already.
    pub(crate) fn knows_canonical(&self, path: &Path) -> bool {
        self.trusted.contains_key(path)
    }

    /// Whether that file is trusted with that content.
    pub fn trusts(&self, path: &Path, content: &ContentHash) -> bool {
        self.trusted.get(&canonical(path)) == Some(content)
    }

    /// Every file that something is recorded of.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &ContentHash)> {
        self.trusted.iter().map(|(path, hash)| (path.as_path(), hash))
    }

    /// Records these files with their content, or forgets those without one. Other processes may do
    /// the same at the same time: what is on disk is read again under a lock.
    pub fn record(
        &mut self,
        changes: impl IntoIterator<Item = (PathBuf, Option<ContentHash>)>,
    ) -> Result<(), TrustError> {
        let home = self.file.parent().unwrap_or(Path::new(".")).to_path_buf();
        let failed = |source: io::Error| TrustError::Write { path: self.file.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&home).map_err(failed)?;
        let lock = File::create(home.join("trust.lock")).map_err(failed)?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        let mut trusted = Self::load(&home)?.trusted;
        for (path, content) in changes {
            let path = canonical(&path);
            match content {
                Some(_) if path.to_str().is_none() => return Err(TrustError::NotText { path }),
                Some(content) => trusted.insert(path, content),
                None => trusted.remove(&path),
            };
        }
        let on_disk = OnDisk { version: VERSION, trusted };
        let text = serde_json::to_string_pretty(&on_disk).map_err(|error| failed(error.into()))?;
        let mut file = tempfile::NamedTempFile::new_in(&home).map_err(failed)?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o600)).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&self.file).map_err(|error| failed(error.error))?;
        self.trusted = on_disk.trusted;
        Ok(())
    }
}

/// One spelling per file; a file that is gone keeps the one it has.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
