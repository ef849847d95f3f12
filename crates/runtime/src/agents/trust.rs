//! Trust: which files the user trusts, by path, content and the base directory they name.
//!
//! It is kept under the program's own home, never in a project. A file that has changed since is not
//! trusted, nor is an agent whose base directory now leads elsewhere. Agent files and project settings
//! are trusted in the same way.

mod watch;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::retry_on_intr,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) use self::watch::TrustWatch;
use crate::disk::{
    private_file::{self, Privacy, Refusal},
    remedy::remedy,
};

/// The version of the file's format.
const VERSION: u32 = 2;
/// Nobody trusts that much.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The content of a file, as a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// The fingerprint of these bytes.
    pub fn from_content(content: &[u8]) -> Self {
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

/// A file as it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFile {
    /// Its content.
    pub sha256: ContentHash,
    /// Where the base directory that it names led, without links; none if it names none.
    #[serde(default)]
    pub base_dir: Option<PathBuf>,
}

impl TrustedFile {
    /// A file with this content that names no base directory.
    pub fn new(sha256: ContentHash) -> Self {
        Self { sha256, base_dir: None }
    }
}

/// Whether an agent's base directory is covered by the trust in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BaseDirCheck {
    /// It is where it was, or inside the workspace, where every agent may work.
    Covered,
    /// It leads elsewhere.
    Moved {
        /// Where it led when the file was trusted, if that was recorded.
        was: Option<PathBuf>,
        /// Where it leads.
        now: PathBuf,
    },
}

/// What the user trusts.
#[derive(Debug, Clone, Default)]
pub struct TrustStore {
    file: PathBuf,
    trusted: BTreeMap<PathBuf, TrustedFile>,
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
    /// Others can change the file.
    #[error("{} can be changed by others (mode {mode:03o})", path.display())]
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
    #[error("{} is {what}, not a regular file", path.display())]
    NotAFile {
        /// The place.
        path: PathBuf,
        /// What lies there.
        what: &'static str,
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
    fn refused(path: &Path, refusal: Refusal) -> Self {
        let path = path.to_path_buf();
        match refusal {
            Refusal::Exposed { mode } => Self::Exposed { path, mode },
            Refusal::Foreign { owner } => Self::Foreign { path, owner },
            Refusal::NotAFile { what } => Self::NotAFile { path, what },
            Refusal::Unreadable(source) => Self::Read { path, source },
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Read { path, source } | Self::Write { path, source } => remedy(path, source),
            Self::Exposed { path, .. } => format!(
                "chmod 600 '{}', then look at what it trusts: attache trust --list",
                path.display()
            ),
            Self::NotText { .. } => "rename the file".to_owned(),
            Self::Foreign { path, .. }
            | Self::NotAFile { path, .. }
            | Self::Damaged { path, .. } => {
                format!("move {} away; agents must then be trusted again", path.display())
            }
        }
    }
}

/// What is asked of the file first.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Version 1 knew the content alone.
#[derive(Deserialize)]
struct FirstVersion {
    trusted: BTreeMap<PathBuf, ContentHash>,
}

#[derive(Serialize, Deserialize)]
struct OnDisk {
    version: u32,
    trusted: BTreeMap<PathBuf, TrustedFile>,
}

impl TrustStore {
    /// What is recorded under that home; nothing if there is no file yet.
    pub fn load(home: &Path) -> Result<Self, TrustError> {
        let file = home.join("trust.json");
        let opened = private_file::open(&file, Privacy::Unchanged);
        let Some(opened) = opened.map_err(|refusal| TrustError::refused(&file, refusal))? else {
            return Ok(Self { file, trusted: BTreeMap::new() });
        };
        let mut text = String::new();
        match opened.take(LARGEST).read_to_string(&mut text) {
            Ok(_) => {}
            Err(source) => return Err(TrustError::Read { path: file, source }),
        }
        match parse(&text) {
            Ok(trusted) => Ok(Self { file, trusted }),
            Err(message) => Err(TrustError::Damaged { path: file, message }),
        }
    }

    /// What is recorded now; another process may have changed it. A file that cannot be read any more grants
    /// nothing.
    #[must_use]
    pub fn read_again(&self) -> Self {
        match self.file.parent() {
            Some(home) => Self::load(home)
                .unwrap_or_else(|_| Self { file: self.file.clone(), trusted: BTreeMap::new() }),
            None => self.clone(),
        }
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
        self.trusted.get(&canonical(path)).is_some_and(|trusted| trusted.sha256 == *content)
    }

    /// Whether the trust in a file covers the base directory it names, which is meant relative to the
    /// workspace. One that does not exist leads nowhere.
    pub(crate) fn check_base_dir(
        &self,
        path: &Path,
        base_dir: Option<&Path>,
        workspace: &Path,
    ) -> BaseDirCheck {
        let Some(now) = base_dir.and_then(|base| resolved_base_dir(base, workspace)) else {
            return BaseDirCheck::Covered;
        };
        if workspace.canonicalize().is_ok_and(|workspace| now.starts_with(workspace)) {
            return BaseDirCheck::Covered;
        }
        let was = self.trusted.get(&canonical(path)).and_then(|trusted| trusted.base_dir.clone());
        if was.as_ref() == Some(&now) {
            BaseDirCheck::Covered
        } else {
            BaseDirCheck::Moved { was, now }
        }
    }

    /// Every file that something is recorded of.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &TrustedFile)> {
        self.trusted.iter().map(|(path, trusted)| (path.as_path(), trusted))
    }

    /// Records these files as they are trusted, or forgets those without a record. Other processes may do
    /// the same at the same time: what is on disk is read again under a lock.
    pub fn record(
        &mut self,
        changes: impl IntoIterator<Item = (PathBuf, Option<TrustedFile>)>,
    ) -> Result<(), TrustError> {
        let home = self.file.parent().unwrap_or(Path::new(".")).to_path_buf();
        let failed = |source: io::Error| TrustError::Write { path: self.file.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&home).map_err(failed)?;
        // The directory is locked, and no file in it that somebody could have put there.
        let folder = File::open(&home).map_err(failed)?;
        retry_on_intr(|| flock(&folder, FlockOperation::LockExclusive))
            .map_err(|error| failed(error.into()))?;
        let mut trusted = Self::load(&home)?.trusted;
        for (path, change) in changes {
            let path = canonical(&path);
            let is_text = |path: &PathBuf| path.to_str().is_some();
            match change {
                Some(_) if !is_text(&path) => return Err(TrustError::NotText { path }),
                Some(TrustedFile { base_dir: Some(base_dir), .. }) if !is_text(&base_dir) => {
                    return Err(TrustError::NotText { path: base_dir });
                }
                Some(change) => trusted.insert(path, change),
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

fn parse(text: &str) -> Result<BTreeMap<PathBuf, TrustedFile>, String> {
    let damaged = |error: serde_json::Error| error.to_string();
    match serde_json::from_str::<Version>(text).map_err(damaged)?.version {
        1 => {
            let FirstVersion { trusted } = serde_json::from_str(text).map_err(damaged)?;
            Ok(trusted.into_iter().map(|(path, hash)| (path, TrustedFile::new(hash))).collect())
        }
        VERSION => Ok(serde_json::from_str::<OnDisk>(text).map_err(damaged)?.trusted),
        other => Err(format!("version {other} is not known")),
    }
}

/// Where a base directory leads, without links; none if it does not exist.
pub fn resolved_base_dir(base_dir: &Path, workspace: &Path) -> Option<PathBuf> {
    workspace.join(base_dir).canonicalize().ok()
}

/// One spelling per file; a file that is gone keeps the one it has.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
