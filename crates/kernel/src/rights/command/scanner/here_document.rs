//! Here-documents: lines that are the input of a command and not commands themselves, though
//! substitutions in them are carried out unless the delimiter is quoted.

use super::{Complexity, Scanner};

/// A here-document whose lines are still to come.
pub(super) struct HereDocument {
    pub(super) delimiter: String,
    /// `<<-`: leading tabs do not count.
    pub(super) indented: bool,
    /// The delimiter is not quoted, so substitutions in the lines are carried out.
    pub(super) expands: bool,
}

impl<'a> Scanner<'a> {
    /// Reads the lines of all here-documents that have begun.
    pub(super) fn read_here_documents(&mut self) -> Result<(), Complexity> {
        for document in std::mem::take(&mut self.here_documents) {
            let body = self.read_here_document(&document)?;
            if document.expands {
                let mut inner = Scanner::new(&body, self.depth);
                let result = inner.here_text();
                self.absorb(inner, result)?;
            }
        }
        Ok(())
    }

    fn read_here_document(&mut self, document: &HereDocument) -> Result<String, Complexity> {
        let mut body = String::new();
        loop {
            let Some((line, rest)) = self.next_line() else {
                return Err(Complexity::Unterminated);
            };
            self.rest = rest.chars();
            let text = if document.indented { line.trim_start_matches('\t') } else { line };
            if text == document.delimiter {
                return Ok(body);
            }
            // A line that goes on in the next one may swallow the delimiter.
            if document.expands && line.ends_with('\\') {
                return Err(Complexity::HereDocument);
            }
            body.push_str(line);
            body.push('\n');
        }
    }

    fn next_line(&self) -> Option<(&'a str, &'a str)> {
        let rest = self.rest.as_str();
        match rest.split_once('\n') {
            Some(parts) => Some(parts),
            None if rest.is_empty() => None,
            None => Some((rest, "")),
        }
    }
}
