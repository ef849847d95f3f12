//! The versions of files that a run wrote or replaced, kept among its artifacts under names made of
//! their content. A version is kept once, however often a file has it.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// The directory of versions, below that of a run's artifacts.
const DIRECTORY: &str = "changes";

/// The name of a text.
pub(crate) fn name_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(16).fold(String::new(), |mut name, byte| {
        // Writing to a string cannot fail.
        write!(name, "{byte:02x}").unwrap_or_default();
        name
    })
}

/// Where a version lies, below the directory of a run's artifacts.
pub(crate) fn path_of(artifacts: &Path, name: &str) -> PathBuf {
    artifacts.join(DIRECTORY).join(name)
}

/// Reads a version. A name that no version can have is an error.
pub fn read(artifacts: &Path, name: &str) -> io::Result<String> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    fs::read_to_string(path_of(artifacts, name))
}
