//! Evidence: what the answers of the tools say, read back from the conversation.
//!
//! An answer that cannot be read, such as one that was cut away, is as if it had not been given.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::Value;

use super::{
    briefing::{Answer, Briefing},
    inquiry::Inquiry,
};

/// The pattern that every line matches.
pub(super) const EVERY_LINE: &str = "^";

/// Lines of a file by their number.
pub(super) type Lines<'a> = BTreeMap<usize, &'a str>;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Evidence<'a> {
    /// For each thing looked for, which files have it and on how many lines; none if it was not.
    pub(super) counts: Vec<Option<Count<'a>>>,
    /// Paths that a glob or a listing gave.
    names: BTreeSet<Cow<'a, str>>,
    /// Lines of files, by path.
    pub(super) lines: BTreeMap<&'a str, Lines<'a>>,
    /// Files that were read from their beginning.
    pub(super) read: BTreeSet<&'a str>,
    /// Listings of the top directory.
    pub(super) listings: Vec<&'a str>,
    /// What tools refused or failed at.
    pub(super) problems: Vec<&'a str>,
}

/// Which files have something.
#[derive(Debug, Default)]
pub(super) struct Count<'a> {
    pub(super) files: BTreeMap<&'a str, usize>,
    /// Whether there are more.
    pub(super) is_cut: bool,
}

impl<'a> Evidence<'a> {
    pub(super) fn gather(briefing: &Briefing<'a>, inquiry: &Inquiry) -> Self {
        let patterns: Vec<String> =
            inquiry.concepts.iter().map(super::concept::Concept::pattern).collect();
        let mut evidence = Self::default();
        evidence.counts.resize_with(patterns.len(), || None);
        for answer in &briefing.answers {
            evidence.take(*answer, &patterns);
        }
        evidence
    }

    fn take(&mut self, answer: Answer<'a>, patterns: &[String]) {
        if answer.is_error {
            self.problems.push(answer.text);
            return;
        }
        let argument = |name: &str| answer.arguments.get(name).and_then(Value::as_str);
        match answer.tool {
            BuiltinTool::GrepFiles if argument("mode") == Some("count") => {
                let pattern = argument("pattern").unwrap_or_default();
                if let Some(at) = patterns.iter().position(|known| known == pattern)
                    && let Some(slot) = self.counts.get_mut(at)
                {
                    *slot = Some(counted(answer.text));
                }
            }
            BuiltinTool::GrepFiles if argument("mode") == Some("files") => {
                self.names.extend(paths(answer.text).map(Cow::Borrowed));
            }
            BuiltinTool::GrepFiles => {
                if argument("pattern") == Some(EVERY_LINE) {
                    self.read.extend(paths(answer.text).next());
                }
                self.grepped(answer.text);
            }
            BuiltinTool::GlobFiles => self.names.extend(paths(answer.text).map(Cow::Borrowed)),
            BuiltinTool::ReadFile => {
                let Some(path) = argument("path") else { return };
                let lines = numbered(answer.text);
                if answer.arguments.get("limit").and_then(Value::as_u64) > Some(20) {
                    self.read.insert(path);
                }
                self.lines.entry(path).or_default().extend(lines);
            }
            BuiltinTool::ListDir => {
                self.listings.push(answer.text);
                self.names.extend(listed(answer.text).map(Cow::Owned));
            }
            _ => {}
        }
    }

    /// Takes in matching lines under the paths of their files.
    fn grepped(&mut self, text: &'a str) {
        let mut path = None;
        for line in text.lines() {
            let number = line.find([':', '-']).and_then(|end| {
                let (number, rest) = line.split_at_checked(end)?;
                Some((number.parse::<usize>().ok()?, rest.get(1..)?))
            });
            match (number, path) {
                (Some((number, rest)), Some(path)) => {
                    self.lines.entry(path).or_default().insert(number, rest);
                }
                _ if line.is_empty() => path = None,
                _ if path.is_none() && !is_remark(line) => path = Some(line),
                _ => {}
            }
        }
    }

    /// Paths that a glob or a listing gave.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// Whether any file has any of the things looked for, or bears its name.
    pub(super) fn found_something(&self) -> bool {
        self.counts.iter().flatten().any(|count| !count.files.is_empty()) || !self.names.is_empty()
    }

    /// In how many files something is.
    pub(super) fn files_with(&self, concept: usize) -> usize {
        self.counts.get(concept).and_then(Option::as_ref).map_or(0, |count| count.files.len())
    }
}

/// Whether a line is a tool's remark, or says that there is nothing.
fn is_remark(line: &str) -> bool {
    line.starts_with('[')
        || line.starts_with('…')
        || line.starts_with("no matches for ")
        || line.starts_with("no files match ")
        || line == "--"
}

fn counted(text: &str) -> Count<'_> {
    let mut count = Count::default();
    for line in text.lines() {
        if is_remark(line) {
            count.is_cut |= line.contains("there are more") || line.contains("left out;");
            continue;
        }
        if let Some((path, number)) = line.rsplit_once(':')
            && let Ok(number) = number.parse()
        {
            count.files.insert(path, number);
        }
    }
    count
}

fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !is_remark(line))
}

/// The lines of a file that was read.
fn numbered(text: &str) -> Lines<'_> {
    let numbered = text.lines().filter_map(|line| {
        let (number, rest) = line.split_once('\t')?;
        Some((number.parse().ok()?, rest))
    });
    numbered.collect()
}

/// The files of a listing, with the directories that they stand under.
fn listed(text: &str) -> impl Iterator<Item = String> {
    let mut folders: Vec<&str> = Vec::new();
    text.lines().filter(|line| !is_remark(line)).filter_map(move |line| {
        let entry = line.trim_start_matches(' ');
        let depth = (line.len() - entry.len()) / 2;
        folders.truncate(depth);
        if let Some(folder) = entry.strip_suffix('/') {
            folders.push(folder);
            return None;
        }
        let (name, _) = entry.split_once("  ").or_else(|| entry.split_once(" -> "))?;
        Some(folders.iter().copied().chain([name]).collect::<Vec<_>>().join("/"))
    })
}
