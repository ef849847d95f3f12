//! `glob_files`: the paths of the files that a glob matches, in the order of their paths.
//!
//! The walk is parallel and its result is sorted, so that the same tree gives the same answer.

mod report;

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments::Arguments, catalogue::threads,
    file_filter::FileFilter, file_guard::Readable, off_thread::in_turn,
};
use crate::tool::workspace::{Kind, Location, NameKind, Next, PathError, Seen, Walked, Workspace};

/// How many files are found at most.
const MAX_FOUND: usize = 200_000;

/// Finds files by name.
#[derive(Debug)]
pub(super) struct GlobFiles {
    spec: ToolSpec,
    turns: Arc<Semaphore>,
}

/// What is looked for, and where.
#[derive(Debug)]
struct Request {
    pattern: String,
    /// The directory that the pattern's plain beginning leads to.
    base: Location,
    filter: FileFilter,
}

/// A path below the base, with NUL for `/`: as bytes these sort in the order of a tree.
type Key = Box<[u8]>;

/// What a walk found.
#[derive(Debug, Default)]
struct Found {
    files: Vec<Key>,
    /// How many files and directories the agent may not read.
    forbidden: usize,
    walked: Walked,
}

impl GlobFiles {
    pub(super) fn new(turns: Arc<Semaphore>) -> Self {
        Self {
            spec: ToolSpec::reading(
                BuiltinTool::GlobFiles,
                include_str!("glob_files.md"),
                json!({
                    "type": "object",
                    "properties": {
                        "pattern": {"type": "string"},
                        "path": {"type": "string"},
                    },
                    "required": ["pattern"],
                }),
            ),
            turns,
        }
    }
}

impl Tool for GlobFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        let workspace = context.workspace.clone();
        let artifacts = context.artifacts.clone();
        let readable = context.files.readable_by(BuiltinTool::GlobFiles);
        let answer_form = context.answer_form;
        Box::pin(in_turn(&self.turns, &context.cancel, move |stop| {
            let request = Request::new(arguments, &workspace, &readable)?;
            let found = request.search(&workspace, &readable, stop);
            let output = request.report(&found, &artifacts);
            Ok(output.with_findings(answer_form, || request.findings(&found)))
        }))
    }
}

impl Request {
    fn new(
        arguments: Value,
        workspace: &Workspace,
        readable: &Readable,
    ) -> Result<Self, ToolOutput> {
        let mut arguments = Arguments::new(arguments)?;
        let pattern = arguments.required_text("pattern")?;
        let path = arguments.text("path")?;
        arguments.finish()?;
        let pattern = pattern.trim().to_owned();
        let (prefix, glob) = split_prefix(&pattern);
        let filter = FileFilter::of_glob(glob, !pattern.contains('/'))?;
        let start = match &path {
            Some(path) => readable.find(workspace, path)?,
            None => readable.find_top(workspace)?,
        };
        if start.kind() == Kind::File {
            let message = format!("path must be a directory; {start} is a file");
            return Err(ToolOutput::error(message));
        }
        let base = if prefix.is_empty() {
            start
        } else {
            let below = Path::new(path.as_deref().unwrap_or_default()).join(prefix);
            let base = readable
                .resolve(workspace, &below.to_string_lossy())
                .map_err(|error| no_such_prefix(&pattern, error))?;
            readable.check(&base)?;
            base
        };
        Ok(Self { pattern, base, filter })
    }

    fn search(
        &self,
        workspace: &Workspace,
        readable: &Readable,
        stop: &CancellationToken,
    ) -> Found {
        if self.base.kind() == Kind::File {
            return Found::default();
        }
        let all = Mutex::new(Found::default());
        let walked = self.base.walk(threads(), || {
            let mut batch = Batch { found: Found::default(), all: &all };
            move |seen: &Seen<'_>| {
                if stop.is_cancelled() || batch.found.files.len() >= MAX_FOUND {
                    return Next::Quit;
                }
                self.visit(seen, workspace, readable, &mut batch.found)
            }
        });
        let mut found = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.files.sort_unstable();
        found.files.truncate(MAX_FOUND);
        found.walked = walked;
        found
    }

    fn visit(
        &self,
        seen: &Seen<'_>,
        workspace: &Workspace,
        readable: &Readable,
        found: &mut Found,
    ) -> Next {
        let relative = seen.relative.strip_prefix(self.base.relative()).unwrap_or(seen.relative);
        let is_wanted = match seen.kind {
            NameKind::Directory => true,
            NameKind::File => self.filter.chooses(relative),
            // A link counts as the file it leads to, if it leads to one that may be read.
            NameKind::Link => {
                self.filter.chooses(relative) && workspace.leads_to_file(seen.absolute)
            }
            NameKind::Special => false,
        };
        if !is_wanted {
            return Next::GoOn;
        }
        let leads_to_readable = || {
            let target = fs::read_link(seen.absolute).unwrap_or_default();
            seen.kind != NameKind::Link || readable.allows_link(&self.base, seen.relative, &target)
        };
        if !readable.allows(&self.base, seen.relative) || !leads_to_readable() {
            found.forbidden += 1;
            return Next::Skip;
        }
        if seen.kind != NameKind::Directory {
            let mut key: Key = relative.as_os_str().as_bytes().into();
            for byte in key.iter_mut().filter(|byte| **byte == b'/') {
                *byte = 0;
            }
            found.files.push(key);
        }
        Next::GoOn
    }
}

/// What one thread of a walk found; it is handed in when the thread is done.
struct Batch<'a> {
    found: Found,
    all: &'a Mutex<Found>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.files.append(&mut self.found.files);
        all.forbidden += self.found.forbidden;
    }
}

/// Parts a pattern: the directories it names plainly, and the glob from there on. The walk starts at
/// those directories, which may be absolute or lead upwards: the workspace judges them.
fn split_prefix(pattern: &str) -> (&str, &str) {
    let special = pattern.find(['*', '?', '[', ']', '{', '}', '!', '\\']).unwrap_or(pattern.len());
    let plain = pattern.get(..special).unwrap_or_default();
    // A slash at the very end belongs to the glob: `a/b/` means all that is in `b`.
    let inner = if special == pattern.len() { plain.trim_end_matches('/') } else { plain };
    inner.rfind('/').and_then(|slash| pattern.split_at_checked(slash + 1)).unwrap_or(("", pattern))
}

/// A pattern whose plain part is not there matches nothing; outside the workspace it is refused.
fn no_such_prefix(pattern: &str, error: PathError) -> ToolOutput {
    match error {
        PathError::NotFound { .. } | PathError::NotADirectory { .. } => {
            ToolOutput::text(format!("no files match {pattern}: {error}"))
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_starts_where_it_stops_being_plain() {
        for (pattern, prefix, glob) in [
            ("*.rs", "", "*.rs"),
            ("a/b/*.rs", "a/b/", "*.rs"),
            ("a/b*/c.rs", "a/", "b*/c.rs"),
            ("a/b/c.rs", "a/b/", "c.rs"),
            ("a/b/", "a/", "b/"),
            ("a/", "", "a/"),
            ("c.rs", "", "c.rs"),
            ("/a/**", "/a/", "**"),
            ("/a", "/", "a"),
            ("../{x,y}", "../", "{x,y}"),
            ("{a/b,c}/d", "", "{a/b,c}/d"),
        ] {
            assert_eq!(split_prefix(pattern), (prefix, glob), "{pattern}");
        }
    }
}
