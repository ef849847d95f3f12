//! Descriptors: a command gets its three standard streams and nothing else of the program's.

use std::{fs, os::fd::OwnedFd};

use super::setup_error::{SetupError, Step as _};

/// The last of the standard streams.
const STDERR: i32 = 2;

/// Closes everything but the standard streams.
///
/// Called first in a process, when nothing of its own is open yet.
pub(super) fn close_inherited() -> Result<(), SetupError> {
    let listed = fs::read_dir("/proc/self/fd").step("list the open descriptors")?;
    let open = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let open: Vec<i32> = open.filter(|descriptor| *descriptor > STDERR).collect();
    for descriptor in open {
        // The listing's own descriptor is among them and is closed already.
        let _may_be_closed = nix::unistd::close(descriptor);
    }
    Ok(())
}

/// Standard error, for words about the command after its end. The command does not inherit it.
pub(super) fn keep_stderr() -> Result<OwnedFd, SetupError> {
    rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), STDERR + 1).step("keep standard error")
}

/// Lets go of the standard streams, so that only the command holds their other ends.
pub(super) fn release_standard_streams(null: &fs::File) -> Result<(), SetupError> {
    rustix::stdio::dup2_stdin(null).step("release standard input")?;
    rustix::stdio::dup2_stdout(null).step("release standard output")?;
    rustix::stdio::dup2_stderr(null).step("release standard error")
}

/// `/dev/null`, to be kept for later.
pub(super) fn open_null() -> Result<fs::File, SetupError> {
    fs::File::options().read(true).write(true).open("/dev/null").step("open /dev/null")
}
