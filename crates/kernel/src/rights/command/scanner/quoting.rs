//! Words: quotes, escapes and expansions.
//!
//! Every quoted character is literal; an expansion is kept as written and marked, since
//! only the shell knows what becomes of it.

use super::{Complexity, End, Lexed, Role, Scanner, ends_word};

impl Lexed {
    fn literal(&mut self, letter: char) {
        if self.is_open {
            self.word.extend_expansion(letter.encode_utf8(&mut [0; 4]));
        } else {
            self.word.push_literal(letter);
        }
    }

    fn expansion(&mut self, written: &str) {
        // Numbers that the shell sets, and an operator.
        let is_one = matches!(written, "$#" | "$?" | "$$" | "$!" | "=")
            || (self.is_in_quotes && !matches!(written, "$@" | "${@}"));
        if !is_one {
            self.word.set_may_split();
        }
        if self.is_open {
            self.word.extend_expansion(written);
        } else {
            self.word.push_expansion(written.to_owned());
        }
    }

    /// Begins an expansion that takes in the rest of the word.
    fn open_expansion(&mut self, written: &str) {
        self.expansion(written);
        self.is_open = true;
    }

    fn is_empty(&self) -> bool {
        !self.quoted && self.word.pieces().is_empty()
    }

    /// Whether what was read so far can stand left of the `=` of an assignment.
    fn is_variable(&self) -> bool {
        let name = self.word.literal().unwrap_or_default();
        !self.quoted && !self.is_empty() && is_name(name.strip_suffix('+').unwrap_or(name))
    }
}

