//! The grammar of a list of commands: operators stand between commands, and every block has its end.
//!
//! A line that breaks it is a syntax error to the shell, or is read by it in a way that is not known here.

use super::super::Complexity;

/// Where in a list of commands the scanner is.
#[derive(Debug, Default)]
pub(super) struct Grammar {
    /// The blocks that have begun, by the word that ends them.
    open: Vec<&'static str>,
    /// Whether a command has begun since the last operator.
    has_command: bool,
    /// Whether an operator needs a command behind it.
    wants_command: bool,
}

impl Grammar {
    /// A part of a command was read.
    pub(super) fn command(&mut self) {
        self.has_command = true;
        self.wants_command = false;
    }

    /// The end of a line, which may also stand behind an operator.
    pub(super) fn line_end(&mut self) {
        self.has_command = false;
    }

    /// An operator between commands; one of `;` and `&` may also end the list.
    pub(super) fn operator(&mut self, operator: &str) -> Result<(), Complexity> {
        if !std::mem::take(&mut self.has_command) {
            return Err(Complexity::Syntax);
        }
        self.wants_command = !matches!(operator, ";" | "&");
        Ok(())
    }

    /// A word that leads to the next command, or ends a block.
    pub(super) fn keyword(&mut self, word: &str) -> Result<(), Complexity> {
        let ends = match word {
            "if" => Some("fi"),
            "while" | "until" | "for" | "select" => Some("done"),
            "{" => Some("}"),
            _ => None,
        };
        if let Some(end) = ends {
            self.open.push(end);
            self.leads();
            return Ok(());
        }
        let inside = match word {
            "then" | "elif" | "else" => Some("fi"),
            "do" => Some("done"),
            "!" => None,
            _ => return self.closes(word),
        };
        if inside.is_some() && (self.wants_command || self.open.last().copied() != inside) {
            return Err(Complexity::Syntax);
        }
        self.leads();
        Ok(())
    }

    fn leads(&mut self) {
        self.has_command = false;
        self.wants_command = true;
    }

    fn closes(&mut self, word: &str) -> Result<(), Complexity> {
        if self.wants_command || self.open.pop() != Some(word) {
            return Err(Complexity::Syntax);
        }
        self.command();
        Ok(())
    }

    /// The end of the list.
    pub(super) fn end(&self) -> Result<(), Complexity> {
        if self.wants_command || !self.open.is_empty() {
            return Err(Complexity::Unterminated);
        }
        Ok(())
    }
}
