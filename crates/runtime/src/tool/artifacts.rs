//! Artifacts: what was too long for the model, kept whole on disk, and the bound that decides it.
//!
//! Invariant: nothing is cut in silence. A cut says how much is missing and where the whole text is.

mod stream;

use std::{
    borrow::Cow,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use attache_kernel::run::outcome::Changes;

pub(crate) use self::stream::ArtifactFile;
use crate::{
    changes::versions,
    store::Secrets,
    tool::{
        ToolOutput,
        wording::count,
        workspace::{reason, shown},
    },
};

/// The directory that whole texts are kept in; it is made when the first one is.
#[derive(Debug)]
pub struct Artifacts {
    directory: PathBuf,
    secrets: Secrets,
    next: AtomicU32,
    /// How many bytes were kept.
    kept: AtomicU64,
}

/// The patch of what the whole run changed.
pub(crate) const PATCH: &str = "changes.patch";
/// The file that says what a run changed.
pub(crate) const CHANGES: &str = "changes.json";

/// How many bytes of one text are kept at most, and of all texts of a run.
const MAX_TEXT: usize = 8 << 20;
const MAX_KEPT: u64 = 128 << 20;

/// How much text a model is given at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The most bytes.
    pub bytes: usize,
    /// The most lines.
    pub lines: usize,
}

impl Artifacts {
    /// Artifacts in a directory, which need not exist.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            secrets: Secrets::default(),
            next: AtomicU32::new(1),
            kept: AtomicU64::new(0),
        }
    }

    /// The same, in which these never appear.
    #[must_use]
    pub fn masking(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a text, as far as it is short enough, and says where; fails once a run has kept too much. This writes to disk: call it where blocking is allowed.
    pub fn keep(&self, stem: &str, text: &str) -> io::Result<PathBuf> {
        let mut text = self.secrets.mask(text);
        let short = first_bytes(&text, MAX_TEXT);
        if short.len() < text.len() {
            text = format!("{short}\n[… the rest is too long to be kept]\n").into();
        }
        let bytes = text.len() as u64;
        if self.kept.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_KEPT {
            self.kept.fetch_sub(bytes, Ordering::Relaxed);
            return Err(io::Error::other("this run has kept too much already"));
        }
        let (path, mut file) = self.create(stem)?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }

    /// A new file for a text, which only its owner may read.
    fn create(&self, stem: &str) -> io::Result<(PathBuf, File)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self.directory.join(format!("{stem}-{number}.txt"));
            // Another process may number in the same directory.
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A text without the secrets that appear in no artifact.
    pub(crate) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.secrets.mask(text)
    }

    /// Keeps a version of a file, and gives the name it has among the versions; `None` if it cannot be
    /// kept. This writes to disk: call it where blocking is allowed.
    pub(crate) fn keep_version(&self, text: &str) -> Option<String> {
        let text = self.secrets.mask(text);
        let name = versions::name_of(&text);
        let path = versions::path_of(&self.directory, &name);
        if path.exists() {
            return Some(name);
        }
        let bytes = text.len() as u64;
        if self.kept.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_KEPT {
            self.kept.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(path.parent()?).ok()?;
        // A version that is half written has another name than a whole one.
        let half = path.with_extension("part");
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o600).open(&half).ok()?;
        let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&half, &path));
        if written.is_err() {
            fs::remove_file(&half).unwrap_or_default();
            return None;
        }
        Some(name)
    }

    /// Keeps the patch of the whole run, and says where. This writes to disk.
    pub(crate) fn keep_patch(&self, text: &[u8]) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let path = self.directory.join(PATCH);
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        // Lines of other encodings stay as they are.
        for piece in text.utf8_chunks() {
            file.write_all(self.secrets.mask(piece.valid()).as_bytes())?;
            file.write_all(piece.invalid())?;
        }
        Ok(path)
    }

    /// Keeps what the whole run changed, so that its result can be told again. This writes to disk.
    pub(crate) fn keep_changes(&self, changes: Option<&Changes>) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let (path, half) = (self.directory.join(CHANGES), self.directory.join("changes.part"));
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&half)?;
        file.write_all(serde_json::to_string(&changes)?.as_bytes())?;
        fs::rename(&half, &path)
    }

    /// Keeps a text, and says it in the words that a cut ends with.
    pub(crate) fn keep_and_tell(&self, stem: &str, text: &str) -> (String, Option<PathBuf>) {
        match self.keep(stem, text) {
            Ok(path) => (format!("full text: {}", shown(&path)), Some(path)),
            Err(error) => {
                let reason = reason(&error);
                (format!("the full text could not be kept: {reason}"), None)
            }
        }
    }
}

impl Bound {
    /// What a tool's answer may hold unless the tool says otherwise.
    pub const DEFAULT: Self = Self { bytes: 30 * 1024, lines: 1000 };

    /// The text itself if it is short enough; else its head and tail, the cut named, and the whole
    /// kept as an artifact.
    pub fn apply(self, text: String, stem: &str, artifacts: &Artifacts) -> ToolOutput {
        let lines = text.lines().count();
        if text.len() <= self.bytes && lines <= self.lines {
            return ToolOutput::text(text);
        }
        let head = self.head(&text);
        let tail = self.tail(&text);
        let shown_lines = head.len() + tail.len();
        let shown_bytes: usize = head.iter().chain(&tail).map(|line| line.len() + 1).sum();
        let (where_kept, artifact) = artifacts.keep_and_tell(stem, &text);
        let mut parts = head;
        let cut = cut(
            lines.saturating_sub(shown_lines),
            text.len().saturating_sub(shown_bytes),
            &where_kept,
        );
        parts.push(&cut);
        parts.extend(tail);
        ToolOutput {
            artifacts: artifact.into_iter().collect(),
            ..ToolOutput::text(parts.join("\n"))
        }
    }

    /// The first lines of a text, as far as half the bound goes.
    pub(crate) fn head(self, text: &str) -> Vec<&str> {
        self.half(text.lines(), first_bytes)
    }

    /// The last lines of a text, as far as half the bound goes.
    pub(crate) fn tail(self, text: &str) -> Vec<&str> {
        let mut lines = self.half(text.lines().rev(), last_bytes);
        lines.reverse();
        lines
    }

    /// As many lines as half the bound holds. A line that does not fit is cut if much room is left for
    /// it, so that long lines do not hide the text around the cut.
    fn half<'t>(
        self,
        lines: impl Iterator<Item = &'t str>,
        part: fn(&'t str, usize) -> &'t str,
    ) -> Vec<&'t str> {
        let mut left = self.bytes / 2;
        let mut taken = Vec::new();
        for line in lines.take(self.lines / 2) {
            if line.len() < left {
                left -= line.len() + 1;
                taken.push(line);
                continue;
            }
            if left > self.bytes / 8 {
                taken.push(part(line, left));
            }
            break;
        }
        taken
    }
}

/// The line that names a cut. Without whole lines among what is left out, the cut is inside a line.
pub(crate) fn cut(lines: usize, bytes: usize, where_kept: &str) -> String {
    let bytes = count(bytes, "byte");
    let what = if lines == 0 { bytes } else { format!("{} ({bytes})", count(lines, "line")) };
    format!("[… {what} left out; {where_kept} …]")
}

/// The beginning of a text, cut at a character boundary to the maximum number of bytes.
pub(crate) fn first_bytes(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// The end of a text, cut at a character boundary to the maximum number of bytes.
fn last_bytes(text: &str, most: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(most));
    text.get(from..).unwrap_or(text)
}
