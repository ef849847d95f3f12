//! Walking below a place as ripgrep does: `.gitignore` and its kin are respected, links are not
//! followed, and hidden files are left out unless asked for.
//!
//! Nothing ambient counts: no global ignore file, no current directory. And no ignore file is read
//! that is not a plain file of sensible size: a pipe or a device under that name would never end.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, path::Path};

use ignore::{DirEntry, WalkBuilder};

use super::{Location, PathError, reason};

/// The files whose rules a walk obeys.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
/// The longest ignore file that is read.
const MAX_IGNORE_BYTES: u64 = 4 << 20;

/// Which files a walk shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Names with a leading dot are left out.
    Skip,
    /// They are shown, all but what is in `.git`.
    Show,
}

/// Cuts a directory off the paths that a walk below it yields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Below(usize);

impl Below {
    pub(crate) fn new(directory: &Path) -> Self {
        let bytes = directory.as_os_str().as_bytes();
        let separator = usize::from(!bytes.ends_with(b"/"));
        Self(bytes.len() + separator)
    }

    /// The path below the directory; empty for the directory itself. A walk builds its paths from
    /// the directory's, so a length is enough and nothing needs to be compared for each file.
    pub(crate) fn of(self, path: &Path) -> &Path {
        let bytes = path.as_os_str().as_bytes();
        Path::new(OsStr::from_bytes(bytes.get(self.0..).unwrap_or_default()))
    }
}

/// A walk below a place of the workspace.
pub(crate) fn walk(location: &Location, hidden: Hidden) -> Result<WalkBuilder, PathError> {
    let base = location.absolute();
    if !base.ancestors().all(has_plain_ignore_files) {
        return Err(PathError::IgnoreFile { given: location.to_string() });
    }
    let mut builder = WalkBuilder::new(&base);
    builder
        .hidden(hidden == Hidden::Skip)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .current_dir(&base)
        .filter_entry(is_walked);
    Ok(builder)
}

/// A directory whose ignore files cannot be read is passed over: what they hide must stay hidden.
fn is_walked(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    !is_directory
        || entry.depth() == 0
        || (entry.file_name() != ".git" && has_plain_ignore_files(entry.path()))
}

/// Whether the ignore files of a directory can be read without waiting or filling the memory.
pub(crate) fn has_plain_ignore_files(directory: &Path) -> bool {
    IGNORE_FILES.iter().all(|name| {
        fs::metadata(directory.join(name)).map_or(true, |metadata| {
            metadata.is_dir() || (metadata.is_file() && metadata.len() <= MAX_IGNORE_BYTES)
        })
    })
}

/// What an error of a walk is about, and the system's reason.
pub(crate) fn walk_error(error: &ignore::Error) -> (&Path, String) {
    let reason = error.io_error().map_or_else(|| error.to_string(), reason);
    (path_in(error), reason)
}

fn path_in(error: &ignore::Error) -> &Path {
    match error {
        ignore::Error::WithPath { path, .. } => path,
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_in(err)
        }
        _ => Path::new(""),
    }
}
