//! The end of what a server writes to its error output: shown when it fails, never kept whole.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{io::AsyncReadExt as _, net::unix::pipe, task::JoinHandle, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use super::clean_text::clean_line;

/// How many bytes are kept.
const KEPT: usize = 2048;

/// Reads the error output of a server for as long as it is held.
#[derive(Debug)]
pub(super) struct ErrorOutput {
    last: Arc<Mutex<VecDeque<u8>>>,
    reader: AbortOnDropHandle<()>,
}

impl ErrorOutput {
    /// Begins to read.
    pub(super) fn read(mut from: pipe::Receiver) -> Self {
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&last);
        let reader: JoinHandle<()> = tokio::spawn(async move {
            let mut buffer = vec![0; 8192];
            while let Ok(length @ 1..) = from.read(&mut buffer).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(buffer.iter().take(length));
                let beyond = kept.len().saturating_sub(KEPT);
                kept.drain(..beyond);
            }
        });
        Self { last, reader: AbortOnDropHandle::new(reader) }
    }

    /// Waits until all of it was read, but not for long.
    pub(super) async fn finish(&mut self, limit: Duration) {
        if let Ok(finished) = timeout(limit, &mut self.reader).await {
            finished.unwrap_or_default();
        }
    }

    /// The end of it, in one line.
    pub(super) fn last(&self) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = last.iter().copied().collect();
        clean_line(&String::from_utf8_lossy(&bytes), KEPT)
    }
}
