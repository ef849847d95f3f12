//! The last stage of recovery: no YAML at all, only lines that open a key and lines that continue it.

use std::collections::HashSet;

use super::key_of_line;
use crate::agent::definition::{
    diagnostic::Position,
    frontmatter::Lines,
    keys::Key,
    lists::split_commas,
    node::{Kind, Member, Node, Scalar},
    slip::{is_restriction_with, meant_restriction},
    yaml::MERGE_KEY,
};

/// Words that open a line of dialogue in a description, not a key.
const DIALOGUE: [&str; 16] = [
    "user",
    "assistant",
    "context",
    "commentary",
    "example",
    "examples",
    "human",
    "note",
    "system",
    "ai",
    "agent",
    "response",
    "input",
    "output",
    "important",
    "warning",
];

struct Field<'text> {
    key: &'text str,
    key_at: Position,
    value_column: u32,
    first: &'text str,
    lines: Vec<&'text str>,
    open_tags: i32,
}

pub(super) fn read(header: &str, first_line: u32) -> Vec<Member> {
    let mut fields: Vec<Field<'_>> = Vec::new();
    let mut lines = Lines::new(header);
    let mut number = first_line;
    while let Some((line, _)) = lines.next() {
        let tag_open = fields.last().is_some_and(|field| field.open_tags > 0);
        let careless = || careless_restriction(line, fields.last());
        let (indent, restriction) =
            tabbed_restriction(line, fields.last()).or_else(careless).unzip();
        let opened = key_of_line(line).filter(|(key, _)| opens(key, tag_open)).or(restriction);
        if let Some((key, value)) = opened {
            let indent = indent.unwrap_or_default();
            let blank = value.len() - value.trim_start().len();
            let column = u32::try_from(indent + key.len() + 1 + blank).unwrap_or(u32::MAX);
            let key_column = u32::try_from(indent + 1).unwrap_or(u32::MAX);
            fields.push(Field {
                key,
                key_at: Position::new(number, key_column),
                value_column: column.saturating_add(1),
                first: value.trim(),
                lines: Vec::new(),
                open_tags: tags(value),
            });
        } else if (tag_open || !line.starts_with('#'))
            && let Some(field) = fields.last_mut()
        {
            field.open_tags += tags(line);
            field.lines.push(line);
        }
        number += 1;
    }
    let mut seen = HashSet::with_capacity(fields.len());
    fields.retain(|field| seen.insert(field.key.to_ascii_lowercase()));
    fields.into_iter().map(Field::into_member).collect()
}

/// A restriction behind a tab, after a value that is complete: it is meant as a key, and must not be lost in
/// the text before it. With the number of characters before it.
fn tabbed_restriction<'text>(
    line: &'text str,
    before: Option<&Field<'_>>,
) -> Option<(usize, (&'text str, &'text str))> {
    let is_complete =
        |field: &Field<'_>| !field.first.is_empty() && !field.first.starts_with(['|', '>']);
    before.filter(|field| is_complete(field) && field.open_tags <= 0)?;
    let trimmed = line.strip_prefix('\t')?.trim_start();
    let (key, value) = key_of_line(trimmed)?;
    meant_restriction(key)?;
    Some((line.len() - trimmed.len(), (key, value)))
}

/// A restriction that is written carelessly: without the blank after its colon, with `=`, as an item of a
/// list, or indented below a value that is complete. Its value has to be one that the restriction can have, so
/// that a sentence stays a sentence.
fn careless_restriction<'text>(
    line: &'text str,
    before: Option<&Field<'_>>,
) -> Option<(usize, (&'text str, &'text str))> {
    let before = before.filter(|field| field.open_tags <= 0)?;
    let is_complete = !before.first.is_empty() && !before.first.starts_with(['|', '>']);
    let plain = line.trim_start();
    if plain.len() < line.len() && !is_complete {
        return None;
    }
    let item = plain.strip_prefix("- ").map_or(plain, str::trim_start);
    let (word, value) = item.split_once([':', '='])?;
    let key = word.trim_end();
    is_restriction_with(key, value.trim()).then(|| (line.len() - item.len(), (key, value)))
}

