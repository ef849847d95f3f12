//! `TodoWrite`: the main agent's list of things to do.
//!
//! Every call gives the whole list, and the answer shows it: the conversation is where it is kept, so a
//! resumed run has it as well.

use std::fmt::Write as _;

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};

use super::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments::Arguments};

/// The most entries of a list.
const MOST_ENTRIES: usize = 100;

/// Keeps a list of things to do.
#[derive(Debug)]
pub(super) struct TodoWrite {
    spec: ToolSpec,
}

/// An entry of the list.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    content: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl TodoWrite {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"todos": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    "activeForm": {"type": "string"},
                },
                "required": ["content", "status"],
            }}},
            "required": ["todos"],
        });
        let spec =
            ToolSpec::reading(BuiltinTool::TodoWrite, include_str!("TodoWrite.md"), parameters);
        Self { spec }
    }
}

fn list(arguments: Value) -> Result<Vec<Entry>, ToolOutput> {
    let mut arguments = Arguments::new(arguments)?;
    let todos = arguments.value("todos");
    arguments.finish()?;
    let todos = match todos {
        // Some models encode the list as text.
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Some(todos) => todos,
        None => return Err(ToolOutput::error("parameter `todos` (a list) is required")),
    };
    let Value::Array(todos) = todos else {
        return Err(ToolOutput::error("parameter `todos` must be a list"));
    };
    if todos.len() > MOST_ENTRIES {
        let count = todos.len();
        let problem = format!("{count} entries; the maximum is {MOST_ENTRIES}");
        return Err(ToolOutput::error(problem));
    }
    let numbered = todos.iter().enumerate();
    numbered.map(|(index, todo)| entry(index + 1, todo)).collect()
}

fn entry(number: usize, todo: &Value) -> Result<Entry, ToolOutput> {
    let problem = |what: &str| ToolOutput::error(format!("entry {number} of `todos`: {what}"));
    let text = |name: &str| todo.get(name).and_then(Value::as_str).map(str::trim);
    let content = text("content").or_else(|| text("description")).unwrap_or_default();
    if content.is_empty() {
        return Err(problem("`content` must be a text"));
    }
    let status = match text("status") {
        Some("pending") => Status::Pending,
        Some("in_progress") => Status::InProgress,
        Some("completed") => Status::Completed,
        _ => return Err(problem("`status` must be pending, in_progress or completed")),
    };
    // One line an entry.
    let content = content.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Entry { content, status })
}

fn shown(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return "the list is empty".to_owned();
    }
    let count = |status| entries.iter().filter(|entry| entry.status == status).count();
    let mut text = format!(
        "{} completed, {} in progress, {} pending",
        count(Status::Completed),
        count(Status::InProgress),
        count(Status::Pending)
    );
    for Entry { content, status } in entries {
        let mark = match status {
            Status::Pending => ' ',
            Status::InProgress => '>',
            Status::Completed => 'x',
        };
        // Writing to a string cannot fail.
        write!(text, "\n[{mark}] {content}").unwrap_or_default();
    }
    text
}

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, _: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            list(arguments).map_or_else(|error| error, |entries| ToolOutput::text(shown(&entries)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(arguments: Value) -> String {
        list(arguments).map_or_else(|error| error.text, |entries| shown(&entries))
    }

    #[test]
    fn a_list_that_cannot_be_read_says_why() {
        for (arguments, expected) in [
            (json!({}), "parameter `todos` (a list) is required"),
            (json!({"todos": 1}), "parameter `todos` must be a list"),
            (
                json!({"todos": [{"status": "pending"}]}),
                "entry 1 of `todos`: `content` must be a text",
            ),
            (
                json!({"todos": [{"content": "a", "status": "done"}]}),
                "entry 1 of `todos`: `status` must be pending, in_progress or completed",
            ),
        ] {
            assert_eq!(answer(arguments), expected);
        }
        let many: Vec<Value> =
            (0..101).map(|_| json!({"content": "a", "status": "pending"})).collect();
        assert_eq!(answer(json!({"todos": many})), "101 entries; the maximum is 100");
    }

    #[test]
    fn the_answer_is_the_list() {
        let todos = json!([
            {"content": "Read", "status": "completed", "activeForm": "Reading"},
            {"content": "Write\nit", "status": "in_progress"},
            {"content": "Test", "status": "pending"},
        ]);
        let expected = "1 completed, 1 in progress, 1 pending\n[x] Read\n[>] Write it\n[ ] Test";
        assert_eq!(answer(json!({"todos": todos})), expected);
        assert_eq!(answer(json!({"todos": todos.to_string()})), expected);
        assert_eq!(answer(json!({"todos": []})), "the list is empty");
    }
}
