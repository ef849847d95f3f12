//! Remedies: what a user can do when the system refuses to read or write a file.

use std::{io, path::Path};

use rustix::io::Errno;

/// What to do about an error that the system gave for that path.
pub(crate) fn remedy(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match Errno::from_io_error(error) {
        Some(Errno::NOSPC) => {
            "free some disk space (`attache clean` removes old transcripts)".to_owned()
        }
        Some(Errno::DQUOT) => {
            "your disk quota is used up: free some space (`attache clean` removes old transcripts)"
                .to_owned()
        }
        Some(Errno::FBIG) => "raise the limit on the size of files (`ulimit -f`)".to_owned(),
        Some(Errno::MFILE) => "raise the limit on open files (`ulimit -n`)".to_owned(),
        Some(Errno::NFILE) => "close other programs: the system has no free file left".to_owned(),
        Some(Errno::ROFS) => {
            format!("{path} lies on a read-only file system: set ATTACHE_HOME to another directory")
        }
        Some(Errno::NOENT) => format!("{path} or a directory above it does not exist"),
        Some(Errno::NOTDIR) => format!("a directory above {path} is a file: move that file away"),
        Some(Errno::ISDIR) => format!("{path} is a directory: move it away"),
        Some(Errno::LOOP) => format!("{path} is a symbolic link: replace it with a regular file"),
        Some(Errno::NAMETOOLONG) => "use a shorter path".to_owned(),
        Some(Errno::IO | Errno::STALE) => {
            format!("check the disk or the network that {path} is on")
        }
        _ => format!("check the owner and the permissions of {path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_fits_the_error() {
        for (errno, words) in [
            (Errno::NOSPC, "disk space"),
            (Errno::FBIG, "ulimit -f"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::ROFS, "read-only"),
            (Errno::ACCESS, "permissions of f"),
        ] {
            let told = remedy(Path::new("f"), &errno.into());
            assert!(told.contains(words), "{told}");
        }
    }
}
