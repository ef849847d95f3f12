//! The first stage of recovery: plain scalars that YAML cannot take are quoted, line by line, and the
//! header is parsed again. Lines keep their numbers.

use super::key_of_line;
use crate::agent::definition::{
    diagnostic::{Code, Diagnostic, Position},
    frontmatter::Lines,
    keys::Key,
    node::{Kind, Member},
    yaml,
};

/// Quotes what needs quotes and parses; none if that is not enough.
pub(super) fn quote_and_parse(
    header: &str,
    first_line: u32,
) -> Option<(Vec<Member>, Vec<Diagnostic>)> {
    let mut quoted = String::with_capacity(header.len() + 64);
    let mut warnings = Vec::new();
    let mut lines = Lines::new(header);
    let mut block_indent: Option<usize> = None;
    let mut number = first_line;
    while let Some((line, after)) = lines.next() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let in_block = block_indent.is_some_and(|opened| indent > opened || line.trim().is_empty());
        if !in_block {
            block_indent = None;
        }
        match (!in_block).then(|| quote_line(line, indent)).flatten() {
            Some(Quoted { line, key, column, why }) => {
                let message = format!(
                    "the value of `{key}` {why} and must be quoted; it was read as if it were"
                );
                warnings.push(
                    Diagnostic::warning(Code::Recovered, Position::new(number, column), message)
                        .with_hint(format!("write {key}: \"…\", or use a block: {key}: |")),
                );
                quoted.push_str(&line);
            }
            None => quoted.push_str(line),
        }
        if !in_block && opens_block(line) {
            block_indent = Some(indent);
        }
        quoted.push('\n');
        number += 1;
        // A continued plain scalar cannot be quoted line by line.
        if warnings.last().is_some_and(|last| last.line + 1 == number)
            && Lines::new(after)
                .next()
                .is_some_and(|(next, _)| next.starts_with([' ', '\t']) && !next.trim().is_empty())
        {
            return None;
        }
    }
    match yaml::parse(&quoted, first_line).ok()?.kind {
        Kind::Map(members) if !members.is_empty() && no_duplicates(&members) => {
            Some((members, warnings))
        }
        Kind::Map(_) | Kind::List(_) | Kind::Scalar(_) => None,
    }
}

fn no_duplicates(members: &[Member]) -> bool {
    let mut seen = std::collections::HashSet::new();
    members.iter().all(|member| seen.insert(member.key.as_str()))
}

fn opens_block(line: &str) -> bool {
    let value = line.split_once(':').map_or("", |(_, value)| value.trim());
    let mut marks = value.chars();
    matches!(marks.next(), Some('|' | '>'))
        && marks
            .take_while(|mark| *mark != '#')
            .all(|mark| mark.is_ascii_digit() || " +-".contains(mark))
}

struct Quoted<'line> {
    line: String,
    key: &'line str,
    column: u32,
    why: &'static str,
}

fn quote_line(line: &str, indent: usize) -> Option<Quoted<'_>> {
    let content = line.get(indent..)?;
    let content_start = content.strip_prefix("- ").unwrap_or(content);
    let (key, value) = key_of_line(content_start)?;
    let mut text = value.trim();
    let is_description = Key::read(key) == Some(Key::Description);
    if !is_description && let Some((before, _)) = text.split_once(" #") {
        text = before.trim_end();
    }
    let why = needs_quotes(text)?;
    let prefix = line.len() - value.trim_start().len();
    let column =
        u32::try_from(line.get(..prefix)?.chars().count()).unwrap_or(u32::MAX).saturating_add(1);
    let quoted = format!("{}'{}'", line.get(..prefix)?, text.replace('\'', "''"));
    Some(Quoted { line: quoted, key, column, why })
}

fn needs_quotes(text: &str) -> Option<&'static str> {
    let first = text.chars().next()?;
    let last = text.chars().next_back()?;
    match first {
        '"' | '\'' | '|' | '>' => None,
        '[' if last == ']' => None,
        '{' if last == '}' => None,
        '[' | '{' => Some("begins with a bracket"),
        '*' => Some("begins with `*`"),
        '&' | '!' | '%' | '@' | '`' => Some("begins with a character that YAML reserves"),
        _ if text.contains(": ") || last == ':' => Some("holds `: `"),
        _ if text.contains(" #") => Some("holds ` #`"),
        _ => None,
    }
}
