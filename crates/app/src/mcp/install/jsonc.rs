//! One member of a JSON file with comments, put in and taken out as text.
//!
//! Invariant: every byte outside of the member, and of the comma that parts it from another, stays as it is.

use std::ops::Range;

use serde_json::Value;

use super::{EditError, hosts::NAME};

/// The text with the entry in that section of its top level.
pub(super) fn with_entry(
    text: &str,
    section: &'static str,
    entry: &Value,
) -> Result<String, EditError> {
    let blank = Scanner::new(text).skip_blanks(0)? == text.len();
    if blank && text.trim().is_empty() {
        return with_entry("{\n}\n", section, entry);
    }
    let root = Scanner::new(text).root()?;
    let unit = root.members.first().map_or("  ", |first| indent(text, first.start));
    let unit = if unit.is_empty() { "  " } else { unit };
    let Some(servers) = root.member(section) else {
        let inner = format!("{{\n{unit}{unit}\"{NAME}\": {}\n{unit}}}", written(entry, unit, 2));
        return Ok(inserted(text, &root, unit, &format!("\"{section}\": {inner}")));
    };
    let Some(servers) = Scanner::new(text).object(servers.value.start)? else {
        return Err(EditError::NoTable(section));
    };
    match servers.member(NAME) {
        Some(old) if says(&Scanner::new(text).value_of(old), entry) => Ok(text.to_owned()),
        Some(old) => {
            let mut changed = text.to_owned();
            changed.replace_range(old.value.clone(), &written(entry, unit, 2));
            Ok(changed)
        }
        None => {
            let indent = unit.repeat(2);
            let member = format!("\"{NAME}\": {}", written(entry, unit, 2));
            Ok(inserted(text, &servers, &indent, &member))
        }
    }
}

/// Whether an entry says all that, whatever a host or its user has added.
fn says(old: &Value, entry: &Value) -> bool {
    let Some(wanted) = entry.as_object() else { return old == entry };
    wanted.iter().all(|(key, value)| old.get(key) == Some(value))
}

/// The text without the entry.
pub(super) fn without_entry(text: &str, section: &'static str) -> Result<String, EditError> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let root = Scanner::new(text).root()?;
    let Some(servers) = root.member(section) else { return Ok(text.to_owned()) };
    let Some(servers) = Scanner::new(text).object(servers.value.start)? else {
        return Err(EditError::NoTable(section));
    };
    let Some(place) = servers.members.iter().position(|member| member.key == NAME) else {
        return Ok(text.to_owned());
    };
    Ok(removed(text, &servers, place))
}

/// An object, as far as its members' places go.
#[derive(Debug)]
struct Object {
    /// Where its `{` and `}` are.
    open: usize,
    close: usize,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    key: String,
    /// Where its key begins.
    start: usize,
    value: Range<usize>,
    /// Where the comma after it is.
    comma: Option<usize>,
}

impl Object {
    fn member(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.key == key)
    }
}

/// A member put in at the end of an object.
fn inserted(text: &str, object: &Object, indent: &str, member: &str) -> String {
    let mut changed = text.to_owned();
    if let Some(last) = object.members.last() {
        // A comment behind the last member stays with it.
        let after = line_end(text, last.comma.map_or(last.value.end, |comma| comma + 1));
        changed.insert_str(after, &format!("\n{indent}{member}"));
        if last.comma.is_none() {
            changed.insert(last.value.end, ',');
        }
        return changed;
    }
    let after = text.get(object.open + 1..object.close).unwrap_or_default();
    if after.trim().is_empty() {
        let inner = format!("\n{indent}{member}\n{}", closing_indent(text, object.open));
        changed.replace_range(object.open + 1..object.close, &inner);
    } else {
        // There is a comment, which stays.
        changed.insert_str(object.open + 1, &format!("\n{indent}{member}"));
    }
    changed
}

/// The end of the comment that follows on the same line; the place itself if none does.
fn line_end(text: &str, place: usize) -> usize {
    let line = text.get(place..).unwrap_or_default().lines().next().unwrap_or_default();
    let rest = line.trim_start();
    let blanks = line.len() - rest.len();
    if rest.starts_with("//") {
        return place + line.trim_end().len();
    }
    match rest.strip_prefix("/*").and_then(|comment| comment.find("*/")) {
        Some(end) => place + blanks + end + 4,
        None => place,
    }
}

/// A member taken out of an object, with the comma that parts it from another.
fn removed(text: &str, object: &Object, place: usize) -> String {
    let Some(member) = object.members.get(place) else { return text.to_owned() };
    let before = text.get(..member.start).unwrap_or_default();
    let start = before.trim_end().len();
    let earlier = place.checked_sub(1).and_then(|earlier| object.members.get(earlier)?.comma);
    let comma = member.comma.or(earlier);
    let cut = start..member.value.end;
    // What stands later is taken out first.
    let mut changed = text.to_owned();
    if let Some(comma) = comma.filter(|comma| *comma >= cut.end) {
        changed.replace_range(comma..=comma, "");
    }
    changed.replace_range(cut.clone(), "");
    if let Some(comma) = comma.filter(|comma| *comma < cut.start) {
        changed.replace_range(comma..=comma, "");
    }
    changed
}

/// The blanks that the line of that place begins with, if nothing else stands before it.
fn indent(text: &str, place: usize) -> &str {
    let before = text.get(..place).unwrap_or_default();
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    if line.trim().is_empty() { line } else { "" }
}

