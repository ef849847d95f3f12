//! Questions whose answer is not shown while it is typed.
//!
//! The terminal is as it was when the question is over, however it ends: an interrupt is read as a key,
//! since a signal would leave the terminal dumb.

use std::io::{self, BufRead};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;

use super::Stream;

/// The maximum length of an answer.
const LONGEST: usize = 64 * 1024;

const INTERRUPT: u8 = 0x03;
const END: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const CLEAR_LINE: u8 = 0x15;
const DELETE: u8 = 0x7f;

/// The answer to a question.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The typed text; may be empty.
    Given(SecretString),
    /// Ctrl-C.
    Interrupted,
}

/// Asks on the terminal that standard input is.
pub(crate) fn ask(question: &str) -> io::Result<Answer> {
    let silence = Silence::begin()?;
    // Echo is off before the question appears.
    Stream::Err.write(Stream::Err.shown(question).as_bytes())?;
    let answer = read(io::stdin().lock());
    drop(silence);
    Stream::Err.write(b"\n")?;
    answer
}

fn read(keyboard: impl BufRead) -> io::Result<Answer> {
    let mut typed = Vec::new();
    for byte in keyboard.bytes() {
        match byte? {
            b'\n' | b'\r' | END => break,
            INTERRUPT => return Ok(Answer::Interrupted),
            BACKSPACE | DELETE => drop(typed.pop()),
            CLEAR_LINE => typed.clear(),
            other if typed.len() < LONGEST => typed.push(other),
            _ => {}
        }
    }
    let text = String::from_utf8(typed).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, "the typed text is not valid UTF-8")
    })?;
    Ok(Answer::Given(SecretString::from(text)))
}

/// A terminal that shows nothing of what is typed and hands over every key, for as long as this lives.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes -=
            LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        Ok(Self { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn keys_do_what_they_do_elsewhere() {
        let typed = |bytes: &[u8]| match read(bytes).unwrap() {
            Answer::Given(text) => Some(text.expose_secret().to_owned()),
            Answer::Interrupted => None,
        };
        for (bytes, expected) in [
            (&b"key\nmore"[..], Some("key")),
            (b"key\rmore", Some("key")),
            (b"kex\x7fy\x04", Some("key")),
            (b"\x08\x7fkey", Some("key")),
            (b"wrong\x15key\n", Some("key")),
            (b"\n", Some("")),
            (b"key\x03", None),
        ] {
            assert_eq!(typed(bytes).as_deref(), expected, "{bytes:?}");
        }
        assert!(read(&b"\xff\n"[..]).is_err());
    }
}
