//! `read_file`: the lines of a text file, numbered.
//!
//! The file is streamed: the output is bounded for files and lines of any length. The output says what
//! was left out and how to read on. The file itself is the full text, so no
//! artifact is kept.

mod lines;

use std::{
    future::ready,
    io::{self, Cursor, Read, Seek},
};

use attache_kernel::rights::tool_name::BuiltinTool;
use encoding_rs_io::DecodeReaderBytesBuilder;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::lines::{Line, Lines};
use super::{
    AnswerForm, SeenFiles, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    arguments::{ArgumentError, Arguments},
    content::{self, Content},
    file_guard::Readable,
    findings::{Findings, FoundFile},
    off_thread::off_thread,
    wording::{count, grouped, size},
};
use crate::tool::workspace::{Location, Workspace, reason};

/// How many lines are shown unless asked otherwise.
const DEFAULT_LINES: usize = 2000;
/// How many bytes are shown at most.
const MAX_BYTES: usize = 48 * 1024;
/// How many bytes a file may have that is read in passing.
const MAX_AT_HAND: usize = 64 * 1024;
/// How far the lines after those shown are counted, in bytes.
const MAX_COUNTED: u64 = 16 << 20;

/// Reads a file.
#[derive(Debug)]
pub(super) struct ReadFile {
    spec: ToolSpec,
}

struct Request {
    path: String,
    offset: usize,
    limit: usize,
    answer_form: AnswerForm,
}

impl ReadFile {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec::reading(
                BuiltinTool::ReadFile,
                include_str!("read_file.md"),
                json!({
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "offset": {"type": "integer"},
                        "limit": {"type": "integer"},
                    },
                    "required": ["path"],
                }),
            ),
        }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        let request = match Request::new(arguments, context.answer_form) {
            Ok(request) => request,
            Err(error) => return Box::pin(ready(error.into())),
        };
        let readable = context.files.readable_by(BuiltinTool::ReadFile);
        let ToolContext { workspace, seen, cancel, .. } = context;
        if let Some(output) = request.read_at_hand(workspace, &readable, seen, cancel) {
            return Box::pin(ready(output));
        }
        let workspace = context.workspace.clone();
        let seen = context.seen.clone();
        Box::pin(off_thread(&context.cancel, move |stop| {
            request.read_from_disk(&workspace, &readable, &seen, stop)
        }))
    }
}

impl Request {
    fn new(arguments: Value, answer_form: AnswerForm) -> Result<Self, ArgumentError> {
        let mut arguments = Arguments::new(arguments)?;
        let request = Self {
            path: arguments.required_text("path")?,
            // Counting from zero is a slip that can only mean the first line.
            offset: arguments.number("offset")?.unwrap_or(1).max(1),
            limit: arguments.number("limit")?.filter(|limit| *limit > 0).unwrap_or(DEFAULT_LINES),
            answer_form,
        };
        arguments.finish()?;
        Ok(request)
    }

    /// Reads a small file that needs no waiting for.
    fn read_at_hand(
        &self,
        workspace: &Workspace,
        readable: &Readable,
        seen: &SeenFiles,
        stop: &CancellationToken,
    ) -> Option<ToolOutput> {
        let (location, content, stamp) = workspace.at_hand(&self.path, MAX_AT_HAND)?;
        if let Err(refusal) = readable.check(&location) {
            return Some(refusal);
        }
        seen.saw(&location, stamp, Some(&content));
        let bytes = content.len() as u64;
        if is_plain_text(&content) {
            return self.show(&location, Lines::new(content.as_slice(), bytes, stop)).ok();
        }
        self.read(&location, Cursor::new(content), bytes, stop).ok()
    }

    fn read_from_disk(
        &self,
        workspace: &Workspace,
        readable: &Readable,
        seen: &SeenFiles,
        stop: &CancellationToken,
    ) -> Result<ToolOutput, ToolOutput> {
        let location = readable.find(workspace, &self.path)?;
        let (file, stamp) = location.open_stamped()?;
        let told = |error| ToolOutput::error(format!("{location}: {}", reason(&error)));
        let output = self.read(&location, file, stamp.size, stop).map_err(told)?;
        if !output.is_error {
            seen.saw(&location, stamp, None);
        }
        Ok(output)
    }

