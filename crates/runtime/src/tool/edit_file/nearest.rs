//! What in a file comes nearest to a text that is not in it, so that the next try succeeds.

use std::{collections::HashSet, fmt::Write as _};

use attache_kernel::patch::nearest_lines;

/// How many lines are shown.
const MAX_SHOWN: usize = 12;
/// How much of a line is shown.
const MAX_LINE: usize = 200;
/// How many pairs of lines are compared.
const MAX_WORK: usize = 2_000_000;

/// Why the text is not found, as far as it can be told, and the nearest lines with their numbers.
pub(super) fn explain(text: &str, old: &str) -> String {
    if let Some(plain) = without_numbers(old)
        && text.replace("\r\n", "\n").contains(&plain)
    {
        return "; leave out the line numbers that read_file puts before each line".to_owned();
    }
    let unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    if unescaped != old && text.contains(&unescaped) {
        return "; it is there with real line breaks, tabs or quotes instead of the escapes"
            .to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    if let Some(at) = find(&lines, &wanted, squeezed) {
        return format!(
            "; only blanks and tabs differ. The file has:\n{}",
            numbered(&lines, at, wanted.len())
        );
    }
    if text.to_lowercase().contains(&old.to_lowercase()) {
        let at = find(&lines, &wanted, |line| line.trim().to_lowercase()).unwrap_or_default();
        return format!(
            "; only upper and lower case differ. The file has:\n{}",
            numbered(&lines, at, wanted.len())
        );
    }
    match nearest(&lines, &wanted) {
        Some(at) => {
            format!(". The nearest lines are:\n{}", numbered(&lines, at, wanted.len()))
        }
        None => "; nothing in it comes near. Read the file first".to_owned(),
    }
}

/// The text without the numbers before its lines, if all of its lines have one.
fn without_numbers(old: &str) -> Option<String> {
    let mut plain = Vec::new();
    for line in old.lines() {
        let rest = line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
        if rest.len() == line.trim_start().len() {
            return None;
        }
        plain.push(rest.strip_prefix(['\t', '→', '|', ':'])?);
    }
    (!plain.is_empty()).then(|| plain.join("\n"))
}

/// The line without its blanks.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect()
}

/// Where the wanted lines are, compared in a form of their own.
fn find(lines: &[&str], wanted: &[&str], form: impl Fn(&str) -> String) -> Option<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| form(line)).collect();
    if wanted.iter().all(String::is_empty) || lines.len().saturating_mul(wanted.len()) > MAX_WORK {
        return None;
    }
    let lines: Vec<String> = lines.iter().map(|line| form(line)).collect();
    lines.windows(wanted.len()).position(|window| window == wanted)
}

/// Where the most of the wanted lines are, or words of the longest of them, or most of its letters in pairs.
fn nearest(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    if let Some(at) = nearest_lines(lines, wanted) {
        return Some(at);
    }
    let longest = wanted.iter().max_by_key(|line| line.len())?;
    let offset = wanted.iter().position(|line| line == longest).unwrap_or_default();
    let words: HashSet<&str> = words_of(longest).collect();
    let shared = |line: &&str| words_of(line).filter(|word| words.contains(word)).count();
    let pairs: HashSet<(char, char)> = pairs_of(longest).collect();
    let alike = |line: &&str| {
        let found: HashSet<_> = pairs_of(line).filter(|pair| pairs.contains(pair)).collect();
        if found.len() * 2 > pairs.len() { found.len() } else { 0 }
    };
    let at = best(lines.iter().map(shared)).or_else(|| best(lines.iter().map(alike)))?;
    Some(at.saturating_sub(offset))
}

/// Where the highest score is, the first of several; `None` if all are 0.
fn best(scores: impl Iterator<Item = usize>) -> Option<usize> {
    let highest = scores.enumerate().max_by_key(|(at, score)| (*score, std::cmp::Reverse(*at)));
    highest.filter(|(_, score)| *score > 0).map(|(at, _)| at)
}

/// Each letter with the one after it.
fn pairs_of(line: &str) -> impl Iterator<Item = (char, char)> {
    let line = line.trim();
    line.chars().zip(line.chars().skip(1))
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|w| w.len() > 1)
}

/// Lines with their numbers, as read_file shows them.
fn numbered(lines: &[&str], at: usize, length: usize) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate().skip(at).take(length.clamp(1, MAX_SHOWN)) {
        let short: String = line.chars().take(MAX_LINE).collect();
        let cut = if short.len() < line.len() { "…" } else { "" };
        // Writing to a string cannot fail.
        writeln!(text, "{}\t{short}{cut}", number + 1).unwrap_or_default();
    }
    if length > MAX_SHOWN {
        writeln!(text, "… {} more lines", length - MAX_SHOWN).unwrap_or_default();
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn main() {\n\tlet name = 1;\n\tprintln!(\"{name}\");\n}\n";

    #[test]
    fn the_reason_is_told_where_it_is_clear() {
        for (old, expected) in [
            ("2\t\tlet name = 1;", "leave out the line numbers"),
            (
                "     2→\tlet name = 1;\n     3→\tprintln!(\"{name}\");",
                "leave out the line numbers",
            ),
            ("    let name = 1;", "only blanks and tabs differ. The file has:\n2\t\tlet name = 1;"),
            ("\\tlet name = 1;\\n", "with real line breaks"),
            ("FN MAIN() {", "only upper and lower case differ. The file has:\n1\tfn main() {"),
            (
                "let name = 2;\nprintln!(\"{name}\");",
                "The nearest lines are:\n2\t\tlet name = 1;\n3\t\tprintln!(\"{name}\");",
            ),
            ("let names = 7;", "The nearest lines are:\n2\t\tlet name = 1;"),
            ("prinln", "The nearest lines are:\n3\t\tprintln!"),
            ("maain", "The nearest lines are:\n1\tfn main() {"),
            ("zork", "nothing in it comes near"),
        ] {
            let said = explain(FILE, old);
            assert!(said.contains(expected), "{old:?}: {said}");
        }
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let text = format!("{}\n", "word ".repeat(10_000)).repeat(100);
        let said = explain(&text, &"word zork\n".repeat(5000));
        assert!(said.len() < 5000, "{}", said.len());
        assert!(said.contains("more lines"), "{said}");
    }
}
