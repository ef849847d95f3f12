//! Calls: those under way, and how they become lines that stay.

use attache_kernel::{
    id::ToolCallId,
    run::message::{Message, ToolResult},
};
use serde_json::Value;

use super::item::{CallEnd, FinishedCall};
use crate::print::progress::call::described;

/// How much of a tool's output is kept to show its end.
const MOST_OUTPUT: usize = 2048;
/// How much of a reason is shown.
const MOST_REASON: usize = 400;

/// The tools that start agents; their blocks tell of them.
const DELEGATING: [&str; 3] = ["task", "subagent_run", "Task"];

/// A call under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenCall {
    /// Its id.
    pub(crate) id: ToolCallId,
    /// The tool and what matters of its arguments.
    pub(crate) what: String,
    /// When it began, in milliseconds of the clock.
    pub(crate) since_ms: u64,
    /// The end of what it has put out so far.
    pub(crate) output: String,
    /// Whether it starts an agent.
    pub(crate) is_delegation: bool,
    diff: Vec<String>,
}

/// The calls of a run: as its model wrote them, and those under way.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Calls {
    written: Vec<(ToolCallId, String, Option<Value>)>,
    open: Vec<OpenCall>,
}

impl Calls {
    /// The calls under way, the oldest first.
    pub(crate) fn open(&self) -> &[OpenCall] {
        &self.open
    }

    /// Which of the calls that the model wrote hands out that task.
    pub(crate) fn place_of(&self, task: &str) -> usize {
        let hands_out = |arguments: &Value| {
            let prompt = arguments.get("prompt").or_else(|| arguments.get("task"));
            prompt.and_then(Value::as_str) == Some(task)
        };
        let found =
            |(_, _, arguments): &(_, _, Option<Value>)| arguments.as_ref().is_some_and(hands_out);
        self.written.iter().position(found).unwrap_or(self.written.len())
    }

    /// The model answered: its calls come next.
    pub(crate) fn replied(&mut self, message: &Message) {
        self.written = message
            .calls()
            .map(|call| (call.id.clone(), call.name.clone(), call.arguments().ok().cloned()))
            .collect();
    }

    /// A call went to its tool.
    pub(crate) fn started(&mut self, id: &ToolCallId, tool: &str, now_ms: u64) {
        self.open.push(self.made(id, tool, now_ms));
    }

    /// A call puts something out.
    pub(crate) fn output(&mut self, id: &ToolCallId, piece: &str) {
        let Some(call) = self.open.iter_mut().find(|call| call.id == *id) else { return };
        call.output.push_str(piece);
        if call.output.len() > MOST_OUTPUT {
            let cut = call.output.len() - MOST_OUTPUT / 2;
            let cut = (cut..call.output.len()).find(|at| call.output.is_char_boundary(*at));
            call.output = call.output.split_off(cut.unwrap_or_default());
        }
    }

    /// A call has its answer; `None` if a block tells of it.
    pub(crate) fn returned(
        &mut self,
        tool: &str,
        result: &ToolResult,
        duration_ms: Option<u64>,
    ) -> Option<FinishedCall> {
        let at = self.open.iter().position(|call| call.id == result.call_id);
        let call = match at {
            Some(at) => self.open.remove(at),
            None => self.made(&result.call_id, tool, 0),
        };
        // The block of the agent tells how it ended.
        let has_block =
            result.text.starts_with("Stopped: ") || result.text.contains("\"agent_id\"");
        if call.is_delegation && (!result.is_error || has_block) {
            return None;
        }
        let problem = || {
            let text = result.text.strip_prefix("Refused: ").unwrap_or(&result.text);
            text.trim().chars().take(MOST_REASON).collect::<String>()
        };
        let end = match (result.is_error, duration_ms) {
            (false, took) => CallEnd::Done(took.unwrap_or_default()),
            (true, Some(took)) => CallEnd::Failed(took, problem()),
            (true, None) => CallEnd::Refused(problem()),
        };
        let diff = if result.is_error { Vec::new() } else { call.diff };
        Some(FinishedCall { what: call.what, end, diff })
    }

    /// Nothing is under way any more.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    fn made(&self, id: &ToolCallId, tool: &str, since_ms: u64) -> OpenCall {
        let written = self.written.iter().find(|(known, _, _)| known == id);
        let arguments = written.and_then(|(_, _, arguments)| arguments.as_ref());
        OpenCall {
            id: id.clone(),
            what: described(tool, arguments),
            since_ms,
            output: String::new(),
            is_delegation: DELEGATING.contains(&tool),
            diff: arguments.map(|arguments| diff(tool, arguments)).unwrap_or_default(),
        }
    }
}

/// The lines that a call is going to change, as far as its arguments tell.
fn diff(tool: &str, arguments: &Value) -> Vec<String> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let marked = |mark: char, text: &str| -> Vec<String> {
        text.lines().map(|line| format!("{mark}{line}")).collect()
    };
    match tool {
        "write_file" => text("content").map(|all| marked('+', all)).unwrap_or_default(),
        "edit_file" => {
            let old = text("old_string").or_else(|| text("old_text"));
            let new = text("new_string").or_else(|| text("new_text"));
            let removed = old.map(|old| marked('-', old)).unwrap_or_default();
            let added = new.map(|new| marked('+', new)).unwrap_or_default();
            removed.into_iter().chain(added).collect()
        }
        "apply_patch" => {
            let patch = text("patch").or_else(|| text("input")).unwrap_or_default();
            let is_frame =
                |line: &&str| line.starts_with("*** Begin") || line.starts_with("*** End");
            patch.lines().filter(|line| !is_frame(line)).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
