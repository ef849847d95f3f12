//! A word of a command line: its text with the quotes removed, and which parts of it the shell would
//! still replace. What stands in a literal part is exactly what the command gets.

use std::fmt;

/// A word of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    pieces: Vec<Piece>,
    /// Whether something in it may become several words, or none.
    may_split: bool,
}

/// A part of a [`Word`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text that stays as it is.
    Literal(String),
    /// Something the shell replaces by any text, even by several words: a variable, a wildcard. The
    /// text is what was written.
    Expansion(String),
}

impl Word {
    /// A word that is this text.
    pub fn of_text(text: &str) -> Self {
        let mut word = Self::default();
        if !text.is_empty() {
            word.pieces.push(Piece::Literal(text.to_owned()));
        }
        word
    }

    /// A word of which nothing is known, not even whether it is one.
    pub(super) fn unknown() -> Self {
        let mut word = Self::default();
        word.push_expansion("$…".to_owned());
        word.may_split = true;
        word
    }

    /// The parts, no two literal ones side by side.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The text, if nothing in it is replaced.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether nothing in it is replaced.
    pub fn is_literal(&self) -> bool {
        self.literal().is_some()
    }

    /// Whether it is one word, whatever the shell replaces in it.
    pub(super) fn stays_one(&self) -> bool {
        !self.may_split
    }

    pub(super) fn set_may_split(&mut self) {
        self.may_split = true;
    }

    pub(super) fn push_literal(&mut self, letter: char) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(text)) => text.push(letter),
            Some(Piece::Expansion(_)) | None => {
                self.pieces.push(Piece::Literal(letter.to_string()));
            }
        }
    }

    /// Appends to the expansion at the end, or begins one.
    pub(super) fn extend_expansion(&mut self, written: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Expansion(text)) => text.push_str(written),
            Some(Piece::Literal(_)) | None => self.push_expansion(written.to_owned()),
        }
    }

    pub(super) fn push_expansion(&mut self, written: String) {
        self.pieces.push(Piece::Expansion(written));
    }
}

impl fmt::Display for Word {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Literal(text) | Piece::Expansion(text) => formatter.write_str(text),
        })
    }
}
