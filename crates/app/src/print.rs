//! Printing: the only place that writes to the terminal. Colours go away with `NO_COLOR` and in pipes.

pub(crate) mod diagnostics;
pub(crate) mod diff;
pub(crate) mod hidden;
mod live;
pub(crate) mod number;
pub(crate) mod pager;
pub(crate) mod palette;
pub(crate) mod printer;
pub(crate) mod progress;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod transcript;
pub(crate) mod tree;
mod visible;
mod writer;

use std::{
    fs,
    io::{self, IsTerminal as _},
    path::Path,
};

use attache_kernel::run::outcome::RunResult;
use serde::Serialize;

use self::palette::Colours;
pub(crate) use self::{
    visible::visible as harmless,
    writer::{Stream, laid_out},
};
use crate::{
    failure::Failure,
    tui::{markdown::printed, theme::Theme},
};

/// The width of a terminal that does not tell it.
const USUAL_WIDTH: usize = 80;

/// Prints a result for people.
pub(crate) fn out(text: &str) -> Result<(), Failure> {
    settle(Stream::Out.write(Stream::Out.shown(text).as_bytes()))
}

/// Prints a result whose bytes count: unchanged in a pipe.
pub(crate) fn exact(text: &str) -> Result<(), Failure> {
    settle(Stream::Out.write(Stream::Out.exact(text).as_bytes()))
}

/// Prints a result that need not be text, unchanged. Only for a pipe or a file.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    settle(Stream::Out.write(bytes))
}

/// Prints a text that this program laid out with terminal codes of its own, such as a help page.
pub(crate) fn page(stream: Stream, text: &str) -> Result<(), Failure> {
    settle(stream.write(laid_out(stream, text).as_bytes()))
}

/// A result that is Markdown, ready to be written to standard output: laid out on a terminal, unchanged
/// in a pipe.
pub(crate) fn markdown(text: &str) -> String {
    if Stream::Out.is_terminal() {
        let width = Stream::Out.width().unwrap_or(USUAL_WIDTH);
        let page = printed(text.trim_end(), width, Theme::new(Colours::On));
        return laid_out(Stream::Out, &page);
    }
    format!("{}\n", text.trim_end())
}

/// Prints a result that is Markdown.
pub(crate) fn laid_out_result(text: &str) -> Result<(), Failure> {
    settle(Stream::Out.write(markdown(text).as_bytes()))
}

/// Empties the terminal, so that what follows stands at its top.
pub(crate) fn clear_screen() -> Result<(), Failure> {
    settle(Stream::Out.write(b"\x1b[H\x1b[2J"))
}

/// Whether the other end still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The reader is there, as far as is known.
    There,
    /// The reader has closed the pipe: stop writing.
    Gone,
}

/// Prints a piece of a result that may go on for long.
pub(crate) fn piece(text: &str) -> Result<Reader, Failure> {
    match Stream::Out.write(Stream::Out.shown(text).as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        written => settle(written).map(|()| Reader::There),
    }
}

/// Prints a result as JSON: in lines for people on a terminal, in one for programs.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    settle(json_text(value).and_then(|text| Stream::Out.write(text.as_bytes())))
}

/// A result as JSON, with a line end.
pub(crate) fn json_text(value: &impl Serialize) -> io::Result<String> {
    let text = if Stream::Out.is_terminal() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    Ok(format!("{}\n", harmless(&text?)))
}

/// Where the changes of a run with a worktree of its own are; the files of the project do not have them.
pub(crate) fn changes_on_branch(result: &RunResult) -> Option<String> {
    let changes = result.changes.as_ref()?;
    let branch = changes.branch.as_ref()?;
    let files = changes.files.len();
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    Some(format!(
        "changes: {files} on branch {branch}; take them with: attache transcript {} --diff | git apply",
        result.agent_id
    ))
}

/// Prints a line to standard error.
pub(crate) fn aside(text: &str) {
    // If standard error is closed, there is nowhere to report it.
    Stream::Err.write(Stream::Err.shown(&format!("{text}\n")).as_bytes()).unwrap_or_default();
}

/// The text of a file with diagnostics; `None` if it is not a regular file or too large.
pub(crate) fn source_text(path: &Path) -> Option<String> {
    const MOST: u64 = 4 << 20;
    let found = fs::metadata(path).ok()?;
    let readable = found.is_file() && found.len() <= MOST;
    readable.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Whether the terminal shows colours, by whichever stream goes there.
pub(crate) fn writer_colours() -> Colours {
    match (Stream::Err.colours(), Stream::Out.colours()) {
        (Colours::Off, Colours::Off) => Colours::Off,
        _ => Colours::On,
    }
}

/// Whether standard input and standard error are terminals.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks at the terminal; `None` at the end of input.
pub(crate) fn ask(question: &str) -> Option<String> {
    Stream::Err.write(Stream::Err.shown(question).as_bytes()).ok()?;
    let mut answer = String::new();
    match io::stdin().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer.trim().to_owned()),
    }
}

/// A reader that has gone away is not a failure.
fn settle(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::unsuccessful("cannot print the result").because(&error))
        }
        _ => Ok(()),
    }
}
