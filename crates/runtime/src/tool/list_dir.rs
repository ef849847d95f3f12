//! `list_dir`: what is in a directory, as a tree.
//!
//! The tree is read from the directories' own handles and follows no link, so that it never shows
//! what lies outside. What `.gitignore` names is left out and counted.

mod tree;

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::tree::Tree;
use super::{
    Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments::Arguments,
    file_guard::Readable, off_thread::off_thread, wording::count,
};
use crate::tool::{
    artifacts::{Artifacts, Bound},
    workspace::Workspace,
};

/// How deep it goes unless asked otherwise.
const DEFAULT_DEPTH: usize = 1;
/// How deep it goes at most.
const MAX_DEPTH: usize = 16;
/// How many entries are shown at most.
const MAX_SHOWN: usize = 500;

/// Lists a directory.
#[derive(Debug)]
pub(super) struct ListDir {
    spec: ToolSpec,
}

impl ListDir {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec::reading(
                BuiltinTool::ListDir,
                include_str!("list_dir.md"),
                json!({
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "depth": {"type": "integer"},
                    },
                }),
            ),
        }
    }
}

impl Tool for ListDir {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        let workspace = context.workspace.clone();
        let artifacts = context.artifacts.clone();
        let readable = context.files.readable_by(BuiltinTool::ListDir);
        let answer_form = context.answer_form;
        Box::pin(off_thread(&context.cancel, move |stop| {
            let tree = tree(arguments, &workspace, &readable, stop)?;
            let output = report(&tree, &artifacts);
            Ok(output.with_findings(answer_form, || tree.findings()))
        }))
    }
}

fn tree(
    arguments: Value,
    workspace: &Workspace,
    readable: &Readable,
    stop: &CancellationToken,
) -> Result<Tree, ToolOutput> {
    let mut arguments = Arguments::new(arguments)?;
    let path = arguments.text("path")?;
    let depth = arguments.number("depth")?.unwrap_or(DEFAULT_DEPTH);
    arguments.finish()?;
    let location = match path {
        Some(path) => readable.find(workspace, &path)?,
        None => readable.find_top(workspace)?,
    };
    Ok(Tree::read(location, depth.clamp(1, MAX_DEPTH), readable, stop)?)
}

fn report(tree: &Tree, artifacts: &Artifacts) -> ToolOutput {
    let total = tree.len();
    let mut text = tree.render(MAX_SHOWN);
    if total == 0 {
        text = format!("{} is empty", tree.location());
    }
    let mut output = Bound::DEFAULT.apply(text, "list_dir", artifacts);
    let mut remarks = Vec::new();
    if total > MAX_SHOWN {
        let (where_kept, artifact) = artifacts.keep_and_tell("list_dir", &tree.render(total));
        let shown = MAX_SHOWN;
        let total = count(total, "entry");
        remarks.push(format!("{shown} of {total} shown; {where_kept}"));
        output.artifacts.extend(artifact);
    }
    remarks.extend(tree.remarks());
    output.with_remarks(&remarks)
}
