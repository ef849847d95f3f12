//! Paths as calls and commands name them, and where files really lie.

use std::fmt;

/// A path that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::rights::rule) enum Location {
    /// Below the workspace's root, as names.
    Workspace(Vec<String>),
    /// From the root of the file system.
    Absolute(Vec<String>),
    /// Somewhere that cannot be told from the text.
    Elsewhere(String),
}

/// Where a file really lies: no link is left in its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealPath {
    /// Below the workspace's root, if it lies there.
    pub(super) workspace: Option<Location>,
    pub(super) absolute: Location,
}

/// A path that a command names: where it begins, and its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::rights::rule) struct Spot {
    pub(in crate::rights::rule) from: From,
    pub(in crate::rights::rule) names: Vec<String>,
}

/// Where a [`Spot`] begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rights::rule) enum From {
    Workspace,
    Root,
    Home,
    /// Some directory.
    Somewhere,
}

impl Location {
    pub(in crate::rights::rule) fn from_path(path: &str) -> Self {
        let is_home = path == "~" || path.starts_with("~/");
        let mut names = Vec::new();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => return Self::Elsewhere(path.to_owned()),
                _ => names.push(name.to_owned()),
            }
        }
        if is_home || path.contains(['\\', '\0']) {
            Self::Elsewhere(path.to_owned())
        } else if path.starts_with('/') {
            Self::Absolute(names)
        } else {
            Self::Workspace(names)
        }
    }
}

impl Spot {
    /// A path as written, with its `..` worked out. It begins at `base` if it is relative.
    pub(in crate::rights::rule) fn from_path(path: &str, base: From) -> Self {
        let (mut from, path) = if path.starts_with('/') {
            (From::Root, path)
        } else if let Some(below) = path.strip_prefix('~') {
            (
                if below.is_empty() || below.starts_with('/') {
                    From::Home
                } else {
                    From::Somewhere
                },
                below,
            )
        } else {
            (base, path)
        };
        let mut names: Vec<String> = Vec::new();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    if names.pop().is_none() && from != From::Root {
                        from = From::Somewhere;
                    }
                }
                _ => names.push(name.to_owned()),
            }
        }
        Self { from, names }
    }
}

impl RealPath {
    /// The names of the path below the workspace, or of the whole path elsewhere.
    pub(crate) fn names(&self) -> &[String] {
        match self.workspace.as_ref().unwrap_or(&self.absolute) {
            Location::Workspace(names) | Location::Absolute(names) => names,
            Location::Elsewhere(_) => &[],
        }
    }

    /// Whether it lies in the workspace.
    pub fn is_in_workspace(&self) -> bool {
        matches!(self.workspace, Some(Location::Workspace(_)))
    }

    /// Whether it lies in that directory, given by its whole path.
    pub(crate) fn is_below(&self, directory: &str) -> bool {
        let (Location::Absolute(names), Location::Absolute(above)) =
            (&self.absolute, Location::from_path(directory))
        else {
            return false;
        };
        names.starts_with(&above)
    }

    /// A file by its path below the workspace, if it lies there, and by its whole path.
    pub fn new(below_workspace: Option<&str>, absolute: &str) -> Self {
        Self {
            workspace: below_workspace.map(Location::from_path),
            absolute: Location::from_path(absolute),
        }
    }
}

/// Relative to the workspace; elsewhere, whole.
impl fmt::Display for RealPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.workspace.as_ref().unwrap_or(&self.absolute).fmt(formatter)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace(names) if names.is_empty() => formatter.write_str("."),
            Self::Workspace(names) => formatter.write_str(&names.join("/")),
            Self::Absolute(names) => write!(formatter, "/{}", names.join("/")),
            Self::Elsewhere(path) => formatter.write_str(path),
        }
    }
}
