//! A text file as it is now: read whole, bounded, and with the stamp that tells whether it changed.

use std::io::Read as _;

use tokio_util::sync::CancellationToken;

use super::{ToolOutput, wording::size};
use crate::tool::workspace::{Location, Stamp, reason};

/// The largest file that the writing tools change.
pub(super) const MAX_BYTES: u64 = 10 << 20;

/// A text file as it was read.
#[derive(Debug, Clone)]
pub(super) struct TextFile {
    pub(super) text: String,
    /// What it was; `None` if it is only planned.
    pub(super) stamp: Option<Stamp>,
}

impl TextFile {
    /// Reads a file that is to be changed. Only UTF-8 is: nothing else could be written back as it was.
    pub(super) fn read(place: &Location, stop: &CancellationToken) -> Result<Self, ToolOutput> {
        let (mut file, stamp) = place.open_stamped()?;
        if stamp.size > MAX_BYTES {
            return Err(too_large(place, stamp.size));
        }
        let told = |error| ToolOutput::error(format!("cannot read {place}: {}", reason(&error)));
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default() + 1);
        file.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(told)?;
        if stop.is_cancelled() {
            return Err(ToolOutput::error("cancelled"));
        }
        let read = bytes.len() as u64;
        if read > MAX_BYTES {
            return Err(too_large(place, read));
        }
        if read != stamp.size {
            return Err(ToolOutput::error(format!(
                "{place} changes while it is being read; try again when it is finished"
            )));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Self { text, stamp: Some(stamp) }),
            Ok(_) | Err(_) => Err(ToolOutput::error(format!(
                "{place} is not UTF-8 text; only text files can be changed with this tool"
            ))),
        }
    }
}

fn too_large(place: &Location, bytes: u64) -> ToolOutput {
    ToolOutput::error(format!(
        "{place} is too large to be changed with this tool ({}; the maximum is {})",
        size(bytes),
        size(MAX_BYTES)
    ))
}
