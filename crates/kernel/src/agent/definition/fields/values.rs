//! Typed values of nodes: a value of the wrong type is a diagnostic, and no value.

use super::Fields;
use crate::agent::definition::{
    Code, Diagnostic, Position,
    dialect::Strictness,
    lists::split_commas,
    node::{Kind, Member, Scalar, Style},
    slip::meant_key,
};

impl Fields {
    /// The entries of a list, or of a text split at commas and line ends, as written and with their places. Empty and
    /// repeated ones are reported, and empty ones left out.
    pub(crate) fn entries(&mut self, member: &Member) -> Vec<(String, Position)> {
        let mut written: Vec<(String, Position)> = Vec::new();
        match &member.value.kind {
            Kind::Scalar(scalar) if scalar.is_null() => {}
            Kind::Scalar(scalar) => {
                let inner = scalar.text.trim();
                // A bracket that was opened makes a list, closed or not.
                let inner = inner
                    .strip_prefix('[')
                    .map_or(inner, |rest| rest.strip_suffix(']').unwrap_or(rest));
                let mut places = PlacesInText::new(scalar, member.value.at);
                for part in inner.lines().flat_map(split_commas) {
                    let at = places.place_of(part);
                    written.push((unquoted(part).to_owned(), at));
                }
            }
            Kind::List(items) => {
                for item in items {
                    match item.scalar() {
                        Some(scalar) => written.push((scalar.text.trim().to_owned(), item.at)),
                        None => self.push(
                            Diagnostic::error(
                                Code::BadType,
                                item.at,
                                format!(
                                    "an entry of `{}` must be a word, not {}",
                                    member.key,
                                    item.describe()
                                ),
                            )
                            .with_hint(format!("write {}: [a, b]", member.key)),
                        ),
                    }
                }
            }
            Kind::Map(_) => self.bad_type(member, "a list"),
        }
        let mut entries: Vec<(String, Position)> = Vec::with_capacity(written.len());
        let mut seen = std::collections::HashSet::new();
        for (entry, at) in written {
            if entry.is_empty() {
                let message = format!("`{}` has an empty entry", member.key);
                self.lax(Code::EmptyEntry, at, message, "remove it");
                continue;
            }
            if !seen.insert(entry.clone()) {
                let message = format!("`{}` has `{entry}` twice", member.key);
                self.lax(Code::DuplicateEntry, at, message, "remove one of them");
            }
            entries.push((entry, at));
        }
        entries
    }

    /// The entries of a list, each once.
    pub(super) fn distinct(&mut self, member: &Member) -> Vec<String> {
        let mut seen = std::collections::HashSet::new();
        let words = self.entries(member).into_iter().map(|(word, _)| word);
        words.filter(|word| seen.insert(word.clone())).collect()
    }

    pub(super) fn text(&mut self, member: &Member) -> Option<String> {
        let Some(scalar) = member.value.scalar() else {
            self.bad_type(member, "a text");
            return None;
        };
        if scalar.is_null() {
            return None;
        }
        if scalar.text.trim().is_empty() {
            let message = format!("`{}` is empty", member.key);
            self.lax(Code::EmptyValue, member.value.at, message, "give it a value or remove it");
            return None;
        }
        Some(scalar.text.trim().to_owned())
    }

    /// A text that is not written as a number or a truth value.
    pub(super) fn words(&mut self, member: &Member) -> Option<String> {
        if is_number_or_bool(member) {
            self.bad_type(member, "a text");
            return None;
        }
        self.text(member)
    }

    pub(crate) fn flag(&mut self, member: &Member) -> bool {
        let value = member.value.scalar().and_then(Scalar::as_bool);
        if value.is_none() && !member.value.is_null() {
            self.bad_type(member, "true or false");
        }
        value.unwrap_or(false)
    }

    pub(super) fn count(&mut self, member: &Member) -> Option<u32> {
        if member.value.is_null() {
            return None;
        }
        let Some(value) = member.value.scalar().and_then(Scalar::as_integer) else {
            self.bad_type(member, "a whole number");
            return None;
        };
        let count = u32::try_from(value).ok().filter(|count| *count > 0);
        if count.is_none() {
            let message = format!("`{}` must be at least 1, not {value}", member.key);
            self.push(
                Diagnostic::error(Code::BadValue, member.value.at, message)
                    .with_hint("write a whole number from 1, or remove the key"),
            );
        }
        count
    }

