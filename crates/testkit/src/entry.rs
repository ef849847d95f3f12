//! Entries of a transcript, all written at one moment.

use std::time::Duration;

use attache_kernel::{
    id::ToolCallId,
    run::{event::Event, message::ToolResult, transcript::Entry},
};

/// An entry for that event.
pub fn entry(seq: u64, event: Event) -> Entry {
    Entry::new(seq, "2026-11-05T10:00:00.000Z", Duration::ZERO, event)
}

/// An answer of a tool, which may be any text of any length.
pub fn tool_answer(seq: u64, text: &str) -> Entry {
    let result = ToolResult {
        call_id: ToolCallId::new("call_1"),
        text: text.to_owned(),
        is_error: false,
        images: Vec::new(),
        artifacts: Vec::new(),
        data: None,
    };
    let tool_name = "read_file".to_owned();
    entry(
        seq,
        Event::ToolReturned {
            tool_name,
            result,
            duration_ms: Some(1),
            changes: Vec::new(),
            delivers: Vec::new(),
        },
    )
}
