//! Problems: where a value does not satisfy a schema, and why, in one short line each.

use std::fmt::{self, Write as _};

use serde_json::Value;

/// The longest text of a value that a message repeats.
const LONGEST_VALUE: usize = 80;

/// One way in which a value does not satisfy the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The place in the value, as a JSON pointer.
    pub(crate) path: String,
    /// What is wrong there.
    pub(crate) message: String,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Problems {
    /// The problems that were found first.
    pub(crate) found: Vec<Problem>,
    /// Whether there are more places with problems.
    pub(crate) has_more: bool,
}

/// A place in the value that is checked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    Root,
    Key(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut place = self;
        loop {
            match place {
                Self::Root => break,
                Self::Key(above, _) | Self::Index(above, _) => {
                    parts.push(place);
                    place = above;
                }
            }
        }
        for part in parts.into_iter().rev() {
            match part {
                Self::Root => {}
                Self::Key(_, key) => {
                    write!(formatter, "/{}", key.replace('~', "~0").replace('/', "~1"))?;
                }
                Self::Index(_, index) => write!(formatter, "/{index}")?,
            }
        }
        Ok(())
    }
}

/// The beginning of a value's text. A large value is not written out in full.
pub(super) fn shown(value: &Value) -> String {
    let mut cut = Cut { text: String::new(), room: LONGEST_VALUE, overflows: false };
    // An error only says that the text is cut.
    write!(cut, "{value}").unwrap_or_default();
    if cut.overflows {
        cut.text.push('…');
    }
    cut.text
}

struct Cut {
    text: String,
    room: usize,
    overflows: bool,
}

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            if self.room == 0 {
                self.overflows = true;
                return Err(fmt::Error);
            }
            self.room -= 1;
            self.text.push(letter);
        }
        Ok(())
    }
}

/// `"a", "b" or "c"`.
pub(super) fn listed(words: &[String]) -> String {
    const MOST: usize = 12;
    if words.len() > MOST {
        let first = words.get(..MOST).unwrap_or_default().join(", ");
        return format!("{first} or {} more", words.len() - MOST);
    }
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
