//! One end of a pipe or terminal, read and written without blocking a thread.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use tokio::io::{Interest, unix::AsyncFd};

/// One end of a pipe or terminal.
#[derive(Debug)]
pub(super) struct Channel {
    descriptor: AsyncFd<OwnedFd>,
}

impl Channel {
    /// Takes a descriptor over. Fails outside of an asynchronous runtime with IO.
    pub(super) fn new(descriptor: OwnedFd, interest: Interest) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&descriptor, true)?;
        Ok(Self { descriptor: registered(descriptor, interest)? })
    }

    /// Reads what is there, or waits for it; 0 is the end.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = |descriptor: &OwnedFd| Ok(rustix::io::read(descriptor, &mut *buffer)?);
        self.descriptor.async_io(Interest::READABLE, read_until_hangup(read)).await
    }

    /// Reads what is there; none if nothing is.
    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let mut read =
            read_until_hangup(|descriptor| Ok(rustix::io::read(descriptor, &mut *buffer)?));
        match read(self.descriptor.get_ref()) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes some of it, as soon as there is room.
    pub(super) async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let write = |descriptor: &OwnedFd| Ok(rustix::io::write(descriptor.as_fd(), bytes)?);
        self.descriptor.async_io(Interest::WRITABLE, write).await
    }
}

/// Has the asynchronous runtime watch a descriptor.
#[expect(
    deprecated,
    reason = "unsound only for types that may close their descriptor early; the successor is unsafe"
)]
pub(super) fn registered(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    Ok(AsyncFd::try_with_interest(descriptor, interest)?)
}

/// A terminal whose other side was closed by all says EIO: that is its end.
fn read_until_hangup(
    mut read: impl FnMut(&OwnedFd) -> io::Result<usize>,
) -> impl FnMut(&OwnedFd) -> io::Result<usize> {
    move |descriptor| match read(descriptor) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Ok(0),
        other => other,
    }
}
