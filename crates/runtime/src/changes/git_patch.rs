//! The change of one file as `git diff` writes it, for `git apply` to read.
//!
//! Invariant: applied to the version before, the patch gives the version after, and reversed the other
//! way round. Names that a patch cannot hold as they are get quoted as git quotes them.

use std::{
    fmt::{self, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use super::line_diff::LineDiff;

/// The change of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilePatch<'t> {
    /// The directory of both paths, relative to the one the patch is applied in.
    pub below: &'t Path,
    /// The path before.
    pub old_path: &'t str,
    /// The path after; another one if the file was moved.
    pub new_path: &'t str,
    /// The version before; `None` if there was no file.
    pub before: Option<PatchedText<'t>>,
    /// The version after; `None` if there is no file.
    pub after: Option<PatchedText<'t>>,
}

/// One version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatchedText<'t> {
    /// Its text.
    pub text: &'t str,
    /// Whether the file is executable.
    pub executable: bool,
}

impl PatchedText<'_> {
    fn mode(self) -> &'static str {
        if self.executable { "100755" } else { "100644" }
    }
}

impl FilePatch<'_> {
    /// The change back.
    #[must_use]
    pub(crate) fn reversed(self) -> Self {
        Self {
            below: self.below,
            old_path: self.new_path,
            new_path: self.old_path,
            before: self.after,
            after: self.before,
        }
    }
}

impl fmt::Display for FilePatch<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |prefix: &str, path: &str| quoted(prefix, &self.below.join(path));
        let (old, new) = (name("a/", self.old_path), name("b/", self.new_path));
        writeln!(formatter, "diff --git {old} {new}")?;
        match (self.before, self.after) {
            (None, Some(after)) => writeln!(formatter, "new file mode {}", after.mode())?,
            (Some(before), None) => writeln!(formatter, "deleted file mode {}", before.mode())?,
            (Some(before), Some(after)) if before.mode() != after.mode() => {
                writeln!(formatter, "old mode {}\nnew mode {}", before.mode(), after.mode())?;
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        if self.old_path != self.new_path {
            writeln!(formatter, "rename from {}", name("", self.old_path))?;
            writeln!(formatter, "rename to {}", name("", self.new_path))?;
        }
        let before = self.before.map_or("", |before| before.text);
        let after = self.after.map_or("", |after| after.text);
        let diff = LineDiff::between(before, after);
        if diff.is_empty() {
            return Ok(());
        }
        let nothing = || "/dev/null".to_owned();
        writeln!(formatter, "--- {}", self.before.map_or_else(nothing, |_| ended(&old)))?;
        writeln!(formatter, "+++ {}", self.after.map_or_else(nothing, |_| ended(&new)))?;
        write!(formatter, "{diff}")
    }
}

/// A name that holds a blank ends with a tab, where a time could follow it.
fn ended(name: &str) -> String {
    if name.contains(' ') && !name.starts_with('"') {
        return format!("{name}\t");
    }
    name.to_owned()
}

/// A name as git writes it: in quotes with escapes if it holds what a line of text cannot.
fn quoted(prefix: &str, path: &Path) -> String {
    let is_plain = |text: &str| {
        !text.chars().any(|letter| letter.is_ascii_control() || matches!(letter, '"' | '\\'))
    };
    if let Some(text) = path.to_str().filter(|text| is_plain(text)) {
        return format!("{prefix}{text}");
    }
    let mut name = format!("\"{prefix}");
    // Writing to a string cannot fail.
    let octal = |name: &mut String, byte: u8| write!(name, "\\{byte:03o}").unwrap_or_default();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '"' => name.push_str("\\\""),
                '\\' => name.push_str("\\\\"),
                '\n' => name.push_str("\\n"),
                '\r' => name.push_str("\\r"),
                '\t' => name.push_str("\\t"),
                control if control.is_ascii_control() => octal(&mut name, control as u8),
                letter => name.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|byte| octal(&mut name, *byte));
    }
    name.push('"');
    name
}
