//! Writing beneath a root: whole files, put in place at once.
//!
//! A new content is written to a hidden file beside its destination and then takes its name, so that a
//! reader sees the old file or the new one, and a failure leaves the old one. Invariants: nothing but the
//! destination's own name is ever replaced, no link is followed, the hidden file goes when the
//! writing fails or is given up, and a file that is not the one that was expected is left alone.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write as _},
    os::fd::OwnedFd,
};

use rustix::{
    fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid},
    io::Errno,
};
use tokio_util::sync::CancellationToken;

use super::{Destination, Stamp, reason};

/// How much is written between two looks at whether to go on.
const CHUNK: usize = 256 * 1024;

/// Why a file was not written; the text is for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("{path} changed meanwhile and was left as it is; read it again")]
    Changed { path: String },
    #[error("{path} appeared meanwhile and was left as it is; read it first")]
    Appeared { path: String },
    #[error("{path} is read-only; its permissions allow nobody to write it")]
    ReadOnly { path: String },
    #[error(
        "{path} belongs to another user or group, which a new version could not keep; it was left \
         as it is"
    )]
    Owner { path: String },
    #[error("cancelled; {path} was left as it is")]
    Cancelled { path: String },
    #[error("cannot write {path}: {reason}; it was left as it is")]
    System { path: String, reason: String },
}

/// A new content beside its destination, not yet in place. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Prepared<'d> {
    destination: &'d Destination,
    hidden: Hidden,
    name: OsString,
    replaces: Option<Stamp>,
}

/// A file under a hidden name that goes when it is dropped.
#[derive(Debug)]
struct Hidden {
    directory: OwnedFd,
    name: Option<OsString>,
}

impl Destination {
    /// Writes the content to a file next to the destination. `replaces` is the file expected there, `like` the one
    /// whose permissions and owner the new file gets.
    pub(crate) fn prepare(
        &self,
        content: &[u8],
        replaces: Option<Stamp>,
        like: Option<Stamp>,
        stop: &CancellationToken,
    ) -> Result<Prepared<'_>, WriteError> {
        let place = self.place();
        let parent = match replaces {
            Some(_) => place.root.parent(&place.relative),
            None => place.root.parent_made(&place.relative),
        };
        let (directory, name) = parent.map_err(|error| self.refused(&error))?;
        if let Some(stamp) = replaces {
            self.check_writable(&directory, name, stamp)?;
        }
        let hidden_name = OsString::from(format!(".attache-{}", uuid::Uuid::new_v4().simple()));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // What replaces a file is nobody else's to read before it has that file's permissions.
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
        let file = rustix::fs::openat(&directory, &hidden_name, flags, mode)
            .map_err(|error| self.refused(&error.into()))?;
        let hidden = Hidden { directory, name: Some(hidden_name) };
        let mut file = File::from(file);
        for chunk in content.chunks(CHUNK) {
            if stop.is_cancelled() {
                return Err(WriteError::Cancelled { path: self.to_string() });
            }
            file.write_all(chunk).map_err(|error| self.refused(&error))?;
        }
        if let Some(like) = like {
            self.take_after(&file, like)?;
        }
        Ok(Prepared { destination: self, hidden, name: name.to_owned(), replaces })
    }

    /// Removes the file, if it is still the one expected.
    pub(crate) fn remove(&self, expected: Stamp) -> Result<(), WriteError> {
        let place = self.place();
        let (directory, name) =
            place.root.parent(&place.relative).map_err(|error| self.refused(&error))?;
        self.check_writable(&directory, name, expected)?;
        self.check_unchanged(&directory, name, expected)?;
        rustix::fs::unlinkat(&directory, name, AtFlags::empty())
            .map_err(|error| self.refused(&error.into()))
    }

    /// Refuses a file that could not be removed for its own permissions.
    pub(crate) fn check_removable(&self, stamp: Stamp) -> Result<(), WriteError> {
        let place = self.place();
        let (directory, name) =
            place.root.parent(&place.relative).map_err(|error| self.refused(&error))?;
        self.check_writable(&directory, name, stamp)
    }

    /// Gives a new file the permissions and the owner of an old one.
    fn take_after(&self, file: &File, old: Stamp) -> Result<(), WriteError> {
        let own = rustix::fs::fstat(file).map_err(|error| self.refused(&error.into()))?;
        if (own.st_uid, own.st_gid) != (old.owner, old.group) {
            let owner = Some(Uid::from_raw(old.owner));
            let group = Some(Gid::from_raw(old.group));
            rustix::fs::fchown(file, owner, group)
                .map_err(|_| WriteError::Owner { path: self.to_string() })?;
        }
        // After the owner: a change of owner takes bits away.
        rustix::fs::fchmod(file, old.permissions()).map_err(|error| self.refused(&error.into()))
    }

    /// Whether the file's own permissions let it be written, which renaming would not ask.
    fn check_writable(
        &self,
        directory: &OwnedFd,
        name: &OsStr,
        stamp: Stamp,
    ) -> Result<(), WriteError> {
        let access = rustix::fs::Access::WRITE_OK;
        let allowed = rustix::fs::accessat(directory, name, access, AtFlags::EACCESS);
        if stamp.is_read_only() || matches!(allowed, Err(Errno::ACCESS | Errno::PERM)) {
            return Err(WriteError::ReadOnly { path: self.to_string() });
        }
        Ok(())
    }

    fn check_unchanged(
        &self,
        directory: &OwnedFd,
        name: &OsStr,
        expected: Stamp,
    ) -> Result<(), WriteError> {
        let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let found = found.ok().and_then(|stat| Stamp::from_stat(&stat));
        if found.is_some_and(|found| found.is_same_content(&expected)) {
            return Ok(());
        }
        Err(WriteError::Changed { path: self.to_string() })
    }

    fn refused(&self, error: &io::Error) -> WriteError {
        let path = self.to_string();
        match Errno::from_io_error(error) {
            Some(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => WriteError::Changed { path },
            _ => WriteError::System { path, reason: reason(error) },
        }
    }
}