fn opens(key: &str, tag_open: bool) -> bool {
    let known = Key::read(key).is_some_and(|key| key != Key::Unused);
    let dialogue = DIALOGUE.iter().any(|word| word.eq_ignore_ascii_case(key));
    let looks_like_a_key = key.starts_with(|first: char| first.is_ascii_lowercase());
    known || key == MERGE_KEY || (looks_like_a_key && !dialogue && !tag_open)
}

fn tags(text: &str) -> i32 {
    let count = |tag: &str| i32::try_from(text.matches(tag).count()).unwrap_or(i32::MAX);
    count("<example>") + count("<commentary>") - count("</example>") - count("</commentary>")
}

impl Field<'_> {
    fn into_member(self) -> Member {
        let at = Position::new(self.key_at.line, self.value_column);
        let is_description = Key::read(self.key) == Some(Key::Description);
        let kind = self.value(is_description);
        Member { key: self.key.to_owned(), key_at: self.key_at, value: Node::new(at, kind) }
    }

    fn value(&self, is_description: bool) -> Kind {
        let lines: Vec<&str> =
            self.lines.iter().copied().filter(|line| !line.trim().is_empty()).collect();
        let at = |offset: usize| {
            Position::new(self.key_at.line.saturating_add(u32::try_from(offset).unwrap_or(0)), 1)
        };
        if self.first.starts_with(['|', '>']) && self.first.len() <= 3 {
            let joint = if self.first.starts_with('|') { "\n" } else { " " };
            let text: Vec<&str> = self.lines.iter().map(|line| line.trim()).collect();
            return Kind::Scalar(Scalar::text(text.join(joint).trim().to_owned()));
        }
        if self.first.is_empty() && !lines.is_empty() {
            let items: Option<Vec<&str>> =
                lines.iter().map(|line| line.trim().strip_prefix("- ")).collect();
            if let Some(items) = items {
                let nodes = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| Node::new(at(index + 1), scalar(item, is_description)));
                return Kind::List(nodes.collect());
            }
            let members: Option<Vec<(&str, &str)>> = (!is_description)
                .then(|| {
                    lines
                        .iter()
                        .map(|line| {
                            line.starts_with([' ', '\t']).then(|| key_of_line(line.trim()))?
                        })
                        .collect()
                })
                .flatten();
            if let Some(members) = members {
                return Kind::Map(
                    members
                        .iter()
                        .enumerate()
                        .map(|(index, (key, value))| Member {
                            key: (*key).to_owned(),
                            key_at: at(index + 1),
                            value: Node::new(at(index + 1), scalar(value.trim(), false)),
                        })
                        .collect(),
                );
            }
        }
        let mut text = self.first.to_owned();
        for line in lines {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line.trim());
        }
        if !is_description
            && let Some(inner) =
                text.strip_prefix('[').and_then(|rest| rest.trim_end().strip_suffix(']'))
        {
            let items = split_commas(inner);
            let nodes = items.into_iter().map(|item| Node::new(at(0), scalar(item, false)));
            return Kind::List(nodes.collect());
        }
        scalar(&text, is_description)
    }
}

fn scalar(text: &str, is_description: bool) -> Kind {
    let mut text = text.trim();
    if !is_description
        && !text.starts_with(['"', '\''])
        && let Some((before, _)) = text.split_once(" #")
    {
        text = before.trim_end();
    }
    Kind::Scalar(unquote(text))
}

fn unquote(text: &str) -> Scalar {
    for quote in ['"', '\''] {
        let Some(rest) = text.strip_prefix(quote) else {
            continue;
        };
        let Some(inner) = rest.strip_suffix(quote) else {
            return Scalar::text(rest.trim());
        };
        let unescaped = if quote == '\'' {
            inner.replace("''", "'")
        } else {
            inner.replace("\\\"", "\"").replace("\\\\", "\\")
        };
        return Scalar::text(unescaped);
    }
    let stray = |quote: char| text.ends_with(quote) && text.matches(quote).count() == 1;
    if stray('"') || stray('\'') {
        let mut letters = text.chars();
        letters.next_back();
        return Scalar::text(letters.as_str().trim_end());
    }
    Scalar::plain(text)
}
