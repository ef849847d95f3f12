//! `grep_files`: the lines that match a pattern, in the order of their files' paths.
//!
//! Files are searched in parallel by ripgrep's own crates. The order of the answer does not depend on
//! that of the search, and a limit always keeps the first matches by path.

mod hits;
mod query;
mod ranking;
mod report;
mod search;

use std::sync::Arc;

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::{query::Query, search::Search};
use super::{Tool, ToolContext, ToolFuture, ToolSpec, off_thread::in_turn};

/// Searches file contents.
#[derive(Debug)]
pub(super) struct GrepFiles {
    spec: ToolSpec,
    turns: Arc<Semaphore>,
}

impl GrepFiles {
    pub(super) fn new(turns: Arc<Semaphore>) -> Self {
        Self {
            spec: ToolSpec::reading(
                BuiltinTool::GrepFiles,
                include_str!("grep_files.md"),
                json!({
                    "type": "object",
                    "properties": {
                        "pattern": {"type": "string"},
                        "path": {"type": "string"},
                        "glob": {"type": "string", "description": "e.g. *.{ts,tsx},!*.d.ts"},
                        "type": {"type": "string", "description": "e.g. rust, py"},
                        "mode": {"type": "string", "enum": ["content", "files", "count"]},
                        "context": {"type": "integer"},
                        "before": {"type": "integer"},
                        "after": {"type": "integer"},
                        "ignore_case": {"type": "boolean"},
                        "fixed_strings": {"type": "boolean"},
                        "multiline": {"type": "boolean"},
                        "head_limit": {"type": "integer", "description": "default 200"},
                    },
                    "required": ["pattern"],
                }),
            ),
            turns,
        }
    }
}

impl Tool for GrepFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        let workspace = context.workspace.clone();
        let artifacts = context.artifacts.clone();
        let readable = context.files.readable_by(BuiltinTool::GrepFiles);
        let answer_form = context.answer_form;
        Box::pin(in_turn(&self.turns, &context.cancel, move |stop| {
            let query = Query::new(arguments, &workspace, &readable)?;
            let found = Search::run(&query, &readable, stop);
            let output = report::report(&query, &found, &artifacts);
            Ok(output.with_findings(answer_form, || report::findings(&query, &found)))
        }))
    }
}
