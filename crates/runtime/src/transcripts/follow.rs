//! Following: a transcript read while another process writes it.

use std::{fs::File, os::unix::fs::FileExt as _, path::Path};

use super::{TranscriptError, lock, names::Place, reading::split_line};

/// Reads a transcript from its beginning, as far as it goes, again and again.
#[derive(Debug)]
pub struct Follower {
    file: File,
    place: Place,
    /// How far it has been read: the end of a line.
    read: u64,
}

impl Follower {
    pub(super) fn new(file: File, place: Place) -> Self {
        Self { file, place, read: 0 }
    }

    /// Where the transcript lies.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Whether somebody still writes it. Ask before the last [`Self::read`]: what was written in
    /// between is then not missed.
    pub fn is_running(&self) -> bool {
        lock::is_held(&self.file, &self.place.folder)
    }

    /// The lines that have been written since, whole ones only.
    pub fn read(&mut self) -> Result<Vec<String>, TranscriptError> {
        let failed = |source| TranscriptError::read(&self.place.path, source);
        let length = self.file.metadata().map_err(failed)?.len();
        let fresh = length.saturating_sub(self.read);
        let mut bytes = vec![0; usize::try_from(fresh).unwrap_or(usize::MAX)];
        // An unfinished line is read again from its beginning: its writer may cut it off.
        let mut filled = 0;
        while let Some(left) = bytes.get_mut(filled..).filter(|left| !left.is_empty()) {
            let got = self.file.read_at(left, self.read + filled as u64).map_err(failed)?;
            if got == 0 {
                break;
            }
            filled += got;
        }
        bytes.truncate(filled);
        let mut lines = Vec::new();
        let mut rest = bytes.as_slice();
        while let Some((line, after)) = split_line(rest) {
            lines.push(String::from_utf8_lossy(line).into_owned());
            rest = after;
        }
        self.read += bytes.len().saturating_sub(rest.len()) as u64;
        Ok(lines)
    }
}
