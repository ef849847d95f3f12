//! Finding the lines of a hunk in a text: as they are, and if they are nowhere, with ever more of what
//! models get wrong overlooked (blanks at the end, blanks around, typographic characters).

use super::lines::TextLine;

/// What is overlooked when lines are compared, ever more.
const COMPARISONS: [fn(&str, &str) -> bool; 4] = [
    |one, other| one == other,
    |one, other| one.trim_end() == other.trim_end(),
    |one, other| one.trim() == other.trim(),
    |one, other| as_typed(one).eq(as_typed(other)),
];

/// Where the pattern is in the lines, at or after `from`. `at_end` looks at the end of the text first.
pub(super) fn seek(
    lines: &[TextLine<'_>],
    pattern: &[&str],
    from: usize,
    at_end: bool,
) -> Option<usize> {
    let last = lines.len().checked_sub(pattern.len())?;
    for is_same in COMPARISONS {
        if at_end && last >= from {
            let end = lines.get(last..).unwrap_or_default();
            if end.iter().zip(pattern).all(|(line, wanted)| is_same(line.text, wanted)) {
                return Some(last);
            }
        }
        let found = find(lines, pattern, from, is_same);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The first place of the pattern, in time linear in both.
fn find(
    lines: &[TextLine<'_>],
    pattern: &[&str],
    from: usize,
    is_same: fn(&str, &str) -> bool,
) -> Option<usize> {
    let fallback = prefix_lengths(pattern, is_same);
    let goes_on = |matched: usize, line: &str| {
        pattern.get(matched).is_some_and(|wanted| is_same(line, wanted))
    };
    let mut matched = 0;
    for (at, line) in lines.iter().enumerate().skip(from) {
        while matched > 0 && !goes_on(matched, line.text) {
            matched = fallback.get(matched - 1).copied().unwrap_or_default();
        }
        if goes_on(matched, line.text) {
            matched += 1;
        }
        if matched == pattern.len() {
            return Some(at + 1 - matched);
        }
    }
    None
}

/// For each beginning of the pattern, the length of the longest shorter beginning it ends with.
fn prefix_lengths(pattern: &[&str], is_same: fn(&str, &str) -> bool) -> Vec<usize> {
    let mut lengths = vec![0; pattern.len()];
    let mut matched = 0;
    for (at, line) in pattern.iter().enumerate().skip(1) {
        let goes_on = |matched: usize| pattern.get(matched).is_some_and(|it| is_same(line, it));
        while matched > 0 && !goes_on(matched) {
            matched = lengths.get(matched - 1).copied().unwrap_or_default();
        }
        if goes_on(matched) {
            matched += 1;
        }
        if let Some(length) = lengths.get_mut(at) {
            *length = matched;
        }
    }
    lengths
}

/// The letters of a line without blanks around it, with typographic dashes, quotes and blanks as on a
/// keyboard.
fn as_typed(line: &str) -> impl Iterator<Item = char> {
    line.trim().chars().map(|letter| match letter {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    })
}
