//! `edit_file`: one text in a file replaced by another.
//!
//! The text must be found exactly, and once unless all places are meant. Line endings and the byte
//! order mark of the file stay as they are. A failure shows what in the file comes nearest.

mod nearest;
mod replacement;

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::replacement::{Places, Replacement};
use super::{
    ToolOutput,
    arguments::{ArgumentError, Arguments},
    file_edits::{Desk, Edits, Plan, check_length},
};
use crate::tool::workspace::Destination;

/// Edits a file.
#[derive(Debug)]
pub(super) struct EditFile {
    path: String,
    replacement: Replacement,
}

impl Edits for EditFile {
    const TOOL: BuiltinTool = BuiltinTool::EditFile;
    const DESCRIPTION: &'static str = include_str!("edit_file.md");

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean"},
            },
            "required": ["path", "old_string", "new_string"],
        })
    }

    fn read(arguments: Value) -> Result<Self, ArgumentError> {
        let mut arguments = Arguments::new(arguments)?;
        let request = Self {
            path: arguments.required_text("path")?,
            replacement: Replacement {
                old: arguments.required_content("old_string")?,
                new: arguments.required_content("new_string")?,
                places: if arguments.flag("replace_all")? { Places::All } else { Places::One },
            },
        };
        arguments.finish()?;
        Ok(request)
    }

    fn plan(self, desk: &Desk, stop: &CancellationToken) -> Result<Plan, ToolOutput> {
        let Replacement { old, new, .. } = &self.replacement;
        if old == new {
            return Err(ToolOutput::error("old_string and new_string are the same"));
        }
        let destination = desk.find(&self.path)?;
        let Some(before) = Desk::read(&destination, stop)? else {
            if old.is_empty() {
                check_length(new)?;
                return Ok(Plan::of_one(destination, None, self.replacement.new));
            }
            return Err(desk.missing(&self.path));
        };
        desk.check_current(&destination, &before)?;
        if old.is_empty() && !before.text.is_empty() {
            return Err(ToolOutput::error(format!(
                "old_string is empty and {destination} is not; give the text to be replaced"
            )));
        }
        let after = match self.replacement.apply(&before.text) {
            Ok(after) => after,
            Err(failure) => return Err(self.explain(&destination, &before.text, &failure)),
        };
        check_length(&after)?;
        Ok(Plan::of_one(destination, Some(before), after))
    }
}

impl EditFile {
    fn explain(
        &self,
        destination: &Destination,
        text: &str,
        failure: &replacement::Failure,
    ) -> ToolOutput {
        ToolOutput::error(match failure {
            replacement::Failure::Several(lines) => format!(
                "old_string is {} times in {destination} ({}); add lines around it to make it \
                 unique, or set replace_all",
                lines.count, lines
            ),
            replacement::Failure::NotFound => {
                let near = nearest::explain(text, &self.replacement.old);
                format!("old_string is not in {destination}{near}")
            }
        })
    }
}
