//! File edits: what a call is going to do to files, planned first and then done.
//!
//! A plan reads files and writes none, so it also shows beforehand what a call would do. Invariants: only
//! files that were foreseen are changed, and only if they are still as they were planned on; a file
//! that the agent may not read or write is neither changed nor shown; what has been done when an edit
//! fails stays and is told.

mod plan;
mod report;

use std::{fmt, future::ready, marker::PhantomData, sync::Arc};

use attache_kernel::{
    rights::{protected::protected, tool_name::BuiltinTool},
    run::file_change::{FileChange, FileVersion},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::plan::FileEdit;
pub(super) use self::plan::Plan;
use super::{
    ChangeSink, ForesightFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    arguments::ArgumentError,
    artifacts::Artifacts,
    file_guard::Readable,
    off_thread::{foreseen, off_thread},
    seen_files::{Earlier, Knowledge, SeenFiles},
    text_file::TextFile,
    wording::{count, size},
};
use crate::{
    changes::line_diff::LineDiff,
    process::Processes,
    tool::workspace::{Destination, Occupant, Stamp, Workspace, WriteError},
};

/// The longest content that is written.
const MAX_CONTENT: usize = 10 << 20;
/// How much is shown of what changed in a stale file, in lines and bytes.
const STALE: (usize, usize) = (20, 2 * 1024);

/// The arguments of a call that changes files, and the tool that takes them.
pub(super) trait Edits: fmt::Debug + Sized + Send + Sync + 'static {
    /// The tool.
    const TOOL: BuiltinTool;
    /// What the model is told about it.
    const DESCRIPTION: &'static str;

    /// The JSON Schema of its arguments.
    fn parameters() -> Value;

    /// Reads the arguments.
    fn read(arguments: Value) -> Result<Self, ArgumentError>;

    /// Says what the call is going to do.
    fn plan(self, desk: &Desk, stop: &CancellationToken) -> Result<Plan, ToolOutput>;
}

/// A tool that changes files.
#[derive(Debug)]
pub(super) struct FileTool<E> {
    spec: ToolSpec,
    edits: PhantomData<fn() -> E>,
}

impl<E: Edits> FileTool<E> {
    pub(super) fn new() -> Self {
        let spec = ToolSpec::acting(E::TOOL, E::DESCRIPTION, E::parameters());
        Self { spec, edits: PhantomData }
    }
}

impl<E: Edits> Tool for FileTool<E> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn foresee<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> Option<ForesightFuture<'a>> {
        Some(foresee::<E>(arguments, context))
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        call::<E>(arguments, context)
    }
}

/// Finds out what a call would change.
fn foresee<'a, E: Edits>(arguments: &'a Value, context: &'a ToolContext) -> ForesightFuture<'a> {
    Box::pin(async move {
        let edits = match E::read(arguments.clone()) {
            Ok(edits) => edits,
            Err(error) => return report::doomed(&ToolOutput::from(error).text),
        };
        let desk = Desk::new(E::TOOL, context);
        foreseen(&context.cancel, move |stop| match edits.plan(&desk, stop) {
            Ok(plan) => plan.foresight(),
            Err(failure) => report::doomed(&failure.text),
        })
        .await
    })
}

/// Makes a call.
fn call<E: Edits>(arguments: Value, context: &ToolContext) -> ToolFuture<'_> {
    let edits = match E::read(arguments) {
        Ok(edits) => edits,
        Err(error) => return Box::pin(ready(error.into())),
    };
    let desk = Desk::new(E::TOOL, context);
    let foresight = Arc::clone(&context.foresight);
    Box::pin(off_thread(&context.cancel, move |stop| {
        let plan = edits.plan(&desk, stop)?;
        plan.check_foreseen(&foresight)?;
        Ok(desk.carry_out(plan, stop))
    }))
}

/// What plans are made with and carried out from.
pub(super) struct Desk {
    workspace: Arc<Workspace>,
    /// What the tool may have, and what the agent may read.
    guards: [Readable; 2],
    seen: SeenFiles,
    /// Where the versions of files are kept.
    artifacts: Arc<Artifacts>,
    changes: ChangeSink,
    processes: Arc<Processes>,
}

impl Desk {
    /// Whether a path is a link itself.
    pub(super) fn is_link(&self, given: &str) -> bool {
        let path = self.workspace.root().join(given);
        path.symlink_metadata().is_ok_and(|found| found.is_symlink())
    }

    fn new(tool: BuiltinTool, context: &ToolContext) -> Self {
        Self {
            workspace: context.workspace.clone(),
            guards: [
                context.files.readable_by(tool),
                context.files.readable_by(BuiltinTool::ReadFile),
            ],
            seen: context.seen.clone(),
            artifacts: context.artifacts.clone(),
            changes: context.changes.clone(),
            processes: context.processes.clone(),
        }
    }

    /// Finds where a file goes, if the agent may have it there.
    pub(super) fn find(&self, given: &str) -> Result<Destination, ToolOutput> {
        let destination = self.workspace.destination(given);
        let [own, reading] = &self.guards;
        match &destination {
            Ok(destination) => {
                own.check(destination.place())?;
                match destination.occupant() {
                    Occupant::Nothing => reading.check_new(destination.place())?,
                    Occupant::File => reading.check(destination.place())?,
                }
            }
            // Nor is it said what is wrong with a place that the agent may not have.
            Err(_) => {
                if let Ok(place) = self.workspace.resolve(given) {
                    own.check(&place)?;
                    reading.check(&place)?;
                }
            }
        }
        Ok(destination?)
    }

