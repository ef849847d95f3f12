//! A definition file on disk, read without trusting it: it may be huge, a pipe, not text, or gone.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use attache_kernel::agent::definition::{Code, Diagnostic, Position};

use crate::agents::trust::ContentHash;

/// The maximum size of a definition; the largest real one has 88 KB.
pub(super) const MAX_BYTES: u64 = 1024 * 1024;

/// What changes when a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: (i64, i64),
    size: u64,
    inode: u64,
}

impl Stamp {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            size: metadata.size(),
            inode: metadata.ino(),
        }
    }
}

/// The text of a file, or why there is none.
pub(crate) enum Content {
    Text {
        text: String,
        /// Set where bytes had to be replaced.
        warning: Option<Diagnostic>,
        /// The hash of exactly the bytes that the text was made of.
        hash: Option<ContentHash>,
    },
    Refused(Diagnostic),
    Vanished,
}

/// Whether the hash of a file is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hashing {
    Wanted,
    Unneeded,
}

/// Reads a file. A pipe or a device does not block, and no more than [`MAX_BYTES`] are read.
pub(crate) fn read(path: &Path, hashing: Hashing) -> Content {
    // Opening a pipe without a writer would block for ever.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
    let bytes = opened.and_then(|file| {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Err(not_a_file()));
        }
        if metadata.len() > MAX_BYTES {
            return Ok(Err(too_large(metadata.len())));
        }
        bounded(file)
    });
    match bytes {
        Ok(Ok(bytes)) => {
            let hash = (hashing == Hashing::Wanted).then(|| ContentHash::from_content(&bytes));
            decode(bytes, hash)
        }
        Ok(Err(refused)) => Content::Refused(refused),
        Err(error) => failed(path, &error),
    }
}

fn bounded(file: File) -> io::Result<Result<Vec<u8>, Diagnostic>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok(if length > MAX_BYTES { Err(too_large(length)) } else { Ok(bytes) })
}

fn decode(bytes: Vec<u8>, hash: Option<ContentHash>) -> Content {
    if let Some(text) = from_utf16(&bytes) {
        return Content::Text { text, warning: None, hash };
    }
    match String::from_utf8(bytes) {
        Ok(text) => Content::Text { text, warning: None, hash },
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
            let at = Position::new(number(line), number(column));
            let warning = Diagnostic::warning(
                Code::NotUtf8,
                at,
                "the file is not valid UTF-8; invalid bytes are replaced",
            )
            .with_hint("save it as UTF-8");
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            Content::Text { text, warning: Some(warning), hash }
        }
    }
}

/// A text in UTF-16, as some shells write files; it begins with a mark of its byte order.
fn from_utf16(bytes: &[u8]) -> Option<String> {
    let (unit, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let (pairs, []) = rest.as_chunks::<2>() else { return None };
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).ok()
}

fn failed(path: &Path, error: &io::Error) -> Content {
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if error.kind() == io::ErrorKind::NotFound && !is_link {
        return Content::Vanished;
    }
    let (message, hint) = match error.kind() {
        io::ErrorKind::NotFound => (
            "the target of the link does not exist".to_owned(),
            "remove the link or restore its target",
        ),
        io::ErrorKind::PermissionDenied => (
            "there is no permission to read the file".to_owned(),
            "check its owner and permissions",
        ),
        _ if is_link => (format!("the link cannot be followed: {error}"), "remove the link"),
        _ => (format!("the file cannot be read: {error}"), "check the file and its folder"),
    };
    Content::Refused(Diagnostic::error(Code::Unreadable, Position::START, message).with_hint(hint))
}

fn not_a_file() -> Diagnostic {
    Diagnostic::error(Code::NotAFile, Position::START, "it is not a regular file")
        .with_hint("remove it from the agents folder")
}

fn too_large(size: u64) -> Diagnostic {
    let message = format!("the file has {size} bytes; a definition has at most {MAX_BYTES}");
    Diagnostic::error(Code::TooLarge, Position::START, message)
        .with_hint("move long material into files that the agent reads")
}
