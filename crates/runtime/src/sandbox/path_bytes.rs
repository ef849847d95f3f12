//! Paths in what a helper is told: as text, or as bytes where they are not UTF-8.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for Written {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl From<Written> for PathBuf {
    fn from(written: Written) -> Self {
        match written {
            Written::Text(text) => text.into(),
            Written::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

pub(super) fn serialize<S: Serializer>(
    path: impl AsRef<Path>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Written::from(path.as_ref()).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Written::deserialize(deserializer).map(Into::into)
}

/// A list of paths.
pub(super) mod list {
    use super::{Deserialize as _, Deserializer, PathBuf, Serializer, Written};

    pub(in crate::sandbox) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| Written::from(path.as_path())))
    }

    pub(in crate::sandbox) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let written = Vec::<Written>::deserialize(deserializer)?;
        Ok(written.into_iter().map(Into::into).collect())
    }
}

/// A path that may be missing.
pub(super) mod optional {
    use super::{Deserialize as _, Deserializer, PathBuf, Serialize as _, Serializer, Written};

    #[expect(clippy::ref_option, reason = "serde hands it over like that")]
    pub(in crate::sandbox) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Written::from).serialize(serializer)
    }

    pub(in crate::sandbox) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Written>::deserialize(deserializer)?.map(Into::into))
    }
}
