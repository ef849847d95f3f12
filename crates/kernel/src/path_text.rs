//! Paths on the wire: as text, with invalid UTF-8 replaced.
//!
//! A file name may hold any bytes, and one odd name must not spoil what is said of all the others.

use std::path::{Path, PathBuf};

use serde::{Serialize as _, Serializer};

/// A path as text.
pub fn path<S: Serializer>(path: impl AsRef<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.as_ref().display())
}

/// A path that may be missing.
pub fn optional<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

/// A list of paths.
pub fn list<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}
