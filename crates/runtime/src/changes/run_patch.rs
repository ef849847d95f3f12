//! The patch of a run: what it did to the files of its workspace, as one text that `git apply` takes.

use std::{fmt::Write as _, fs, path::Path};

use attache_kernel::run::file_change::{FileChange, FileVersion};

use super::{
    git_patch::{FilePatch, PatchedText},
    versions,
};

/// What a run changed, as a patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunPatch {
    /// The patch; empty if there is nothing in it.
    pub text: String,
    /// Files that changed and are not in the patch, each with the reason.
    pub left_out: Vec<(String, &'static str)>,
}

/// Which way a patch leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the files before the run to those after it.
    Forward,
    /// Back.
    Reverse,
}

/// A change with its texts.
struct Read<'c> {
    old_path: &'c str,
    new_path: &'c str,
    before: Option<(String, bool)>,
    after: Option<(String, bool)>,
}

impl RunPatch {
    /// The patch of these changes, one for each file, whose versions lie below that directory of
    /// artifacts. `below` is the path of the workspace in its repository, with which every path of the patch
    /// begins. This reads the disk: call it where blocking is allowed.
    pub fn from_changes(
        changes: &[FileChange],
        artifacts: &Path,
        below: &Path,
        direction: Direction,
    ) -> Self {
        Self::checked(changes, (artifacts, below), direction, |_| None)
    }

    /// The reverse patch, for the files of that workspace as they are now. A file that something else changed
    /// after the run's file tools is left out: git would refuse the whole patch for it.
    pub fn undoing(
        changes: &[FileChange],
        artifacts: &Path,
        below: &Path,
        workspace: &Path,
    ) -> Self {
        let obstacle = |read: &Read<'_>| read.obstacle(workspace);
        Self::checked(changes, (artifacts, below), Direction::Reverse, obstacle)
    }

    fn checked(
        changes: &[FileChange],
        (artifacts, below): (&Path, &Path),
        direction: Direction,
        obstacle: impl Fn(&Read<'_>) -> Option<&'static str>,
    ) -> Self {
        let mut patch = Self::default();
        for change in changes {
            if moved_away(change, changes) {
                continue;
            }
            if change.path.starts_with('/') {
                patch.left_out.push((change.path.clone(), "it is outside the workspace"));
                continue;
            }
            match Read::versions_of(change, changes, artifacts) {
                Some(read) => match obstacle(&read) {
                    None => patch.add(&read, below, direction),
                    Some(reason) => patch.left_out.push((change.path.clone(), reason)),
                },
                None => patch.left_out.push((change.path.clone(), "its text was not kept")),
            }
        }
        patch
    }

    fn add(&mut self, read: &Read<'_>, below: &Path, direction: Direction) {
        let file = FilePatch {
            below,
            old_path: read.old_path,
            new_path: read.new_path,
            before: patched(read.before.as_ref()),
            after: patched(read.after.as_ref()),
        };
        let file = match direction {
            Direction::Forward => file,
            Direction::Reverse => file.reversed(),
        };
        // Writing to a string cannot fail.
        write!(self.text, "{file}").unwrap_or_default();
    }
}

fn patched(version: Option<&(String, bool)>) -> Option<PatchedText<'_>> {
    version.map(|(text, executable)| PatchedText { text, executable: *executable })
}

impl<'c> Read<'c> {
    fn versions_of(
        change: &'c FileChange,
        changes: &'c [FileChange],
        artifacts: &Path,
    ) -> Option<Self> {
        let source = source_of(change, changes);
        let before = source.map_or(&change.before, |source| &source.before);
        let read = |version: &Option<FileVersion>| match version {
            None => Some(None),
            Some(version) => {
                let text = versions::read(artifacts, version.text.as_deref()?).ok()?;
                Some(Some((text, version.executable)))
            }
        };
        Some(Self {
            old_path: source.map_or(&change.path, |source| &source.path),
            new_path: &change.path,
            before: read(before)?,
            after: read(&change.after)?,
        })
    }
}

impl Read<'_> {
    /// Why the change cannot be undone in a workspace.
    fn obstacle(&self, workspace: &Path) -> Option<&'static str> {
        let present = workspace.join(self.new_path);
        let is_there = present.symlink_metadata().is_ok();
        match &self.after {
            None if is_there => return Some("there is a file of that name again"),
            Some(_) if !is_there => return Some("it is gone"),
            Some((text, _)) if fs::read_to_string(&present).ok().as_ref() != Some(text) => {
                return Some("it was changed after the run's file tools wrote it");
            }
            None | Some(_) => {}
        }
        let source = workspace.join(self.old_path);
        let is_moved = self.old_path != self.new_path;
        (is_moved && source.symlink_metadata().is_ok())
            .then_some("there is another file at the path it was moved from")
    }
}

/// The file that a new one was moved from, if it was there before and is gone.
fn source_of<'c>(change: &FileChange, changes: &'c [FileChange]) -> Option<&'c FileChange> {
    let from = change.moved_from.as_ref().filter(|_| change.before.is_none())?;
    let is_source = |source: &&FileChange| {
        source.path == *from && source.before.is_some() && source.after.is_none()
    };
    changes.iter().find(is_source).filter(|source| !source.path.starts_with('/'))
}

/// Whether a file is gone because it was moved, which the patch tells with its new path.
fn moved_away(change: &FileChange, changes: &[FileChange]) -> bool {
    let mut movers = changes.iter().filter_map(|other| source_of(other, changes));
    change.after.is_none() && movers.any(|source| source.path == change.path)
}
