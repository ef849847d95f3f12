//! A destination: the place beneath a root that a path means when a file is to be written there.
//!
//! Links in the part of the path that exists are followed once, here, as long as they stay beneath a
//! root that may be written. What is written later goes to the real path that was found, and no link
//! is followed on the way to it.

use std::{
    fmt, fs,
    path::{Component, Path},
    sync::Arc,
};

use attache_kernel::rights::rule::RealPath;

use super::{
    Kind, Location, PathError, Stamp, Workspace, check_text,
    diagnosis::{Diagnosis, Traced},
};

/// A place beneath a root where a regular file is, or where nothing is yet.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    place: Location,
    found: Occupant,
}

/// What was at a destination when it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occupant {
    Nothing,
    File,
}

impl Workspace {
    /// Finds where a file goes that is written to a path given by a model.
    ///
    /// This reads the disk: call it where blocking is allowed.
    pub(crate) fn destination(&self, given: &str) -> Result<Destination, PathError> {
        check_text(given)?;
        if given.trim_end().ends_with('/') {
            return Err(PathError::Invalid("the path ends with a slash; a file name is needed"));
        }
        let found = self.destination_at(given, given);
        let trimmed = given.trim();
        let is_file = found.as_ref().is_ok_and(|found| found.found == Occupant::File);
        // Blanks around a path are a slip, unless a file has that name.
        if trimmed.len() != given.len() && !is_file {
            return self.destination_at(given, trimmed);
        }
        found
    }

    fn destination_at(&self, given: &str, path: &str) -> Result<Destination, PathError> {
        let wanted = self.root().join(path);
        let diagnosis = Diagnosis { workspace: self, given };
        let real = match fs::canonicalize(&wanted) {
            Ok(real) => real,
            Err(error) => match diagnosis.find_gap(&wanted, &error)? {
                Traced::Found(real) => real,
                Traced::Missing(missing) => {
                    let real = missing.root.path().join(&missing.relative);
                    return self.vacant(&diagnosis, &real, &missing.rest());
                }
            },
        };
        if self.root_of(&real).is_none() {
            return Err(diagnosis.outside());
        }
        let Some((root, relative)) = self.writable_root_of(&real) else {
            return Err(PathError::NotWritable { given: diagnosis.given() });
        };
        let file_type =
            fs::symlink_metadata(&real).map_err(|error| diagnosis.system(&error))?.file_type();
        if file_type.is_dir() {
            return Err(PathError::IsADirectory { given: diagnosis.given() });
        }
        if !file_type.is_file() {
            return Err(diagnosis.special(file_type));
        }
        if relative.to_str().is_none() {
            return Err(PathError::Invalid("the name of the file is not UTF-8; it is left alone"));
        }
        let place = Location { root, relative, kind: Kind::File };
        Ok(Destination { place, found: Occupant::File })
    }

    /// A place where nothing is: a directory that exists, and the names to be made below it.
    fn vacant(
        &self,
        diagnosis: &Diagnosis<'_>,
        existing: &Path,
        rest: &Path,
    ) -> Result<Destination, PathError> {
        let Some((root, below)) = self.writable_root_of(existing) else {
            return Err(PathError::NotWritable { given: diagnosis.given() });
        };
        if !rest.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(PathError::Invalid("the path has `..` behind a directory that is missing"));
        }
        if rest.to_string_lossy().chars().any(char::is_control) {
            return Err(PathError::Invalid("a new name may not hold control characters"));
        }
        let place = Location { root, relative: below.join(rest), kind: Kind::File };
        Ok(Destination { place, found: Occupant::Nothing })
    }
}

impl Destination {
    /// What was there when it was found.
    pub(crate) fn occupant(&self) -> Occupant {
        self.found
    }

    /// The place, for the guard of files to judge and for reading.
    pub(crate) fn place(&self) -> &Location {
        &self.place
    }

    /// The real path, for rules to judge.
    pub(crate) fn real_path(&self) -> RealPath {
        self.place.real_path(&self.place.relative)
    }

    /// The real path as it is: relative to the workspace, whole in another root. It is UTF-8.
    pub(crate) fn path_text(&self) -> String {
        let place = &self.place;
        let path =
            if place.root.is_workspace() { place.relative.clone() } else { place.absolute() };
        path.to_string_lossy().into_owned()
    }

    /// Whether both are the same place.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.place.root, &other.place.root)
            && self.place.relative == other.place.relative
    }
}

/// Relative to the workspace; in another root, whole.
impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(formatter)
    }
}

impl Location {
    /// Opens the file, and tells what it is.
    pub(crate) fn open_stamped(&self) -> Result<(fs::File, Stamp), PathError> {
        let file = self.open_file()?;
        let stamp = rustix::fs::fstat(&file).ok().and_then(|stat| Stamp::from_stat(&stat));
        let stamp = stamp.ok_or_else(|| PathError::Changed { given: self.to_string() })?;
        Ok((file, stamp))
    }
}
