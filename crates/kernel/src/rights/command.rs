//! A shell command line, read just far enough to judge it.
//!
//! This is not a shell. It proves that a line is a plain list of simple commands, or says why it cannot
//! ([`parse`], for rules that allow), and it finds every command a line can be seen to run
//! ([`survey`], for rules that deny). What is not understood is never taken for harmless: the first
//! answers [`Parsed::Complex`], the second names a blind spot. Both take time linear in the line, and
//! both hold for sh, bash and zsh alike: where these read a line differently, it is not understood.

mod guess;
mod interpreter;
pub mod read_only;
mod scanner;
mod word;

use std::fmt;

pub use self::{
    interpreter::{Appended, Launch, Survey, survey, survey_command, survey_words},
    word::{Piece, Word},
};

/// How deep substitutions, groups and scripts within scripts may lie; deeper is not read.
const MAX_DEPTH: usize = 16;

/// What a line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// A list of simple commands, and nothing else.
    Plain(Vec<SimpleCommand>),
    /// Something more; this is the first reason.
    Complex(Complexity),
}

/// One command with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    /// Assignments before the command, such as `FOO=1`.
    pub assignments: Vec<Word>,
    /// The command and its arguments, quotes removed.
    pub words: Vec<Word>,
    /// Where its input and output go.
    pub redirections: Vec<Redirection>,
    /// Whether the next command of the line reads what it prints.
    pub feeds_next: bool,
}

/// Where an input or output of a command goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// What kind.
    pub kind: RedirectionKind,
    /// The file, descriptor, text or delimiter.
    pub target: Word,
}

/// What a [`Redirection`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectionKind {
    /// Writes to a file: `>`, `>>`, `>|`, `&>`, `<>`.
    Output,
    /// Reads a file: `<`.
    Input,
    /// Joins or closes descriptors: `2>&1`, `>&-`.
    Duplicate,
    /// Reads a text that stands in the line: `<<<`.
    HereString,
    /// Reads the lines that follow: `<<`.
    HereDocument,
}

/// Why a line is more than a list of simple commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complexity {
    /// `$(…)` or backticks.
    CommandSubstitution,
    /// `<(…)` or `>(…)`.
    ProcessSubstitution,
    /// A subshell or a group in braces.
    Group,
    /// `if`, `for`, `while`, `!` and their like.
    ControlFlow,
    /// `<<`.
    HereDocument,
    /// `${…}` with more than a name.
    Parameter,
    /// `((…))`, `$((…))` or `$[…]` with more than numbers.
    Arithmetic,
    /// `[[ … ]]`.
    Test,
    /// `case`.
    Case,
    /// A function, a coprocess, an array or an alias.
    Declaration,
    /// A quote, bracket or here-document without an end.
    Unterminated,
    /// Syntax that is not known here.
    Syntax,
    /// Nested deeper than is read.
    TooDeep,
    /// A script that is not in the line: from standard input or from a variable.
    HiddenScript,
}

/// Reads a line; the answer is plain only where that is certain.
pub fn parse(line: &str) -> Parsed {
    let scan = scanner::scan(line, 0);
    match scan.blind_spot.or(scan.complexity) {
        Some(reason) => Parsed::Complex(reason),
        None => Parsed::Plain(scan.commands),
    }
}

impl SimpleCommand {
    /// The command made of these words as they are, as when a program is started without a shell.
    pub fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self { words: words.into_iter().map(Word::of_text).collect(), ..Self::default() }
    }
}

impl fmt::Display for SimpleCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.assignments.iter().chain(&self.words).enumerate() {
            if index > 0 {
                formatter.write_str(" ")?;
            }
            write!(formatter, "{word}")?;
        }
        Ok(())
    }
}

impl Redirection {
    /// Whether it touches no file: descriptors are joined or closed, or it is one of the devices that
    /// keep nothing.
    pub fn is_harmless(&self) -> bool {
        match self.kind {
            RedirectionKind::Duplicate => true,
            RedirectionKind::Output => {
                matches!(self.target.literal(), Some("/dev/null" | "/dev/stdout" | "/dev/stderr"))
            }
            RedirectionKind::Input => self.target.literal() == Some("/dev/null"),
            RedirectionKind::HereString | RedirectionKind::HereDocument => false,
        }
    }
}

impl fmt::Display for Complexity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::CommandSubstitution => "a command substitution",
            Self::ProcessSubstitution => "a process substitution",
            Self::Group => "a group of commands",
            Self::ControlFlow => "control flow",
            Self::HereDocument => "a here-document",
            Self::Parameter => "a parameter expansion with more than a name",
            Self::Arithmetic => "an arithmetic expression",
            Self::Test => "a [[ test",
            Self::Case => "a case statement",
            Self::Declaration => "a function, array or alias",
            Self::Unterminated => "a quote or bracket without an end",
            Self::Syntax => "unknown shell syntax",
            Self::TooDeep => "too deep nesting",
            Self::HiddenScript => "a script that does not stand in the command",
        })
    }
}

#[cfg(test)]
mod tests;
