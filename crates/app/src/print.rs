//! Printing: the only place that writes to the terminal. Colours go away with `NO_COLOR` and in pipes.

pub(crate) mod diagnostics;
pub(crate) mod hidden;
pub(crate) mod number;
pub(crate) mod palette;
pub(crate) mod progress;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod transcript;

use std::{
    borrow::Cow,
    fs,
    io::{self, IsTerminal as _, Write as _},
    path::Path,
};

use serde::Serialize;

use crate::failure::Failure;

/// Prints a result.
pub(crate) fn out(text: &str) -> Result<(), Failure> {
    settle(anstream::stdout().write_all(text.as_bytes()).and_then(|()| anstream::stdout().flush()))
}

/// Prints a result that is Markdown: laid out on a terminal, as it is in a pipe.
pub(crate) fn markdown(text: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        let skin = termimad::MadSkin::default_dark();
        return out(&format!("{}\n", skin.term_text(&unindented_fences(&harmless(text)))));
    }
    out(&format!("{}\n", text.trim_end()))
}

/// Whether somebody still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody may.
    There,
    /// Nobody does: there is no use in going on.
    Gone,
}

/// Prints a piece of a result that may go on for long.
pub(crate) fn piece(text: &str) -> Result<Reader, Failure> {
    let mut stdout = anstream::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        written => settle(written).map(|()| Reader::There),
    }
}

/// Prints a result as JSON: in lines for people on a terminal, in one for programs.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let written = if io::stdout().is_terminal() {
        serde_json::to_writer_pretty(&mut stdout, value)
    } else {
        serde_json::to_writer(&mut stdout, value)
    };
    settle(
        written
            .map_err(io::Error::from)
            .and_then(|()| stdout.write_all(b"\n"))
            .and_then(|()| stdout.flush()),
    )
}

/// Says something beside the result.
pub(crate) fn aside(text: &str) {
    // With nobody left to listen there is nothing else to do about it.
    anstream::stderr().write_all(format!("{text}\n").as_bytes()).unwrap_or_default();
}

/// The text of a file that something is wrong with, if it is one: a pipe would be waited for for ever.
pub(crate) fn source_text(path: &Path) -> Option<String> {
    const MOST: u64 = 4 << 20;
    let found = fs::metadata(path).ok()?;
    let readable = found.is_file() && found.len() <= MOST;
    readable.then(|| fs::read_to_string(path).ok()).flatten()
}

/// A text of somebody else's, without what a terminal would obey.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let obeyed = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    if text.contains(obeyed) {
        Cow::Owned(text.replace(obeyed, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether somebody sits at both ends.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks at the terminal; none at the end of input.
pub(crate) fn ask(question: &str) -> Option<String> {
    let mut stderr = anstream::stderr();
    stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush()).ok()?;
    let mut answer = String::new();
    match io::stdin().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer.trim().to_owned()),
    }
}

/// A reader that has seen enough is no failure.
fn settle(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::unsuccessful("cannot print the result").because(&error))
        }
        _ => Ok(()),
    }
}

/// Fenced blocks inside lists moved to the margin: only there the layout knows them for code.
fn unindented_fences(text: &str) -> String {
    let mut fence: Option<usize> = None;
    let mut laid_out = String::with_capacity(text.len());
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let marks = line.trim_start_matches(' ').starts_with("```");
        let shift = match fence {
            Some(shift) => shift.min(indent),
            None if marks => indent,
            None => 0,
        };
        laid_out.push_str(line.get(shift..).unwrap_or(line));
        laid_out.push('\n');
        if marks {
            fence = if fence.is_some() { None } else { Some(indent) };
        }
    }
    laid_out
}

#[cfg(test)]
mod tests {
    use super::unindented_fences;

    #[test]
    fn fences_in_lists_move_to_the_margin_with_what_is_in_them() {
        assert_eq!(
            unindented_fences("- a\n  ```rust\n  fn x() {\n      y\n  }\n z\n  ```\n  b\n"),
            "- a\n```rust\nfn x() {\n    y\n}\nz\n```\n  b\n"
        );
    }
}