    pub(super) fn number(&mut self, member: &Member, least: f64, most: f64) -> Option<f64> {
        if member.value.is_null() {
            return None;
        }
        let Some(value) = member.value.scalar().and_then(Scalar::as_float) else {
            self.bad_type(member, "a number");
            return None;
        };
        if (least..=most).contains(&value) {
            return Some(value);
        }
        let message = format!("`{}` must be between {least} and {most}, not {value}", member.key);
        let hint = if most < f64::MAX {
            format!("write a number from {least} to {most}, or remove the key")
        } else {
            format!("write a number from {least}, or remove the key")
        };
        self.push(Diagnostic::error(Code::BadValue, member.value.at, message).with_hint(hint));
        None
    }

    /// Keeps a member of a group of keys, under the group's name, so that it cannot be mistaken for a
    /// key of the whole.
    pub(super) fn keep_nested(&mut self, group: &str, member: &Member) {
        self.keep_unknown(member, &format!("{group}.{}", member.key));
    }

    /// Keeps a member whose key is not known. One that is near a known key was most likely meant for it.
    pub(super) fn keep_unknown(&mut self, member: &Member, key: &str) {
        let what = format!("`{key}` is not a known key; it is kept and has no effect");
        self.push(match meant_key(&member.key) {
            Some(meant) => Diagnostic::warning(Code::UnknownKey, member.key_at, what)
                .with_hint(format!("did you mean `{meant}`?")),
            None => Diagnostic::note(Code::UnknownKey, member.key_at, what),
        });
        self.definition.extras.insert(key.to_owned(), member.value.to_json());
    }

    pub(super) fn keep(&mut self, member: &Member, code: Code, what: &str) {
        self.push(Diagnostic::note(code, member.key_at, format!("`{}` {what}", member.key)));
        self.definition.extras.insert(member.key.clone(), member.value.to_json());
    }

    pub(crate) fn bad_type(&mut self, member: &Member, wanted: &str) {
        let message = format!("`{}` must be {wanted}, not {}", member.key, member.value.describe());
        self.push(
            Diagnostic::error(Code::BadType, member.value.at, message)
                .with_hint(format!("write {wanted}, or remove the key")),
        );
    }

    pub(super) fn bad_value(&mut self, member: &Member, allowed: &[&str]) {
        let written = member.value.scalar().map_or("", |scalar| scalar.text.as_str());
        let message = format!("`{written}` is not a value of `{}`", member.key);
        let hint = match crate::id::nearest(written, allowed.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? allowed: {}", allowed.join(", ")),
            None => format!("allowed: {}", allowed.join(", ")),
        };
        self.push(Diagnostic::error(Code::BadValue, member.value.at, message).with_hint(hint));
    }

    /// An error where the dialect is strict, a warning where real files have it.
    pub(crate) fn lax(&mut self, code: Code, at: Position, message: String, hint: &str) {
        let diagnostic = match self.dialect.strictness() {
            Strictness::Strict => Diagnostic::error(code, at, message),
            Strictness::Lenient => Diagnostic::warning(code, at, message),
        };
        self.push(diagnostic.with_hint(hint));
    }

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

/// Where the parts of a text stand in the file, each found on from the one before.
struct PlacesInText<'a> {
    text: &'a str,
    is_on_one_line: bool,
    start: Position,
    offset: usize,
    column: u32,
}

impl<'a> PlacesInText<'a> {
    fn new(scalar: &'a Scalar, start: Position) -> Self {
        // A quoted text has escapes, and one on several lines is indented: there the beginning must do.
        let is_on_one_line = scalar.style == Style::Plain && !scalar.text.contains('\n');
        Self { text: &scalar.text, is_on_one_line, start, offset: 0, column: start.column }
    }

    /// The place of a part of the text that stands behind the last one.
    fn place_of(&mut self, part: &str) -> Position {
        let offset = part.as_ptr().addr().checked_sub(self.text.as_ptr().addr());
        let skipped = offset.and_then(|offset| self.text.get(self.offset..offset));
        let (Some(skipped), true) = (skipped, self.is_on_one_line) else { return self.start };
        let letters = u32::try_from(skipped.chars().count()).unwrap_or(u32::MAX);
        self.offset += skipped.len();
        self.column = self.column.saturating_add(letters);
        Position::new(self.start.line, self.column)
    }
}

/// A part of a list written as one text, without quotes of its own.
fn unquoted(part: &str) -> &str {
    ['"', '\'']
        .iter()
        .find_map(|quote| part.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(part)
}

/// Whether a value is a number, true or false, and not the same in quotes.
pub(super) fn is_number_or_bool(member: &Member) -> bool {
    let is_plain = member.value.scalar().is_some_and(|scalar| scalar.style == Style::Plain);
    is_plain && matches!(member.value.describe(), "a number" | "a truth value")
}
