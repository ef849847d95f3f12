//! The marks inside of a line: code, bold, italics, struck text, links.

use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

use crate::{print::palette::Tone, tui::theme::Theme};

/// A line whose marks are styles.
pub(super) fn inline(text: &str, style: Style, theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    let mut pending = String::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let found = marked(rest, before).or_else(|| link(rest));
        let Some((mark, inside, after)) = found else {
            pending.push(letter);
            before = letter;
            rest = rest.get(letter.len_utf8()..).unwrap_or_default();
            continue;
        };
        if !pending.is_empty() {
            spans.push(Span::styled(std::mem::take(&mut pending), style));
        }
        match mark {
            Mark::Code => spans.push(Span::styled(inside.to_owned(), style.patch(theme.code()))),
            Mark::Style(modifier) => {
                spans.extend(inline(inside, style.add_modifier(modifier), theme).spans);
            }
            Mark::Link(address) => {
                spans.extend(inline(inside, style.add_modifier(Modifier::UNDERLINED), theme).spans);
                if address != inside {
                    let faint = style.patch(theme.tone(Tone::Faint));
                    spans.push(Span::styled(format!(" ({address})"), faint));
                }
            }
        }
        before = ' ';
        rest = after;
    }
    if !pending.is_empty() {
        spans.push(Span::styled(pending, style));
    }
    Line::from(spans)
}

/// What a mark means.
enum Mark<'a> {
    Code,
    Style(Modifier),
    Link(&'a str),
}

/// A mark at the beginning of a text: what it means, what it holds, what follows.
fn marked(text: &str, before: char) -> Option<(Mark<'_>, &str, &str)> {
    if let Some(rest) = text.strip_prefix('`') {
        let (inside, after) = rest.split_once('`')?;
        return (!inside.is_empty()).then_some((Mark::Code, inside, after));
    }
    let marks = [
        ("**", Modifier::BOLD),
        ("__", Modifier::BOLD),
        ("~~", Modifier::CROSSED_OUT),
        ("*", Modifier::ITALIC),
        ("_", Modifier::ITALIC),
    ];
    for (mark, modifier) in marks {
        let Some(rest) = text.strip_prefix(mark) else { continue };
        // Inside of a word an underscore is a letter.
        if mark.starts_with('_') && before.is_alphanumeric() {
            return None;
        }
        let (inside, after) = rest.split_once(mark)?;
        let is_tight = !inside.is_empty()
            && !inside.starts_with(char::is_whitespace)
            && !inside.ends_with(char::is_whitespace);
        let ends_word = !mark.starts_with('_') || !after.starts_with(char::is_alphanumeric);
        return (is_tight && ends_word).then_some((Mark::Style(modifier), inside, after));
    }
    None
}

/// `[text](address)` at the beginning of a text.
fn link(text: &str) -> Option<(Mark<'_>, &str, &str)> {
    let (inside, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (address, after) = rest.split_once(')')?;
    let is_link = !inside.is_empty() && !inside.contains('[') && !address.contains(' ');
    is_link.then_some((Mark::Link(address), inside, after))
}