/// The blanks that the line of that place begins with.
fn closing_indent(text: &str, place: usize) -> &str {
    let before = text.get(..place).unwrap_or_default();
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

/// A value as it is written so deep in a file.
fn written(value: &Value, unit: &str, depth: usize) -> String {
    let inner = unit.repeat(depth + 1);
    let Value::Object(members) = value else { return value.to_string() };
    let lines: Vec<String> =
        members.iter().map(|(key, value)| format!("{inner}\"{key}\": {value}")).collect();
    format!("{{\n{}\n{}}}", lines.join(",\n"), unit.repeat(depth))
}

/// Finds places in a text.
struct Scanner<'t> {
    text: &'t str,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str) -> Self {
        Self { text }
    }

    fn wrong<T>(&self, place: usize, problem: &str) -> Result<T, EditError> {
        let before = self.text.get(..place).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        Err(EditError::Syntax { line, problem: problem.to_owned() })
    }

    fn byte(&self, place: usize) -> Option<u8> {
        self.text.as_bytes().get(place).copied()
    }

    /// The next place that is neither blank nor comment.
    fn skip_blanks(&self, mut place: usize) -> Result<usize, EditError> {
        loop {
            let rest = self.text.get(place..).unwrap_or_default();
            let blanks = rest.len()
                - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            place += blanks;
            let rest = self.text.get(place..).unwrap_or_default();
            if rest.starts_with("//") {
                place += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(end) => place += end + 4,
                    None => return self.wrong(place, "a comment has no end"),
                }
            } else {
                return Ok(place);
            }
        }
    }

    /// The end of the text that begins there.
    fn string_end(&self, start: usize) -> Result<usize, EditError> {
        let mut place = start + 1;
        loop {
            match self.byte(place) {
                None | Some(b'\n') => return self.wrong(start, "a text has no end"),
                Some(b'"') => return Ok(place + 1),
                Some(b'\\') => place += 2,
                Some(_) => place += 1,
            }
        }
    }

    /// The end of the value that begins there.
    fn value_end(&self, start: usize) -> Result<usize, EditError> {
        match self.byte(start) {
            Some(b'"') => self.string_end(start),
            Some(b'{' | b'[') => self.nested_end(start),
            Some(b',' | b'}' | b']' | b':') | None => self.wrong(start, "a value is missing"),
            Some(_) => {
                let rest = self.text.get(start..).unwrap_or_default();
                let ends = |c: char| c.is_whitespace() || ",]}/".contains(c);
                Ok(start + rest.find(ends).unwrap_or(rest.len()))
            }
        }
    }

    fn nested_end(&self, start: usize) -> Result<usize, EditError> {
        let mut open = Vec::new();
        let mut place = start;
        loop {
            place = self.skip_blanks(place)?;
            match self.byte(place) {
                None => return self.wrong(start, "a bracket is not closed"),
                Some(b'"') => place = self.string_end(place)?,
                Some(bracket @ (b'{' | b'[')) => {
                    open.push(bracket);
                    place += 1;
                }
                Some(bracket @ (b'}' | b']')) => {
                    let fits = open.pop().is_some_and(|open| (open == b'{') == (bracket == b'}'));
                    if !fits {
                        return self.wrong(place, "a bracket does not fit");
                    }
                    place += 1;
                    if open.is_empty() {
                        return Ok(place);
                    }
                }
                Some(_) => {
                    let rest = self.text.get(place..).unwrap_or_default();
                    place += rest.chars().next().map_or(1, char::len_utf8);
                }
            }
        }
    }

    /// The object that is the whole text.
    fn root(&self) -> Result<Object, EditError> {
        let start = self.skip_blanks(0)?;
        let Some(root) = self.object(start)? else {
            return self.wrong(start, "the file is not an object");
        };
        let end = self.skip_blanks(root.close + 1)?;
        if end < self.text.len() {
            self.wrong(end, "something follows the object")
        } else {
            Ok(root)
        }
    }

    /// The object that begins there; none if it is something else.
    fn object(&self, open: usize) -> Result<Option<Object>, EditError> {
        if self.byte(open) != Some(b'{') {
            return Ok(None);
        }
        let mut members: Vec<Member> = Vec::new();
        let mut place = self.skip_blanks(open + 1)?;
        loop {
            match self.byte(place) {
                Some(b'}') => return Ok(Some(Object { open, close: place, members })),
                Some(b'"') => {}
                _ => {
                    return self.wrong(place, "a name in quotes, or a closing bracket, is missing");
                }
            }
            if members.last().is_some_and(|last| last.comma.is_none()) {
                return self.wrong(place, "a comma is missing");
            }
            let end = self.string_end(place)?;
            let key = self.text.get(place..end).unwrap_or_default();
            let key = serde_json::from_str(key).unwrap_or_default();
            let colon = self.skip_blanks(end)?;
            if self.byte(colon) != Some(b':') {
                return self.wrong(colon, "a colon is missing");
            }
            let value = self.skip_blanks(colon + 1)?;
            let value = value..self.value_end(value)?;
            let after = self.skip_blanks(value.end)?;
            let comma = (self.byte(after) == Some(b',')).then_some(after);
            members.push(Member { key, start: place, value, comma });
            place = self.skip_blanks(comma.map_or(after, |comma| comma + 1))?;
        }
    }

    /// The value of a member; nothing if it has comments in it.
    fn value_of(&self, member: &Member) -> Value {
        let text = self.text.get(member.value.clone()).unwrap_or_default();
        serde_json::from_str(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
