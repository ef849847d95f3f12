//! Lines of a bridge: read whole, with a limit on their length.

use std::io;

use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The longest line: an opening with a whole conversation and its images.
const LONGEST: usize = 256 << 20;
/// How much of a line that makes no sense is told.
const SHOWN: usize = 120;

/// The reading end of a bridge.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    begun: Vec<u8>,
}

/// Why a line cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The stream cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// It is longer than any message.
    #[error("sent a line of more than {} MB", LONGEST >> 20)]
    TooLong,
    /// It is not a message of the protocol.
    #[error("sent `{line}`, which is not a message of the bridge: {problem}")]
    Garbage {
        /// The beginning of it.
        line: String,
        /// What is wrong with it.
        problem: serde_json::Error,
    },
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), begun: Vec::new() }
    }

    /// The next message; none at the end of the stream, where a line without an end is none. Dropping the
    /// future loses nothing.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, LineError> {
        loop {
            let read = self.reader.fill_buf().await?;
            if read.is_empty() {
                return Ok(None);
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |end| end + 1);
            self.begun.extend(read.iter().take(taken));
            self.reader.consume(taken);
            if self.begun.len() > LONGEST {
                return Err(LineError::TooLong);
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.begun);
                return parsed(&line).map(Some);
            }
        }
    }
}

fn parsed<T: DeserializeOwned>(line: &[u8]) -> Result<T, LineError> {
    serde_json::from_slice(line).map_err(|problem| {
        let line = String::from_utf8_lossy(line);
        let shown: String = line.trim().chars().take(SHOWN).collect();
        LineError::Garbage { line: shown.escape_debug().to_string(), problem }
    })
}

/// A message as a line.
pub(super) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whole_lines_count_and_others_are_named() {
        let text = b"[1]\n[2,\n3]\n[4" as &[u8];
        let mut lines = Lines::new(text);
        assert_eq!(lines.next::<Vec<u8>>().await.unwrap(), Some(vec![1]));
        let error = lines.next::<Vec<u8>>().await.unwrap_err();
        assert!(error.to_string().contains("sent `[2,`, which is not a message"), "{error}");
        assert!(lines.next::<Vec<u8>>().await.is_err());
        assert_eq!(lines.next::<Vec<u8>>().await.unwrap(), None);
    }
}
