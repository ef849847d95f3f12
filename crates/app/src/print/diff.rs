//! A diff or a command, line by line, painted by what each line does.

use super::palette::{Tone, paint};

/// The lines of a text, painted if they are those of a diff.
pub(crate) fn painted(text: &str) -> Vec<String> {
    let is_diff = text.lines().any(|line| line.starts_with("@@"));
    let tone = |line: &str| match line.get(..1) {
        _ if line.starts_with("+++") || line.starts_with("---") => Some(Tone::Strong),
        Some("+") => Some(Tone::Good),
        Some("-") => Some(Tone::Bad),
        Some("@") => Some(Tone::Name),
        _ => None,
    };
    let painted = text.lines().map(|line| match tone(line).filter(|_| is_diff) {
        Some(tone) => paint(tone, line),
        None => line.to_owned(),
    });
    painted.collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::palette::{Colours, rendered},
        *,
    };

    #[test]
    fn lines_of_a_diff_are_painted_and_others_are_not() {
        let shown: Vec<String> = painted("@@ -1 +1 @@\n-a\n+b\n c")
            .iter()
            .map(|line| rendered(line, Colours::On))
            .collect();
        assert_eq!(
            shown,
            [
                "\u{1b}[36m@@ -1 +1 @@\u{1b}[0m",
                "\u{1b}[31m-a\u{1b}[0m",
                "\u{1b}[32m+b\u{1b}[0m",
                " c"
            ]
        );
        assert_eq!(painted("-rf is an option\n+x"), ["-rf is an option", "+x"]);
    }
}
