//! The roots of a client: the folder its agents work in.
//!
//! One root is the workspace. Of several it is the one that holds the server's own folder, else the first. What
//! is not a folder of this machine is passed over.

#![expect(deprecated, reason = "hosts of today send roots")]

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rmcp::{Peer, RoleServer, model::Root};
use tokio::sync::watch;

/// How long a call waits for a client that was asked for its roots.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a client's roots.
#[derive(Debug)]
pub(super) struct Roots {
    known: watch::Sender<Known>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    /// The client has none, or has not been asked.
    Nothing,
    /// The client was asked.
    Asked,
    /// The workspace that they mean.
    Workspace(PathBuf),
}

impl Default for Roots {
    fn default() -> Self {
        Self { known: watch::Sender::new(Known::Nothing) }
    }
}

impl Roots {
    /// Says that an answer is on its way, so that calls wait for it.
    pub(super) fn expect(&self) {
        self.known.send_replace(Known::Asked);
    }

    /// Asks the client.
    pub(super) async fn ask(&self, peer: &Peer<RoleServer>, own: &Path) {
        let roots = peer.list_roots().await.map(|listed| listed.roots).unwrap_or_default();
        let workspace = workspace(&roots, own);
        self.known.send_replace(workspace.map_or(Known::Nothing, Known::Workspace));
    }

    /// The workspace that the client means.
    pub(super) async fn workspace(&self) -> Option<PathBuf> {
        let mut known = self.known.subscribe();
        let settled = known.wait_for(|known| *known != Known::Asked);
        match tokio::time::timeout(PATIENCE, settled).await {
            Ok(Ok(known)) => match &*known {
                Known::Workspace(folder) => Some(folder.clone()),
                Known::Nothing | Known::Asked => None,
            },
            Ok(Err(_)) | Err(_) => None,
        }
    }
}

/// The workspace that those roots mean.
fn workspace(roots: &[Root], own: &Path) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = roots.iter().filter_map(|root| folder(&root.uri)).collect();
    let holds_own = folders.iter().find(|folder| own.starts_with(folder));
    holds_own.map(|_| own.to_owned()).or_else(|| folders.first().cloned())
}

/// The folder of a `file` address.
fn folder(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = Path::new(OsStr::from_bytes(&decoded(path)?)).to_owned();
    (path.is_absolute() && path.is_dir()).then_some(path)
}

/// The bytes that a percent-encoded text stands for.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_this_machine_are_roots() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (place.path().join("one two"), place.path().join("ü"));
        std::fs::create_dir_all(&one).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        let uri = |path: &Path| format!("file://{}", path.display()).replace(' ', "%20");
        let roots = |uris: &[String]| -> Vec<Root> { uris.iter().map(Root::new).collect() };
        let away = Path::new("/nowhere");
        let wrong = [
            "https://a.example/".to_owned(),
            "file://relative".to_owned(),
            uri(&place.path().join("no")),
        ];
        assert_eq!(workspace(&roots(&wrong), away), None);
        assert_eq!(workspace(&roots(&["file:///%zz".to_owned()]), away), None);
        assert_eq!(workspace(&roots(&[uri(&one)]), away), Some(one.clone()));
        let encoded = format!("file://{}/%C3%BC", place.path().display());
        assert_eq!(workspace(&roots(&[encoded]), away), Some(other.clone()));
        let both = roots(&[uri(&one), uri(&other)]);
        assert_eq!(workspace(&both, away), Some(one));
        assert_eq!(workspace(&both, &other.join("deep")), Some(other.join("deep")));
    }
}