impl Scanner<'_> {
    /// Reads a word; it ends before a blank or an operator.
    pub(super) fn word(&mut self) -> Result<Lexed, Complexity> {
        let mut lexed = Lexed::default();
        while let Some(next) = self.peek() {
            match next {
                '<' | '>' if self.is_process_substitution() => {
                    self.rest.nth(1);
                    self.note(Complexity::ProcessSubstitution);
                    self.list(End::Parenthesis)?;
                    lexed.expansion("<(…)");
                }
                _ if ends_word(next) => break,
                '\\' => self.escape(&mut lexed)?,
                '\'' => self.single_quotes(&mut lexed)?,
                '"' => self.double_quotes(&mut lexed)?,
                '`' => self.backticks(&mut lexed, Context::Bare)?,
                '$' => self.dollar(&mut lexed, Context::Bare)?,
                '\0' => return Err(Complexity::Syntax),
                _ => self.bare(next, &mut lexed),
            }
        }
        Ok(lexed)
    }

    fn bare(&mut self, letter: char, lexed: &mut Lexed) {
        // Alone, these stand for themselves; within a word they begin a pattern.
        let alone = ["[[", "{}", "[", "{"].into_iter().find(|alone| {
            let after = self.rest.as_str().strip_prefix(alone);
            after.is_some_and(|rest| rest.chars().next().is_none_or(ends_word))
        });
        if let Some(alone) = alone.filter(|_| lexed.is_empty()) {
            self.eat(alone);
            alone.chars().for_each(|letter| lexed.literal(letter));
            return;
        }
        self.rest.next();
        match letter {
            '*' | '?' => lexed.expansion(letter.encode_utf8(&mut [0; 4])),
            '[' | '{' => lexed.open_expansion(letter.encode_utf8(&mut [0; 4])),
            '~' if lexed.is_empty() => {
                let mut written = String::from("~");
                while let Some(next) = self.peek().filter(|next| is_user_letter(*next)) {
                    written.push(next);
                    self.rest.next();
                }
                lexed.expansion(&written);
            }
            // In some shells `=ls` is the path of `ls`.
            '=' if lexed.is_empty() => lexed.expansion("="),
            '=' if lexed.role == Role::Undecided => {
                lexed.role = if lexed.is_variable() { Role::Assignment } else { Role::Other };
                lexed.literal('=');
            }
            _ => lexed.literal(letter),
        }
    }

    fn escape(&mut self, lexed: &mut Lexed) -> Result<(), Complexity> {
        self.rest.next();
        match self.rest.next() {
            Some('\n') => {}
            Some('\0') | None => return Err(Complexity::Unterminated),
            Some(letter) => {
                lexed.quoted = true;
                lexed.literal(letter);
            }
        }
        Ok(())
    }

    fn single_quotes(&mut self, lexed: &mut Lexed) -> Result<(), Complexity> {
        self.rest.next();
        lexed.quoted = true;
        loop {
            match self.rest.next() {
                Some('\'') => return Ok(()),
                Some('\0') | None => return Err(Complexity::Unterminated),
                Some(letter) => lexed.literal(letter),
            }
        }
    }

    fn double_quotes(&mut self, lexed: &mut Lexed) -> Result<(), Complexity> {
        self.rest.next();
        lexed.quoted = true;
        lexed.is_in_quotes = true;
        loop {
            match self.peek() {
                Some('"') => {
                    self.rest.next();
                    lexed.is_in_quotes = false;
                    return Ok(());
                }
                Some('\0') | None => return Err(Complexity::Unterminated),
                Some(next) => self.quoted_letter(next, lexed)?,
            }
        }
    }

    /// The text of a here-document: as between double quotes, but the quotes mean nothing.
    pub(super) fn here_text(&mut self) -> Result<(), Complexity> {
        let mut lexed = Lexed::default();
        while let Some(next) = self.peek() {
            self.quoted_letter(next, &mut lexed)?;
        }
        Ok(())
    }

    fn quoted_letter(&mut self, letter: char, lexed: &mut Lexed) -> Result<(), Complexity> {
        match letter {
            '`' => return self.backticks(lexed, Context::Quoted),
            '$' => return self.dollar(lexed, Context::Quoted),
            '\\' => {
                self.rest.next();
                match self.peek() {
                    Some('\n') => {
                        self.rest.next();
                    }
                    Some(next @ ('$' | '`' | '"' | '\\')) => {
                        self.rest.next();
                        lexed.literal(next);
                    }
                    Some(_) | None => lexed.literal('\\'),
                }
            }
            _ => {
                self.rest.next();
                lexed.literal(letter);
            }
        }
        Ok(())
    }

    fn dollar(&mut self, lexed: &mut Lexed, context: Context) -> Result<(), Complexity> {
        self.rest.next();
        while self.eat("\\\n") {}
        match self.peek() {
            Some('(') if self.peek_second() == Some('(') => {
                self.rest.nth(1);
                self.numbers(lexed)
            }
            Some('(') => {
                self.rest.next();
                self.note(Complexity::CommandSubstitution);
                self.list(End::Parenthesis)?;
                lexed.expansion("$(…)");
                Ok(())
            }
            Some('{') => {
                self.rest.next();
                self.parameter(lexed)
            }
            Some('[') => Err(Complexity::Arithmetic),
            Some('\'') if context == Context::Bare => self.escaped_quotes(lexed),
            Some('"') if context == Context::Bare => self.double_quotes(lexed),
            Some(next) if next == '_' || next.is_ascii_alphabetic() => {
                let mut written = String::from("$");
                while let Some(next) = self.peek().filter(|next| is_name_letter(*next)) {
                    written.push(next);
                    self.rest.next();
                }
                lexed.expansion(&written);
                Ok(())
            }
            Some(next @ ('0'..='9' | '@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
                self.rest.next();
                lexed.expansion(&format!("${next}"));
                Ok(())
            }
            // Flags of a variable in some shells.
            Some('=' | '~' | '^' | '+') if context == Context::Bare => {
                lexed.open_expansion("$");
                Ok(())
            }
            Some(_) | None => {
                lexed.literal('$');
                Ok(())
            }
        }
    }

    /// `$((…))` with numbers and operators only. A name in it may be evaluated to a command.
    fn numbers(&mut self, lexed: &mut Lexed) -> Result<(), Complexity> {
        let mut written = String::from("$((");
        while let Some(next @ ('0'..='9' | ' ' | '+' | '-' | '*' | '/' | '%')) = self.peek() {
            written.push(next);
            self.rest.next();
        }
        if !self.eat("))") {
            return Err(Complexity::Arithmetic);
        }
        written.push_str("))");
        lexed.expansion(&written);
        Ok(())
    }

    /// `${…}`: a name is a variable; a few operators on plain text are read; all else is not, since
    /// quotes, subscripts and offsets in it have rules of their own and may run commands.
    fn parameter(&mut self, lexed: &mut Lexed) -> Result<(), Complexity> {
        let mut inner = String::new();
        loop {
            match self.rest.next() {
                Some('}') => break,
                Some('\'' | '"' | '\\' | '`' | '$' | '{' | '\n' | '\0') | None => {
                    return Err(Complexity::Parameter);
                }
                Some(letter) => inner.push(letter),
            }
        }
        let counted = inner.strip_prefix('#').filter(|name| is_name(name));
        let name = counted.unwrap_or(&inner);
        let operation = name.trim_start_matches(is_name_letter);
        let variable = name.strip_suffix(operation).unwrap_or_default();
        let is_special = matches!(inner.as_str(), "@" | "*" | "#" | "?" | "-" | "$" | "!");
        if !is_special {
            if variable.is_empty() {
                return Err(Complexity::Parameter);
            }
            if !operation.is_empty() {
                self.note(Complexity::Parameter);
                let after_colon = operation.strip_prefix(':').unwrap_or(operation);
                let known = match operation.strip_prefix(':') {
                    Some(_) => after_colon.starts_with(['-', '=', '+', '?']),
                    None => after_colon.starts_with(['-', '=', '+', '?', '#', '%', '/', '^', ',']),
                };
                if !known {
                    return Err(Complexity::Parameter);
                }
            }
        }
        lexed.expansion(&format!("${{{inner}}}"));
        Ok(())
    }

    fn backticks(&mut self, lexed: &mut Lexed, context: Context) -> Result<(), Complexity> {
        self.rest.next();
        let mut script = String::new();
        loop {
            match self.rest.next() {
                Some('`') => break,
                Some('\\') => match self.peek() {
                    Some(next @ ('`' | '\\' | '$')) => {
                        self.rest.next();
                        script.push(next);
                    }
                    Some('"') if context == Context::Quoted => {
                        self.rest.next();
                        script.push('"');
                    }
                    Some(_) | None => script.push('\\'),
                },
                Some('\0') | None => return Err(Complexity::Unterminated),
                Some(letter) => script.push(letter),
            }
        }
        self.note(Complexity::CommandSubstitution);
        let mut inner = Scanner::new(&script, self.depth);
        let result = inner.list(End::Input);
        self.absorb(inner, result)?;
        lexed.expansion("$(…)");
        Ok(())
    }

    /// `$'…'`, with the escapes of C. What does not come to a character is left open; an escaped quote
    /// ends the string in shells that do not know this form.
    fn escaped_quotes(&mut self, lexed: &mut Lexed) -> Result<(), Complexity> {
        self.rest.next();
        lexed.quoted = true;
        loop {
            match self.rest.next() {
                Some('\'') => return Ok(()),
                Some('\0') | None => return Err(Complexity::Unterminated),
                Some('\\') if self.peek() == Some('\'') => return Err(Complexity::Syntax),
                Some('\\') => match self.c_escape()? {
                    Some(letter) => lexed.literal(letter),
                    None => lexed.open_expansion("\\"),
                },
                Some(letter) => lexed.literal(letter),
            }
        }
    }

    fn c_escape(&mut self) -> Result<Option<char>, Complexity> {
        let Some(letter) = self.rest.next() else {
            return Err(Complexity::Unterminated);
        };
        let plain = match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\x07',
            'b' => '\x08',
            'e' | 'E' => '\x1b',
            'f' => '\x0c',
            'v' => '\x0b',
            '\\' | '"' | '?' => letter,
            'x' => return Ok(self.code(0, 16, 2).filter(char::is_ascii)),
            'u' => return Ok(self.code(0, 16, 4)),
            'U' => return Ok(self.code(0, 16, 8)),
            '0'..='7' => {
                let first = letter.to_digit(8).unwrap_or_default();
                return Ok(self.code(first, 8, 2).filter(char::is_ascii));
            }
            _ => return Ok(None),
        };
        Ok(Some(plain))
    }

    /// The character of up to `most` further digits; none for NUL, which would end the string.
    fn code(&mut self, first: u32, radix: u32, most: usize) -> Option<char> {
        let mut code = first;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(radix)) else {
                break;
            };
            self.rest.next();
            code = code.checked_mul(radix)?.checked_add(digit)?;
        }
        char::from_u32(code).filter(|letter| *letter != '\0')
    }
}

/// Where an expansion stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Bare,
    Quoted,
}

fn is_name(text: &str) -> bool {
    text.chars().all(is_name_letter)
        && text.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

fn is_name_letter(letter: char) -> bool {
    letter == '_' || letter.is_ascii_alphanumeric()
}

fn is_user_letter(letter: char) -> bool {
    is_name_letter(letter) || matches!(letter, '-' | '+' | '.')
}
