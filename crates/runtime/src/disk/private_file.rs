//! Private files: files below the program's home that decide about keys or trust.
//!
//! One is used only if it is a regular file, belongs to the user, and others cannot get at it. A link,
//! a pipe or a device in its place is refused, and never waited for.

use std::{
    fs::{File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use rustix::{fs::OFlags, io::Errno, process::geteuid};
use secrecy::{ExposeSecret as _, SecretString};

/// What others must not be able to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// Read or change it.
    Secret,
    /// Change it.
    Unchanged,
    /// Nothing is asked.
    None,
}

/// Why a file is not used.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Others can get at it.
    Exposed { mode: u32 },
    /// It belongs to somebody else.
    Foreign { owner: u32 },
    /// It is not a regular file.
    NotAFile { what: &'static str },
    /// The system refuses to open it.
    Unreadable(io::Error),
}

/// Opens a file to read it; `None` if it does not exist.
pub(crate) fn open(path: &Path, privacy: Privacy) -> Result<Option<File>, Refusal> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Err(Refusal::NotAFile { what: "a link" });
        }
        Err(error) => return Err(Refusal::Unreadable(error)),
    };
    let metadata = file.metadata().map_err(Refusal::Unreadable)?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a directory" } else { "a pipe or a device" };
        return Err(Refusal::NotAFile { what });
    }
    let access = Access { mode: metadata.mode(), owner: metadata.uid() };
    access.check(privacy, geteuid().as_raw(), || {
        let directory = path.parent().and_then(|parent| parent.metadata().ok())?;
        Some(Access { mode: directory.mode(), owner: directory.uid() })
    })?;
    Ok(Some(file))
}

/// Puts a whole new file in the place of the old one. It is readable by its owner alone from the first moment.
pub(crate) fn replace(path: &Path, text: &SecretString) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".private-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.expose_secret().as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Who can get at a file.
#[derive(Clone, Copy)]
struct Access {
    mode: u32,
    owner: u32,
}

impl Access {
    /// Passes files of the user that others cannot get at. The superuser may use the files of somebody whose
    /// directory it is, as after `sudo`, and not what others put there.
    fn check(
        self,
        privacy: Privacy,
        user: u32,
        directory: impl Fn() -> Option<Self>,
    ) -> Result<(), Refusal> {
        let forbidden = match privacy {
            Privacy::Secret => 0o077,
            Privacy::Unchanged => 0o022,
            Privacy::None => return Ok(()),
        };
        if self.mode & forbidden != 0 {
            return Err(Refusal::Exposed { mode: self.mode & 0o777 });
        }
        let is_of_place = || {
            let found = directory();
            found.is_some_and(|found| found.owner == self.owner && found.mode & 0o022 == 0)
        };
        if self.owner == user || (user == 0 && is_of_place()) {
            return Ok(());
        }
        Err(Refusal::Foreign { owner: self.owner })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_may_get_at_the_file() {
        let check = |mode, owner, user, privacy| {
            let directory = || Some(Access { mode: 0o040_700, owner: 8 });
            Access { mode: 0o100_000 | mode, owner }.check(privacy, user, directory)
        };
        for privacy in [Privacy::Secret, Privacy::Unchanged] {
            assert!(check(0o600, 7, 7, privacy).is_ok() && check(0o400, 7, 7, privacy).is_ok());
            for mode in [0o620, 0o602, 0o666, 0o777] {
                for user in [7, 0] {
                    let refusal = check(mode, user, user, privacy).unwrap_err();
                    assert!(matches!(refusal, Refusal::Exposed { mode: found } if found == mode));
                }
            }
            let foreign = check(0o600, 8, 7, privacy).unwrap_err();
            assert!(matches!(foreign, Refusal::Foreign { owner: 8 }));
            assert!(check(0o600, 8, 0, privacy).is_ok());
            let strange = check(0o600, 9, 0, privacy).unwrap_err();
            assert!(matches!(strange, Refusal::Foreign { owner: 9 }));
            let shared = Access { mode: 0o100_600, owner: 8 };
            let open = || Some(Access { mode: 0o040_777, owner: 8 });
            assert!(
                shared.check(privacy, 0, open).is_err()
                    && shared.check(privacy, 0, || None).is_err()
            );
        }
        for mode in [0o640, 0o604, 0o610, 0o601] {
            assert!(check(mode, 7, 7, Privacy::Secret).is_err());
        }
        assert!(check(0o644, 7, 7, Privacy::Unchanged).is_ok());
        assert!(check(0o666, 8, 7, Privacy::None).is_ok());
    }
}
