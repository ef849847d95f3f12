//! A plan: the edits of a call in order, one for each file.

use tokio_util::sync::CancellationToken;

use super::{Desk, report};
use crate::tool::{Foresight, ToolOutput, text_file::TextFile, workspace::Destination};

/// What a call is going to do.
#[derive(Debug, Default)]
pub(in crate::tool) struct Plan {
    pub(super) edits: Vec<FileEdit>,
    /// Why the plan ends here, although more was asked for.
    pub(in crate::tool) failure: Option<String>,
}

/// A file that is going to be written or deleted.
#[derive(Debug)]
pub(super) struct FileEdit {
    pub(super) destination: Destination,
    /// The file as it is; `None` if nothing is there.
    pub(super) before: Option<TextFile>,
    /// The content to come; `None` deletes the file.
    pub(super) after: Option<String>,
    /// The file it is moved from.
    pub(super) moved_from: Option<Moved>,
}

/// A file that goes to another path; its permissions stay.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) source: Destination,
    pub(super) file: TextFile,
}

impl Plan {
    /// A plan that writes one file.
    pub(in crate::tool) fn of_one(
        destination: Destination,
        before: Option<TextFile>,
        after: String,
    ) -> Self {
        let mut plan = Self::default();
        plan.write(destination, before, after);
        plan
    }

    /// The file at a destination as it is after what was planned so far.
    pub(in crate::tool) fn current(
        &self,
        destination: &Destination,
        stop: &CancellationToken,
    ) -> Result<Option<TextFile>, ToolOutput> {
        match self.edits.iter().find(|edit| edit.destination.is_same(destination)) {
            None => Desk::read(destination, stop),
            Some(edit) => Ok(edit.after.clone().map(|text| TextFile {
                text,
                stamp: edit.before.as_ref().and_then(|before| before.stamp),
            })),
        }
    }

    /// Refuses a file that is another than the one the agent saw, unless the plan itself changes it.
    pub(in crate::tool) fn check_current(
        &self,
        desk: &Desk,
        destination: &Destination,
        now: &TextFile,
    ) -> Result<(), ToolOutput> {
        if self.edits.iter().any(|edit| edit.destination.is_same(destination)) {
            return Ok(());
        }
        desk.check_current(destination, now)
    }

    /// Writes a file.
    pub(in crate::tool) fn write(
        &mut self,
        destination: Destination,
        before: Option<TextFile>,
        after: String,
    ) {
        self.add(FileEdit { destination, before, after: Some(after), moved_from: None });
    }

    /// Deletes a file.
    pub(in crate::tool) fn delete(&mut self, destination: Destination, before: TextFile) {
        self.add(FileEdit { destination, before: Some(before), after: None, moved_from: None });
    }

    /// Writes a file under another path, and deletes it under its own.
    pub(in crate::tool) fn move_to(
        &mut self,
        from: (Destination, TextFile),
        to: (Destination, Option<TextFile>),
        after: String,
    ) {
        let ((source, current), (destination, before)) = (from, to);
        if destination.is_same(&source) {
            return self.write(source, Some(current), after);
        }
        let moved_from = Some(Moved { source: source.clone(), file: current.clone() });
        self.add(FileEdit { destination, before, after: Some(after), moved_from });
        self.delete(source, current);
    }

    /// Adds an edit. One of a file that has one already goes on from it.
    fn add(&mut self, edit: FileEdit) {
        let same = self.edits.iter_mut().find(|it| it.destination.is_same(&edit.destination));
        match same {
            None => self.edits.push(edit),
            Some(earlier) => {
                earlier.after = edit.after;
                earlier.moved_from = edit.moved_from.or_else(|| earlier.moved_from.take());
            }
        }
    }

    /// What is known of the call before it is judged.
    pub(super) fn foresight(&self) -> Foresight {
        Foresight {
            paths: self.edits.iter().map(|edit| edit.destination.real_path()).collect(),
            preview: Some(report::preview(&self.edits, self.failure.as_deref())),
            ..Foresight::default()
        }
    }

    /// Refuses files other than those the call was judged for.
    pub(super) fn check_foreseen(&self, foresight: &Foresight) -> Result<(), ToolOutput> {
        let is_new = |edit: &&FileEdit| !foresight.paths.contains(&edit.destination.real_path());
        match self.edits.iter().find(is_new) {
            None => Ok(()),
            Some(edit) => Err(ToolOutput::error(format!(
                "the path of {} changed meanwhile; nothing was written, try again",
                edit.destination
            ))),
        }
    }
}
