//! What a model is told about the files found: the first ones by path, and how many there are where.

use std::{collections::BTreeMap, ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

use super::{
    super::wording::{count, grouped},
    Found, Key, Request, ToolOutput,
};
use crate::artifacts::{Artifacts, Bound};

/// How many paths are shown at most.
const MAX_SHOWN: usize = 200;
/// How many directories are counted apart when paths are left out.
const MAX_DIRECTORIES: usize = 10;

impl Request {
    pub(super) fn report(&self, mut found: Found, artifacts: &Artifacts) -> ToolOutput {
        let total = found.files.len();
        found.files.sort_unstable();
        let shown: Vec<String> = found
            .files
            .iter()
            .take(MAX_SHOWN)
            .map(|key| self.path_of(key))
            // A directory may have been swapped for a link while it was walked.
            .filter(|path| self.base.is_below_root(path))
            .map(|path| self.base.show(&path))
            .collect();
        let text = if total == 0 {
            format!("no files match {} in {}", self.pattern, self.base)
        } else {
            shown.join("\n")
        };
        let mut output = Bound::DEFAULT.apply(text, "glob_files", artifacts);
        let mut remarks = Vec::new();
        if total == 0 {
            remarks.push("hidden and git-ignored files are left out".to_owned());
        }
        if total > MAX_SHOWN {
            let (where_kept, artifact) = artifacts.keep_and_tell("glob_files", &self.all(&found));
            output.artifacts.extend(artifact);
            remarks.push(format!(
                "{MAX_SHOWN} of {} shown; {}; {where_kept}",
                count(total, "file"),
                by_directory(&found.files)
            ));
        }
        found.unread.sort_unstable();
        remarks.extend(found.unread.drain(..).take(3));
        output.with_remarks(&remarks)
    }

    fn all(&self, found: &Found) -> String {
        let mut text = String::new();
        for key in &found.files {
            text.push_str(&self.base.show(&self.path_of(key)));
            text.push('\n');
        }
        text
    }

    /// The path below the root.
    fn path_of(&self, key: &Key) -> PathBuf {
        let bytes: Vec<u8> = key.iter().map(|byte| if *byte == 0 { b'/' } else { *byte }).collect();
        self.base.relative().join(OsStr::from_bytes(&bytes))
    }
}

/// How many files lie in which directory, at the level where they part.
fn by_directory(sorted: &[Key]) -> String {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return String::new();
    };
    let same = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let level = first
        .get(..same)
        .and_then(|common| common.iter().rposition(|byte| *byte == 0))
        .map_or(0, |separator| separator + 1);
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    for key in sorted {
        let below = key.get(level..).unwrap_or_default();
        let directory = below.iter().position(|byte| *byte == 0);
        let name = directory.and_then(|end| below.get(..end)).unwrap_or(b".");
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
        .iter()
        .take(MAX_DIRECTORIES)
        .map(|(name, count)| {
            format!("{}/ {}", String::from_utf8_lossy(name), grouped(*count as u64))
        })
        .collect::<Vec<_>>()
        .join(", ")
}
