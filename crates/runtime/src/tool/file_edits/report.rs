//! What edits are told as: short for the model, which made them, and longer for people who approve.

use std::fmt::Write as _;

use super::FileEdit;
use crate::{
    changes::line_diff::LineDiff,
    tool::{Foresight, wording::count},
};

/// How much of a difference the model is told, in lines and bytes.
const TOLD: (usize, usize) = (40, 3 * 1024);
/// How much of each file people are shown before they approve.
const PREVIEW: (usize, usize) = (2000, 128 * 1024);
/// How much they are shown of all files.
const MAX_PREVIEW: usize = 256 * 1024;

/// What was done.
pub(super) fn done(edits: &[FileEdit]) -> String {
    let mut text = String::new();
    for edit in edits {
        // Writing to a string cannot fail.
        writeln!(text, "{}", edit.summary()).unwrap_or_default();
        // What the model wrote whole it need not be told again.
        if edit.old_text().is_some() && edit.after.is_some() {
            text.push_str(&edit.diff(TOLD));
        }
        if let Some(remark) = edit.remark() {
            writeln!(text, "[{remark}]").unwrap_or_default();
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// What failed, and what was done before.
pub(super) fn failed(failure: &str, done: &[FileEdit]) -> String {
    if done.is_empty() {
        return failure.to_owned();
    }
    let done: Vec<String> = done.iter().map(FileEdit::summary).collect();
    format!("{failure}\nDone before that, and left as it is: {}", done.join("; "))
}

/// What would be done.
pub(super) fn preview(edits: &[FileEdit], failure: Option<&str>) -> String {
    let mut text = String::new();
    for (number, edit) in edits.iter().enumerate() {
        if text.len() > MAX_PREVIEW {
            let left = count(edits.len() - number, "more file");
            writeln!(text, "… {left}").unwrap_or_default();
            break;
        }
        let path = edit.destination.to_string();
        let old = match (&edit.moved_from, &edit.before) {
            (Some(moved), _) => moved.source.to_string(),
            (None, Some(_)) => path.clone(),
            (None, None) => "/dev/null".to_owned(),
        };
        let new = if edit.after.is_some() { &path } else { "/dev/null" };
        writeln!(text, "--- {old}\n+++ {new}").unwrap_or_default();
        text.push_str(&edit.diff(PREVIEW));
    }
    if let Some(failure) = failure {
        writeln!(text, "then it would fail: {failure}").unwrap_or_default();
    }
    text.truncate(text.trim_end().len());
    text
}

/// What is known of a call that cannot succeed as things are.
pub(super) fn doomed(failure: &str) -> Foresight {
    let first = failure.lines().next().unwrap_or_default();
    Foresight { preview: Some(format!("it would fail: {first}")), ..Foresight::default() }
}

impl FileEdit {
    /// What happens, in a line.
    fn summary(&self) -> String {
        let path = &self.destination;
        let after = self.after.as_deref().unwrap_or_default();
        match (&self.before, &self.after, &self.moved_from) {
            (_, None, _) => format!("deleted {path}"),
            (None, Some(_), None) => {
                format!("created {path} ({})", count(after.lines().count(), "line"))
            }
            (_, Some(_), Some(moved)) => {
                let diff = LineDiff::between(&moved.file.text, after);
                format!("moved {} to {path} (+{} -{})", moved.source, diff.added, diff.removed)
            }
            (Some(before), Some(_), None) => {
                let diff = LineDiff::between(&before.text, after);
                format!("changed {path} (+{} -{})", diff.added, diff.removed)
            }
        }
    }

    /// The text that it goes on from.
    fn old_text(&self) -> Option<&str> {
        let moved = self.moved_from.as_ref().map(|moved| &moved.file);
        moved.or(self.before.as_ref()).map(|file| file.text.as_str())
    }

    fn diff(&self, (lines, bytes): (usize, usize)) -> String {
        let before = self.old_text().unwrap_or_default();
        LineDiff::between(before, self.after.as_deref().unwrap_or_default()).shortened(lines, bytes)
    }

    /// That other names of the file keep the old content.
    fn remark(&self) -> Option<String> {
        let links = self.before.as_ref()?.stamp?.links;
        (links > 1).then(|| {
            format!("the file had {links} hard links; its other names keep the old content")
        })
    }
}
