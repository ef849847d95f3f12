//! Bytes of a terminal program as plain text: UTF-8 made valid, escape sequences and control characters
//! removed. Line ends, carriage returns and backspaces are told apart and left to the reader.
//!
//! Invariant: how the bytes are split into pieces changes nothing about the text.

/// Decodes bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The beginning of a character whose end has not come.
    unfinished: Vec<u8>,
    state: State,
}

/// A piece of decoded output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text without control characters, except for tabs.
    Text(&'a str),
    /// The end of a line.
    LineEnd,
    /// Back to the beginning of the line.
    CarriageReturn,
    /// One character back.
    Backspace,
}

/// Where in an escape sequence the next character is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// In none.
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character: one more ends it.
    Intermediate,
    /// In a control sequence, up to its final character.
    Control,
    /// In a string such as a window title, up to BEL or ST.
    String,
    /// In such a string, after ESC.
    StringEscape,
}

impl Decoder {
    /// Decodes bytes; `each` gets the pieces in order.
    pub(super) fn decode(&mut self, bytes: &[u8], mut each: impl FnMut(Piece<'_>)) {
        let joined;
        let bytes = if self.unfinished.is_empty() {
            bytes
        } else {
            joined = [std::mem::take(&mut self.unfinished).as_slice(), bytes].concat();
            &joined
        };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text(chunk.valid(), &mut each);
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            if chunks.peek().is_none() && may_go_on(invalid) {
                self.unfinished = invalid.to_vec();
            } else if self.state == State::Text {
                each(Piece::Text("\u{fffd}"));
            }
        }
    }

    /// What is left when no more comes.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Piece<'_>)) {
        if !std::mem::take(&mut self.unfinished).is_empty() && self.state == State::Text {
            each(Piece::Text("\u{fffd}"));
        }
    }

    fn text(&mut self, text: &str, each: &mut impl FnMut(Piece<'_>)) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state != State::Text {
                let mut letters = rest.chars();
                if let Some(letter) = letters.next() {
                    self.state = self.state.after(letter);
                }
                rest = letters.as_str();
                continue;
            }
            let is_control = |byte: &u8| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f;
            let plain = rest.as_bytes().iter().position(is_control).unwrap_or(rest.len());
            let (text, after) = rest.split_at(plain);
            if !text.is_empty() {
                each(Piece::Text(text));
            }
            let mut letters = after.chars();
            match letters.next() {
                Some('\n') => each(Piece::LineEnd),
                Some('\r') => each(Piece::CarriageReturn),
                Some('\x08') => each(Piece::Backspace),
                Some('\x1b') => self.state = State::Escape,
                Some(_) | None => {}
            }
            rest = letters.as_str();
        }
    }
}

impl State {
    fn after(self, letter: char) -> Self {
        match (self, letter) {
            (Self::Escape, '\x1b') => Self::Escape,
            (Self::Escape, '[') | (Self::Control, ' '..='?') => Self::Control,
            (Self::Escape | Self::Intermediate, ' '..='/') => Self::Intermediate,
            (Self::String, '\x1b') => Self::StringEscape,
            // A line end in a string means that the string was none.
            (Self::String | Self::StringEscape, '\x07' | '\n') | (Self::StringEscape, '\\') => {
                Self::Text
            }
            (Self::Escape, ']' | 'P' | 'X' | '^' | '_')
            | (Self::String | Self::StringEscape, _) => Self::String,
            (Self::Text | Self::Escape | Self::Intermediate | Self::Control, _) => Self::Text,
        }
    }
}

/// Whether bytes that are not a character may become one when more come.
fn may_go_on(bytes: &[u8]) -> bool {
    let needed = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) | None => return false,
    };
    bytes.len() < needed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(pieces: &[&[u8]]) -> String {
        let mut decoder = Decoder::default();
        let mut text = String::new();
        let mut each = |piece: Piece<'_>| match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::LineEnd => text.push('\n'),
            Piece::CarriageReturn => text.push('\r'),
            Piece::Backspace => text.push('\x08'),
        };
        for piece in pieces {
            decoder.decode(piece, &mut each);
        }
        decoder.finish(each);
        text
    }

    #[test]
    fn escapes_are_removed() {
        for (bytes, text) in [
            (&b"\x1b[1;31mred\x1b[0m plain"[..], "red plain"),
            (b"\x1b]0;a title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b(Bx\x1b=y\x1b7z", "xyz"),
            (b"a\x07b\x00c\x7fd\te", "abcd\te"),
            (b"\x1b[?25l\x1b[2Kx", "x"),
            (b"end \x1b[", "end "),
            (b"\x1b]never ended\nnext line", "next line"),
            ("h\u{e9}\u{1f600}".as_bytes(), "h\u{e9}\u{1f600}"),
            (b"bad \xff\xfe end", "bad \u{fffd}\u{fffd} end"),
            (b"cut \xe2\x82", "cut \u{fffd}"),
        ] {
            assert_eq!(decoded(&[bytes]), text);
        }
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_text(
            bytes in proptest::collection::vec(
                prop_oneof![
                    any::<u8>(),
                    Just(0x1b), Just(b'['), Just(b']'), Just(0xe2), Just(0x82), Just(0xac), Just(b'm'),
                ],
                0..200,
            ),
            at in 0_usize..200,
        ) {
            let at = at.min(bytes.len());
            let (first, second) = bytes.split_at(at);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(decoded(&[first, second]), decoded(&[&bytes]));
            prop_assert_eq!(decoded(&single), decoded(&[&bytes]));
        }
    }
}
