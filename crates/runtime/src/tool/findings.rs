//! Findings: what a file tool found, as values instead of text.
//!
//! They are for models that are programs, such as `offline`; a language model reads the text. Tools
//! make them only when the model wants them, and they never reach a provider. Invariant: findings are
//! bounded like the text, and say so where something is left out.

use serde::{Deserialize, Serialize};

/// How many bytes of paths and lines findings hold at most.
const MAX_BYTES: usize = 48 << 10;

/// What a file tool found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Findings {
    /// The files and directories, in the order of the text.
    pub files: Vec<FoundFile>,
    /// Whether there is more than this.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_cut: bool,
    /// How many files were searched, where a search did that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<usize>,
    /// How many entries the ignore rules left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ignored: usize,
    /// How many files and directories were left out because the agent may not read them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forbidden: usize,
}

/// A file or directory that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FoundFile {
    /// Its path as it is shown; a directory's ends with `/`.
    pub path: String,
    /// How many lines of it match, where they were counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub count: usize,
    /// Lines of it, each with its number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(usize, String)>,
}

impl Findings {
    /// The findings as far as they are short enough, as JSON.
    pub(super) fn bounded(mut self) -> Option<serde_json::Value> {
        let mut left = MAX_BYTES;
        let mut whole_files = 0;
        for file in &mut self.files {
            let Some(after_path) = left.checked_sub(file.path.len() + 16) else { break };
            left = after_path;
            whole_files += 1;
            let fits = |(_, text): &&(usize, String)| match left.checked_sub(text.len() + 8) {
                Some(after_line) => {
                    left = after_line;
                    true
                }
                None => false,
            };
            let lines = file.lines.iter().take_while(fits).count();
            self.is_cut |= lines < file.lines.len();
            file.lines.truncate(lines);
        }
        self.is_cut |= whole_files < self.files.len();
        self.files.truncate(whole_files);
        serde_json::to_value(self).ok()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_bounded_and_say_so() {
        let file = |path: &str, lines: usize| FoundFile {
            path: path.to_owned(),
            count: 0,
            lines: (1..=lines).map(|line| (line, "x".repeat(1000))).collect(),
        };
        let read = |findings: Findings| {
            serde_json::from_value::<Findings>(findings.bounded().unwrap()).unwrap()
        };
        let small = Findings { files: vec![file("a", 2)], ..Findings::default() };
        assert_eq!(read(small.clone()), small);
        let large = Findings { files: vec![file("a", 40), file("b", 40), file("c", 40)], ..small };
        let bounded = read(large);
        assert!(bounded.is_cut);
        let lines: usize = bounded.files.iter().map(|file| file.lines.len()).sum();
        assert!((40..49).contains(&lines), "{lines}");
    }
}
