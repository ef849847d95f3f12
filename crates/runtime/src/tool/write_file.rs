//! `write_file`: a file with exactly this content.
//!
//! A file that is there is replaced only if the agent has seen it as it is.

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    ToolOutput,
    arguments::{ArgumentError, Arguments},
    file_edits::{Desk, Edits, Plan, check_length},
    seen_files::Knowledge,
};

/// Writes a file.
#[derive(Debug)]
pub(super) struct WriteFile {
    path: String,
    content: String,
}

impl Edits for WriteFile {
    const TOOL: BuiltinTool = BuiltinTool::WriteFile;
    const DESCRIPTION: &'static str = include_str!("write_file.md");

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "content": {"type": "string"},
            },
            "required": ["path", "content"],
        })
    }

    fn read(arguments: Value) -> Result<Self, ArgumentError> {
        let mut arguments = Arguments::new(arguments)?;
        let request = Self {
            path: arguments.required_text("path")?,
            content: arguments.required_content("content")?,
        };
        arguments.finish()?;
        Ok(request)
    }

    fn plan(self, desk: &Desk, stop: &CancellationToken) -> Result<Plan, ToolOutput> {
        check_length(&self.content)?;
        let destination = desk.find(&self.path)?;
        let before = Desk::read(&destination, stop)?;
        if let Some(before) = &before {
            if desk.knowledge(&destination, before) == Knowledge::None && !before.text.is_empty() {
                return Err(ToolOutput::error(format!(
                    "{destination} exists and you have not read it; read it first, or use \
                     edit_file to change a part of it"
                )));
            }
            desk.check_current(&destination, before)?;
            if before.text == self.content {
                return Err(ToolOutput::error(format!(
                    "{destination} has exactly this content already"
                )));
            }
        }
        Ok(Plan::of_one(destination, before, self.content))
    }
}
