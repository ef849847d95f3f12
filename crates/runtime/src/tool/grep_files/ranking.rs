//! The first rows of an answer by path, kept while files come in any order.
//!
//! Invariant: what is kept is what a search in the order of the paths would have found first. Once
//! enough is kept, everything after the last path kept is of no interest and need not be searched.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::hits::Hits;
use crate::tool::workspace::Walked;

/// The files that matter so far, by path below the root.
#[derive(Debug)]
pub(super) struct Ranking {
    files: BTreeMap<PathBuf, Hits>,
    unread: BTreeMap<PathBuf, String>,
    forbidden: BTreeSet<PathBuf>,
    rows: usize,
    limit: usize,
}

/// The outcome of a search.
#[derive(Debug)]
pub(super) struct Found {
    /// The files that match, in order; all rows together may exceed the limit.
    pub(super) files: BTreeMap<PathBuf, Hits>,
    /// What could not be searched, and why.
    pub(super) unread: BTreeMap<PathBuf, String>,
    /// How many files were left out because they may not be read.
    pub(super) forbidden: usize,
    /// How many files were searched.
    pub(super) searched: usize,
    /// How many entries the ignore rules left out.
    pub(super) ignored: usize,
    /// What must be known about the ignore files.
    pub(super) notices: Vec<String>,
}

impl Ranking {
    /// A ranking that keeps one row beyond the limit, to know whether there are more.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            files: BTreeMap::new(),
            unread: BTreeMap::new(),
            forbidden: BTreeSet::new(),
            rows: 0,
            limit,
        }
    }

    /// Whether a path comes after everything that will be shown.
    pub(super) fn is_beyond(&self, path: &Path) -> bool {
        self.rows > self.limit
            && self.files.last_key_value().is_some_and(|(last, _)| path > last.as_path())
    }

    /// Whether anything can be beyond yet.
    pub(super) fn is_full(&self) -> bool {
        self.rows > self.limit
    }

    pub(super) fn add(&mut self, path: PathBuf, hits: Hits) {
        if self.is_beyond(&path) {
            return;
        }
        self.rows += hits.rows;
        self.files.insert(path, hits);
        while let Some(last) = self.files.last_entry()
            && self.rows - last.get().rows > self.limit
        {
            self.rows -= last.remove().rows;
        }
    }

    pub(super) fn add_unread(&mut self, path: PathBuf, reason: String) {
        self.unread.insert(path, reason);
    }

    pub(super) fn add_forbidden(&mut self, path: PathBuf) {
        self.forbidden.insert(path);
    }

    pub(super) fn finish(mut self, searched: usize, walked: Walked) -> Found {
        self.unread.extend(walked.unread);
        if self.is_full()
            && let Some((last, _)) = self.files.last_key_value()
        {
            // Whether those after it were tried is a matter of chance.
            self.unread.retain(|path, _| path <= last);
            self.forbidden.retain(|path| path <= last);
        }
        let forbidden = self.forbidden.len();
        Found {
            files: self.files,
            unread: self.unread,
            forbidden,
            searched,
            ignored: walked.ignored,
            notices: walked.notices,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_does_not_depend_on_the_order(
            rows in prop::collection::vec(1_usize..5, 1..30),
            limit in 1_usize..20,
            seed in any::<u64>(),
        ) {
            let files: Vec<(PathBuf, usize)> = rows
                .iter()
                .enumerate()
                .map(|(index, rows)| (PathBuf::from(format!("d{}/f{index:02}", index % 3)), *rows))
                .collect();
            let mut shuffled = files.clone();
            let key = |path: &Path| {
                path.as_os_str().as_encoded_bytes().iter().fold(seed, |hash, byte| {
                    hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
                })
            };
            shuffled.sort_by_key(|(path, _)| key(path));
            let mut ranking = Ranking::new(limit);
            for (path, rows) in shuffled {
                ranking.add(path, Hits { rows, ..Hits::default() });
            }
            let kept: Vec<PathBuf> = ranking.finish(0, Walked::default()).files.into_keys().collect();

            let mut sorted = files;
            sorted.sort();
            let mut total = 0;
            let expected: Vec<PathBuf> = sorted
                .into_iter()
                .take_while(|(_, rows)| {
                    let goes_on = total <= limit;
                    total += rows;
                    goes_on
                })
                .map(|(path, _)| path)
                .collect();
            prop_assert_eq!(kept, expected);
        }
    }
}
