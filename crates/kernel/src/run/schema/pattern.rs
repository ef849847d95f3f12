//! Patterns: the regular expressions of JSON Schema, on an engine that does not backtrack.
//!
//! Schemas write ECMAScript's expressions. What both dialects spell alike but mean differently (`\d`, `\w`, `.`, a `[` in
//! a class) is rewritten; look-around and back-references, which need backtracking, are refused.

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

/// Program sizes in bytes, and what two bytes of text cost on a program of that size: at worst the engine looks at every
/// state of the program for every byte.
const SIZES: [(usize, u64); 5] =
    [(2 << 10, 1), (8 << 10, 4), (32 << 10, 16), (128 << 10, 64), (512 << 10, 256)];
const MAX_PATTERN_BYTES: usize = 4096;
const MAX_NESTING: u32 = 50;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) written: String,
    regex: Regex,
    weight: u64,
}

impl Pattern {
    /// Compiles a pattern; an error says why it cannot be used.
    pub(super) fn new(written: &str) -> Result<Self, String> {
        if written.len() > MAX_PATTERN_BYTES {
            return Err(format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes"));
        }
        if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| written.contains(look)) {
            return Err("look-around is not supported in patterns".to_owned());
        }
        let translated = Translation::new(written).translate()?;
        for (limit, weight) in SIZES {
            let built = RegexBuilder::new(&translated)
                .size_limit(limit)
                .dfa_size_limit(limit * 4)
                .nest_limit(MAX_NESTING)
                .build();
            match built {
                Ok(regex) => return Ok(Self { written: written.to_owned(), regex, weight }),
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(regex::Error::Syntax(text)) => {
                    let last = text.lines().last().unwrap_or_default();
                    let reason = last.trim_start_matches("error: ");
                    return Err(format!("`{written}` is not a valid pattern: {reason}"));
                }
                Err(error) => return Err(format!("`{written}` is not a valid pattern: {error}")),
            }
        }
        Err(format!("the pattern `{written}` is too large"))
    }

    /// The steps that a match against this text costs.
    pub(super) fn cost(&self, text: &str) -> u64 {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        1 + (length / 2).saturating_mul(self.weight)
    }

    /// Whether some part of the text matches.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

const SPACE: &str =
    r"\t-\r\x20\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";

/// One pass over a pattern.
struct Translation<'a> {
    letters: std::iter::Peekable<std::str::Chars<'a>>,
    made: String,
    in_class: bool,
}

impl<'a> Translation<'a> {
    fn new(written: &'a str) -> Self {
        Self { letters: written.chars().peekable(), made: String::new(), in_class: false }
    }

    fn translate(mut self) -> Result<String, String> {
        while let Some(letter) = self.letters.next() {
            match letter {
                '\\' => self.escape()?,
                '[' if self.in_class => self.made.push_str(r"\["),
                '[' => self.open_class(),
                ']' if self.in_class => {
                    self.in_class = false;
                    self.made.push(']');
                }
                // Set operations in the engine's classes, plain letters in ECMAScript's.
                '&' | '~' if self.in_class => {
                    self.made.push('\\');
                    self.made.push(letter);
                }
                '-' if self.in_class && self.made.ends_with('-') => self.made.push_str(r"\-"),
                '.' if !self.in_class => self.made.push_str(r"[^\n\r\x{2028}\x{2029}]"),
                _ => self.made.push(letter),
            }
        }
        Ok(self.made)
    }

