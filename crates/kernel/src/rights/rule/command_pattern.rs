//! A pattern over one simple command: `git *`, `git log*`, `npm run test:*`, `git status`.
//!
//! `*` is any text within the command. A pattern covers a command if it matches every expansion
//! the shell could make of it, and may match if it matches at least one of them.

use super::ToolRuleErrorKind;
use crate::rights::command::{Appended, Launch, Piece, SimpleCommand, Survey, Word};

/// A pattern over one simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandPattern {
    tokens: Vec<Token>,
    tail: Tail,
    /// How many tokens belong to the name of the program for certain.
    name_len: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Letter(char),
    /// What separates two words.
    Gap,
    /// Any text, gaps included.
    Anything,
}

/// What may follow the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Nothing,
    /// Any further words: a pattern that ends in ` *`.
    Words,
    /// Any further words, or a colon and anything: a pattern that ends in `:*`.
    WordsOrColon,
}

impl CommandPattern {
    /// Reads a pattern. Quotes may hold blanks together; a backslash takes the meaning from the next
    /// character.
    pub(super) fn parse(text: &str) -> Result<Self, ToolRuleErrorKind> {
        let escaped = |head: &str| head.ends_with('\\');
        let (head, tail) = match (text.strip_suffix(":*"), text.strip_suffix(" *")) {
            (Some(head), _) if !escaped(head) => (head, Tail::WordsOrColon),
            (_, Some(head)) if !escaped(head) => (head, Tail::Words),
            _ => (text, Tail::Nothing),
        };
        let tokens = tokens(head.trim_end())?;
        if tokens.is_empty() {
            return Err(ToolRuleErrorKind::EmptyPattern);
        }
        let name_len = tokens
            .iter()
            .position(|token| !matches!(token, Token::Letter(_)))
            .unwrap_or(tokens.len());
        Ok(Self { tokens, tail, name_len })
    }

    /// Whether the command matches for every value of its variables and wildcards, and redirects to no
    /// file.
    pub(super) fn covers(&self, command: &SimpleCommand) -> bool {
        let mut matcher = Matcher::new(self, Spelling::Exact);
        matcher.start();
        for (index, word) in command.assignments.iter().chain(&command.words).enumerate() {
            if index > 0 {
                matcher.step(Symbol::Gap);
            }
            for piece in word.pieces() {
                match piece {
                    Piece::Literal(text) => matcher.letters(text),
                    Piece::Expansion(written) => matcher.covered_expansion(written),
                }
            }
            if matcher.is_settled() {
                break;
            }
        }
        matcher.accepts()
    }

    /// Whether any command of a line may match.
    pub(super) fn may_match(&self, survey: &Survey) -> bool {
        survey.blind_spot.is_some() || self.may_match_seen(survey)
    }

    /// Whether any command that was found in a line may match; in a line that is not understood, whether any
    /// words of it may.
    pub(super) fn may_match_seen(&self, survey: &Survey) -> bool {
        let mut launches = survey.launches.iter().chain(&survey.guesses);
        launches.any(|launch| self.may_match_launch(launch))
    }

    fn may_match_launch(&self, launch: &Launch) -> bool {
        let command = &launch.command;
        let mut matcher = Matcher::new(self, Spelling::AnyCaseOfName);
        matcher.start();
        for (index, word) in command.assignments.iter().enumerate() {
            if index > 0 {
                matcher.step(Symbol::Gap);
            }
            matcher.possible_word(word, Begins::Nothing);
        }
        // `git -C dir push` is a `git push`: options between a program and what it is to do are passed over,
        // each with a value or without.
        let (mut here, mut next) = (false, false);
        for (index, word) in command.words.iter().enumerate() {
            if index > 0 || !command.assignments.is_empty() {
                matcher.step(Symbol::Gap);
            }
            if here {
                matcher.reach(self.name_len + 1);
            }
            (here, next) = (next, false);
            if matcher.is_after_name() && is_option(word) {
                (here, next) = (true, may_have_value(word));
            }
            let begins = if index == 0 || index >= launch.inner_from {
                Begins::Command
            } else {
                Begins::Nothing
            };
            matcher.possible_word(word, begins);
            // A command within a command may end at any word: `find -exec rm x ;`.
            let may_end = index + 1 == command.words.len() || index >= launch.inner_from;
            if may_end && matcher.accepts() {
                return true;
            }
        }
        if launch.appended != Appended::Nothing {
            matcher.step(Symbol::Gap);
            if launch.appended == Appended::Commands {
                matcher.start();
            }
            matcher.possible_expansion();
        }
        matcher.accepts()
    }
}

fn is_option(word: &Word) -> bool {
    matches!(word.pieces().first(), Some(Piece::Literal(text)) if text.starts_with(['-', '+']))
}

fn may_have_value(word: &Word) -> bool {
    word.literal().is_none_or(|text| !text.contains('='))
}