impl Prepared<'_> {
    /// Puts the content in place, if what is there is still what was expected. Returns the stamp of
    /// the new file.
    pub(crate) fn commit(mut self) -> Result<Stamp, WriteError> {
        let Self { destination, hidden, name, replaces } = &mut self;
        let path = || destination.to_string();
        let Some(from) = hidden.name.clone() else {
            return Err(WriteError::Cancelled { path: path() });
        };
        let directory = &hidden.directory;
        let renamed = match replaces {
            Some(expected) => {
                destination.check_unchanged(directory, name, *expected)?;
                rustix::fs::renameat(directory, &from, directory, &*name)
            }
            None => rename_to_nothing(directory, &from, name),
        };
        match renamed {
            Ok(()) => hidden.name = None,
            Err(Errno::EXIST) => return Err(WriteError::Appeared { path: path() }),
            Err(error) => return Err(destination.refused(&error.into())),
        }
        rustix::fs::statat(directory, &*name, AtFlags::SYMLINK_NOFOLLOW)
            .ok()
            .and_then(|stat| Stamp::from_stat(&stat))
            .ok_or_else(|| WriteError::Changed { path: path() })
    }
}

/// Renames to a name that nothing may have.
fn rename_to_nothing(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // The file system cannot do it at once.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(directory, from, directory, to, AtFlags::empty())?;
            // The content is in place under its own name.
            rustix::fs::unlinkat(directory, from, AtFlags::empty())
        }
        answer => answer,
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing can be done about a file that cannot be removed.
            rustix::fs::unlinkat(&self.directory, name, AtFlags::empty()).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tool::workspace::Workspace;

    struct Place {
        folder: tempfile::TempDir,
        workspace: Workspace,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("a.txt"), "old").unwrap();
            let workspace = Workspace::new(folder.path()).unwrap();
            Self { folder, workspace }
        }

        fn destination(&self, path: &str) -> Destination {
            self.workspace.destination(path).unwrap()
        }

        fn content(&self, path: &str) -> String {
            fs::read_to_string(self.folder.path().join(path)).unwrap()
        }

        /// Somebody else puts another file in its place.
        fn replace(&self, path: &str) {
            let beside = self.folder.path().join("beside");
            fs::write(&beside, "theirs").unwrap();
            fs::rename(beside, self.folder.path().join(path)).unwrap();
        }

        fn names(&self) -> usize {
            fs::read_dir(self.folder.path()).unwrap().count()
        }
    }

    /// A file that appears between the writing and the renaming is not overwritten.
    #[test]
    fn a_file_that_is_not_the_expected_one_is_left_alone() {
        let place = Place::new();
        let stop = CancellationToken::new();
        let old = place.destination("a.txt");
        let stamp = old.place().open_stamped().unwrap().1;
        let prepared = old.prepare(b"new", Some(stamp), Some(stamp), &stop).unwrap();
        place.replace("a.txt");
        assert!(matches!(prepared.commit(), Err(WriteError::Changed { .. })));
        assert!(matches!(old.remove(stamp), Err(WriteError::Changed { .. })));
        assert_eq!((place.content("a.txt").as_str(), place.names()), ("theirs", 1));

        let new = place.destination("b.txt");
        let prepared = new.prepare(b"new", None, None, &stop).unwrap();
        place.replace("b.txt");
        assert!(matches!(prepared.commit(), Err(WriteError::Appeared { .. })));
        assert_eq!((place.content("b.txt").as_str(), place.names()), ("theirs", 2));
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let place = Place::new();
        let stop = CancellationToken::new();
        let new = place.destination("b.txt");
        drop(new.prepare(b"new", None, None, &stop).unwrap());
        assert_eq!(place.names(), 1);
        stop.cancel();
        let cancelled = new.prepare(b"new", None, None, &stop);
        assert!(matches!(cancelled, Err(WriteError::Cancelled { .. })));
        assert_eq!(place.names(), 1);
    }
}
