//! What a server writes, with a limit on the length of a line.
//!
//! A message is a line. A line without an end would be read for ever, and an answer of 100 MB helps
//! nobody: the connection ends there, and says why.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// The longest message.
pub(super) const LONGEST_MESSAGE: usize = 16 << 20;

/// Reads until a line is too long.
#[derive(Debug)]
pub(super) struct BoundedReader<R> {
    inner: R,
    since_line_end: usize,
    was_too_long: Arc<AtomicBool>,
}

impl<R> BoundedReader<R> {
    /// A reader that notes there when a line was too long.
    pub(super) fn new(inner: R, was_too_long: Arc<AtomicBool>) -> Self {
        Self { inner, since_line_end: 0, was_too_long }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        self.since_line_end = match memchr::memrchr(b'\n', read) {
            Some(at) => read.len() - at - 1,
            None => self.since_line_end.saturating_add(read.len()),
        };
        if self.since_line_end >= LONGEST_MESSAGE {
            self.was_too_long.store(true, Ordering::Relaxed);
            return Poll::Ready(Err(io::Error::other("a message is too long")));
        }
        Poll::Ready(Ok(()))
    }
}
