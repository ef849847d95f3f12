//! `apply_patch`: several changes of several files at once, in the envelope that Codex models know.
//!
//! The patch is read whole first; one that is not understood changes nothing. Files are then changed in
//! order, and the first that cannot be ends it: what was done before stays and is told.

use attache_kernel::{
    patch::{self, Hunk, Operation, Patch},
    rights::tool_name::BuiltinTool,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    ToolOutput,
    arguments::{ArgumentError, Arguments},
    file_edits::{Desk, Edits, Plan, check_length},
};

/// Applies a patch.
#[derive(Debug)]
pub(super) struct ApplyPatch {
    patch: String,
}

impl Edits for ApplyPatch {
    const TOOL: BuiltinTool = BuiltinTool::ApplyPatch;
    const DESCRIPTION: &'static str = include_str!("apply_patch.md");

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {"patch": {"type": "string"}},
            "required": ["patch"],
        })
    }

    fn read(arguments: Value) -> Result<Self, ArgumentError> {
        let mut arguments = Arguments::new(arguments)?;
        let patch = arguments.required_text("patch")?;
        arguments.finish()?;
        Ok(Self { patch })
    }

    /// What the patch does, as far as it can be done.
    fn plan(self, desk: &Desk, stop: &CancellationToken) -> Result<Plan, ToolOutput> {
        check_length(&self.patch)?;
        let patch =
            patch::parse(&self.patch).map_err(|error| ToolOutput::error(error.to_string()))?;
        let mut plan = Plan::default();
        for operation in &patch.operations {
            if let Err(failure) = add(&mut plan, operation, desk, stop) {
                plan.failure = Some(failed(&patch, operation, &failure.text));
                break;
            }
        }
        Ok(plan)
    }
}

/// Adds what one operation does to the plan.
fn add(
    plan: &mut Plan,
    operation: &Operation,
    desk: &Desk,
    stop: &CancellationToken,
) -> Result<(), ToolOutput> {
    let given = operation.path();
    let destination = desk.find(given)?;
    let current = plan.current(&destination, stop)?;
    if let Some(current) = &current {
        plan.check_current(desk, &destination, current)?;
    }
    let removes =
        matches!(operation, Operation::Delete { .. } | Operation::Update { move_to: Some(_), .. });
    if removes && desk.is_link(given) {
        // The file it leads to would be removed in its place.
        return Err(ToolOutput::error(format!(
            "{given} is a link; name the file that it leads to, or remove the link with a command"
        )));
    }
    match (operation, current) {
        (Operation::Add { content, .. }, current) => {
            plan.write(destination, current, content.clone());
        }
        (Operation::Delete { .. } | Operation::Update { .. }, None) => {
            return Err(desk.missing(given));
        }
        (Operation::Delete { .. }, Some(current)) => plan.delete(destination, current),
        (Operation::Update { move_to, hunks, .. }, Some(current)) => {
            let after = changed(&current.text, hunks)?;
            match move_to {
                None => plan.write(destination, Some(current), after),
                Some(to) => {
                    let to = desk.find(to)?;
                    let there = plan.current(&to, stop)?;
                    plan.move_to((destination, current), (to, there), after);
                }
            }
        }
    }
    Ok(())
}

/// The text after the hunks. A byte order mark is not part of the first line, and stays.
fn changed(text: &str, hunks: &[Hunk]) -> Result<String, ToolOutput> {
    const MARK: &str = "\u{feff}";
    let (mark, lines) = text.strip_prefix(MARK).map_or(("", text), |lines| (MARK, lines));
    let after = patch::apply(lines, hunks).map_err(|error| ToolOutput::error(error.to_string()))?;
    let after = format!("{mark}{after}");
    check_length(&after)?;
    Ok(after)
}

/// Which operation failed, why, and what was not reached.
fn failed(patch: &Patch, failed: &Operation, reason: &str) -> String {
    let path = failed.path();
    let what = match failed {
        Operation::Add { .. } => "adding",
        Operation::Delete { .. } => "deleting",
        Operation::Update { .. } => "updating",
    };
    let left: Vec<&str> = patch
        .operations
        .iter()
        .skip_while(|operation| !std::ptr::eq(*operation, failed))
        .skip(1)
        .map(Operation::path)
        .collect();
    let left = match left.as_slice() {
        [] => String::new(),
        left => format!("\nNot done: {}", left.join(", ")),
    };
    format!("{what} {path} failed: {reason}{left}")
}