    fn open_class(&mut self) {
        let negated = self.letters.next_if_eq(&'^').is_some();
        if self.letters.next_if_eq(&']').is_some() {
            // `[]` matches nothing, `[^]` everything.
            self.made.push_str(if negated { r"[\s\S]" } else { r"[^\s\S]" });
            return;
        }
        self.in_class = true;
        self.made.push_str(if negated { "[^" } else { "[" });
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(letter) = self.letters.next() else {
            return Err("the pattern ends with a lone `\\`".to_owned());
        };
        match letter {
            'd' => self.made.push_str("[0-9]"),
            'D' => self.made.push_str("[^0-9]"),
            'w' => self.made.push_str("[0-9A-Za-z_]"),
            'W' => self.made.push_str("[^0-9A-Za-z_]"),
            's' => self.class(SPACE, ""),
            'S' => self.class(SPACE, "^"),
            'b' if self.in_class => self.made.push_str(r"\x08"),
            'b' => self.made.push_str(r"(?-u:\b)"),
            'B' if !self.in_class => self.made.push_str(r"\B"),
            'n' | 'r' | 't' | 'f' | 'v' | 'x' | 'p' | 'P' => {
                self.made.push('\\');
                self.made.push(letter);
            }
            'u' => self.unicode_escape(),
            'c' => {
                let control = self.letters.next().filter(char::is_ascii_alphabetic);
                let Some(control) = control else {
                    return Err("`\\c` needs a letter".to_owned());
                };
                self.code(u32::from(control) % 32);
            }
            '0' => self.code(0),
            '1'..='9' | 'k' => {
                return Err("back-references are not supported in patterns".to_owned());
            }
            _ if letter.is_alphanumeric() => {
                return Err(format!("`\\{letter}` is not an escape of a pattern"));
            }
            _ => self.made.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
        Ok(())
    }

    fn class(&mut self, members: &str, negation: &str) {
        for part in ["[", negation, members, "]"] {
            self.made.push_str(part);
        }
    }

    fn code(&mut self, code: u32) {
        // Writing to a string cannot fail.
        write!(self.made, r"\x{{{code:x}}}").unwrap_or_default();
    }

    /// `\u0041`, `\u{41}`; two surrogates are one character.
    fn unicode_escape(&mut self) {
        if self.letters.peek() == Some(&'{') {
            self.made.push_str(r"\u");
            return;
        }
        let Some(first) = self.four_digits() else {
            self.made.push_str(r"\u");
            return;
        };
        let is_high = (0xd800..0xdc00).contains(&first);
        let mut ahead = self.letters.clone();
        if is_high && ahead.next() == Some('\\') && ahead.next() == Some('u') {
            self.letters = ahead;
            if let Some(second) = self.four_digits() {
                let low = second.wrapping_sub(0xdc00) & 0x3ff;
                return self.code(0x1_0000 + ((first & 0x3ff) << 10) + low);
            }
        }
        self.code(first);
    }

    fn four_digits(&mut self) -> Option<u32> {
        let mut ahead = self.letters.clone();
        let digits: String = ahead.by_ref().take(4).collect();
        if digits.len() != 4 {
            return None;
        }
        let code = u32::from_str_radix(&digits, 16).ok()?;
        self.letters = ahead;
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_ecmascript_means() {
        for (pattern, text, expected) in [
            (r"^\d+$", "123", true),
            (r"^\d+$", "١٢٣", false),
            (r"^\w$", "é", false),
            (r"^\S$", "\u{feff}", false),
            (r"^[\w.-]+$", "a.b-c", true),
            (r"^[\s\d]$", "x", false),
            ("^[[]$", "[", true),
            ("^[a&&b]+$", "&", true),
            ("^[+--]$", ",", true),
            ("[]", "x", false),
            ("^[^]$", "\n", true),
            ("^.$", "\r", false),
            (r"^\u0041\ud83d\ude00$", "A😀", true),
            (r"^\u{41}\/\-$", "A/-", true),
            (r"^\cJ$", "\n", true),
            (r"\bfoo\b", "a foo b", true),
            ("b", "abc", true),
            (r"^\p{L}+$", "éa", true),
            (r"^(?<year>\d{4})$", "2026", true),
        ] {
            let matched = Pattern::new(pattern).unwrap().is_match(text);
            assert_eq!(matched, expected, "{pattern} {text:?}");
        }
    }

    #[test]
    fn what_needs_backtracking_or_is_too_large_is_refused() {
        let nested = format!("{}a{}", "(".repeat(200), ")".repeat(200));
        for pattern in [
            "(",
            "(?=a)",
            "(?<!a)",
            r"(a)\1",
            r"\q",
            "a{1000}{1000}",
            r"\",
            &nested,
            &"a".repeat(5000),
        ] {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_larger_program_costs_more() {
        let text = "a".repeat(1600);
        let small = Pattern::new("^a+$").unwrap().cost(&text);
        let large = Pattern::new("^(a|b){200}$").unwrap().cost(&text);
        assert!(small < 2000 && large > small * 4, "{small} {large}");
    }
}
