//! The id of a message that cannot be read: a client that waits for its answer is told what is wrong.
//!
//! Invariant: only an `id` of the message itself is found, never one inside its parameters. A message that is
//! not kept costs a bounded amount of memory.

use rmcp::model::RequestId;

/// The longest id.
const LONGEST: usize = 200;

/// The id of a message, as far as its text goes.
pub(super) fn found_id(text: &[u8]) -> Option<RequestId> {
    let mut scan = Scan::default();
    scan.extend(text);
    scan.id()
}

/// What is known of a message that is too long to be kept.
#[derive(Debug)]
pub(super) struct Giant {
    scan: Scan,
}

impl Giant {
    /// A message that begins with that text.
    pub(super) fn beginning(text: &[u8]) -> Self {
        let mut scan = Scan::default();
        scan.extend(text);
        Self { scan }
    }

    /// The message goes on.
    pub(super) fn extend(&mut self, text: &[u8]) {
        self.scan.extend(text);
    }

    /// Its id, if it was seen.
    pub(super) fn id(&self) -> Option<RequestId> {
        self.scan.id()
    }
}

/// Looks for the member `id` of the outermost object, byte by byte.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    place: Place,
    /// The text of the string or number that is being read, up to [`LONGEST`].
    text: Vec<u8>,
    /// What was read last in the object.
    last: Last,
    found: Option<Vec<u8>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    /// The string `id`.
    Name,
    /// The string `id` and a colon.
    Key,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Between,
    String,
    Escape,
    /// A number or a word.
    Word,
}

impl Scan {
    fn extend(&mut self, text: &[u8]) {
        if self.found.is_none() {
            for byte in text {
                self.step(*byte);
            }
        }
    }

    fn id(&self) -> Option<RequestId> {
        let found = self.found.as_deref()?;
        serde_json::from_slice(found).ok()
    }

    fn keep(&mut self, byte: u8) {
        if self.text.len() <= LONGEST {
            self.text.push(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        match (self.place, byte) {
            (Place::Escape, _) => {
                self.keep(byte);
                self.place = Place::String;
            }
            (Place::String, b'\\') => {
                self.keep(byte);
                self.place = Place::Escape;
            }
            (Place::String, b'"') => {
                self.keep(byte);
                self.place = Place::Between;
                self.ended();
            }
            (Place::String, _) => self.keep(byte),
            (Place::Word, byte) if byte.is_ascii_alphanumeric() || b"+-.".contains(&byte) => {
                self.keep(byte);
            }
            (Place::Word, _) => {
                self.place = Place::Between;
                self.ended();
                self.between(byte);
            }
            (Place::Between, _) => self.between(byte),
        }
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                self.last = Last::Other;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b'"' => {
                self.text = vec![byte];
                self.place = Place::String;
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'-' => {
                self.text = vec![byte];
                self.place = Place::Word;
            }
            b':' if self.last == Last::Name => self.last = Last::Key,
            b',' => self.last = Last::Other,
            _ => {}
        }
    }

    /// A string or a number has ended.
    fn ended(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.last == Last::Key && self.text.len() <= LONGEST {
            self.found.get_or_insert_with(|| self.text.clone());
        }
        self.last = if self.text == b"\"id\"" { Last::Name } else { Last::Other };
    }
}
