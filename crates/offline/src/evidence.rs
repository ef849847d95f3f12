//! Evidence: what the tools found, read back from the conversation as values.
//!
//! An answer that is no longer there, such as one that was cut away, is as if it had not been given.

use std::collections::{BTreeMap, BTreeSet};

use attache_kernel::rights::tool_name::BuiltinTool;
use attache_runtime::internal::tool::findings::{Findings, FoundFile};
use serde_json::Value;

use crate::{
    briefing::{Answer, Briefing},
    concept::Concept,
    inquiry::Inquiry,
};

/// The pattern that every line matches.
pub(crate) const EVERY_LINE: &str = "^";

/// Lines of a file by their number.
pub(crate) type Lines<'a> = BTreeMap<usize, &'a str>;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Evidence<'a> {
    /// For each thing looked for, which files have it and on how many lines; none if it was not.
    pub(crate) counts: Vec<Option<Count<'a>>>,
    /// Files that a search for names or a listing gave.
    pub(crate) names: BTreeSet<&'a str>,
    /// Lines of files, by path.
    pub(crate) lines: BTreeMap<&'a str, Lines<'a>>,
    /// Lines that use what likely files define, by path.
    pub(crate) uses: BTreeMap<&'a str, Lines<'a>>,
    /// Files that were read from their beginning.
    pub(crate) read: BTreeSet<&'a str>,
    /// What was listed, in order; directories end with `/`.
    pub(crate) tree: Vec<&'a str>,
    /// What tools refused or failed at.
    pub(crate) problems: Vec<&'a str>,
    pub(crate) scope: Scope,
}

/// What was looked at, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// The tools that answered, in order.
    pub(crate) tools: BTreeSet<&'static str>,
    /// How many files a search went through at most.
    pub(crate) searched: usize,
    /// How many entries the ignore rules left out at most.
    pub(crate) ignored: usize,
    /// How many files the agent may not read.
    pub(crate) forbidden: usize,
}

/// Which files have something.
#[derive(Debug, Default)]
pub(crate) struct Count<'a> {
    pub(crate) files: BTreeMap<&'a str, usize>,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

impl<'a> Evidence<'a> {
    pub(crate) fn gather(briefing: &'a Briefing<'_>, inquiry: &Inquiry) -> Self {
        let patterns: Vec<String> = inquiry.concepts.iter().map(Concept::pattern).collect();
        let mut evidence = Self::default();
        evidence.counts.resize_with(patterns.len(), || None);
        for answer in &briefing.answers {
            match (&answer.findings, answer.problem) {
                (Some(findings), None) => evidence.take(answer, findings, &patterns),
                (_, Some(problem)) if !is_guess(answer, inquiry) => evidence.problems.push(problem),
                (None, None) | (_, Some(_)) => {}
            }
        }
        evidence
    }

    fn take(&mut self, answer: &'a Answer<'_>, findings: &'a Findings, patterns: &[String]) {
        self.scope.tools.insert(answer.tool.as_str());
        self.scope.searched = self.scope.searched.max(findings.searched.unwrap_or(0));
        self.scope.ignored = self.scope.ignored.max(findings.ignored);
        self.scope.forbidden = self.scope.forbidden.max(findings.forbidden);
        let argument = |name: &str| answer.arguments.get(name).and_then(Value::as_str);
        let paths = || findings.files.iter().map(|file| file.path.as_str());
        match (answer.tool, argument("mode")) {
            (BuiltinTool::GrepFiles, Some("count")) => {
                let pattern = argument("pattern").unwrap_or_default();
                let at = patterns.iter().position(|known| known == pattern);
                if let Some(slot) = at.and_then(|at| self.counts.get_mut(at)) {
                    let files = findings.files.iter();
                    let files = files.map(|file| (file.path.as_str(), file.count)).collect();
                    *slot = Some(Count { files, is_cut: findings.is_cut });
                }
            }
            (BuiltinTool::GrepFiles, Some("files")) | (BuiltinTool::GlobFiles, _) => {
                self.names.extend(paths());
            }
            (BuiltinTool::GrepFiles, _) => {
                if argument("pattern") == Some(EVERY_LINE) {
                    self.read.extend(paths());
                }
                let are_uses = argument("glob").is_some_and(|glob| glob.starts_with('!'));
                let lines = if are_uses { &mut self.uses } else { &mut self.lines };
                findings.files.iter().for_each(|file| take_lines(file, lines));
            }
            (BuiltinTool::ReadFile, _) => {
                if answer.arguments.get("offset").is_none() {
                    self.read.extend(paths());
                }
                findings.files.iter().for_each(|file| take_lines(file, &mut self.lines));
            }
            (BuiltinTool::ListDir, _) => {
                self.tree.extend(paths());
                self.names.extend(paths().filter(|path| !path.ends_with('/')));
            }
            _ => {}
        }
    }

    /// In how many files something is.
    pub(crate) fn files_with(&self, concept: usize) -> usize {
        self.counts.get(concept).and_then(Option::as_ref).map_or(0, |count| count.files.len())
    }
}

fn take_lines<'a>(file: &'a FoundFile, known: &mut BTreeMap<&'a str, Lines<'a>>) {
    let lines = file.lines.iter().map(|(number, text)| (*number, text.as_str()));
    known.entry(&file.path).or_default().extend(lines);
}

impl Scope {
    /// Whether a tool answered.
    pub(crate) fn used(&self, tool: BuiltinTool) -> bool {
        self.tools.contains(tool.as_str())
    }
}

/// Whether a call tried a file that nobody had named: that it is not there is not a failure.
fn is_guess(answer: &Answer<'_>, inquiry: &Inquiry) -> bool {
    let path = answer.arguments.get("path").and_then(Value::as_str);
    answer.tool == BuiltinTool::ReadFile
        && path.is_some_and(|path| !inquiry.paths.iter().any(|asked| asked == path))
}
