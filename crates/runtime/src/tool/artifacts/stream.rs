//! An artifact that is written while the text is still coming.
//!
//! Invariant: no key is in it, also none that came in two pieces, and it does not grow beyond its bound.

use std::{
    fs::File,
    io::{self, Write as _},
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};

use super::{Artifacts, MAX_KEPT};

/// How many bytes of one text are kept at most.
const MAX_STREAM: u64 = 64 << 20;
/// How much is written at once.
const BLOCK: usize = 128 << 10;

/// An artifact that is being written. Its methods write to disk: call them where blocking is allowed.
#[derive(Debug)]
pub(crate) struct ArtifactFile {
    artifacts: Arc<Artifacts>,
    path: PathBuf,
    file: File,
    written: u64,
    /// Text that is not written yet.
    pending: String,
    is_full: bool,
}

impl Artifacts {
    /// Begins an artifact whose text comes in pieces.
    pub(crate) fn begin(self: &Arc<Self>, stem: &str) -> io::Result<ArtifactFile> {
        let (path, file) = self.create(stem)?;
        Ok(ArtifactFile {
            artifacts: Arc::clone(self),
            path,
            file,
            written: 0,
            pending: String::new(),
            is_full: false,
        })
    }
}

impl ArtifactFile {
    /// Adds text; text beyond the bound is dropped.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        if self.is_full {
            return Ok(());
        }
        self.pending.push_str(text);
        if self.pending.len() < BLOCK {
            return Ok(());
        }
        let held_back = self.artifacts.secrets.unfinished(&self.pending);
        let rest = self.pending.split_off(self.pending.len() - held_back);
        let block = std::mem::replace(&mut self.pending, rest);
        self.write_block(&block)
    }

    /// Writes what is left; tells the path, and whether the whole text is there.
    pub(crate) fn finish(mut self) -> io::Result<(PathBuf, bool)> {
        let rest = std::mem::take(&mut self.pending);
        self.write_block(&rest)?;
        Ok((self.path, !self.is_full))
    }

    fn write_block(&mut self, block: &str) -> io::Result<()> {
        if self.is_full {
            return Ok(());
        }
        let block = self.artifacts.secrets.mask(block);
        let bytes = block.len() as u64;
        let kept = self.artifacts.kept.fetch_add(bytes, Ordering::Relaxed);
        if self.written + bytes > MAX_STREAM || kept + bytes > MAX_KEPT {
            self.artifacts.kept.fetch_sub(bytes, Ordering::Relaxed);
            self.is_full = true;
            return self.file.write_all("\n[… the rest is too long to be kept]\n".as_bytes());
        }
        self.written += bytes;
        self.file.write_all(block.as_bytes())
    }
}
