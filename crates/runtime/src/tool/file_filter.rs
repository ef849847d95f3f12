//! Globs over paths, as ripgrep's `-g` understands them: without a slash a glob means names at any
//! depth; with one it starts at the directory searched. `{a,b}`, `**` and `[…]` work.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::ToolOutput;
use crate::tool::{
    artifacts::first_bytes,
    workspace::{GlobBoundError, check_glob},
};

/// The longest list of globs, in bytes.
const MAX_LIST_BYTES: usize = 32 << 10;

/// The files that some globs choose.
#[derive(Debug)]
pub(super) struct FileFilter {
    wanted: GlobSet,
    unwanted: GlobSet,
}

/// A glob that cannot be read; the text is for the model.
#[derive(Debug, thiserror::Error)]
#[error("invalid glob `{glob}`: {reason}")]
pub(super) struct GlobError {
    glob: String,
    reason: String,
}

impl FileFilter {
    /// The files of a list of globs set apart by commas; those after `!` are left out.
    pub(super) fn of_list(list: &str) -> Result<Self, GlobError> {
        if list.len() > MAX_LIST_BYTES {
            return Err(GlobError::bound(list, GlobBoundError::TooLong { bytes: list.len() }));
        }
        let mut wanted = GlobSetBuilder::new();
        let mut unwanted = GlobSetBuilder::new();
        for glob in split_list(list) {
            match glob.strip_prefix('!') {
                Some(glob) => add(&mut unwanted, glob, !glob.contains('/'))?,
                None => add(&mut wanted, glob, !glob.contains('/'))?,
            }
        }
        Self::build(list, &wanted, &unwanted)
    }

    /// The files of one glob, which begins at the directory searched or, if `anywhere`, at any depth.
    pub(super) fn of_glob(glob: &str, anywhere: bool) -> Result<Self, GlobError> {
        let mut wanted = GlobSetBuilder::new();
        add(&mut wanted, glob, anywhere)?;
        Self::build(glob, &wanted, &GlobSetBuilder::new())
    }

    fn build(
        glob: &str,
        wanted: &GlobSetBuilder,
        unwanted: &GlobSetBuilder,
    ) -> Result<Self, GlobError> {
        let error = |error| GlobError::new(glob, &error);
        Ok(Self {
            wanted: wanted.build().map_err(error)?,
            unwanted: unwanted.build().map_err(error)?,
        })
    }

    /// Whether it chooses a file.
    pub(super) fn chooses(&self, path: &Path) -> bool {
        (self.wanted.is_empty() || self.wanted.is_match(path)) && !self.unwanted.is_match(path)
    }
}

impl GlobError {
    fn new(glob: &str, error: &globset::Error) -> Self {
        Self { glob: first_bytes(glob, 200).to_owned(), reason: error.kind().to_string() }
    }

    fn bound(glob: &str, error: GlobBoundError) -> Self {
        Self { glob: first_bytes(glob, 200).to_owned(), reason: error.to_string() }
    }
}

impl From<GlobError> for ToolOutput {
    fn from(error: GlobError) -> Self {
        Self::error(error.to_string())
    }
}

fn add(set: &mut GlobSetBuilder, glob: &str, anywhere: bool) -> Result<(), GlobError> {
    check_glob(glob).map_err(|error| GlobError::bound(glob, error))?;
    let from_top = glob.strip_prefix('/').unwrap_or(glob);
    let mut pattern = from_top.strip_prefix("./").unwrap_or(from_top).to_owned();
    if pattern.ends_with('/') {
        pattern.push_str("**");
    }
    if anywhere {
        pattern.insert_str(0, "**/");
    }
    let glob = GlobBuilder::new(&pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| GlobError::new(glob, &error))?;
    set.add(glob);
    Ok(())
}

/// The parts of a list, split at the commas outside braces.
fn split_list(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    list.split(|letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|glob| !glob.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_choose_as_ripgrep_does() {
        for (globs, chosen, left) in [
            ("*.rs", &["a.rs", "x/y/a.rs"][..], &["a.rsx", "a.rs/b"][..]),
            ("src/*.rs", &["src/a.rs"], &["a.rs", "src/x/a.rs", "x/src/a.rs"]),
            ("/src/**", &["src/a", "src/x/y"], &["x/src/a"]),
            ("src/", &["src/a", "src/x/y"], &["srcs"]),
            ("./a/**/b", &["a/b", "a/x/y/b"], &["b"]),
            ("*.{ts,tsx}", &["x/a.ts", "a.tsx"], &["a.t"]),
            ("*.rs,!test_*", &["a.rs"], &["test_a.rs", "a.py"]),
            ("!*.lock, !b", &["a.rs"], &["Cargo.lock", "x/b"]),
            ("[ab]?.md", &["a1.md", "x/bb.md"], &["c1.md", "a.md"]),
        ] {
            let filter = FileFilter::of_list(globs).unwrap();
            for path in chosen {
                assert!(filter.chooses(Path::new(path)), "{globs} chooses {path}");
            }
            for path in left {
                assert!(!filter.chooses(Path::new(path)), "{globs} leaves {path}");
            }
        }
    }

    #[test]
    fn a_glob_that_cannot_be_read_is_named() {
        let error = FileFilter::of_list("*.rs,[a").unwrap_err().to_string();
        assert!(error.starts_with("invalid glob `[a`: "), "{error}");
    }
}