fn tokens(text: &str) -> Result<Vec<Token>, ToolRuleErrorKind> {
    let mut tokens = Vec::with_capacity(text.len());
    let mut letters = text.chars();
    let mut open_quote = None;
    while let Some(letter) = letters.next() {
        let token = match letter {
            '*' => Token::Anything,
            '\\' => Token::Letter(letters.next().unwrap_or('\\')),
            _ if open_quote == Some(letter) => {
                open_quote = None;
                continue;
            }
            _ if open_quote.is_some() => Token::Letter(letter),
            '\'' | '"' if letters.as_str().contains(letter) => {
                open_quote = Some(letter);
                continue;
            }
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`' | '\n' => {
                return Err(ToolRuleErrorKind::SeveralCommands);
            }
            _ if letter.is_whitespace() => Token::Gap,
            _ => Token::Letter(letter),
        };
        let repeats =
            matches!(token, Token::Anything | Token::Gap) && tokens.last() == Some(&token);
        if !repeats {
            tokens.push(token);
        }
    }
    Ok(tokens)
}

#[derive(Clone, Copy)]
enum Symbol {
    Letter(char),
    Gap,
}

/// How letters are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Exact,
    /// The name of the program in any case, as some file systems find it.
    AnyCaseOfName,
}

/// Whether a command may begin with a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Command,
    Nothing,
}

/// All positions in the pattern that the text read so far can have reached.
struct Matcher<'p> {
    pattern: &'p CommandPattern,
    spelling: Spelling,
    active: Vec<usize>,
    is_active: Vec<bool>,
    previous: Vec<usize>,
    /// It matches any text that follows.
    is_won: bool,
}

impl<'p> Matcher<'p> {
    fn new(pattern: &'p CommandPattern, spelling: Spelling) -> Self {
        Self {
            pattern,
            spelling,
            active: Vec::new(),
            is_active: vec![false; pattern.tokens.len() + 1],
            previous: Vec::new(),
            is_won: false,
        }
    }

    fn start(&mut self) {
        self.reach(0);
    }

    /// Adds a position, and those after it that need no text.
    fn reach(&mut self, position: usize) {
        let mut position = position;
        while let Some(is_active) = self.is_active.get_mut(position) {
            if !std::mem::replace(is_active, true) {
                self.active.push(position);
            }
            if self.pattern.tokens.get(position) != Some(&Token::Anything) {
                break;
            }
            position += 1;
        }
    }

    /// Whether the name of the program was read, and the pattern goes on with another word.
    fn is_after_name(&self) -> bool {
        let Self { pattern, is_active, .. } = self;
        pattern.tokens.get(pattern.name_len) == Some(&Token::Gap)
            && is_active.get(pattern.name_len + 1) == Some(&true)
    }

    fn clear(&mut self) {
        std::mem::swap(&mut self.active, &mut self.previous);
        self.active.clear();
        for position in &self.previous {
            if let Some(is_active) = self.is_active.get_mut(*position) {
                *is_active = false;
            }
        }
    }

    fn step(&mut self, symbol: Symbol) {
        self.clear();
        for index in 0..self.previous.len() {
            let Some(&position) = self.previous.get(index) else {
                break;
            };
            match (self.pattern.tokens.get(position), symbol) {
                (Some(Token::Anything), _) => self.reach(position),
                (Some(Token::Gap), Symbol::Gap) => self.reach(position + 1),
                (Some(Token::Letter(wanted)), Symbol::Letter(letter)) => {
                    if self.is_same(position, *wanted, letter) {
                        self.reach(position + 1);
                    }
                }
                (Some(Token::Gap | Token::Letter(_)), _) => {}
                (None, symbol) => self.is_won |= self.tail_takes(symbol),
            }
        }
    }

    fn is_same(&self, position: usize, wanted: char, letter: char) -> bool {
        let any_case = self.spelling == Spelling::AnyCaseOfName && position < self.pattern.name_len;
        wanted == letter || (any_case && wanted.eq_ignore_ascii_case(&letter))
    }

    fn tail_takes(&self, symbol: Symbol) -> bool {
        match (self.pattern.tail, symbol) {
            (Tail::Words | Tail::WordsOrColon, Symbol::Gap)
            | (Tail::WordsOrColon, Symbol::Letter(':')) => true,
            (Tail::Nothing | Tail::Words, _) | (Tail::WordsOrColon, Symbol::Letter(_)) => false,
        }
    }

    fn letters(&mut self, text: &str) {
        for letter in text.chars() {
            if self.is_settled() {
                break;
            }
            self.step(Symbol::Letter(letter));
        }
    }

    /// An expansion matches for certain where the pattern has `*`, or names it as it is written.
    fn covered_expansion(&mut self, written: &str) {
        let anything: Vec<usize> = self
            .active
            .iter()
            .copied()
            .filter(|position| self.pattern.tokens.get(*position) == Some(&Token::Anything))
            .collect();
        self.letters(written);
        for position in anything {
            self.reach(position);
        }
    }

    fn possible_word(&mut self, word: &Word, begins: Begins) {
        if begins == Begins::Command {
            self.start();
        }
        for piece in word.pieces() {
            match piece {
                Piece::Literal(text) => {
                    for letter in text.chars() {
                        self.step(Symbol::Letter(letter));
                        if begins == Begins::Command && letter == '/' {
                            self.start();
                        }
                    }
                }
                Piece::Expansion(_) => {
                    // It may end in a directory, or begin the command itself.
                    if begins == Begins::Command {
                        self.start();
                    }
                    self.possible_expansion();
                    if begins == Begins::Command {
                        self.start();
                    }
                }
            }
        }
    }

    /// An expansion may be any text, so it may lead to every later position.
    fn possible_expansion(&mut self) {
        let Some(&first) = self.active.iter().min() else {
            return;
        };
        for position in first..=self.pattern.tokens.len() {
            self.reach(position);
        }
        self.is_won |= self.pattern.tail != Tail::Nothing;
    }

    /// Whether further text cannot change the answer.
    fn is_settled(&self) -> bool {
        self.is_won || self.active.is_empty()
    }

    fn accepts(&self) -> bool {
        self.is_won || self.active.contains(&self.pattern.tokens.len())
    }
}
