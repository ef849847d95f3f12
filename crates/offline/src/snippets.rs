//! Snippets: lines of source, short enough for a report and fenced so that nothing leaks out.

use crate::{evidence::Lines, paths::language};

/// How many lines are shown before and from a place on.
const BEFORE: usize = 3;
const AFTER: usize = 9;
/// How many lines are shown of the beginning of a file.
const HEAD: usize = 12;
/// How many characters of a line are shown.
const WIDEST: usize = 160;
const WIDEST_INLINE: usize = 110;

/// The lines around a place, as far as they were seen.
pub(crate) fn around(path: &str, lines: &Lines<'_>, place: usize) -> String {
    let mut from = place;
    let leads_up = |line: &usize| lines.get(line).is_some_and(|text| is_about(text));
    while from > 1 && place - from < BEFORE && leads_up(&(from - 1)) {
        from -= 1;
    }
    let seen = (from..).map_while(|line| lines.get(&line).copied());
    let shown: Vec<&str> = seen.take(place - from + AFTER).collect();
    block(path, &shown, "  ")
}

/// Whether a line is about the one after it.
fn is_about(text: &str) -> bool {
    ["//", "#", "@", "/*", "*", "--", "template"]
        .iter()
        .any(|mark| text.trim_start().starts_with(mark))
}

/// The beginning of a file.
pub(crate) fn head(path: &str, lines: &Lines<'_>) -> String {
    let shown: Vec<&str> = lines.values().copied().take(HEAD).collect();
    block(path, &shown, "")
}

fn block(path: &str, lines: &[&str], indent: &str) -> String {
    let filled = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    let lines: Vec<String> =
        lines.iter().take(filled).map(|line| cut(line.trim_end(), WIDEST)).collect();
    if lines.is_empty() {
        return String::new();
    }
    let fence = fence(&lines.join("\n"));
    let mut block = format!("{indent}{fence}{}\n", language(path));
    for line in &lines {
        block.push_str(indent);
        block.push_str(line);
        block.push('\n');
    }
    block.push_str(indent);
    block.push_str(&fence);
    block.push('\n');
    block
}

/// A fence longer than any in the text.
pub(crate) fn fence(text: &str) -> String {
    let longest = text.lines().map(|line| {
        let line = line.trim_start();
        line.len() - line.trim_start_matches('`').len()
    });
    "`".repeat(longest.max().unwrap_or(0).max(2) + 1)
}

/// A line for the middle of a sentence.
pub(crate) fn inline(text: &str) -> String {
    cut(&text.trim().replace('`', "'"), WIDEST_INLINE)
}

fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}
