//! A diff or a command, line by line, painted by what each line does.

use std::path::Path;

use attache_kernel::run::file_change::{FileChange, FileVersion};
use attache_runtime::internal::changes::{line_diff::LineDiff, versions};

use super::{
    palette::{Tone, paint},
    visible::visible,
};

/// How many lines and bytes of one file are shown in brief.
const BRIEF: (usize, usize) = (60, 16 * 1024);

/// How much of a change is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Brief,
    Whole,
}

/// What a call did to a file, painted; nothing if its versions were not kept.
pub(crate) fn of_change(change: &FileChange, artifacts: &Path, extent: Extent) -> Vec<String> {
    let read = |version: Option<&FileVersion>| match version {
        None => Some(String::new()),
        Some(version) => versions::read(artifacts, version.text.as_deref()?).ok(),
    };
    let (before, after) = (read(change.before.as_ref()), read(change.after.as_ref()));
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    let diff = LineDiff::between(&before, &after);
    let (lines, bytes) = BRIEF;
    painted(&match extent {
        Extent::Brief => diff.shortened(lines, bytes),
        Extent::Whole => diff.to_string(),
    })
}

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
        None => visible(line).into_owned(),
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