    /// The file at a destination; `None` if nothing is there.
    pub(super) fn read(
        destination: &Destination,
        stop: &CancellationToken,
    ) -> Result<Option<TextFile>, ToolOutput> {
        match destination.occupant() {
            Occupant::Nothing => Ok(None),
            Occupant::File => TextFile::read(destination.place(), stop).map(Some),
        }
    }

    /// That there is no such file, with the paths that may have been meant.
    pub(super) fn missing(&self, given: &str) -> ToolOutput {
        let [guard, _] = &self.guards;
        match guard.resolve(&self.workspace, given) {
            Err(error) => error.into(),
            Ok(_) => ToolOutput::error(format!("{given} changed meanwhile; try again")),
        }
    }

    /// What the agent knows of a file.
    pub(super) fn knowledge(&self, destination: &Destination, now: &TextFile) -> Knowledge {
        self.seen.knowledge(destination.place(), now)
    }

    /// Refuses a file that is another than the one the agent saw.
    pub(super) fn check_current(
        &self,
        destination: &Destination,
        now: &TextFile,
    ) -> Result<(), ToolOutput> {
        match self.knowledge(destination, now) {
            Knowledge::None | Knowledge::Current => Ok(()),
            Knowledge::Stale(earlier) => Err(stale(destination, now, &earlier)),
        }
    }

    /// Does what was planned. What was done before a failure stays.
    fn carry_out(&self, plan: Plan, stop: &CancellationToken) -> ToolOutput {
        let Plan { edits, mut failure } = plan;
        let mut done = Vec::new();
        for edit in edits {
            match self.carry_out_one(&edit, stop) {
                Ok(()) => done.push(edit),
                Err(error) => {
                    failure = Some(error.to_string());
                    break;
                }
            }
        }
        match failure {
            None => ToolOutput::text(report::done(&done)),
            Some(failure) => ToolOutput::error(report::failed(&failure, &done)),
        }
    }

    fn carry_out_one(&self, edit: &FileEdit, stop: &CancellationToken) -> Result<(), WriteError> {
        let destination = &edit.destination;
        let before = edit.before.as_ref().and_then(|before| before.stamp);
        if stop.is_cancelled() {
            return Err(WriteError::Cancelled { path: destination.to_string() });
        }
        let cancelled = || WriteError::Cancelled { path: destination.to_string() };
        let like = edit.moved_from.as_ref().and_then(|moved| moved.file.stamp).or(before);
        let change = self.change(edit, like);
        let Some(after) = &edit.after else {
            if let Some(before) = before {
                let removed = self.changes.record(|| destination.remove(before), change);
                removed.ok_or_else(cancelled)??;
            }
            self.seen.forget(destination.place());
            return Ok(());
        };
        if let Some(moved) = &edit.moved_from
            && let Some(stamp) = moved.file.stamp
        {
            // Else the file would be there twice.
            moved.source.check_removable(stamp)?;
        }
        if protected(&destination.path_text()).is_some() {
            // It is not taken for what a command planted that runs meanwhile.
            self.processes.approve(destination.place().absolute());
        }
        let prepared = destination.prepare(after.as_bytes(), before, like, stop)?;
        let stamp = self.changes.record(|| prepared.commit(), change).ok_or_else(cancelled)??;
        self.seen.saw(destination.place(), stamp, Some(after.as_bytes()));
        Ok(())
    }

    /// What the journal is told of an edit; the texts are kept beside it.
    fn change(&self, edit: &FileEdit, like: Option<Stamp>) -> FileChange {
        let version = |text: &str, stamp: Option<Stamp>| FileVersion {
            text: self.artifacts.keep_version(text),
            executable: stamp.is_some_and(|stamp| stamp.is_executable()),
        };
        FileChange {
            path: edit.destination.path_text(),
            before: edit.before.as_ref().map(|before| version(&before.text, before.stamp)),
            after: edit.after.as_ref().map(|after| version(after, like)),
            moved_from: edit.moved_from.as_ref().map(|moved| moved.source.path_text()),
        }
    }
}

/// Refuses a content that is too long to be written.
pub(super) fn check_length(content: &str) -> Result<(), ToolOutput> {
    if content.len() > MAX_CONTENT {
        let most = size(MAX_CONTENT as u64);
        return Err(ToolOutput::error(format!("the content is too long; the maximum is {most}")));
    }
    Ok(())
}

fn stale(destination: &Destination, now: &TextFile, earlier: &Earlier) -> ToolOutput {
    let then = earlier.lines.map(|then| {
        let now = now.text.lines().count();
        format!(" ({} then, {now} now)", count(then, "line"))
    });
    let diff = earlier.text.as_ref().map(|earlier| {
        let (lines, bytes) = STALE;
        let diff = LineDiff::between(earlier, &now.text).shortened(lines, bytes);
        format!(". What changed:\n{}", diff.trim_end())
    });
    ToolOutput::error(format!(
        "{destination} changed since you read it{}; read it again before you change it{}",
        then.unwrap_or_default(),
        diff.unwrap_or_default()
    ))
}
