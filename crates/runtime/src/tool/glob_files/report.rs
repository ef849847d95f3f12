//! What a model is told about the files found: the first ones by path, and how many there are where.

use std::{collections::BTreeMap, ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

use super::{
    super::{
        findings::{Findings, FoundFile},
        wording::{count, grouped, left_out},
    },
    Found, Key, MAX_FOUND, Request, ToolOutput,
};
use crate::tool::artifacts::{Artifacts, Bound};

/// How many paths are shown at most.
const MAX_SHOWN: usize = 200;
/// How many paths are given as values at most.
const MAX_GIVEN: usize = 1000;
/// How many directories are counted apart when paths are left out.
const MAX_DIRECTORIES: usize = 10;

impl Request {
    pub(super) fn report(&self, found: &Found, artifacts: &Artifacts) -> ToolOutput {
        let total = found.files.len();
        let text = if total == 0 {
            format!("no files match {} in {}", self.pattern, self.base)
        } else {
            self.shown(found, MAX_SHOWN).join("\n")
        };
        let mut output = Bound::DEFAULT.apply(text, "glob_files", artifacts);
        let mut remarks = Vec::new();
        if total == 0 {
            remarks.push("ignored files and .git are left out".to_owned());
        }
        if total > MAX_SHOWN {
            let (where_kept, artifact) = artifacts.keep_and_tell("glob_files", &self.all(found));
            output.artifacts.extend(artifact);
            let stopped = if total >= MAX_FOUND { "; the search stopped there" } else { "" };
            remarks.push(format!(
                "{MAX_SHOWN} of {}{stopped} shown; {}; {where_kept}",
                count(total, "file"),
                by_directory(&found.files)
            ));
        }
        if found.forbidden > 0 {
            remarks.push(left_out(found.forbidden));
        }
        let mut unread = found.walked.unread.clone();
        unread.sort_unstable();
        let told = unread.iter().take(3);
        remarks.extend(told.map(|(path, reason)| format!("{}: {reason}", self.base.show(path))));
        remarks.extend(found.walked.notices.iter().cloned());
        output.with_remarks(&remarks)
    }

    /// The same as values.
    pub(super) fn findings(&self, found: &Found) -> Findings {
        let file = |path| FoundFile { path, ..FoundFile::default() };
        Findings {
            files: self.shown(found, MAX_GIVEN).into_iter().map(file).collect(),
            is_cut: found.files.len() > MAX_GIVEN,
            searched: None,
            ignored: found.walked.ignored,
            forbidden: found.forbidden,
        }
    }

    fn shown(&self, found: &Found, most: usize) -> Vec<String> {
        found.files.iter().take(most).map(|key| self.base.show(&self.path_of(key))).collect()
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
