//! The scanner: one pass over a line that splits it into simple commands.
//!
//! It descends into groups, substitutions and here-documents, so that the commands in them are found
//! too. Where it may read a line otherwise than the shell would, it gives up and says so: a blind
//! spot means that there may be commands it has not seen.

mod grammar;
mod here_document;
mod quoting;

use std::str::Chars;

use self::{grammar::Grammar, here_document::HereDocument};
use super::{Complexity, MAX_DEPTH, Redirection, RedirectionKind, SimpleCommand, word::Word};

/// What a scan found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Every command, those in groups and substitutions included.
    pub(super) commands: Vec<SimpleCommand>,
    /// The words after `for` and `select`: variables that get values, then the values.
    pub(super) headers: Vec<SimpleCommand>,
    /// The first thing that makes it more than a list of commands, all of which were found.
    pub(super) complexity: Option<Complexity>,
    /// Why there may be more commands than were found.
    pub(super) blind_spot: Option<Complexity>,
}

/// Scans a line that itself lies `depth` levels deep.
pub(super) fn scan(line: &str, depth: usize) -> Scan {
    let mut scanner = Scanner::new(line, depth);
    let blind_spot = scanner.list(End::Input).err();
    let Scanner { commands, headers, complexity, .. } = scanner;
    Scan { commands, headers, complexity, blind_spot }
}

struct Scanner<'a> {
    rest: Chars<'a>,
    depth: usize,
    commands: Vec<SimpleCommand>,
    headers: Vec<SimpleCommand>,
    complexity: Option<Complexity>,
    here_documents: Vec<HereDocument>,
    /// Of the list that is being read.
    grammar: Grammar,
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Input,
    Parenthesis,
}

/// A command that is being read.
#[derive(Default)]
struct Draft {
    command: SimpleCommand,
    /// The words after `for` or `select`, which are no command.
    is_header: bool,
    /// After `&>`, which only some shells know; to others it ends the command.
    is_closed: bool,
}

/// A word, and what its quotes told.
#[derive(Default)]
struct Lexed {
    word: Word,
    quoted: bool,
    role: Role,
    /// Everything up to the end of the word belongs to the expansion that has begun.
    is_open: bool,
    /// Whether what is read stands between double quotes.
    is_in_quotes: bool,
}

/// Whether a word before the command assigns to a variable; its first `=` decides.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Role {
    #[default]
    Undecided,
    Assignment,
    Other,
}