    fn read(
        &self,
        location: &Location,
        mut file: impl Read + Seek,
        bytes: u64,
        stop: &CancellationToken,
    ) -> io::Result<ToolOutput> {
        match content::sniff(&mut file)? {
            Content::Empty => return Ok(ToolOutput::text(format!("{location} is empty"))),
            content @ (Content::Binary(_) | Content::Image(_)) => {
                let instead = match content {
                    Content::Image(_) => "; view_image shows it, if you have it",
                    _ => "",
                };
                return Ok(ToolOutput::text(format!(
                    "{location} is {content} ({}); its content is not shown{instead}",
                    size(bytes)
                )));
            }
            Content::Text => file.rewind()?,
        }
        // UTF-16 with a byte order mark becomes UTF-8; everything else passes as it is.
        let decoded = DecodeReaderBytesBuilder::new()
            .bom_sniffing(true)
            .strip_bom(true)
            .utf8_passthru(true)
            .build(file);
        self.show(location, Lines::new(decoded, bytes, stop))
    }

    fn show<R: Read>(
        &self,
        location: &Location,
        mut lines: Lines<'_, R>,
    ) -> io::Result<ToolOutput> {
        let skipped = lines.skip(self.offset - 1)?;
        let at_end = lines.is_at_end()?;
        if at_end && self.offset == 1 {
            return Ok(ToolOutput::text(format!("{location} is empty")));
        }
        if at_end {
            return Ok(ToolOutput::error(format!(
                "offset {} is past the end: {location} has {}",
                self.offset,
                count(skipped, "line")
            )));
        }
        let keeps = self.answer_form == AnswerForm::TextAndData;
        let mut page = Page { next: self.offset, lines: keeps.then(Vec::new), ..Page::default() };
        while page.next < self.offset.saturating_add(self.limit)
            && page.text.len() < MAX_BYTES
            && page.ends.is_none()
            && let Some(line) = lines.next()?
        {
            page.add(&line);
        }
        if page.ends.is_none() && !lines.is_at_end()? {
            let rest = lines.count_rest(MAX_COUNTED)?;
            let total = rest.map_or_else(
                || "many more".to_owned(),
                |rest| grouped((page.next - 1 + rest) as u64),
            );
            page.ends = Some(format!(
                "lines {}-{} of {total}; read on with offset={}",
                self.offset,
                page.next - 1,
                page.next
            ));
        }
        let lines = page.lines.take().unwrap_or_default();
        let is_cut = page.ends.is_some();
        Ok(ToolOutput::text(page.finish()).with_findings(self.answer_form, || {
            let path = location.to_string();
            let file = FoundFile { path, lines, ..FoundFile::default() };
            Findings { files: vec![file], is_cut, ..Findings::default() }
        }))
    }
}

/// What is shown of a file.
#[derive(Default)]
struct Page {
    text: String,
    /// The number of the line that comes next.
    next: usize,
    cut: usize,
    lossy: bool,
    carriage_returns: bool,
    /// The same lines as values, where they are wanted.
    lines: Option<Vec<(usize, String)>>,
    /// Why nothing follows, where that is not the end of the file.
    ends: Option<String>,
}

impl Page {
    fn add(&mut self, line: &Line) {
        if line.kept.contains(&0) {
            let next = self.next;
            self.ends = Some(format!("from line {next} on it is binary data, not shown"));
            return;
        }
        let kept = line.kept.strip_suffix(b"\r").unwrap_or(&line.kept);
        self.carriage_returns |= kept.len() < line.kept.len();
        let text = String::from_utf8_lossy(kept);
        self.lossy |= matches!(text, std::borrow::Cow::Owned(_));
        self.text.push_str(&self.next.to_string());
        self.text.push('\t');
        self.text.push_str(&text);
        if let Some(lines) = &mut self.lines {
            lines.push((self.next, text.into_owned()));
        }
        if line.left_out > 0 {
            self.cut += 1;
            self.text.push_str(&format_cut(line.left_out));
        }
        self.text.push('\n');
        self.next += 1;
    }

    /// The lines, and in brackets what the reader must know about them.
    fn finish(mut self) -> String {
        let mut remarks = Vec::new();
        remarks.extend(self.ends.take());
        if self.cut > 0 {
            remarks.push(format!("{} cut", count(self.cut, "long line")));
        }
        if self.lossy {
            remarks.push("not UTF-8: � stands for what could not be decoded".to_owned());
        }
        if self.carriage_returns {
            remarks.push("lines end in CRLF".to_owned());
        }
        if remarks.is_empty() {
            self.text.pop();
        } else {
            self.text.push('[');
            self.text.push_str(&remarks.join("; "));
            self.text.push(']');
        }
        self.text
    }
}

/// Whether these bytes are text that can be shown without being decoded.
fn is_plain_text(content: &[u8]) -> bool {
    let may_have_mark = matches!(content.first(), Some(0xef | 0xfe | 0xff));
    !may_have_mark && matches!(content::sniff(&mut &*content), Ok(Content::Text))
}

fn format_cut(left_out: u64) -> String {
    format!("… [{} bytes more]", grouped(left_out))
}

#[cfg(test)]
mod tests;
