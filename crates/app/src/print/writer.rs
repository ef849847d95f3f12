//! The writer: the one place where bytes go to standard output and standard error.
//!
//! Text for people is made visible first (see [`super::visible`]), on a terminal and in a pipe. Results that
//! programs read keep their bytes in a pipe. Nothing else in the program writes to either stream.

use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};

use super::{
    palette::{Colours, rendered},
    visible::visible,
};

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

impl Stream {
    /// Whether a person looks at it.
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Out => io::stdout().is_terminal(),
            Self::Err => io::stderr().is_terminal(),
        }
    }

    /// Whether it shows colours: `NO_COLOR`, pipes and the like are respected.
    pub(crate) fn colours(self) -> Colours {
        let choice = match self {
            Self::Out => AutoStream::choice(&io::stdout()),
            Self::Err => AutoStream::choice(&io::stderr()),
        };
        if choice == ColorChoice::Never { Colours::Off } else { Colours::On }
    }

    /// Columns of the terminal; none if it is not one.
    pub(crate) fn width(self) -> Option<usize> {
        let size = match self {
            Self::Out => rustix::termios::tcgetwinsize(io::stdout()),
            Self::Err => rustix::termios::tcgetwinsize(io::stderr()),
        };
        size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// A text for people, as this stream shows it.
    pub(crate) fn shown(self, text: &str) -> String {
        rendered(text, self.colours())
    }

    /// A text whose bytes count: as it is in a pipe, visible on a terminal.
    pub(crate) fn exact(self, text: &str) -> String {
        if self.is_terminal() { visible(text).into_owned() } else { text.to_owned() }
    }

    /// Writes bytes that one of these functions made, or that are our own.
    pub(super) fn write(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Out => {
                let mut stream = io::stdout().lock();
                stream.write_all(bytes).and_then(|()| stream.flush())
            }
            Self::Err => {
                let mut stream = io::stderr().lock();
                stream.write_all(bytes).and_then(|()| stream.flush())
            }
        }
    }
}

/// A text with the codes that a layout of ours wrote; off a terminal without them.
///
/// The caller has made the text visible before it was laid out.
pub(crate) fn laid_out(stream: Stream, text: &str) -> String {
    match stream.colours() {
        Colours::On => text.to_owned(),
        Colours::Off => anstream::adapter::strip_str(text).to_string(),
    }
}
