//! Diagnostics for people: the message, the place in the file with a caret, and what to do.

use std::path::Path;

use attache_kernel::agent::definition::{Diagnostic, Severity};

use super::{
    harmless,
    palette::{Tone, paint},
};

/// How a diagnostic is coloured.
fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Warning,
        Severity::Note => Tone::Faint,
    }
}

/// A diagnostic with the line it is about; `text` is the file's, where it can be had.
pub(crate) fn render(diagnostic: &Diagnostic, path: &Path, text: Option<&str>) -> String {
    render_repeated(diagnostic, path, text, &[])
}

/// The same, with the other places it holds for.
pub(crate) fn render_repeated(
    diagnostic: &Diagnostic,
    path: &Path,
    text: Option<&str>,
    others: &[String],
) -> String {
    const NAMED: usize = 3;
    let head = format!("{}[{}]", diagnostic.severity.as_str(), diagnostic.code);
    let mut lines = vec![format!(
        "{}: {}",
        paint(tone(diagnostic.severity), &head),
        harmless(&diagnostic.message)
    )];
    let place = place(diagnostic, path);
    lines.push(format!("  {} {}", paint(Tone::Faint, "-->"), harmless(&place)));
    lines.extend(snippet(diagnostic, text));
    if let Some(hint) = &diagnostic.hint {
        lines.push(format!("  {} {}", paint(Tone::Faint, "= help:"), harmless(hint)));
    }
    if !others.is_empty() {
        let mut named = others.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        if others.len() > NAMED {
            named = format!("{named} and {} more", others.len() - NAMED);
        }
        lines.push(format!("  {} {}", paint(Tone::Faint, "= also:"), harmless(&named)));
    }
    lines.join("\n")
}

/// `file:line:column`.
pub(crate) fn place(diagnostic: &Diagnostic, path: &Path) -> String {
    // A line end in a file name would look like another diagnostic.
    let path = path.display().to_string().replace('\n', "\\n");
    format!("{path}:{}:{}", diagnostic.line, diagnostic.column)
}

fn snippet(diagnostic: &Diagnostic, text: Option<&str>) -> Vec<String> {
    const WIDEST: usize = 100;
    let index = usize::try_from(diagnostic.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let Some(line) = text.and_then(|text| text.lines().nth(index)) else { return Vec::new() };
    let column = usize::try_from(diagnostic.column.saturating_sub(1)).unwrap_or_default();
    // A long line is shown around the place that matters.
    let length = line.chars().count();
    let from = if length <= WIDEST { 0 } else { column.saturating_sub(WIDEST * 2 / 3) };
    let shown: String = line
        .chars()
        .skip(from)
        .take(WIDEST)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if shown.trim().is_empty() {
        return Vec::new();
    }
    let before = if from > 0 { "…" } else { "" };
    let after = if length > from + WIDEST { "…" } else { "" };
    let number = diagnostic.line.to_string();
    let margin = " ".repeat(number.len());
    let caret = " ".repeat(column.saturating_sub(from) + before.chars().count());
    let bar = paint(Tone::Faint, "|");
    vec![
        format!("{margin} {bar}"),
        format!("{} {bar} {before}{shown}{after}", paint(Tone::Faint, &number)),
        format!("{margin} {bar} {caret}{}", paint(tone(diagnostic.severity), "^")),
    ]
}

#[cfg(test)]
mod tests {
    use attache_kernel::agent::definition::{Code, Position};

    use super::*;
    use crate::print::palette::unpainted;

    fn plain(diagnostic: &Diagnostic, text: &str) -> String {
        unpainted(&render(diagnostic, Path::new("a.md"), Some(text)))
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        let diagnostic =
            Diagnostic::error(Code::BadType, Position::new(2, 4), "wrong").with_hint("fix it");
        assert_eq!(
            plain(&diagnostic, "one\ntwo é\nthree"),
            "error[bad_type]: wrong\n  --> a.md:2:4\n  |\n2 | two é\n  |    ^\n  = help: fix it"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let shown = plain(&Diagnostic::warning(Code::BadType, Position::new(1, 501), "w"), &text);
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[4].chars().position(|letter| letter == '^').unwrap();
        assert_eq!(lines[3].chars().nth(caret), Some('X'));
        assert!(lines[3].chars().count() < 120);
        assert!(lines[3].starts_with("1 | …a") && lines[3].ends_with("b…"), "{}", lines[3]);
        let start = plain(&Diagnostic::warning(Code::BadType, Position::new(1, 1), "w"), &text);
        let line = start.lines().nth(3).unwrap();
        assert!(line.starts_with("1 | aaa") && line.ends_with("a…"), "{line}");
    }

    #[test]
    fn a_place_outside_the_text_is_shown_without_a_line() {
        let shown = plain(&Diagnostic::warning(Code::BadType, Position::new(9, 9), "w"), "x");
        assert_eq!(shown, "warning[bad_type]: w\n  --> a.md:9:9");
    }
}