impl<'a> Scanner<'a> {
    fn new(line: &'a str, depth: usize) -> Self {
        Self {
            rest: line.chars(),
            depth,
            commands: Vec::new(),
            headers: Vec::new(),
            complexity: None,
            here_documents: Vec::new(),
            grammar: Grammar::default(),
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest.clone().nth(1)
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.as_str().strip_prefix(text) {
            Some(rest) => {
                self.rest = rest.chars();
                true
            }
            None => false,
        }
    }

    fn note(&mut self, complexity: Complexity) {
        self.complexity.get_or_insert(complexity);
    }

    /// Reads commands up to the end, which is consumed.
    fn list(&mut self, end: End) -> Result<(), Complexity> {
        if self.depth >= MAX_DEPTH {
            return Err(Complexity::TooDeep);
        }
        // Shells differ in whether lines inside a bracket may be those of a here-document outside it.
        if !self.here_documents.is_empty() {
            return Err(Complexity::HereDocument);
        }
        self.depth += 1;
        let outer = std::mem::take(&mut self.grammar);
        let mut draft = Draft::default();
        loop {
            self.skip_blanks();
            let Some(next) = self.peek() else {
                if end == End::Parenthesis {
                    return Err(Complexity::Unterminated);
                }
                break;
            };
            match next {
                '\n' => {
                    self.rest.next();
                    self.finish(&mut draft);
                    self.grammar.line_end();
                    self.read_here_documents()?;
                }
                '#' => self.skip_comment(),
                '(' => self.subshell(&draft)?,
                ')' if end == End::Parenthesis => {
                    self.rest.next();
                    break;
                }
                ')' => return Err(Complexity::Syntax),
                ';' | '|' => self.separator(&mut draft)?,
                '&' if self.peek_second() != Some('>') => self.separator(&mut draft)?,
                '&' | '<' | '>' if !self.is_process_substitution() => {
                    self.redirection(&mut draft)?;
                }
                _ => self.next_word(&mut draft)?,
            }
        }
        self.finish(&mut draft);
        if !self.here_documents.is_empty() {
            return Err(Complexity::Unterminated);
        }
        self.grammar.end()?;
        self.grammar = outer;
        self.depth -= 1;
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) || self.rest.as_str().starts_with("\\\n") {
            if self.rest.next() == Some('\\') {
                self.rest.next();
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|next| next != '\n') {
            self.rest.next();
        }
    }

    fn is_process_substitution(&self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.peek_second() == Some('(')
    }

    fn finish(&mut self, draft: &mut Draft) {
        let Draft { command, is_header, .. } = std::mem::take(draft);
        if is_header {
            self.headers.push(command);
        } else if command != SimpleCommand::default() {
            self.commands.push(command);
        }
    }

    fn separator(&mut self, draft: &mut Draft) -> Result<(), Complexity> {
        if self.eat(";;") || self.eat(";&") {
            return Err(Complexity::Case);
        }
        let operators = ["&&", "||", "|&", ";", "|", "&"];
        let operator = operators.into_iter().find(|operator| self.eat(operator));
        let has_command = draft.command != SimpleCommand::default();
        draft.command.feeds_next = has_command && matches!(operator, Some("|" | "|&"));
        self.finish(draft);
        self.grammar.operator(operator.unwrap_or_default())
    }

    fn subshell(&mut self, draft: &Draft) -> Result<(), Complexity> {
        let begins_command = draft.command.words.is_empty() && draft.command.assignments.is_empty();
        if draft.is_header || self.peek_second() == Some('(') {
            return Err(Complexity::Arithmetic);
        }
        if !begins_command {
            return Err(Complexity::Declaration);
        }
        self.rest.next();
        self.note(Complexity::Group);
        self.list(End::Parenthesis)?;
        self.grammar.command();
        Ok(())
    }

    fn redirection(&mut self, draft: &mut Draft) -> Result<(), Complexity> {
        use RedirectionKind::{Duplicate, HereDocument as Lines, HereString, Input, Output};
        const OPERATORS: &[(&str, RedirectionKind)] = &[
            ("&>>", Output),
            ("&>", Output),
            ("<<<", HereString),
            ("<<-", Lines),
            ("<<", Lines),
            ("<&", Input),
            ("<>", Output),
            ("<", Input),
            (">>", Output),
            (">|", Output),
            (">&", Output),
            (">", Output),
        ];
        let found = OPERATORS.iter().find(|(operator, _)| self.eat(operator));
        let Some(&(operator, kind)) = found else {
            return Err(Complexity::Syntax);
        };
        // Some shells end the operator at the `-`, others read on.
        let closes = operator.ends_with('&') && self.peek() == Some('-');
        if closes && self.peek_second().is_some_and(|next| !ends_word(next)) {
            return Err(Complexity::Syntax);
        }
        self.skip_blanks();
        match self.peek() {
            Some('\n' | ';' | '&' | '|' | '(' | ')') | None => return Err(Complexity::Syntax),
            Some('<' | '>') if !self.is_process_substitution() => return Err(Complexity::Syntax),
            Some(_) => {}
        }
        draft.is_closed |= operator.starts_with('&');
        self.grammar.command();
        let before = self.rest.as_str();
        let Lexed { word, quoted, .. } = self.word()?;
        if kind == Lines {
            let written = before.strip_suffix(self.rest.as_str()).unwrap_or(before);
            if written.contains(['$', '`']) {
                return Err(Complexity::HereDocument);
            }
            self.note(Complexity::HereDocument);
            let delimiter = word.literal().ok_or(Complexity::HereDocument)?.to_owned();
            self.here_documents.push(HereDocument {
                delimiter,
                indented: operator == "<<-",
                expands: !quoted,
            });
        }
        let kind = if operator.ends_with('&') && is_descriptor(&word) { Duplicate } else { kind };
        let target = word;
        draft.command.redirections.push(Redirection { kind, target });
        Ok(())
    }

    /// Takes over what an inner scanner found.
    fn absorb(
        &mut self,
        mut inner: Scanner<'_>,
        result: Result<(), Complexity>,
    ) -> Result<(), Complexity> {
        self.commands.append(&mut inner.commands);
        self.headers.append(&mut inner.headers);
        if let Some(complexity) = inner.complexity {
            self.note(complexity);
        }
        result
    }

    fn next_word(&mut self, draft: &mut Draft) -> Result<(), Complexity> {
        let lexed = self.word()?;
        if draft.is_closed {
            return Err(Complexity::Syntax);
        }
        let command = &mut draft.command;
        let names_descriptor = !lexed.quoted
            && matches!(self.peek(), Some('<' | '>'))
            && lexed.word.literal().is_some_and(is_number);
        if names_descriptor {
            return Ok(());
        }
        if !draft.is_header && command.words.is_empty() {
            if lexed.role == Role::Assignment {
                self.grammar.command();
                command.assignments.push(lexed.word);
                return Ok(());
            }
            let bare = if lexed.quoted || !command.assignments.is_empty() {
                None
            } else {
                lexed.word.literal()
            };
            match bare {
                Some(text @ ("for" | "select")) => {
                    draft.is_header = true;
                    self.note(Complexity::ControlFlow);
                    return self.grammar.keyword(text);
                }
                Some(text) if self.is_keyword(text)? => return Ok(()),
                Some(_) | None => {}
            }
        }
        // A block may follow its condition at once in some shells: `if true { rm x }`.
        if !lexed.quoted && !command.words.is_empty() && lexed.word.literal() == Some("{") {
            return Err(Complexity::Syntax);
        }
        command.words.push(lexed.word);
        self.grammar.command();
        Ok(())
    }

    /// Whether a word where a command is expected is one that only leads to the next command.
    fn is_keyword(&mut self, text: &str) -> Result<bool, Complexity> {
        match text {
            "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" | "!" => {
                self.note(Complexity::ControlFlow);
                self.grammar.keyword(text)?;
                Ok(true)
            }
            "{" | "}" => {
                self.note(Complexity::Group);
                self.grammar.keyword(text)?;
                Ok(true)
            }
            "case" | "esac" => Err(Complexity::Case),
            "function" | "coproc" => Err(Complexity::Declaration),
            "[[" => Err(Complexity::Test),
            _ => Ok(false),
        }
    }
}

fn ends_word(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

fn is_descriptor(word: &Word) -> bool {
    word.literal().is_some_and(|text| {
        text == "-" || is_number(text) || text.strip_suffix('-').is_some_and(is_number)
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
